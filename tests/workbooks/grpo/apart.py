"""How far torch is from a workbook of GRPO, row by row."""

import numpy as np

from blueprint.book import Book
from blueprint.workbooks.registry import witness_of
from tests.page.workshop import Array

NEAR = 1e-12
"""Both compute in double precision, and sum in an order of their own."""


def apart(book: Book, rows: int = 500, shown: bool = False) -> dict[str, float]:
    """Returns the rows in which torch and a book part by more than rounding, and by how much. rows: the least compared.

    shown: whether torch knows which rows the book shows, though not their numbers: then it computes slopes and steps, too.
    """
    ours = {block.name: array for block, array in book.values.arrays.items()}
    given = {block.name: array if block.typed else _nothing(array) for block, array in book.values.arrays.items()}
    known = given if shown else {block.name: given[block.name] for block in book.values.arrays if block.typed}
    (theirs,) = witness_of([known], device="cpu")
    assert len(theirs) > rows
    far = {name: distance(ours[name], each) for name, each in theirs.items()}
    return {name: each for name, each in far.items() if not each <= NEAR}


def _nothing(array: Array) -> Array:
    """Returns an array of its shape in which nothing can be read."""
    return np.full_like(array, "" if array.dtype == object else np.nan)


def distance(ours: Array, theirs: Array) -> float:
    """Returns the largest distance of two arrays, relative to the largest number above 1; of words that differ it is 1.

    Where both are infinite alike, as a limit that is off, or both blank, they are the same.
    """
    if ours.dtype == object or theirs.dtype == object:
        return float(not np.array_equal(ours, theirs))
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    one, other = (np.where(same, 0.0, each) for each in (ours, theirs))
    largest = np.abs(ours[np.isfinite(ours)]).max(initial=1.0)
    return float(np.abs(one - other).max(initial=0.0) / largest)
