"""Several steps of an optimiser on one batch, of any kind of workbook that has weights and a total loss: the sheet of a step, all
steps side by side, and the sheets that stand once more for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from blueprint.inputs.catalogue import data_in
from blueprint.language import Axis, Block, again, block, link, rounded, typed
from blueprint.language.gradient import Gradient
from blueprint.page.outline import (
    AGAIN,
    READ,
    Blueprint,
    Chart,
    Item,
    Line,
    Row,
    Scale,
    Section,
    Series,
    Sheet,
    Table,
    blocks_on,
)
from blueprint.page.outline.book import sheet_again
from blueprint.workbooks.common.definitions.optimiser import (
    KEPT_M,
    KEPT_V,
    START,
    Group,
    Slope,
    Stepped,
    of_step,
    rates,
    resumed,
    step,
)
from blueprint.workbooks.common.definitions.writing_rows import defined
from blueprint.workbooks.common.sheets.backward import with_backward
from blueprint.workbooks.common.update import DECIMALS, RANGES, TYPED, Update


@dataclass(frozen=True)
class Epoch:
    """A pass, or a minibatch of it: its blocks by the names that they have in the first one, its sheets, and its step.

    number: 2, or with minibatches 2.1.
    """

    number: str
    rows: Mapping[str, Block]
    sheets: tuple[Sheet, ...]
    stepped: Stepped


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
    lead = f"epoch {epoch.number}: from the gradient to the new weights"
    return Sheet(title, lead, tuple(sections), tab=READ if rates else AGAIN)


def _titled(weight: str) -> str:
    model, _, part = weight.partition(".")
    return f"{model.replace('_', ' ').capitalize()}: {part.removeprefix('head.')}, from its gradient to what it is after the step"


def _belongs(row: Block, weight: str) -> bool:
    """Tells whether a row is on the way from the gradient of a weight to the new weight."""
    return row.name.endswith(f".{weight}") and ".square." not in row.name


def _laid(table: Block) -> Item:
    role = "weights" if table.name.startswith((KEPT_M, KEPT_V)) else "plain"
    return Table(table, table.axes[1] if len(table.axes) > 1 else None, role) if table.axes else Line((table,))


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


def beside_in(folder: Path) -> Beside:
    """Reads what the sheet shows from `steps.toml` of a folder."""
    found = data_in(folder / "steps.toml")
    return Beside(**{**found, "pictures": {title: Drawn(**each) for title, each in found["pictures"].items()}})


def side_by_side(
    epochs: Sequence[Epoch], shows: Beside, more: Sequence[Rows] = ()
) -> tuple[Sheet, dict[Block, object]]:
    """Outlines the sheet; returns what is typed on it, too. more: what each step has besides the rows of its sheets."""
    parts = tuple(Axis(epoch.number, "step", start=at, size=1) for at, epoch in enumerate(epochs, start=1))
    e = Axis("e", "step", start=1, parts=parts) if len(parts) > 1 else parts[0]

    def row(name: str, of: Sequence[Block]) -> Block:
        """Repeats a number of each step in a row; what it says of itself, the first of them says."""
        made = Block(f"epochs.{name}", (e,), replace(of[0].about, symbol=of_step(of[0].symbol)), link=True)
        for part, value in zip(parts, of, strict=True):
            made[part] = value
        return made

    rows = [{**epoch.rows, **own} for epoch, own in zip(epochs, more or [{}] * len(epochs), strict=True)]
    shown = {name: row(name, [each[name] for each in rows]) for names in shows.sections.values() for name in names}
    called = {"number": "number", "epoch": "number.epoch", "minibatch": "number.minibatch"}
    every = {name: typed(f"epochs.{called[name]}", (e,), *NUMBERS[name], decimals=0) for name in shows.numbered}
    norms = [
        row(norm.name[norm.name.index("norm") :], [epoch.stepped.norms[at] for epoch in epochs])
        for at, norm in enumerate(epochs[0].stepped.norms)
    ]
    numbers = dict(zip(NUMBERS, _numbered(epochs), strict=True))
    sections = (
        Section("Which step it is", tuple(Row(each, "fixed") for each in every.values())),
        *(Section(title, tuple(shown[name] for name in names)) for title, names in shows.sections.items()),
        Section("The gradient", tuple(norms)),
        Section("The pictures", _pictures(every["number"], shown, norms, shows.pictures), numbered=False),
    )
    return Sheet("Epochs", shows.lead, sections, across=(e,)), {each: numbers[name] for name, each in every.items()}


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


BY = "optimiser.by"
Shown = tuple[Sequence[Sheet], Mapping[Block, object]]
"""Sheets, and what is typed on them."""


def one_group(rows: Rows, weights: Sequence[str]) -> tuple[Group, ...]:
    """Lets all weights share a rate and a norm."""
    return (Group("", weights, rates()),)


@dataclass(frozen=True)
class Repeated:
    """What the steps of a kind are.

    weights: the names of what the optimiser moves. again: the titles of the sheets that hang on them, in their order; the
    steps stand behind the last. backward: differentiates the loss by the weights, from the rows by name. beside: the sheets
    that set all steps side by side (`side_by_side`), from the steps and the last sheet of the first. marked: rows that stand
    side by side, and therefore say in their symbols of which step they are. groups: which weights share a rate. ranges: what
    may be typed for each number of the optimiser.
    """

    weights: Sequence[str]
    again: Sequence[str]
    backward: Callable[[Rows], Gradient]
    beside: Callable[[Sequence[Epoch], Sheet], Shown]
    marked: frozenset[str] = frozenset()
    groups: Callable[[Rows, Sequence[str]], tuple[Group, ...]] = one_group
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=lambda: RANGES)


def repeated(
    weights: Sequence[str], again: Sequence[str], backward: Callable[[Rows], Gradient], shown: Beside
) -> Repeated:
    """Returns the steps of a kind that one sheet sets side by side, with the rows that `shown` names."""

    def beside(epochs: Sequence[Epoch], _: Sheet) -> Shown:
        sheet, given = side_by_side(epochs, shown)
        return [sheet], given

    names = (name for section in shown.sections.values() for name in section)
    return Repeated(weights, again, backward, beside, frozenset(names))


def with_epochs(
    outline: Blueprint, update: Update, of: Repeated, seen: Mapping[str, Mapping[str, Block]] | None = None
) -> Blueprint:
    """Adds the gradient, the optimiser's step and more epochs to a workbook, unless its weights are typed.

    seen: by the number of each step (2.1), which blocks stand there for those of the first of these names: what a minibatch
    sees. Without it, each step sees the whole batch, and their numbers are 1, 2, ….
    """
    if update.by == TYPED:
        return outline
    rows = {each.name: each for each in outline.blocks()}
    made = of.backward(rows)
    first = with_backward(outline, made)
    groups = of.groups(rows, of.weights)
    repeated = [sheet for sheet in first.sheets if sheet.title in of.again]
    blocks = [each for sheet in repeated for each in blocks_on(sheet)]
    named = {each.name: each for each in blocks}
    epochs: list[Epoch] = []
    weights = {name: rows[name] for name in of.weights}
    state, kept = resumed(weights, groups[0].by) if update.kept else (START, ())
    for number in seen or [str(epoch) for epoch in range(1, update.epochs + 1)]:
        called = f"epoch{number}.{{}}".format
        instead = {rows[n]: link(called(n), weights[n]) for n in of.weights}
        instead |= {rows[name]: each for name, each in (seen or {}).get(number, {}).items()}
        copies = again(blocks, instead, called) if epochs else {}
        here = {name: copies.get(each, each) for name, each in named.items()}
        for name in of.marked & here.keys() if copies else ():
            mark(here[name], number)
        slopes = {name: Slope(weights[name], copies.get(made[rows[name]], made[rows[name]])) for name in of.weights}
        stepped = step(update.by, slopes, groups, state, f"update{number}")
        if not epochs:
            stepped = replace(stepped, rows=(*kept, *stepped.rows))
        sheets = tuple(_again(sheet, copies, number) for sheet in repeated) if copies else ()
        epochs.append(Epoch(number, here, sheets, stepped))
        state, weights = stepped.state, dict(stepped.new)
    return (
        _joined(first, epochs, update, groups, of)
        if update.decimals is None
        else _handed(first, epochs, update, groups, of)
    )


def _again(sheet: Sheet, copies: Mapping[Block, Block], number: str) -> Sheet:
    return replace(sheet_again(sheet, copies, f"{sheet.title} {number}", f"epoch {number}: {sheet.lead}"), tab=AGAIN)


def _handed(
    first: Blueprint, epochs: list[Epoch], update: Update, groups: tuple[Group, ...], of: Repeated
) -> Blueprint:
    """Rounds the weights after the last step, as the workbook of the next stage begins with them."""
    decimals = typed(
        DECIMALS, (), "d", "decimals to which weights are rounded that the next stage begins with", decimals=0
    )
    last = epochs[-1]
    made = []
    for name, weight in last.stepped.new.items():
        symbol, told = f"{weight.symbol}_d", f"{weight.symbol}, rounded: handed over"
        each = block(f"update{last.number}.handed.{name}", weight.axes, symbol, told)
        made.append(defined(each, rounded(weight[weight.axes], decimals)))
    stepped = replace(last.stepped, rows=(*last.stepped.rows, *made))
    whole = _joined(first, [*epochs[:-1], replace(last, stepped=stepped)], update, groups, of, (decimals,))
    return replace(
        whole, typed={**whole.typed, decimals: update.decimals}, ranges={**whole.ranges, decimals: of.ranges[DECIMALS]}
    )


def _joined(
    first: Blueprint,
    epochs: list[Epoch],
    update: Update,
    groups: tuple[Group, ...],
    of: Repeated,
    also: tuple[Block, ...] = (),
) -> Blueprint:
    """Puts the sheets of all epochs in their order, and behind them those that set them side by side. also: typed besides rates."""
    kind = typed(BY, (), "by", "the optimiser that the formulas are of", text=True)
    of_rates = list(dict.fromkeys(each for group in groups for each in group.rows))
    last = next(sheet for sheet in first.sheets if sheet.title == of.again[-1])
    beside, over = of.beside(epochs, last)
    sheets: list[Sheet] = []
    for sheet in first.sheets:
        sheets.append(sheet)
        if sheet is last:
            for epoch in epochs:
                sheets += [*epoch.sheets, update_sheet(epoch, [kind, *of_rates, *also] if epoch is epochs[0] else [])]
            sheets += beside
    kept = [each for each in epochs[0].stepped.rows if each.typed]
    given = {kind: update.by, **{each: update.rates[each.name] for each in of_rates if each.typed}}
    given |= {each: update.kept.typed[each.name] for each in kept if update.kept}
    result = "" if first.result is None else first.result.name
    losses = (epoch.rows[result] for epoch in epochs if result in epoch.rows)
    # An update has its gradients; those of the libraries come with the key gradients, which a reopened file has again.
    return replace(
        first,
        sheets=tuple(sheets),
        typed={**first.typed, **given, **over},
        ranges={
            **first.ranges,
            **{each: of.ranges[each.name] for each in (*of_rates, *kept) if each.name in of.ranges},
        },
        facts={**first.facts, "gradients": "of the update", **update.facts},
        needed=(*first.needed, *losses, *epochs[-1].stepped.new.values()),
    )
