"""All steps side by side on one sheet, a column for each: rows, and pictures drawn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from blueprint.language import Axis, Block, typed
from blueprint.page.outline import Chart, Row, Scale, Section, Series, Sheet
from blueprint.workbooks.common.definitions.rates import of_step
from blueprint.workbooks.common.epochs.sheets import Epoch

Rows = Mapping[str, Block]
NUMBERS = {
    "number": ("step", "number of the step"),
    "epoch": ("epoch", "pass over the rollout"),
    "minibatch": ("minibatch", "minibatch of the pass"),
}
"""Symbol and meaning of what says which step it is."""
NORM = "Norm of the gradient"
NORM_TELLS = "Before it is held: what g_max cuts off stands on Update."


class Drawn(NamedTuple):
    """A picture: the row of each line by what the line is called; what is shown upwards; what is to be seen."""

    lines: Mapping[str, str]
    up: str
    tells: str


class Beside(NamedTuple):
    """What the sheet shows: its lead, rows by their names under the title of each section, and pictures by their titles.

    The norm of the gradient comes last of both. numbered: which of `NUMBERS` it says; without minibatches the first will do.
    """

    lead: str
    sections: Mapping[str, Sequence[str]]
    pictures: Mapping[str, Drawn]
    numbered: Sequence[str] = ("number",)


class _Steps(NamedTuple):
    """The steps as an axis of columns, each of which has an equation of its own."""

    axis: Axis
    parts: tuple[Axis, ...]

    def row(self, name: str, of: Sequence[Block]) -> Block:
        """Repeats a number of each step in a row; what it says of itself, the first of them says."""
        made = Block(f"epochs.{name}", (self.axis,), replace(of[0].about, symbol=of_step(of[0].symbol)), link=True)
        for part, value in zip(self.parts, of, strict=True):
            made[part] = value
        return made


def side_by_side(
    epochs: Sequence[Epoch], shows: Beside, more: Sequence[Rows] = ()
) -> tuple[Sheet, dict[Block, object]]:
    """Outlines the sheet; returns what is typed on it, too. more: what each step has besides the rows of its sheets."""
    parts = tuple(Axis(epoch.number, "step", start=at, size=1) for at, epoch in enumerate(epochs, start=1))
    e = Axis("e", "step", start=1, parts=parts) if len(parts) > 1 else parts[0]
    steps = _Steps(e, parts)
    rows = [{**epoch.rows, **own} for epoch, own in zip(epochs, more or [{}] * len(epochs), strict=True)]
    shown = {
        name: steps.row(name, [each[name] for each in rows]) for names in shows.sections.values() for name in names
    }
    every = {name: typed(f"epochs.{_last(name)}", (e,), *NUMBERS[name], decimals=0) for name in shows.numbered}
    norms = [
        steps.row(norm.name[norm.name.index("norm") :], [epoch.stepped.norms[at] for epoch in epochs])
        for at, norm in enumerate(epochs[0].stepped.norms)
    ]
    numbers = dict(zip(NUMBERS, _numbered(epochs), strict=True))
    sections = (
        Section("Which step it is", tuple(Row(each, "fixed") for each in every.values())),
        *(Section(title, tuple(shown[name] for name in names)) for title, names in shows.sections.items()),
        Section("The gradient", tuple(norms)),
        Section("The pictures", _pictures(every["number"], shown, norms, shows.pictures), numbered=False),
    )
    return Sheet("Epochs", shows.lead, sections, across=(e,)), {row: numbers[name] for name, row in every.items()}


def _last(name: str) -> str:
    return name if name == "number" else f"number.{name}"


def _numbered(epochs: Sequence[Epoch]) -> tuple[list[int], ...]:
    """Returns the number of each step, that of its epoch, and that of its minibatch."""
    pairs = [epoch.number.partition(".") for epoch in epochs]
    return [*range(1, len(epochs) + 1)], [int(of) for of, _, _ in pairs], [int(of or 1) for _, _, of in pairs]


def _pictures(x: Block, shown: Rows, norms: list[Block], pictures: Mapping[str, Drawn]) -> tuple[Chart, ...]:
    last = max(2, len(x.axes[0].parts))
    drawn = {
        title: ({called: shown[name] for called, name in lines.items()}, up, tells)
        for title, (lines, up, tells) in pictures.items()
    } | {NORM: ({norm.symbol: norm for norm in norms}, "|g|", NORM_TELLS)}
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
