"""Where a file shows something else than its own inputs give: it was saved without recalculation, or overwritten."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from blueprint.differing.inputs import cell_at
from blueprint.reopening import SavedBook


class Stale(NamedTuple):
    """A file with cells that show something else than its inputs give: how many, the first of them, and what it says."""

    path: str
    cells: int
    cell: str
    told: str


def stale(book: SavedBook) -> Stale | None:
    """Looks through every computed cell of a file; returns None where all show what the inputs give, to 1e-9."""
    doubted = [
        (name, at)
        for name, found in book.file.places.items()
        if name in book.blocks and not book.blocks[name].typed
        for at in np.ndindex(tuple(along.cells for along in found.shape))
        if book.doubts(cell_at(book, name, at))
    ]
    if not doubted:
        return None
    name, at = doubted[0]
    return Stale(str(book.file.path), len(doubted), book.file.address(name, at), book.doubts(cell_at(book, name, at)))
