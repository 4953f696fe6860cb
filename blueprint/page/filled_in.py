"""What was filled in: the blanks of a saved worksheet, which of their cells are still empty, and which cells wait for these."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from blueprint.page.archive import require
from blueprint.page.place import Address
from blueprint.page.read import Opened
from blueprint.page.written import Area, named_areas, read_by

At = tuple[int, ...]
"""Index of a block's cell, edge cells counted."""
MOST_BLANKS = 1_000
"""Blanks that a file may have: a class fills in a dozen, and each is looked for in the whole file."""
_BLANK = re.compile(r"blank_\d{2,4}")


class Spot(NamedTuple):
    """A cell of a block: the block's name, and the cell's index, edge cells counted."""

    name: str
    at: At


class FilledIn:
    """The blanks of a saved workbook; a workbook without blanks has none.

    blanks: by its defined name, `blank_01`, the cells of each blank, in reading order.
    empty:  the cells of blanks in which nothing stands. Cells of which somebody deleted the row are none.
    """

    def __init__(self, file: Opened):
        self._file = file
        names = sorted(name for name in file.names if _BLANK.fullmatch(name))
        require(
            len(names) <= MOST_BLANKS, f"{file.path} has {len(names)} blanks: {MOST_BLANKS} are the most it may have"
        )
        self.blanks: dict[str, tuple[Spot, ...]] = {
            name: tuple(spot for area in named_areas(file.names[name]) for spot in self._inside(area)) for name in names
        }
        self.cells = frozenset(spot for spots in self.blanks.values() for spot in spots)
        self.empty = frozenset(spot for spot in self.cells if not self._holds(spot))

    @cached_property
    def waiting(self) -> frozenset[Spot]:
        """The cells of blocks whose formulas hang on an empty blank, directly or through others."""
        found: set[Spot] = set(self.empty)
        queue = list(found)
        for spot in queue:  # which grows by what is found
            new = self._readers.get(spot, set()) - found
            found |= new
            queue += new
        return frozenset(found - self.empty)

    @cached_property
    def open(self) -> Mapping[str, Collection[At]]:
        """By block the cells of which nothing can be said yet: those that are empty, and those that wait."""
        found: dict[str, set[At]] = {}
        for name, at in self.empty | self.waiting:
            found.setdefault(name, set()).add(at)
        return found

    def _holds(self, spot: Spot) -> bool:
        found = self._file.places[spot.name]
        row, column = found.address(spot.at)
        value = self._file.value(found.sheet, row, column)
        text = value.strip() if isinstance(value, str) else value
        return text not in (None, "") or self._file.formula(found.sheet, row, column) is not None

    @cached_property
    def _spots(self) -> dict[Address, Spot]:
        """The computed cells of all blocks, by where they stand."""
        return {
            Address(found.sheet, row, column): Spot(name, at)
            for name, found in self._file.places.items()
            if found.kind != "typed"
            for at, row, column in found.cells()
        }

    @cached_property
    def _readers(self) -> dict[Spot, set[Spot]]:
        """By cell those whose formulas read it."""
        readers: dict[Spot, set[Spot]] = {}
        for here, spot in self._spots.items():
            formula = self._file.formula(*here)
            for area in read_by(formula, here.sheet, self._file.named) if formula else ():
                for read in self._inside(area):
                    readers.setdefault(read, set()).add(spot)
        return readers

    def _inside(self, area: Area) -> Iterator[Spot]:
        """Yields the computed cells in an area, which may be a whole sheet."""
        rows, columns = range(area.top, area.bottom + 1), range(area.left, area.right + 1)
        if len(rows) * len(columns) < len(self._spots):
            cells = (Address(area.sheet, row, column) for row in rows for column in columns)
            yield from (self._spots[at] for at in cells if at in self._spots)
            return
        for at, spot in self._spots.items():
            if at.sheet == area.sheet and at.row in rows and at.column in columns:
                yield spot
