"""The gradient of the loss, to every weight of policy and critic or to what the numbers begin with in their place; several epochs
on one rollout, what of `common.epochs` is PPO's own; and a check in the sheet: does the loss do what its gradient says?

Epoch 1 begins at θ_old, so that its ratio is 1. Source: Schulman et al. 2017, Proximal Policy Optimization, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, count, pairwise, takewhile
from operator import add
from pathlib import Path

from blueprint.language import Arithmetic, Axis, Block, Max, Sum, at_most, block, exp, link, typed, where
from blueprint.page.outline import Blueprint, Item, Line, Note, Section, Sheet, Table, key, minor
from blueprint.workbooks.common import Backward, Switch, n, t, v, with_library_gradients
from blueprint.workbooks.common.definitions.optimiser import Group, apart, of_step, rates
from blueprint.workbooks.common.epochs import Epoch, Repeated, beside_in, one_group, side_by_side
from blueprint.workbooks.common.epochs import with_epochs as with_steps
from blueprint.workbooks.kind import KindError
from blueprint.workbooks.rlhf_ppo.conventions_and_update import RANGES, Update
from blueprint.workbooks.rlhf_ppo.sheets import with_order
from blueprint.workbooks.rlhf_ppo.steps import TAKEN, Taken

POLICY = ("policy.E", "policy.W", "policy.Y")
CRITIC = ("critic.E", "critic.W", "critic.head.w", "critic.head.b")
WEIGHTS = (*POLICY, *CRITIC)
MOVED = Backward(
    policy=(POLICY, ("policy.logits",), ("policy.logprobs", "policy.entropy")),
    critic=(CRITIC, ("critic.out",), ("critic.values",)),
)
"""Weights, else logits and values, else what a dump says of them."""
backward = MOVED.of
"""Differentiates the loss of the blocks of a workbook, by their names."""


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, unless they are there, and of each library's loss where several stand side by side.

    Raises KindError where there is no loss.
    """
    rows = {block.name: block for block in outline.blocks()}
    if "total_loss" not in rows:
        raise KindError(
            "gradients: these numbers end before a loss, and only a loss has gradients; leave gradients out."
        )
    if "library.total_loss" in rows and "minibatches" in outline.facts:
        # A library's loss is over the whole batch: beside the gradient of a minibatch, its angle would mean nothing.
        raise KindError(
            "gradients: a library's gradient is that of the whole batch, and these steps take minibatches; "
            "write update.minibatches = 1, or leave gradients out: an update has its own."
        )
    made = MOVED(outline)
    return with_library_gradients(made, MOVED, "Which PPO") if "library.total_loss" in rows else made


Rows = Mapping[str, Block]
LEAD_TOKENS = "each token in every step: its ratio, whether the clip holds it, and how much it pulls"
BY_TOKEN = {
    "ratio": "Ratio of each token: 1 in the first step, and then it leaves 1 by itself",
    "clip_fraction.changed": "Tokens whose loss the clip changed (1): their surrogate has no slope",
    "policy.logprobs.grad": "How much each token pulls: ∂L/∂log π_θ, 0 where the clip holds it",
}
"""What is shown of each token in every step."""


FAR = {
    "ratio.largest": ("ρ_max", "largest ratio of a token (1 if none is above)", "log_ratio", 1),
    "ratio.smallest": ("ρ_min", "smallest ratio of a token (1 if none is below)", "policy_kl.k1", -1),
}
"""How far the ratios have gone: symbol, meaning, and the row by whose largest number it is told, of ρ or of 1/ρ."""
SHOWN = beside_in(Path(__file__).parent)
MARKED = frozenset(chain(*SHOWN.sections.values())) - FAR.keys()
"""What stands side by side, and therefore says in its symbol of which step it is."""


def beside(epochs: Sequence[Epoch], like: Sheet) -> tuple[list[Sheet], dict[Block, object]]:
    """Outlines both sheets, and returns what is typed there. like: a sheet with a column for each token."""
    far = [_far(epoch) for epoch in epochs]
    summary, given = side_by_side(epochs, SHOWN, far)
    return [summary, _tokens(epochs, far, like)], given


