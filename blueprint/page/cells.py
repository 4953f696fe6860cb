"""The cells of a workbook, row by row: what is typed, which formula stands there, and the number that it gives."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf

import numpy as np

from blueprint.language import (
    OFF_WORD,
    Array,
    Axis,
    Block,
    Constant,
    Count,
    Definition,
    Members,
    NotationError,
    Position,
    Ref,
    Values,
    places_of,
    walk,
)
from blueprint.page import addresses, blanks, grid
from blueprint.page.layout import Layout
from blueprint.page.outline import Blank

Value = float | str


@dataclass(frozen=True)
class Run:
    """Cells of one row that belong together: their columns, formulas (none: typed or constant) and values.

    blank: they are left to the reader; the value of an empty one is NaN.
    """

    block: Block
    sheet: str
    row: int
    columns: list[int]
    formulas: list[str] | None
    values: list[Value]
    edge: bool
    blank: bool = False


def runs(layout: Layout) -> list[Run]:
    """Returns the cells of every block in reading order; they are spelled once."""
    if layout.runs is None:
        every = (run for block in layout.places for run in runs_of(block, layout))
        left = {cell: number for blank in layout.blueprint.blanks for cell, number in _filled(blank, layout)}
        layout.runs = [part for run in every for part in _cut(run, left)] if left else [*every]
    return layout.runs


def _filled(blank: Blank, layout: Layout) -> Iterator[tuple[blanks.Place, float]]:
    yield from zip(blanks.places_of(blank, layout), blanks.filled(blank, layout), strict=True)


def _cut(run: Run, left: dict[blanks.Place, float]) -> Iterator[Run]:
    """Yields a run without the cells that are blanks, and these as a run of their own; `left`: what stands in them."""
    kept = [i for i, column in enumerate(run.columns) if (run.sheet, run.row, column) not in left]
    columns = [column for i, column in enumerate(run.columns) if i not in kept]
    if not columns:
        yield run
        return
    formulas = run.formulas and [run.formulas[i] for i in kept]
    if kept:
        values = [run.values[i] for i in kept]
        yield replace(run, columns=[run.columns[i] for i in kept], formulas=formulas, values=values)
    values = [left[run.sheet, run.row, column] for column in columns]
    yield replace(run, columns=columns, formulas=None, values=values, blank=True)


def runs_of(block: Block, layout: Layout) -> Iterator[Run]:
    """Yields the cells of one block."""
    if block.typed:
        yield from _typed(block, layout)
    for definition in block.definitions:
        yield from _defined(block, definition, layout)


def _typed(block: Block, layout: Layout) -> Iterator[Run]:
    """Yields a typed block's rows, its edge cells as part of them."""
    values, place = layout.values, layout.places[block]
    rows: dict[int, tuple[list[int], list[Value]]] = {}
    for places in product(*values.spans(block)):
        row, column = place.cell(block, places)
        columns, cells = rows.setdefault(row, ([], []))
        columns.append(column)
        cells.append(plain(values.cell(block, *places)))
    for row, (columns, cells) in rows.items():
        yield Run(block, place.sheet, row, columns, None, cells, edge=False)


def _defined(block: Block, definition: Definition, layout: Layout) -> Iterator[Run]:
    """Yields the rows that one equation fills: a formula is spelled once per row, then filled in along it."""
    place, values, target = layout.places[block], layout.values, Ref(block, definition.target)
    steps = zip(definition.target, (place.steps[axis] for axis in block.axes), strict=True)
    free = [(index.axis, step) for index, step in steps if isinstance(index, Position)]
    down = [axis for axis, (rows, _) in free if rows]
    along = [axis for axis, (rows, _) in free if not rows]
    columns, starts = _columns(target, dict.fromkeys(down, 0), along, layout)
    members = list(product(*(range(values.size(axis)) for axis in along)))
    across = _lies_across(definition, along, layout)
    constant = isinstance(definition.expr, Constant) or (isinstance(definition.expr, Count) and not along)
    for chosen in product(*(range(values.size(axis)) for axis in down)):
        at = dict(zip(down, chosen, strict=True))
        row, _ = place.cell(block, places_of(target, at | dict.fromkeys(along, 0), values))
        formulas = None
        if not constant and across:
            cells = (at | dict(zip(along, member, strict=True)) for member in members)
            formulas = [addresses.template(block, definition, cell, layout).filled(0, grid.GROUPS) for cell in cells]
        elif not constant:
            spelled = addresses.template(block, definition, at, layout)
            formulas = [spelled.filled(column, start) for column, start in zip(columns, starts, strict=True)]
        found = list(map(plain, np.ravel(values.view(target, at)[1]).tolist()))
        if block in values.ended:
            ends = np.ravel(_errors(block, values)[values.where(block, target.at, at).place(at)]).tolist()
            found = [end or value for end, value in zip(ends, found, strict=True)]
        yield Run(block, place.sheet, row, columns, formulas, found, edge=len(free) < len(definition.target))


def _errors(block: Block, values: Values) -> Array:
    """Returns what the cells of a block show that have no number, "" for the others."""
    shown = np.full(values.shape(block), "", dtype=object)
    for places, end in values.ended[block].items():
        shown[tuple(place - span[0] for place, span in zip(places, values.spans(block), strict=True))] = end.error
    return shown


def _lies_across(definition: Definition, along: list[Axis], layout: Layout) -> bool:
    """Tells whether what runs to the right here runs downwards in what is read, so that each cell has a formula of its own."""
    return any(
        isinstance(index, Position)
        and any(index.axis is axis for axis in along)
        and layout.places[node.block].steps[slot][0]
        for node in walk(definition.expr)
        if isinstance(node, Ref)
        for slot, index in zip(node.block.axes, node.at, strict=True)
    )


def _columns(target: Ref, at: Members, along: list[Axis], layout: Layout) -> tuple[list[int], list[int]]:
    """Returns the columns of a row's cells, and for each the start column of its group."""
    block, place, values = target.block, layout.places[target.block], layout.values
    steps = {index.axis: place.steps[slot][1] for slot, index in zip(block.axes, target.at, strict=True)}
    first = place.cell(block, places_of(target, dict(at) | dict.fromkeys(along, 0), values))
    columns, starts = [first[1]], [grid.GROUPS]
    for axis in along:
        along_axis = [steps[axis] * member for member in range(values.size(axis))]
        columns = [column + step for column in columns for step in along_axis]
        starts = [start + step * (axis in place.groups) for start in starts for step in along_axis]
    return columns, starts


def plain(value: Value) -> Value:
    """Returns a value as a cell holds it: what is infinite is a limit that is off; no sheet knows a minus zero."""
    return value if isinstance(value, str) else OFF_WORD if value == inf else float(value) + 0.0


def formula_at(block: Block, places: tuple[int, ...], layout: Layout) -> str:
    """Returns the formula of one cell, or what is typed there."""
    row, column = layout.places[block].cell(block, places)
    for run in runs_of(block, layout):
        if run.row == row and column in run.columns:
            i = run.columns.index(column)
            return run.formulas[i] if run.formulas else str(run.values[i])
    raise NotationError(f"{block.name} has no cell at {places}")
