"""What the witnesses build books with: the blueprint as it is, or one with a mistake in it."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from blueprint.book import Book
from blueprint.inputs import Numbers
from blueprint.workbooks import blueprint_of
from tests.page.workshop import row

Array = npt.NDArray[np.float64]
Build = Callable[[Numbers], Book]


def plain(numbers: Numbers) -> Book:
    """Returns the book of some numbers, as a user would make it."""
    return Book(blueprint_of(numbers))


def number(book: Book, name: str) -> float:
    """Returns the number of a block without axes."""
    return float(row(book, name))


def mask_of(book: Book) -> npt.NDArray[np.bool_]:
    """Returns where the response stands."""
    return np.equal(row(book, "mask"), 1)


def words_of(book: Book) -> list[list[int]]:
    """Returns the ids of the response words, episode by episode."""
    ids, mask = row(book, "rollout.written"), mask_of(book)
    return [ids[episode, mask[episode]].astype(int).tolist() for episode in range(len(ids))]