def _far(epoch: Epoch) -> dict[str, Block]:
    """Measures how far above and below 1 the ratios of all tokens are, from their log-ratios, which are 0 elsewhere."""
    made = {}
    for name, (symbol, meaning, of, sign) in FAR.items():
        made[name] = block(f"tokens.{name}.{epoch.number}", (), of_step(symbol, epoch.number), meaning)
        furthest = Max((n, t), epoch.rows[of][n, t])
        made[name][()] = exp(furthest if sign > 0 else -furthest)
    return made


def _tokens(epochs: Sequence[Epoch], far: Sequence[Rows], like: Sheet) -> Sheet:
    """Outlines what each token is in every step, a row for each step. like: a sheet with a column for each token."""
    head = tuple(link(f"tokens.{each.name.rpartition('.')[2]}", each) for each in like.head)
    ratios, *others = (
        Section(
            title,
            tuple(
                link(f"tokens.{name}.{epoch.number}", row := epoch.rows[name], symbol=of_step(row.symbol, epoch.number))
                for epoch in epochs
            ),
        )
        for name, title in BY_TOKEN.items()
    )
    furthest = Section(
        "The largest and the smallest of these ratios", tuple(each[name] for name in FAR for each in far)
    )
    return Sheet("Tokens", LEAD_TOKENS, (ratios, furthest, *others), like.across, head, head[-1])


JOINT = "loss.joint.number"


def with_epochs(outline: Blueprint, update: Update, steps: Taken) -> Blueprint:
    """Adds the gradient, the optimiser's step and more epochs to a workbook whose new weights are the old ones.

    steps: what each sees of the rollout, if there are minibatches.
    """
    return with_steps(outline, update, EPOCHS, {number: {TAKEN: taken} for number, taken in steps.items()})


def _groups(rows: Mapping[str, Block], weights: Sequence[str]) -> tuple[Group, ...]:
    """Lists the weights that share a rate and a norm: all, unless conventions may train the critic apart."""
    if JOINT not in rows:
        return one_group(rows, weights)
    return apart(POLICY, CRITIC, rates(), Switch(("off", "on"), rows[JOINT]).says("on"), "optimiser.critic")


EPOCHS = Repeated(WEIGHTS, ("Policy", "Critic", "Loss", "Diagnostics"), backward, beside, MARKED, _groups, RANGES)
"""The sheets of an epoch hang on the weights."""


LEAD_OF_SLOPE = "a check of all gradients at once: does the loss change as they promise?"
TOLD = (
    "Promised: the step, times the mean of the gradients before and after it. Past a clip the loss bends; long steps tell nothing.",
    "Short ones are judged: type 0.0001 as the learning rate lr on Update; off falls to some millionths, and the verdict counts.",
)
LONGEST, ALLOWED = 1e-3, 1e-4
"""A step of 0.001 was seen to be off by 1e-5, shorter ones by the square of that less, and rounding by 1e-9; of gradients that are
wrong on purpose the nearest is off by 4e-4 (`tests/workbooks/test_slope.py`)."""


def explained(made: Blueprint) -> Blueprint:
    """Adds to a workbook with several steps the check, and in which order it is read."""
    return with_order(with_slope(made))


def with_slope(made: Blueprint) -> Blueprint:
    """Adds the sheet Slope to a workbook with several passes over one loss; with minibatches each step has another loss."""
    rows = {each.name: each for each in made.blocks()}
    passes = ["", *takewhile(lambda name: f"{name}total_loss" in rows, (f"epoch{each}." for each in count(2)))]
    if len(passes) < 2 or {"epoch1.2.total_loss", "critic_loss"} & rows.keys():
        return made
    sheet, given = _sheet(rows, passes)
    at = next(place for place, each in enumerate(made.sheets) if each.title == "Epochs")
    return replace(made, sheets=(*made.sheets[: at + 1], sheet, *made.sheets[at + 1 :]), typed={**made.typed, **given})


