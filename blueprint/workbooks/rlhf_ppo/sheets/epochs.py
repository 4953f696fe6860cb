"""The sheets of epochs: what an optimiser's step comes to, all steps side by side, and token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from blueprint.language import Axis, Block, Max, block, exp, link, typed
from blueprint.page.outline import Chart, Item, Line, Row, Scale, Section, Series, Sheet, Table
from blueprint.workbooks.common import n, t
from blueprint.workbooks.common.definitions.optimiser import Stepped
from blueprint.workbooks.common.definitions.rates import of_step

SHOWN = (
    "policy_loss", "value_loss", "entropy", "policy_kl", "total_loss", "clip_fraction.loss", "clip_fraction.ratio",
    "mean.ratio",
)  # fmt: skip
MARKED = frozenset(SHOWN)
"""What stands side by side, and therefore says in its symbol of which step it is."""
LEAD = "the same rollout, step by step: the ratio leaves 1, clipping begins to bite, the policy moves away"
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


@dataclass(frozen=True)
class Epoch:
    """A pass, or a minibatch of it: its blocks by the names that they have in the first one, its sheets, and its step.

    number: 2, or with minibatches 2.1.
    """

    number: str
    rows: Mapping[str, Block]
    sheets: tuple[Sheet, ...]
    stepped: Stepped

    @cached_property
    def far(self) -> dict[str, Block]:
        """How far above and below 1 the ratios of all tokens are, from their log-ratios, which are 0 elsewhere."""
        made = {}
        for name, (symbol, meaning, of, sign) in FAR.items():
            made[name] = block(f"tokens.{name}.{self.number}", (), of_step(symbol, self.number), meaning)
            furthest = Max((n, t), self.rows[of][n, t])
            made[name][()] = exp(furthest if sign > 0 else -furthest)
        return made


def mark(made: Block, number: str) -> None:
    """Says in the symbol of a block of which step it is: L⁽²⁾."""
    made.about = replace(made.about, symbol=of_step(made.symbol, number))


def update_sheet(epoch: Epoch, rates: list[Block]) -> Sheet:
    """Outlines a step: the norm of the gradient and its limit, then weight by weight from the gradient to the new weight.

    rates: what is typed of the optimiser, on the first of these sheets.
    """
    stepped = epoch.stepped
    of = {name: [each for each in stepped.rows if _belongs(each, name)] for name in stepped.new}
    laid = {each for rows in of.values() for each in rows}
    singles = [each for each in stepped.rows if each not in laid]
    sections = [Section("The gradient's norm, and what is left of it", tuple(singles))]
    if rates:
        kind, *others = (Line((each,)) for each in rates)
        sections.insert(0, Section("The optimiser (typed)", (replace(kind, role="fixed"), *others)))
    sections += [Section(_titled(name), tuple(map(_laid, rows))) for name, rows in of.items()]
    title = "Update" if rates else f"Update {epoch.number}"
    return Sheet(title, f"epoch {epoch.number}: from the gradient to the new weights", tuple(sections))


def _titled(weight: str) -> str:
    model, _, part = weight.partition(".")
    return f"{model.capitalize()}: {part.removeprefix('head.')}, from its gradient to what it is after the step"


def _belongs(row: Block, weight: str) -> bool:
    """Tells whether a row is on the way from the gradient of a weight to the new weight."""
    return row.name.endswith(f".{weight}") and ".square." not in row.name


def _laid(table: Block) -> Item:
    return Table(table, table.axes[1] if len(table.axes) > 1 else None, "plain") if table.axes else Line((table,))


class Steps(NamedTuple):
    """The steps as an axis of columns, each of which has an equation of its own."""

    axis: Axis
    parts: tuple[Axis, ...]
    epochs: list[Epoch]

    def row(self, name: str, of: Sequence[Block]) -> Block:
        """Repeats a number of each step in a row; what it says of itself, the first of them says."""
        made = Block(f"epochs.{name}", (self.axis,), replace(of[0].about, symbol=of_step(of[0].symbol)), link=True)
        for part, value in zip(self.parts, of, strict=True):
            made[part] = value
        return made


def epochs_sheet(epochs: list[Epoch]) -> tuple[Sheet, dict[Block, object]]:
    """Sets the steps side by side, a column for each: pictures, and the rows from which they are drawn; and what is typed."""
    parts = tuple(Axis(epoch.number, "step", start=at, size=1) for at, epoch in enumerate(epochs, start=1))
    e = Axis("e", "step", start=1, parts=parts) if len(parts) > 1 else parts[0]
    steps = Steps(e, parts, epochs)
    shown = {name: steps.row(name, [epoch.rows[name] for epoch in epochs]) for name in SHOWN}
    numbers = {
        "number": typed("epochs.number", (e,), "step", "number of the step", decimals=0),
        "epoch": typed("epochs.number.epoch", (e,), "epoch", "pass over the rollout", decimals=0),
        "minibatch": typed("epochs.number.minibatch", (e,), "minibatch", "minibatch of the pass", decimals=0),
    }
    given: dict[Block, object] = dict(zip(numbers.values(), _numbered(epochs), strict=True))
    far = tuple(steps.row(name, [epoch.far[name] for epoch in epochs]) for name in FAR)
    norms = [
        steps.row(norm.name[norm.name.index("norm") :], [epoch.stepped.norms[at] for epoch in epochs])
        for at, norm in enumerate(epochs[0].stepped.norms)
    ]
    x = numbers["number"]
    sections = (
        Section("Which step it is", tuple(Row(each, "fixed") for each in numbers.values())),
        Section("How far the policy has gone", (*far, shown["mean.ratio"], shown["policy_kl"])),
        Section("What the clip holds", (shown["clip_fraction.loss"], shown["clip_fraction.ratio"])),
        Section("Losses", tuple(shown[name] for name in ("policy_loss", "value_loss", "entropy", "total_loss"))),
        Section("The gradient", tuple(norms)),
        Section("The pictures", _pictures(x, shown, far, norms), numbered=False),
    )
    return Sheet("Epochs", LEAD, sections, across=(e,)), given


def _numbered(epochs: list[Epoch]) -> tuple[list[int], ...]:
    """Returns the number of each step, that of its epoch, and that of its minibatch."""
    pairs = [epoch.number.partition(".") for epoch in epochs]
    return [*range(1, len(epochs) + 1)], [int(of) for of, _, _ in pairs], [int(of or 1) for _, _, of in pairs]


def _pictures(x: Block, shown: Mapping[str, Block], far: tuple[Block, ...], norms: list[Block]) -> tuple[Chart, ...]:
    (up, down), last = far, max(2, len(x.axes[0].parts))
    drawn = {
        "Ratio: it leaves 1 by itself": (
            {"largest": up, "mean": shown["mean.ratio"], "smallest": down}, "ratio ρ",
            "All ratios are 1 in the first step, and the lines part from there on.",
        ),
        "Clip fraction and policy KL": (
            {"loss changed by the clip": shown["clip_fraction.loss"], "ratio outside of 1 ± ε": shown["clip_fraction.ratio"],
             "KL(π_old‖π_θ)": shown["policy_kl"]},
            "share of tokens; KL", "Clipping begins to bite as the policy moves away from the one that wrote the responses.",
        ),
        "Losses": (
            {"policy loss": shown["policy_loss"], "value loss": shown["value_loss"], "total loss": shown["total_loss"]},
            "loss", "Of the responses that a step takes: other ones in each minibatch. A loss of 0 may well have a gradient.",
        ),
        "Norm of the gradient": (
            {norm.symbol: norm for norm in norms}, "|g|", "Before it is held: what g_max cuts off stands on Update.",
        ),
    }  # fmt: skip
    return tuple(
        Chart(
            title,
            "scatter",
            tuple(Series(name, row, x) for name, row in lines.items()),
            Scale("step", 1, last, 1),
            Scale(up),
            tells,
        )
        for title, (lines, up, tells) in drawn.items()
    )


def tokens_sheet(epochs: list[Epoch], like: Sheet) -> Sheet:
    """Outlines what each token is in every step, a row for each step. like: a sheet with a column for each token."""
    head = tuple(link(f"tokens.{each.name.rpartition('.')[2]}", each) for each in like.head)
    ratios, *others = (
        Section(title, tuple(_of_step(name, epoch) for epoch in epochs)) for name, title in BY_TOKEN.items()
    )
    far = Section(
        "The largest and the smallest of these ratios", tuple(each.far[name] for name in FAR for each in epochs)
    )
    return Sheet("Tokens", LEAD_TOKENS, (ratios, far, *others), like.across, head, head[-1])


def _of_step(name: str, epoch: Epoch) -> Block:
    row = epoch.rows[name]
    return link(f"tokens.{name}.{epoch.number}", row, symbol=of_step(row.symbol, epoch.number))
