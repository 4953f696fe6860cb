"""Several epochs on one batch: each step takes the weights that the one before it made, and all its sheets stand once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blueprint.language import Block, again, block, link, rounded, typed
from blueprint.language.gradient import Gradient
from blueprint.page.outline import AGAIN, Blueprint, Sheet, blocks_on
from blueprint.page.outline.again import sheet_again
from blueprint.workbooks.common.definitions.optimiser import START, Slope, step
from blueprint.workbooks.common.definitions.rates import Group, rates
from blueprint.workbooks.common.epochs.beside import Beside, side_by_side
from blueprint.workbooks.common.epochs.sheets import Epoch, mark, update_sheet
from blueprint.workbooks.common.epochs.update import DECIMALS, RANGES, TYPED, Update
from blueprint.workbooks.common.sheets.backward import with_backward

BY = "optimiser.by"
Rows = Mapping[str, Block]
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
    state, weights = START, {name: rows[name] for name in of.weights}
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
        each = block(
            f"update{last.number}.handed.{name}",
            weight.axes,
            f"{weight.symbol}_d",
            f"{weight.symbol}, rounded: handed over",
        )
        each[weight.axes] = rounded(weight[weight.axes], decimals)
        made.append(each)
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
    given = {kind: update.by, **{each: update.rates[each.name] for each in of_rates if each.typed}}
    result = "" if first.result is None else first.result.name
    losses = (epoch.rows[result] for epoch in epochs if result in epoch.rows)
    # An update has its gradients; those of the libraries come with the key gradients, which a reopened file has again.
    return replace(
        first,
        sheets=tuple(sheets),
        typed={**first.typed, **given, **over},
        ranges={**first.ranges, **{each: of.ranges[each.name] for each in of_rates if each.name in of.ranges}},
        facts={**first.facts, "gradients": "of the update", **update.facts},
        needed=(*first.needed, *losses, *epochs[-1].stepped.new.values()),
    )