def _sheet(rows: Rows, passes: Sequence[str]) -> tuple[Sheet, dict[Block, object]]:
    """Outlines the check, a column for each step; returns what is typed there, too. passes: what begins the names of each."""
    parts = [Axis(f"e{number}", "step", start=number, size=1) for number in range(1, len(passes))]
    e = Axis("e", "step", start=1, parts=tuple(parts)) if len(parts) > 1 else parts[0]
    each = [_row(e, name, f"of_{name}", f"step of {name} · mean gradient") for name in WEIGHTS]
    came = _row(e, "came", "came", "how much the loss changed")
    length = _row(e, "length", "length", "length of the step along the gradient")
    promised = _row(e, "promised", "promised", "how much it should have, by its slope")
    moved: list[Block] = []
    for (before, after), part in zip(pairwise(passes), parts, strict=True):
        for row, name in zip(each, WEIGHTS, strict=True):
            moved.append(_moved(f"slope.step{part.start}.{name}", rows[f"{before}{name}"], rows[f"{after}{name}"]))
            first, last = (_times(rows[f"{at}{name}.grad"], moved[-1]) for at in (before, after))
            row[part] = (first + last) / 2
        came[part] = rows[f"{after}total_loss"] - rows[f"{before}total_loss"]
        length[part] = abs(promised[part]) / rows[f"{before}loss.grad.norm"]
    promised[e] = reduce(add, (row[e] for row in each))
    judged, given = _judged(e, came, promised, length)
    tables = tuple(Table(row, _across(row), "plain") if row.axes else Line((row,)) for row in moved)
    sections = (
        Section(
            "Does the loss do what its gradient says?", (*map(Note, TOLD), *map(minor, each), promised, came, *judged)
        ),
        Section("The steps of the weights", tables),
    )
    return Sheet("Slope", LEAD_OF_SLOPE, sections, across=(e,)), given


def _across(row: Block) -> Axis | None:
    """Returns the axis that runs to the right in the table of a weight, and so in that of its gradient: tokens, else the second."""
    return v if v in set(row.axes) else next(iter(row.axes[1:]), None)


def _judged(e: Axis, came: Block, promised: Block, length: Block) -> tuple[tuple[Item, ...], dict[Block, object]]:
    """Judges the steps that are short enough."""
    off = _row(e, "off", "off", "|came − promised| / |promised|")
    held, verdict = (_row(e, name, name, meaning) for name, meaning in SAYS.items())
    longest = typed("slope.longest", (), "longest", "longer steps are not judged", decimals=4)
    allowed = typed("slope.allowed", (), "allowed", "how far off a step may be", decimals=4)
    off[e] = where(at_most(abs(promised[e]), 0), abs(came[e]), abs(came[e] - promised[e]) / abs(promised[e]))
    held[e] = where(at_most(off[e], allowed), "OK", "LOOK")
    verdict[e] = where(at_most(length[e], longest), held[e], "too long")
    limits = Line((longest,), "line"), Line((allowed,), "line")
    return (off, length, *limits, minor(held), key(verdict)), {longest: LONGEST, allowed: ALLOWED}


SAYS = {"held": "OK, or LOOK at the gradients", "verdict": "OK or LOOK, of short steps alone"}


def _row(e: Axis, name: str, symbol: str, meaning: str) -> Block:
    return block(f"slope.{name}", (e,), symbol, meaning, decimals=6)


def _moved(name: str, old: Block, new: Block) -> Block:
    made = block(name, old.axes, f"Δ{new.symbol}", f"step of {old.symbol}", decimals=6)
    made[made.axes] = new[new.axes] - old[old.axes]
    return made


def _times(g: Block, step: Block) -> Arithmetic:
    return Sum(g.axes, g[g.axes] * step[step.axes]) if g.axes else g * step
