"""How far torch is from a workbook of GRPO, row by row."""

import numpy as np

from blueprint.book import Book
from blueprint.workbooks.registry import witness_of
from tests.page.workshop import Array

NEAR = 1e-12
"""Both compute in double precision, and sum in an order of their own."""


def apart(book: Book, rows: int = 500) -> dict[str, float]:
    """Returns the rows in which torch and a book part by more than rounding, and by how much. rows: the least compared."""
    ours = {block.name: array for block, array in book.values.arrays.items()}
    (theirs,) = witness_of(
        [{block.name: array for block, array in book.values.arrays.items() if block.typed}], device="cpu"
    )
    assert len(theirs) > rows
    far = {name: distance(ours[name], each) for name, each in theirs.items()}
    return {name: each for name, each in far.items() if not each <= NEAR}


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
