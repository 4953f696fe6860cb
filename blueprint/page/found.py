"""Where a block stands in a file, and what its cells hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from blueprint.page import grid
from blueprint.page.parse_cell import limit_or_blank, number_or_blank, word_or_blank
from blueprint.page.place import Along


@dataclass(frozen=True)
class Found:
    """Where a block stands in a file, how it lies there, what it holds, which blocks it reads, and what its range is called.

    line: everything that the Contents sheet says of it, by its columns.
    """

    name: str
    kind: str
    words: bool
    sheet: str
    top: int
    left: int
    shape: tuple[Along, ...]
    reads: tuple[str, ...] = ()
    called: str = ""
    limit: bool = False
    line: Mapping[str, Any] = field(default_factory=dict)

    def told(self, value: object) -> Any:
        """Returns what a cell of the block holds: a number, a word, or a limit, of which off is infinite.

        NaN or "" is a blank. Raises NoNumber for anything else.
        """
        read = word_or_blank if self.words else limit_or_blank if self.limit else number_or_blank
        return read(value, self.kind == "typed")

    def cells(self) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """Yields index, row and column (1-based) of every cell, edge cells as first and last along their axis."""
        for at in product(*(range(along.cells) for along in self.shape)):
            yield at, *self.address(at)

    def cell(self, at: tuple[int, ...]) -> str:
        """Returns the address of a cell, without its sheet, by its index, edge cells counted."""
        row, column = self.address(at)
        return f"{grid.letters(column - 1)}{row}"

    def address(self, at: tuple[int, ...]) -> tuple[int, int]:
        """Returns row and column (1-based) of a cell by its index, edge cells counted."""
        row = self.top + sum(along.down * i for along, i in zip(self.shape, at, strict=True))
        column = self.left + sum(along.right * i for along, i in zip(self.shape, at, strict=True))
        return row, column
