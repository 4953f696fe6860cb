"""What was filled in: the blanks of a saved worksheet, which of their cells are still empty, and which cells wait for these."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from blueprint.page import grid, names, parse_cell
from blueprint.page.place import Address
from blueprint.page.read import Opened
from blueprint.page.refusals import require
from blueprint.page.written import Area, named_areas, read_by

At = tuple[int, ...]
"""Index of a block's cell, edge cells counted."""
MOST_BLANKS = 1_000
"""Blanks that a file may have: a class fills in a dozen, and each is looked for in the whole file."""
MOST_COLUMNS = 50
_BLANK = re.compile(r"blank_\d{2,4}")


class Spot(NamedTuple):
    """A cell of a block: the block's name, and the cell's index, edge cells counted."""

    name: str
    at: At


class Told(NamedTuple):
    """What the sheet Blanks says of a blank: as `outline.Blank` has it."""

    title: str
    weight: float = 1.0
    asks: str = "number"
    check: int | None = None


class FilledIn:
    """The blanks of a saved workbook; a workbook without blanks has none.

    blanks: by its defined name, `blank_01`, the cells of each blank, in reading order.
    empty:  the cells of blanks in which nothing stands. Cells of which somebody deleted the row are none.
    """

    def __init__(self, file: Opened):
        self._file = file
        named = sorted(name for name in file.names if _BLANK.fullmatch(name))
        require(
            len(named) <= MOST_BLANKS, f"{file.path} has {len(named)} blanks: {MOST_BLANKS} are the most it may have"
        )
        self.blanks: dict[str, tuple[Spot, ...]] = {
            name: tuple(spot for area in named_areas(file.names[name]) for spot in self._inside(area)) for name in named
        }
        self.cells = frozenset(spot for spots in self.blanks.values() for spot in spots)
        self.empty = frozenset(spot for spot in self.cells if not self._holds(spot))

    @cached_property
    def told(self) -> dict[str, Told]:
        """What the sheet Blanks says of each blank; where somebody changed that sheet, its defined name is its title."""
        found = {name: Told(name) for name in self.blanks}
        for area in named_areas(self._file.named(names.BLANKS_RANGE) or ""):
            headings, *rows = self._table(area)
            for number, row in enumerate(rows, 1):
                line, name = dict(zip(headings, row, strict=True)), f"blank_{number:02}"
                if name in found and line.get("title"):
                    found[name] = _told(line)
        return found

    @cached_property
    def lacks_words(self) -> bool:
        """Whether the sheet Blanks says, below its table, that a sentence is left out: sentences stand in quotes there."""
        below = (
            self._file.value(area.sheet, row, area.left)
            for area in named_areas(self._file.named(names.BLANKS_RANGE) or "")
            for row in range(area.bottom + 1, min(area.bottom + MOST_BLANKS, grid.LAST_ROW))
        )
        return any(isinstance(text, str) and text.endswith("”") for text in below)

    def _table(self, area: Area) -> list[list[Any]]:
        columns = range(area.left, min(area.right, area.left + MOST_COLUMNS) + 1)
        rows = range(area.top, min(area.bottom, area.top + MOST_BLANKS) + 1)
        return [[self._file.value(area.sheet, row, column) for column in columns] for row in rows]

    @cached_property
    def waiting(self) -> frozenset[Spot]:
        """The cells of blocks whose formulas hang on an empty blank, directly or through others."""
        return self._behind(self.empty) - self.empty

    @cached_property
    def behind(self) -> frozenset[Spot]:
        """The cells of blocks whose formulas hang on a blank, empty or not: they go on with what is filled in."""
        return self._behind(self.cells) - self.cells

    @cached_property
    def open(self) -> Mapping[str, set[At]]:
        """By block the cells of which nothing can be said yet: those that are empty, and those that wait."""
        found: dict[str, set[At]] = {}
        for name, at in self.empty | self.waiting:
            found.setdefault(name, set()).add(at)
        return found

    @cached_property
    def touched(self) -> frozenset[str]:
        """The blocks of which a cell is a blank, or hangs on one."""
        return frozenset(name for name, _ in self.cells | self.behind)

    @cached_property
    def numbers(self) -> dict[str, dict[At, float]]:
        """By block the numbers that are filled in; what is none, or a formula that was saved without its number, is left out."""
        found: dict[str, dict[At, float]] = {}
        for spot in sorted(self.cells - self.empty):
            value = self._value(spot)
            with suppress(parse_cell.NoNumber):
                if value is not None:
                    found.setdefault(spot.name, {})[spot.at] = parse_cell.number_in(value)
        return found

    def _behind(self, spots: Collection[Spot]) -> frozenset[Spot]:
        """Returns some cells and all that hang on them."""
        found, queue = set(spots), list(spots)
        for spot in queue:  # which grows by what is found
            new = self._readers.get(spot, set()) - found
            found |= new
            queue += new
        return frozenset(found)

    def _value(self, spot: Spot) -> Any:
        found = self._file.places[spot.name]
        return self._file.value(found.sheet, *found.address(spot.at))

    def _holds(self, spot: Spot) -> bool:
        found = self._file.places[spot.name]
        value = self._value(spot)
        text = value.strip() if isinstance(value, str) else value
        return text not in (None, "") or self._file.formula(found.sheet, *found.address(spot.at)) is not None

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


def _told(line: dict[Any, Any]) -> Told:
    """Returns what a row of the sheet Blanks says; what somebody made no number of counts as one that is not there."""
    points, check = line.get("points"), line.get("check")
    weight = float(points) if isinstance(points, int | float) and points > 0 else 1.0
    asks = "formula" if "formula" in str(line.get("write")) else "number"
    return Told(str(line["title"]), weight, asks, int(check) if isinstance(check, int | float) else None)
