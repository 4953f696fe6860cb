"""What the formulas of a book refer to, read from their texts."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache

from blueprint import Book
from blueprint.explaining import Explanation
from blueprint.language import Block
from blueprint.page import grid
from blueprint.page.cells import runs
from blueprint.page.grid import defined_name

# The formulas of the workbook are spelled by another part of the program: what they refer to must be what is told.
REFERENCE = re.compile(
    r"""(?:(?P<sheet>'(?:[^']|'')+'|\w+)!)?\$?(?P<left>[A-Z]{1,3})\$?(?P<top>\d+)"""
    r"""(?::\$?(?P<right>[A-Z]{1,3})\$?(?P<bottom>\d+))?(?![\w(])|(?P<name>[a-zA-Z_]\w*)(?![\w(!'])"""
)
PICKS = ("INDEX", "CHOOSE", "SUM", "MAX(", "MATCH", '="off",')
"""Functions to which a formula gives more cells than the number comes from."""

Place = tuple[str, str]


@cache
def links(of: Book) -> set[Place]:
    """Returns the cells that only repeat another one."""
    listed = (run for run in runs(of.layout) if run.block.link)
    return {(run.sheet, f"{grid.column_letters(column)}{run.row + 1}") for run in listed for column in run.columns}


@cache
def formulas(of: Book) -> dict[Place, str]:
    """Returns the formula of every cell of a block, "" for a typed one, by sheet and address."""
    found = {}
    for run in runs(of.layout):
        for i, column in enumerate(run.columns):
            address = f"{grid.column_letters(column)}{run.row + 1}"
            found[run.sheet, address] = run.formulas[i] if run.formulas else ""
    return found


def precedents(of: Book, place: Place) -> Iterator[Place]:
    """Yields the cells of blocks to which a formula refers, those that only repeat another cell followed."""
    for cell in _referred(of, place):
        while cell in links(of):
            (cell,) = _referred(of, cell)
        yield cell


def _referred(of: Book, place: Place) -> list[Place]:
    formula = re.sub(r'"[^"]*"', "", formulas(of)[place])
    found = []
    for match in REFERENCE.finditer(formula):
        if match["name"]:
            if match["name"] in _named(of):
                found.append(_stands(of, match["name"]))
            continue
        sheet = (match["sheet"] or place[0]).strip("'")
        left, right = _column(match["left"]), _column(match["right"] or match["left"])
        rows = range(int(match["top"]), int(match["bottom"] or match["top"]) + 1)
        cells = [(sheet, f"{grid.column_letters(c)}{row}") for row in rows for c in range(left, right + 1)]
        found += [cell for cell in cells if cell in formulas(of)]
    return found


@cache
def _named(of: Book) -> dict[str, Block]:
    """Returns the single numbers by their defined names."""
    return {defined_name(each.name): each for each in of.blocks.values() if not each.axes}


@cache
def _stands(of: Book, name: str) -> Place:
    """Returns where a single number stands."""
    return split_address(of.show(_named(of)[name]).cell)


@cache
def _column(letters: str) -> int:
    return next(i for i in range(20_000) if grid.column_letters(i) == letters)


def split_address(cell: str) -> Place:
    """Returns sheet and address of a cell."""
    sheet, _, address = cell.rpartition("!")
    return sheet.strip("'"), address


def cells_of(of: Book, seed: int, most: int) -> Iterator[Explanation]:
    """Yields explanations, one step deep, of a few cells of every block, links left out."""
    pick = random.Random(seed)
    for each in of.blocks.values():
        spot = of.spots[each.name]
        listed = list(spot.places())
        for places in pick.sample(listed, min(most, len(listed))):
            if not each.link:
                members = {axis.letter: place + axis.start for axis, place in zip(each.axes, places, strict=True)}
                yield of.explain(each, depth=1, **members)
