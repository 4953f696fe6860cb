"""Which typed cells differ between two workbooks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from blueprint.explaining.members import label
from blueprint.language.chain import Cell
from blueprint.reopening import SavedBook
from blueprint.reopening.unheld import same

Value = float | str


class Change(NamedTuple):
    """A typed cell that differs: its block, what it is called, where it stands in each file, and both values."""

    name: str
    label: str
    cells: tuple[str, str]
    values: tuple[Value, Value]


def changes(one: SavedBook, other: SavedBook, shared: Collection[str]) -> list[Change]:
    """Lists the typed cells that differ, in reading order; what only changes the look of a file is listed too."""
    return [
        change
        for name in shared
        if one.blocks[name].typed and other.blocks[name].typed
        for change in _in_block(one, other, name)
    ]


def _in_block(one: SavedBook, other: SavedBook, name: str) -> list[Change]:
    ours, theirs = (_cells(book, name) for book in (one, other))
    cells = [at for at in np.ndindex(ours.shape) if not same(ours[at], theirs[at])]
    return [
        Change(
            name,
            called(one, name, at),
            (one.file.address(name, at), other.file.address(name, at)),
            (ours[at], theirs[at]),
        )
        for at in cells
    ]


def _cells(book: SavedBook, name: str) -> Any:
    return book.values.arrays[book.blocks[name]]


def called(book: SavedBook, name: str, at: tuple[int, ...]) -> str:
    """Returns what a cell is called, by symbol and members, such as `A[1, 5]`; edge cells are counted in `at`."""
    return label(cell_at(book, name, at), book.blueprint.names, book.values)


def cell_at(book: SavedBook, name: str, at: tuple[int, ...]) -> Cell:
    """Returns the cell of a block by its index in the block's array, in which edge cells are counted."""
    block = book.blocks[name]
    return Cell(block, tuple(i - book.values.before(block, axis) for i, axis in zip(at, block.axes, strict=True)))
