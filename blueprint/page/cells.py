"""The cells of a workbook, row by row: what is typed, which formula stands there, and the number that it gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf

import numpy as np

from blueprint.language import (
    OFF_WORD,
    Axis,
    Block,
    Constant,
    Count,
    Definition,
    Members,
    NotationError,
    Position,
    Ref,
    places_of,
)
from blueprint.page import grid
from blueprint.page.addresses import Template, template
from blueprint.page.layout import Echo, Layout
from blueprint.page.place import spans

Value = float | str


@dataclass(frozen=True)
class Run:
    """Cells of one row that belong together: their columns, formulas (none: typed or constant) and values."""

    block: Block
    sheet: str
    row: int
    columns: list[int]
    formulas: list[str] | None
    values: list[Value]
    edge: bool


def runs(layout: Layout) -> list[Run]:
    """Returns the cells of every block in reading order; they are spelled once."""
    if layout.runs is None:
        layout.runs = [run for block in layout.places for run in runs_of(block, layout)]
    return layout.runs


def runs_of(block: Block, layout: Layout) -> Iterator[Run]:
    """Yields the cells of one block."""
    if block.typed:
        yield from _typed(block, layout)
    for definition in block.definitions:
        yield from _defined(block, definition, layout)


def echo_formula(echo: Echo, layout: Layout) -> str:
    """Returns the formula of a cell that shows another one."""
    place = layout.places[echo.block]
    row, column = place.cell(echo.block, echo.places)
    sheet = "" if place.sheet == echo.sheet else grid.quoted(place.sheet) + "!"
    return f"={sheet}{grid.letters(column)}{row + 1}"


def _typed(block: Block, layout: Layout) -> Iterator[Run]:
    """Yields a typed block's rows, its edge cells as part of them."""
    values, place = layout.values, layout.places[block]
    rows: dict[int, tuple[list[int], list[Value]]] = {}
    for places in product(*spans(block, values)):
        row, column = place.cell(block, places)
        columns, cells = rows.setdefault(row, ([], []))
        columns.append(column)
        cells.append(_plain(values.cell(block, *places)))
    for row, (columns, cells) in rows.items():
        yield Run(block, place.sheet, row, columns, None, cells, edge=False)


def _defined(block: Block, definition: Definition, layout: Layout) -> Iterator[Run]:
    """Yields the rows that one equation fills: a formula is spelled once per row, then filled in along it."""
    place, values = layout.places[block], layout.values
    steps = dict(zip(definition.target, (place.steps[axis] for axis in block.axes), strict=True))
    free = [index.axis for index in definition.target if isinstance(index, Position)]
    down = [index.axis for index in definition.target if isinstance(index, Position) and steps[index][0]]
    along = [axis for axis in free if axis not in down]
    edge = len(free) < len(definition.target)
    columns, starts = _columns(block, definition, dict.fromkeys(down, 0), along, layout)
    constant = isinstance(definition.expr, Constant) or (isinstance(definition.expr, Count) and not along)
    for chosen in product(*(range(values.size(axis)) for axis in down)):
        at = dict(zip(down, chosen, strict=True))
        target = Ref(block, definition.target)
        row, _ = place.cell(block, places_of(target, at | dict.fromkeys(along, 0), values))
        found = np.ravel(values.view(target, at)[1])
        # + 0.0 makes a zero of a minus zero, which no sheet knows.
        cells = found.tolist() if block.text else (found + 0.0).tolist()
        cells = [_plain(value) for value in cells] if block.limit else cells
        formulas = None if constant else _fill(template(block, definition, at, layout), columns, starts)
        yield Run(block, place.sheet, row, columns, formulas, cells, edge)


def _columns(
    block: Block, definition: Definition, at: Members, along: list[Axis], layout: Layout
) -> tuple[list[int], list[int]]:
    """Returns the columns of a row's cells, and for each the start column of its group."""
    place, values = layout.places[block], layout.values
    steps = {index.axis: place.steps[slot][1] for slot, index in zip(block.axes, definition.target, strict=True)}
    first = places_of(Ref(block, definition.target), dict(at) | dict.fromkeys(along, 0), values)
    columns, starts = [place.cell(block, first)[1]], [grid.GROUPS]
    for axis in along:
        members = range(values.size(axis))
        by_group = steps[axis] if axis in place.groups else 0
        columns = [column + steps[axis] * member for column in columns for member in members]
        starts = [start + by_group * member for start in starts for member in members]
    return columns, starts


def _fill(spelled: Template, columns: list[int], starts: list[int]) -> list[str]:
    return [spelled.filled(column, start) for column, start in zip(columns, starts, strict=True)]


def _plain(value: Value) -> Value:
    """Returns a value as a cell holds it: what is infinite is a limit that is off."""
    return value if isinstance(value, str) else OFF_WORD if value == inf else float(value)


def address(block: Block, places: tuple[int, ...], layout: Layout) -> str:
    """Returns the sheet and address of one cell."""
    place = layout.places[block]
    row, column = place.cell(block, places)
    return f"{grid.quoted(place.sheet)}!{grid.letters(column)}{row + 1}"


def formula_at(block: Block, places: tuple[int, ...], layout: Layout) -> str:
    """Returns the formula of one cell, or what is typed there."""
    row, column = layout.places[block].cell(block, places)
    for run in runs_of(block, layout):
        if run.row == row and column in run.columns:
            i = run.columns.index(column)
            return run.formulas[i] if run.formulas else str(run.values[i])
    raise NotationError(f"{block.name} has no cell at {places}")
