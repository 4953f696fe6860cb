"""The steps: every definition of RLHF PPO, in the order in which the numbers come about, sheet by sheet; the plain workbook takes
its equations from the page `ppo`; and minibatches of whole responses.

Where log-probs and values are taken in every slot of a response, used or not, conventions choose among the slots. An epoch takes
the responses in a typed order, and each of its steps looks at as many. What a token is (ratio, surrogate, value error) it is in
every step; only what losses count of it is that of the minibatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import add
from typing import NamedTuple

from blueprint.language import Block, Definition, Ref, Sum, at_most, block, less, maximum, reading, typed, walk
from blueprint.language.making import behind_links
from blueprint.page.outline import Blueprint, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    LOSS_LEAD,
    PRESET_DEFAULT,
    ROWS,
    SIGNAL_LEAD,
    SIGNAL_TITLE,
    Choices,
    Counted,
    InView,
    Loss,
    Rows,
    Signal,
    Switch,
    by_name,
    clip_flags,
    defined,
    ends,
    exact_kl,
    links_of_loss,
    longest,
    loss,
    loss_sections,
    metrics_of,
    n,
    named,
    places,
    policy_kl,
    repeated,
    rows,
    rows_on,
    sheet_of,
    signal,
    signal_sections,
    t,
    variance_floor,
    whitened,
)
from blueprint.workbooks.rlhf_ppo.conventions_and_update import MINIBATCH, Update
from blueprint.workbooks.rlhf_ppo.ppo import Batch, Settings, ppo

MODELS = (
    "mask", "policy.logprobs", "old.logprobs", "reference.logprobs", "critic.values", "old_critic.values", "policy.entropy",
    "policy_kl.exact", "reward.score",
)  # fmt: skip
"""The blocks of a workbook that the page calls a batch, in its order."""
NUMBERS = (
    "gamma", "gae_lambda", "kl_coef", "clip_range", "value_clip_range", "vf_coef", "ent_coef", "policy_kl_coef", "whiten_eps",
)  # fmt: skip
SWITCHES = ("kl_estimator", "whiten_advantages")


def page() -> list[Block]:
    """Returns the blocks of the page `ppo`, which read stand-ins of the names that a workbook has for models and settings."""
    batch = Batch(*(typed(name, (n, t), edges=(t.last + 1,)) for name in MODELS))
    estimator, whiten = (Switch(PRESET_DEFAULT[name].words, typed(f"{name}.number")) for name in SWITCHES)
    return ppo(batch, Settings._make([*map(typed, NUMBERS), estimator, whiten]))


def with_equations_of_the_page(outline: Blueprint) -> Blueprint:
    """Writes the page's equations into the blocks of an outline, which go by the same names.

    An outline may repeat on a sheet what stands on another (a link); there an equation goes on to read what is repeated.
    """
    there = {block.name: block for block in outline.blocks()}
    for source in page():
        block = there[source.name]
        block.definitions = [
            Definition(definition.target, reading(definition.expr, _instead(definition, block, there)))
            for definition in source.definitions
        ]
    return outline


def _instead(definition: Definition, block: Block, there: Mapping[str, Block]) -> dict[Block, Block]:
    """Returns what a block of the outline reads in place of what the page reads."""
    read = [node.block for old in block.definitions for node in walk(old.expr) if isinstance(node, Ref)]
    repeated = {behind_links(each).name: each for each in read}
    names = {node.block: node.block.name for node in walk(definition.expr) if isinstance(node, Ref)}
    return {stand_in: repeated.get(name, there[name]) for stand_in, name in names.items()}


TAKEN = "minibatch"
"""The row of a step that says which responses are in its minibatch."""
Taken = dict[str, Block]
"""The number of each step, 2.1 for the first one of epoch 2, and 1 on each response of its minibatch (n)."""


class Minibatch(NamedTuple):
    """What the first step sees: which responses (n), which of their tokens (n, t), and how many these are.

    whiten: whether it whitens the advantages anew.
    """

    taken: Block
    mask: Block
    words: Block
    whiten: bool

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names by which losses and metrics know them."""
        return {each.name: each for each in (self.taken, self.mask, self.words)}


