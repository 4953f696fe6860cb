"""Cells in which nothing was to be typed: whether they hold what they should, given what stands in the blanks."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import isfinite
from typing import Any, NamedTuple

from blueprint.classes.open_document import OpenDocument
from blueprint.classes.package import Area, Package, Shown
from blueprint.language import Block, Cell, Constant, Count, Values
from blueprint.page import grid
from blueprint.page.layout import Layout
from blueprint.page.names import defined_name
from blueprint.page.parse_cell import is_off

SAME = 1e-9
"""How far apart two programs compute one number, as a part of it, or of 1: as for the proof of a workbook."""


class Lying(NamedTuple):
    """How a block lies in a delivered file: its defined name, the range of that, and all its cells, in the array's order.

    cells: rows and columns, counted from the range's first cell. addresses: of the same, where nothing was moved.
    asked: by the order of the array, which of them are blanks.
    """

    block: Block
    name: str
    area: Area
    cells: tuple[tuple[int, int], ...]
    addresses: tuple[str, ...]
    asked: frozenset[int]


def lying_in(layout: Layout, asked: frozenset[Cell]) -> list[Lying]:
    """Returns how every block of a layout lies; asked: the cells that are blanks."""
    return [_lying(block, layout, asked) for block in layout.places]


def _lying(block: Block, layout: Layout, asked: frozenset[Cell]) -> Lying:
    place = layout.places[block]
    top, left, bottom, right = place.corners(block, layout.values)
    places = tuple(product(*layout.values.spans(block)))
    cells = [place.cell(block, each) for each in places]
    return Lying(
        block,
        defined_name(block.name),
        Area(place.sheet, top, left, bottom - top + 1, right - left + 1),
        tuple((row - top, column - left) for row, column in cells),
        tuple(grid.address(*cell) for cell in cells),
        frozenset(i for i, each in enumerate(places) if Cell(block, each) in asked),
    )


def locked_in(package: Package | OpenDocument, blocks: Iterable[Lying]) -> dict[str, list[Shown]]:
    """Returns what the cells of blocks show, in the array's order; a block that is not whole any more is left out."""
    return dict(_locked(package, blocks))


def _locked(package: Package | OpenDocument, blocks: Iterable[Lying]) -> Iterator[tuple[str, list[Shown]]]:
    for lying in blocks:
        area = next(iter(package.areas(lying.name) or ()), None)
        if area is not None and (area.rows, area.columns) == (lying.area.rows, lying.area.columns):
            unmoved = (area.row, area.column) == (lying.area.row, lying.area.column)
            where = (
                lying.addresses if unmoved else [grid.address(area.row + r, area.column + c) for r, c in lying.cells]
            )
            yield lying.block.name, package.all_shown(area.sheet, where)


def edited(locked: Mapping[str, list[Shown]], blocks: Iterable[Lying], values: Values, typed_alone: bool) -> list[str]:
    """Names the blocks in which a cell holds something else than it should, or a number where its formula stood.

    values: everything, with the student's numbers in the blanks. typed_alone: only what is typed is looked at, as the sheet
    itself could not compute with what stands in the blanks.
    """
    return [
        lying.block.name
        for lying in blocks
        if lying.block.name in locked
        and (lying.block.typed or not typed_alone)
        and _is_edited(lying, locked[lying.block.name], values.arrays[lying.block].ravel().tolist())
    ]


def _is_edited(lying: Lying, cells: list[Shown], expected: list[Any]) -> bool:
    return any(
        _differs(lying.block, shown, number)
        for i, (shown, number) in enumerate(zip(cells, expected, strict=True))
        if i not in lying.asked
    )


def _differs(block: Block, shown: Shown, expected: Any) -> bool:
    """Tells whether a cell was edited. A formula that was saved without its value says nothing."""
    if shown.value is None:
        return shown.formula is None and _is_something(expected)
    if isinstance(expected, str):
        return str(shown.value).casefold() != expected.casefold()
    if not isfinite(expected):  # something stands where nothing was typed; a sheet has an error where we have no number
        return block.typed and not (block.limit and is_off(shown.value))
    if not isinstance(shown.value, float):
        return True
    return abs(shown.value - expected) > SAME * max(1.0, abs(expected)) or (
        shown.formula is None and _has_formula(block)
    )


def _has_formula(block: Block) -> bool:
    """Tells whether every cell of a block holds a formula: a plain number or word is written as it is."""
    return not block.typed and not any(isinstance(each.expr, Constant | Count) for each in block.definitions)


def _is_something(expected: Any) -> bool:
    return expected != "" if isinstance(expected, str) else isfinite(expected)
