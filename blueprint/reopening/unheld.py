"""What a saved workbook holds that its numbers do not: typed cells besides, overwritten formulas, sheets that somebody added."""

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Array, Values
from blueprint.page import names
from blueprint.page.filled_in import Spot
from blueprint.page.outline import Blueprint
from blueprint.quoting import quoted
from blueprint.reopening.book import SavedBook
from blueprint.workbooks.registry import blueprint_of


def unheld(book: SavedBook, numbers: Numbers) -> list[str]:
    """Lists the typed cells of a file that a workbook built from its numbers would not have, one line each.

    `Checks!F9 (check.sum.tolerance): 0.5, and 1e-09 in a workbook built from the numbers`
    """
    fresh = typed_of(blueprint_of(numbers))
    lines = [*witnessed(book), *overwritten(book)]
    if blanks := len(book.filled.blanks):
        lines.append(f"{blanks} blanks, and what is filled into them: only a worksheet has such")
    for name, array in typed_of(book.blueprint).items():
        cells = dict(np.ndenumerate(fresh[name])) if name in fresh else {}
        for at, value in np.ndenumerate(array):
            if not same(value, cells.get(at, "")):
                both = f"{shown(value)}, and {shown(cells[at]) if at in cells else 'no such cell'}"
                lines.append(f"{book.file.address(name, at)} ({name}): {both} in a workbook built from the numbers")
    return lines


def lost(book: SavedBook) -> list[str]:
    """Lists what a fresh workbook of a saved book will not have: an outside witness's numbers, sheets that somebody added."""
    ours = {*book.layout.body, *names.SHEETS}
    held = {found.sheet for found in book.file.places.values()}.union(ours)
    added = [name for name in book.sheets if name not in held] if len(book.sheets) > len(ours) else []
    return [
        *witnessed(book),
        *overwritten(book),
        *(f"the sheet {name}: a build writes none of this name" for name in added),
    ]


def overwritten(book: SavedBook) -> list[str]:
    """Lists the computed cells in which something else is typed than their formula came to, one line each."""
    lines = []
    for name in (name for name, found in book.file.places.items() if found.kind != "typed" and name in book.blocks):
        array, found = book.values.arrays[book.blocks[name]], book.file.places[name]
        for at, row, column in found.cells():
            value = book.file.value(found.sheet, row, column)
            # Some cells hold a number in every build: a boundary value, a size.
            if (
                Spot(name, at) not in book.filled.cells
                and value not in (None, array[at])
                and book.file.formula(found.sheet, row, column) is None
            ):
                there = quoted(value) if isinstance(value, str) else repr(value)
                lines.append(f"{book.file.address(name, at)} ({name}): {there} stands where its formula was")
    return lines


def witnessed(book: SavedBook) -> list[str]:
    """Says, in at most one line, that a file has typed blocks which no numbers have: those of an outside witness."""
    strange = [name for name, found in book.file.places.items() if found.kind == "typed" and name not in book.blocks]
    if not strange:
        return []
    first = book.file.address(strange[0], (0,) * len(book.file.places[strange[0]].shape))
    more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
    return [f"{first} ({strange[0]}){more}: only this file has them; `build --witness` types such numbers of torch"]


def typed_of(blueprint: Blueprint) -> dict[str, Array]:
    """Returns what is typed into a blueprint's workbook, by the names of its blocks, edges included."""
    values = Values(blueprint.sizes)
    for block in blueprint.blocks():
        if block.typed:
            values.fill(block, blueprint.typed)
    return {block.name: array for block, array in values.arrays.items()}


def same(one: float | str, other: float | str) -> bool:
    """Says whether two cells are the same: blank is blank, and words are the same in small letters and capitals."""
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold() == other.casefold()
    return bool(one == other) or (_blank(one) and _blank(other))


def shown(value: float | str) -> str:
    """Returns a cell's value in words and digits: `blank`, `'very'`, `0.25`."""
    if _blank(value):
        return "blank"
    return quoted(value) if isinstance(value, str) else f"{value:.15g}"


def _blank(value: float | str) -> bool:
    return value == "" or value != value