def places_of(update: Update) -> dict[Block, int | list[int]]:
    """Makes how many responses a minibatch has, and for every epoch the place at which it takes each of them (n).

    Returns what is typed there; nothing where one minibatch holds all responses.
    """
    if not update.order:
        return {}
    meaning = "responses of each minibatch; fixed by the number of minibatches"
    size = typed(f"{TAKEN}.size", (), "size", meaning, unit="responses", decimals=0)
    made: dict[Block, int | list[int]] = {size: len(update.order[0]) // update.minibatches}
    for epoch, order in enumerate(update.order, start=1):
        meaning = f"at which place epoch {epoch} takes the response"
        row = typed(f"{TAKEN}.place{epoch}", (n,), f"place{epoch}", meaning, unit="1 … number of responses", decimals=0)
        made[row] = [1 + order.index(response) for response in sorted(order)]
    return made


def ranges_of(places: Mapping[Block, int | list[int]]) -> dict[str, tuple[float, float]]:
    """Returns what may be typed there: another place, but no other size, since the steps have their sheets."""
    return {row.name: (found, found) if isinstance(found, int) else (1, len(found)) for row, found in places.items()}


def taken_by_step(update: Update, places: Iterable[Block]) -> Taken:
    """Makes 1 on each response of a minibatch: those of the first places, of the next ones, and so on. None: no steps."""
    if not update.order:
        return {}
    numbers = [(epoch, step) for epoch in range(1, len(update.order) + 1) for step in range(1, update.minibatches + 1)]
    names = [TAKEN, *(f"epoch{epoch}.{step}.{TAKEN}" for epoch, step in numbers[1:])]
    size, *rows = places
    made: Taken = {}
    for name, (epoch, step) in zip(names, numbers, strict=False):
        place, last = rows[epoch - 1], reduce(add, [size] * step)
        inside = less(reduce(add, [size] * (step - 1)), place[n]) if step > 1 else 1
        made[f"{epoch}.{step}"] = ROWS.each(TAKEN, inside * at_most(place[n], last))
        made[f"{epoch}.{step}"].name = name
    return made


def first_minibatch(update: Update, steps: Taken, mask: Block) -> Minibatch | None:
    """Makes what the first step sees, if there are minibatches. mask: 1 on each token of a response."""
    if not steps:
        return None
    here = next(iter(steps.values()))
    tokens = ROWS.row(f"{TAKEN}.mask", mask[n, t] * here[n])
    words = ROWS.one(f"{TAKEN}.words", maximum(Sum((n, t), tokens[n, t]), 1))
    return Minibatch(here, tokens, words, update.whiten == MINIBATCH)


def places_differ(size: Block, steps: Taken) -> Block:
    """Measures whether every minibatch has as many responses as it must, so that no two have the same place."""
    return ROWS.one("check.order", reduce(add, (abs(Sum(n, row[n]) - size) for row in steps.values())))


def of_minibatch(
    given: Rows, made: Signal, step: Minibatch | None, use: Choices
) -> tuple[dict[str, Block], tuple[Section, ...]]:
    """Returns what a loss reads besides or instead of `given`, and the sections that show it; nothing without minibatches.

    Where conventions choose what counts, they choose among the response positions of the minibatch.
    """
    if step is None:
        return {}, ()
    chosen = {
        name: use.row(f"{TAKEN}.{name}", given[name][use.at] * step.taken[use.n])
        for name in ("response", "slots")
        if name in given
    }
    own = step.rows | {row.name: row for row in chosen.values()}
    section = Section("The minibatch: the responses that this step counts", tuple(own.values()))
    if not step.whiten:
        return own, (section,)
    mask, counted = chosen.get("response", step.mask), {"response.words": step.words, **chosen}
    white = whitened(made.estimates.advantages, counted, Counted(mask, mask), chosen.get("slots", mask), use)
    of = white.of
    shown = rows(*of.counting.steps, of.mean, of.centred, of.variance, *of.divisors, white.whitened, white.shifted)
    anew = Section("Whitening of the advantages, over the minibatch", (*map(minor, shown), key(white.used)))
    return own | {"advantages_used": white.used}, (section, anew)


LINKED = {
    "old.logprobs": "logp_old", "reference.logprobs": "logp_ref", "score.placed": "score", "old_critic.values": "values",
    "kl.exact": "exact_kl", "slots": "S", "response.length": "length",
}  # fmt: skip
"""What the sheet of rewards repeats from other sheets, and what it is called there."""


class Models(NamedTuple):
    """The sheets of the models, before the reward and between the advantage and the loss, and every block up to them."""

    head: InView
    before: tuple[Sheet, ...]
    between: tuple[Sheet, ...]
    rows: Rows


class Steps(NamedTuple):
    """Everything between the inputs and the diagnostics.

    metrics: what a library logs, where there are slots. sheets: from the rollout to the loss, in reading order. rows: all
    blocks by their names; and `score` and `values`, as they stand on the sheet of rewards.
    """

    head: InView
    signal: Signal
    loss: Loss
    metrics: tuple[Section, ...]
    sheets: tuple[Sheet, ...]
    rows: Rows


def steps_of(models: Models, use: Choices, minibatch: Minibatch | None = None) -> Steps:
    """Runs the definitions from the reward to the loss, and outlines their sheets. minibatch: what the loss looks at."""
    head, below, live = models.head.on("signal"), models.head.on("loss"), "slots" in models.rows
    rows = {**models.rows, **named(variance_floor()), **(slot_rows(models.rows) if live else {})}
    scored = {} if live else {"mask": head.mask, "score.placed": rows["reward.score"]}
    made = signal(repeated({**rows, **scored}, "signal", LINKED), use)
    seen = {**rows, "mask": below.mask, **made.rows}
    own, counts = of_minibatch(seen, made, minibatch, use)
    made = made if "advantages_used" not in own else made._replace(white=None, used=own["advantages_used"])
    out = loss(links_of_loss({**seen, **own}), use)
    metrics: tuple[Section, ...] = ()
    if live:
        metrics = metrics_of(out, use)
        outline, logged = loss_sections(out, cross=rows["kl_new.cross"]), by_name(metrics)
    else:
        flags = clip_flags(out.clip, use)
        moved = policy_kl(out.clip.log_ratio, out.clip.free_log_ratio, use).steps
        outline, logged = loss_sections(out, flags=flags[:2], moved=moved), named(*flags)
    sheets = (
        *models.before,
        sheet_of(SIGNAL_TITLE, SIGNAL_LEAD, signal_sections(made), head),
        *models.between,
        sheet_of("Loss", LOSS_LEAD, (*counts, *outline), below),
    )
    assert made.placed is not None
    rows |= rows_on(*sheets) | logged | {"score": made.placed, "values": made.estimates.V} | own
    return Steps(models.head, made, out, metrics, sheets, rows)


def slot_rows(models: Rows) -> dict[str, Block]:
    """Defines what conventions start from besides the models: places in the response, score, and KL of the new policy."""
    S, new = models["slots"], models["policy.p"]
    at = places(S, models["mask"])
    slots, *ended = ends(S, at.until, models["rollout.ends"])
    kl = exact_kl("kl_new", new, models["policy.p_log_p"], models["reference.log_p"], S)
    placed = models.get("reward.score")
    score = defined(
        block("score.given", (n,), "s_n", "score of the response, as given"),
        models["reward_model.score"][n] if placed is None else Sum(t, placed[n, t]),
    )
    return named(*at, slots, *ended, longest(slots), *kl, score)
