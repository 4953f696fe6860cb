"""A saved workbook becomes a book again, or numbers again: the definitions of today, what is typed in the file; and what such a
file holds that its numbers do not: typed cells besides, overwritten formulas, sheets that somebody added.
"""

from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blueprint.inputs import Numbers, NumbersError
from blueprint.inputs.load import recognised
from blueprint.language import Array, NotationError, Values
from blueprint.page import grid
from blueprint.page.outline import Blueprint
from blueprint.page.read import FilledIn, Opened, ReadError, Spot
from blueprint.quoting import quoted
from blueprint.reopening.book import OwnBook, SavedBook, cut_of
from blueprint.reopening.saved import known_as, numbers_of, suspect, typed_in
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
    ours = {*book.layout.body, *grid.SHEETS}
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


__all__ = [
    "Back",
    "OwnBook",
    "ReadError",
    "SavedBook",
    "back_from",
    "back_of",
    "book_in",
    "book_of",
    "lost",
    "numbers_in",
    "rebuilt",
    "shown",
    "typed_of",
]


class Back(NamedTuple):
    """What came back from a workbook.

    numbers:  everything typed in it that numbers hold.
    unheld:   a line for each typed cell that they do not hold: tolerances, an edited table of presets, ranges of pictures.
    remarks:  a line for each cell that is text or a formula, and counted as the number or word that it means.
    """

    numbers: Numbers
    unheld: list[str]
    remarks: list[str]


def book_of(path: str | PathLike[str], reveal: bool = False) -> SavedBook:
    """Makes a book from a saved workbook, edited or not: the blueprint of its kind and sizes, with what is typed in it.

    A file of a blueprint that is of no kind becomes a book of what it shows. Raises ReadError, in a sentence, for a file
    that is no workbook of ours, whose blocks are not those of this version, or in which something is typed that cannot be
    computed with.

    reveal: of a worksheet the answers, as if it had no blanks; else what is empty, and what waits for it, is blank.
    """
    return book_in(Opened(Path(path)), reveal)


def book_in(file: Opened, reveal: bool = False) -> SavedBook:
    """Makes a book of a file that is open, as `book_of` does."""
    try:
        if known_as(file) is None:
            return OwnBook(file)
        filled = FilledIn(file)
        blueprint = cut_of(file, filled).of(blueprint_of(numbers_of(file)))
        typed = typed_in(blueprint, file)
    except (NumbersError, NotationError) as error:
        raise ReadError(f"{file.path}: {error}") from error
    try:
        return SavedBook(blueprint.with_typed(typed), file, filled, held=not reveal, hidden=not reveal)
    except NotationError as error:
        reason = suspect(blueprint, typed, file)
        raise ReadError(f"{reason}; {error}" if reason else f"{file.path}: {error}") from error


def rebuilt(book: SavedBook) -> SavedBook:
    """Returns the book that a build of a file's numbers writes, with what is typed in the file; of a worksheet with its blanks.

    It is the file's own book where no numbers hold what is typed, or a build of them has other sizes. Raises WorksheetError
    for a worksheet that cannot be made of what is typed in it.
    """
    try:
        blueprint = blueprint_of(_numbers_from(book))
        cut = cut_of(book.file, book.filled)
        typed = {name: array for name, array in typed_of(blueprint).items() if name not in book.file.places}
        typed |= typed_in(cut.of(blueprint), book.file)
        return SavedBook(cut.again(blueprint.with_typed(typed)), book.file, book.filled, hidden=False)
    except (ReadError, NumbersError, NotationError):
        if book.filled.blanks:
            raise
        return book


def numbers_in(path: str | PathLike[str]) -> Numbers:
    """Returns the numbers that are typed in a saved workbook, edited or not, of any kind. Raises ReadError as `book_of`."""
    return back_from(path).numbers


def back_from(path: str | PathLike[str]) -> Back:
    """Returns the numbers that are typed in a saved workbook, and what is typed there besides. Raises ReadError as `book_of`.

    A setting is given if something is typed under "yours". Parts that a workbook does not say (its seed and the name of
    its numbers, in a copy without document properties) are 1 and the file's own name.
    """
    return back_of(book_of(path))


def back_of(book: SavedBook) -> Back:
    """Returns what `back_from` returns, for a file that was opened before."""
    try:
        numbers = _numbers_from(book)
        return Back(numbers, unheld(book, numbers), book.remarks())
    except (NumbersError, NotationError) as error:
        raise ReadError(f"{book.file.path}: {error}") from error


def _numbers_from(book: SavedBook) -> Numbers:
    """Returns everything that is typed in a file and that numbers can hold; `unheld` says what they cannot."""
    return recognised(numbers_of(book.file, {block.name: array for block, array in book.values.arrays.items()}))
