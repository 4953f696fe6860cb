"""Blanks on a page: where each stands, its defined name, and how formulas count what was filled in."""

from collections.abc import Iterable, Iterator
from math import floor

import numpy as np

from blueprint.language import require
from blueprint.page import grid
from blueprint.page.layout import Layout
from blueprint.page.outline import Blank, Blueprint

Place = tuple[str, int, int]
"""A cell: its sheet, row and column, counted from 0."""
Rectangle = tuple[int, int, int, int]
"""First row and column, last row and column, counted from 0."""

SCALE, MODULUS = 10_000, 97
"""Of check digits: MOD(ROUND(x·10000, 0), 97), of a blank with several cells of their sum."""
MOST_ARGUMENTS = 200
"""Of one COUNT; a function takes 255."""


def name_of(number: int) -> str:
    """Returns the defined name of a blank, counted from 1: `blank_01`."""
    return f"blank_{number:02}"


def refuse_wrong(blueprint: Blueprint) -> None:
    """Raises NotationError for a blank that is no computed number, or that has no cells, and for a cell in two blanks."""
    known = set(blueprint.blocks())
    seen: dict[tuple[str, tuple[int, ...]], Blank] = {}
    for blank in blueprint.blanks:
        block = blank.block
        require(block in known, f"the blank {blank.title} is of {block.name}, which stands on no sheet")
        require(
            not (block.typed or block.text or block.link or block.limit),
            f"the blank {blank.title}: {block.name} is no computed number of its own, only such a cell can be a blank",
        )
        require(bool(blank.cells) and blank.weight > 0, f"the blank {blank.title} has no cells, or counts nothing")
        for places in blank.cells:
            first = seen.setdefault((block.name, places), blank)
            require(first is blank, f"the blanks {first.title} and {blank.title} have a cell of {block.name} in common")


def places_of(blank: Blank, layout: Layout) -> list[Place]:
    """Returns the cells of a blank, in its order."""
    place = layout.places[blank.block]
    return [(place.sheet, *place.cell(blank.block, places)) for places in blank.cells]


def cells_of(layout: Layout) -> dict[Place, int]:
    """Returns the number of the blank, counted from 1, of every cell that belongs to one."""
    found = enumerate(layout.blueprint.blanks, 1)
    return {cell: number for number, blank in found for cell in places_of(blank, layout)}


def filled(blank: Blank, layout: Layout) -> list[float]:
    """Returns the number that stands in each cell of a blank, NaN in an empty one."""
    if blank.block not in layout.values.held:
        return [np.nan] * len(blank.cells)
    held, spans = layout.values.held[blank.block], layout.values.spans(blank.block)
    return [
        float(held[tuple(place - span[0] for place, span in zip(at, spans, strict=True))]) for at in blank.cells
    ]  # fmt: skip


def areas_of(blank: Blank, layout: Layout) -> list[str]:
    """Returns the ranges of exactly the blank's cells, each with its sheet."""
    sheet = grid.quoted(layout.places[blank.block].sheet)
    return [f"{sheet}!{grid.area(*corners, fixed=True)}" for corners in corners_of(blank, layout)]


def corners_of(blank: Blank, layout: Layout) -> list[Rectangle]:
    """Returns the rectangles of which exactly the blank's cells consist."""
    return rectangles((row, column) for _, row, column in places_of(blank, layout))


def rectangles(cells: Iterable[tuple[int, int]]) -> list[Rectangle]:
    """Covers cells with rectangles that overlap nowhere: runs of a row, and equal runs below each other as one."""
    open_runs: dict[tuple[int, int], list[int]] = {}
    found: list[list[int]] = []
    for row, left, right in _row_runs(sorted(set(cells))):
        above = open_runs.get((left, right))
        if above is not None and above[2] == row - 1:
            above[2] = row
        else:
            open_runs[left, right] = [row, left, row, right]
            found.append(open_runs[left, right])
    return [(top, left, bottom, right) for top, left, bottom, right in found]


def _row_runs(cells: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yields row, first and last column of the neighbours in a row, of sorted cells."""
    begin = 0
    for i, (row, column) in enumerate(cells):
        if i + 1 == len(cells) or cells[i + 1] != (row, column + 1):
            yield row, cells[begin][1], column
            begin = i + 1


def counted(ranges: list[str]) -> str:
    """Spells how many numbers stand in ranges, or in what names stand for."""
    parts = (ranges[i : i + MOST_ARGUMENTS] for i in range(0, len(ranges), MOST_ARGUMENTS))
    return "+".join(f"COUNT({','.join(part)})" for part in parts)


def summed(ranges: list[str]) -> str:
    """Spells the sum of the numbers in ranges."""
    parts = (ranges[i : i + MOST_ARGUMENTS] for i in range(0, len(ranges), MOST_ARGUMENTS))
    return "+".join(f"SUM({','.join(part)})" for part in parts)


def check_of(numbers: Iterable[float]) -> int:
    """Returns the check digits of a blank, 0 … 96, as the formula on the sheet Blanks comes to."""
    scaled = sum(numbers) * SCALE
    rounded = floor(abs(scaled) + 1 / 2)  # as ROUND does: halves away from zero
    return int(rounded if scaled >= 0 else -rounded) % MODULUS
