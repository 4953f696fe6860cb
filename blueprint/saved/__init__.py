"""A saved workbook becomes a book again: the definitions of today, the numbers that are typed in the file."""

from pathlib import Path

from blueprint.language import NotationError
from blueprint.numbers import NumbersError
from blueprint.page.opened import Opened
from blueprint.page.read import ReadError
from blueprint.ppo import rlhf_ppo
from blueprint.saved.book import SavedBook
from blueprint.saved.sized import numbers_of
from blueprint.saved.typed import suspect, typed_in

__all__ = ["SavedBook", "book_of"]


def book_of(path: Path) -> SavedBook:
    """Makes a book from a saved workbook, edited or not: the blueprint of its level and sizes, with what is typed in it.

    Raises ReadError, in a sentence, for a file that is no workbook of ours, whose blocks are not those of this version,
    or in which something is typed that cannot be computed with.
    """
    file = Opened(path)
    try:
        blueprint = rlhf_ppo(numbers_of(file))
        typed = typed_in(blueprint, file)
    except NumbersError as error:
        raise ReadError(f"{path}: {error}") from error
    try:
        return SavedBook(blueprint.with_typed(typed), file)
    except NotationError as error:
        reason = suspect(blueprint, typed, file)
        raise ReadError(f"{reason}; {error}" if reason else f"{path}: {error}") from error
