"""How the results of a page are held against a book: from what is typed in it, and nothing that it computed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from blueprint.book import Book
from blueprint.witness.raw import Named, Page, Raw

TOLERANCE = 1e-12
"""Times 1 + the largest number of a block."""


def typed(book: Book) -> dict[str, npt.NDArray[np.generic]]:
    """Returns the cells of a book of which those that are computed are no numbers: a page must not read them."""
    return {
        block.name: array if block.typed or array.dtype == object else np.full_like(array, np.nan)
        for block, array in ((each, book.values.arrays[each]) for each in book.blocks.values())
    }


def held_against(
    book: Book, page: Callable[[Raw], Named], counted: Mapping[str, str] = MappingProxyType({})
) -> dict[str, float]:
    """Returns how far each result is from the book, relative to 1 + the book's largest number.

    counted: by result the block that is 1 where it counts; elsewhere it is not compared. All others are, in every cell.
    """
    found, shown = {}, {block.name: array for block, array in book.values.arrays.items()}
    for name, ours in page(Raw(typed(book))).items():
        theirs, mine = shown[name].astype(float), ours.numpy()
        assert mine.shape == theirs.shape, name
        by = counted.get(re.sub(r"^epoch[\d.]+\.", "", name))
        where = shown[by] == 1 if by else np.ones_like(theirs, dtype=bool)
        found[name] = float(np.abs(mine - theirs)[where].max() / (1 + np.abs(theirs).max()))
    return found


def deviating(book: Book, page: Page) -> dict[str, float]:
    """Returns the results of a page that a book does not have."""
    found = held_against(book, page.results, page.masks)
    return {name: far for name, far in found.items() if not far <= TOLERANCE}


def assert_holds(book: Book, page: Page) -> None:
    """Asserts that a book has what a page makes of its typed numbers."""
    assert deviating(book, page) == {}
