"""Copies of one workbook that differ in what is typed: their formulas are the same, and are spelled once, for the first.

To spell the formulas, and those that watch them, takes half of the time in which a workbook is made; a class gets hundreds of
copies. Each is written like any other workbook, by `write`, and is the same file as if it had spelled its own.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from blueprint.language import Block
from blueprint.page import formulas
from blueprint.page.cells import Run, plain, runs
from blueprint.page.layout import Layout

Place = tuple[str, int, int]
"""Sheet, row and column of a cell, counted from 0."""


def take_formulas(layout: Layout, first: Layout) -> bool:
    """Gives a copy the formulas of the first, where they would be the same, and says whether they are.

    Where they are not (other blocks, places, blanks or choices; a limit that became off; a number that ended or was put
    into a cell) the copy spells its own.
    """
    special = any(each.values.ended or each.values.held for each in (layout, first))
    if special or _structure(layout) != _structure(first):
        return False
    formulas.watch_of(first)  # which finds what hangs on blanks, too
    copied = [*_runs(layout, first)]
    if _words(copied) != _words(runs(first)):
        return False
    layout.runs, layout.watch, layout.hangs = copied, _watch(layout, first, copied), first.hangs
    return True


def _structure(layout: Layout) -> list[object]:
    """Returns what formulas hang on: blocks and where they stand, blanks, and the formulas of no block."""
    places = [
        (id(block), place.sheet, place.row, place.column, *map(place.steps.get, block.axes))
        for block, place in layout.places.items()
    ]
    asked = [(id(blank.block), blank.cells) for blank in layout.blueprint.blanks]
    return [places, asked, [(live.at, live.formula) for live in layout.lives], layout.end]


def _words(every: list[Run]) -> list[list[bool]]:
    """Tells which cells hold a word, as a limit does that is off: what watches them treats it as one."""
    return [[isinstance(value, str) for value in run.values] for run in every]


def _runs(layout: Layout, first: Layout) -> Iterator[Run]:
    """Yields the cells of a copy: those of the first with the copy's numbers. What is left to the reader is as empty as there."""
    orders: dict[Block, dict[Place, int]] = {}
    for run in runs(first):
        if run.block not in orders:
            orders[run.block] = _order(run.block, first)
        order, numbers = orders[run.block], layout.values.arrays[run.block].ravel()
        values = [plain(numbers[order[run.sheet, run.row, column]]) for column in run.columns]
        yield run if run.blank else replace(run, values=values)


def _order(block: Block, layout: Layout) -> dict[Place, int]:
    """Returns which of the numbers of a block stands in a cell."""
    place = layout.places[block]
    every = product(*layout.values.spans(block))
    return {(place.sheet, *place.cell(block, places)): i for i, places in enumerate(every)}


def _watch(layout: Layout, first: Layout, copied: list[Run]) -> formulas.Watch:
    """Returns the watch of the first with the sums, and the choices, of the copy's numbers."""
    known = formulas.watch_of(first)
    values = {live.at: live.value for live in layout.lives}
    for run in copied:
        values |= {(run.sheet, run.row, column): value for column, value in zip(run.columns, run.values, strict=True)}
    sums = (formulas.delivered_sum(values[live.at] for live in some) for some in known.sums)
    fixed = [*formulas.fixed(layout, 0)]
    more = known.labels[len(fixed) :]
    return known._replace(
        labels=[*fixed, *(replace(each, text=next(sums)) if each.style == "sum" else each for each in more)]
    )
