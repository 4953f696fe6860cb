"""Cells in which nothing was to be typed: whether they hold what they should, given what stands in the blanks."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import isfinite
from typing import Any, NamedTuple

from blueprint.classes.package import Package, Shown
from blueprint.language import OFF_WORD, Block, Cell, Constant, Values
from blueprint.page import grid
from blueprint.page.layout import Layout
from blueprint.page.names import defined_name

SAME = 1e-9
"""How far apart two programs compute one number, as a part of it, or of 1: as for the proof of a workbook."""


class Lying(NamedTuple):
    """How a block lies in a delivered file: its defined name, rows and columns of its range, and its cells, as offsets.

    places: the same cells by 0-based places in the block, −1 and the size at its edges.
    """

    block: str
    name: str
    rows: int
    columns: int
    offsets: tuple[tuple[int, int], ...]
    places: tuple[tuple[int, ...], ...]


def lying_in(layout: Layout) -> list[Lying]:
    """Returns how every block of a layout lies."""
    return [_lying(block, layout) for block in layout.places]


def _lying(block: Block, layout: Layout) -> Lying:
    top, left, bottom, right = layout.places[block].corners(block, layout.values)
    places = tuple(product(*layout.values.spans(block)))
    cells = [layout.places[block].cell(block, each) for each in places]
    offsets = tuple((row - top, column - left) for row, column in cells)
    return Lying(block.name, defined_name(block.name), bottom - top + 1, right - left + 1, offsets, places)


def locked_in(package: Package, blocks: Iterable[Lying]) -> dict[str, list[Shown]]:
    """Returns what the cells of blocks show, in the order of `places`; a block that is not whole any more is left out."""
    return dict(_locked(package, blocks))


def _locked(package: Package, blocks: Iterable[Lying]) -> Iterator[tuple[str, list[Shown]]]:
    for lying in blocks:
        area = next(iter(package.areas(lying.name) or ()), None)
        if area is not None and (area.rows, area.columns) == (lying.rows, lying.columns):
            where = [grid.address(area.row + row, area.column + column) for row, column in lying.offsets]
            yield lying.block, [package.shown(area.sheet, address) for address in where]


def edited(
    locked: Mapping[str, list[Shown]],
    blocks: Iterable[Lying],
    values: Values,
    blanks: frozenset[Cell],
    typed_alone: bool,
) -> list[str]:
    """Names the blocks in which a cell holds something else than it should, or a number where its formula stood.

    values: everything, with the student's numbers in the blanks. typed_alone: only what is typed is looked at, as the sheet
    itself could not compute with what stands in the blanks.
    """
    known = {block.name: block for block in values.arrays}
    return [
        lying.block
        for lying in blocks
        if lying.block in locked
        and (known[lying.block].typed or not typed_alone)
        and _is_edited(known[lying.block], lying, locked[lying.block], values, blanks)
    ]


def _is_edited(block: Block, lying: Lying, cells: list[Shown], values: Values, blanks: frozenset[Cell]) -> bool:
    return any(
        _differs(block, shown, values.cell(block, *places))
        for shown, places in zip(cells, lying.places, strict=True)
        if Cell(block, places) not in blanks
    )


def _differs(block: Block, shown: Shown, expected: Any) -> bool:
    """Tells whether a cell was edited. A formula that was saved without its value says nothing."""
    if shown.value is None:
        return shown.formula is None and _is_something(expected)
    if isinstance(expected, str):
        return str(shown.value).casefold() != (OFF_WORD if expected == OFF_WORD else expected.casefold())
    if not isfinite(expected):
        return block.typed  # something stands where nothing was typed; a sheet has an error where we have no number
    if not isinstance(shown.value, float):
        return True
    return abs(shown.value - expected) > SAME * max(1.0, abs(expected)) or (
        shown.formula is None and _has_formula(block)
    )


def _has_formula(block: Block) -> bool:
    """Tells whether every cell of a block holds a formula: a plain number or word is written as it is."""
    return not block.typed and not any(isinstance(each.expr, Constant) for each in block.definitions)


def _is_something(expected: Any) -> bool:
    return expected != "" if isinstance(expected, str) else isfinite(expected)
