"""A saved workbook becomes a book again, or numbers again: the definitions of today, what is typed in the file."""

from os import PathLike
from pathlib import Path
from typing import NamedTuple

from blueprint.inputs import Numbers, NumbersError
from blueprint.inputs.load import recognised
from blueprint.language import NotationError
from blueprint.page.filled_in import FilledIn
from blueprint.page.read import Opened, ReadError
from blueprint.reopening.book import SavedBook
from blueprint.reopening.saved import known_as, numbers_of
from blueprint.reopening.typed import suspect, typed_in
from blueprint.reopening.unheld import lost, shown, typed_of, unheld
from blueprint.reopening.without_kind import OwnBook
from blueprint.reopening.worksheet import cut_of
from blueprint.workbooks.registry import blueprint_of

__all__ = [
    "Back",
    "OwnBook",
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
