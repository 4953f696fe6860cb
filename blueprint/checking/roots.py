"""Roots: the deviating cell in which a deviation began, found by following formulas back to what they read.

A recursion may run along its row either way: advantages run backwards, memory and draws forwards. So the first cell of
a row that deviates is not the one to blame, but one that reads no other deviating cell.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from blueprint.checking.causes import odd_cells
from blueprint.checking.deviations import Deviation
from blueprint.checking.files import Checked
from blueprint.page.written import Area, read_by


class Spot(NamedTuple):
    """A cell of a block: the block's name, and the cell's index, edge cells counted."""

    name: str
    at: tuple[int, ...]


Cell = tuple[int, int]
"""Row and column, counted from 1."""


class Roots:
    """The deviating cells of a file, and which of them the others follow from."""

    def __init__(self, file: Checked, deviating: Iterable[Deviation]) -> None:
        """Remembers where the cells stand that deviate."""
        self._file = file
        self._spots: dict[str, dict[Cell, Spot]] = {}
        for line in deviating:
            found = file.places[line.name]
            on_sheet = self._spots.setdefault(found.sheet.casefold(), {})
            on_sheet.update({found.address(at): Spot(line.name, at) for at in line.differing})

    def of(self, line: Deviation) -> Spot:
        """Returns the cell with which the deviation of a quantity began, in its own row or in one that it follows from.

        Cells whose formula is not that of their row go first: beside the root, and where formulas read in a circle.
        """
        start = Spot(line.name, line.differing[0])
        *followers, last = self._back_from(start)
        if not list(self._read_by(last)):
            return next(self._odd_beside(last), last)
        circle = [*followers, last]
        return next((each for each in circle if each in self._odd_beside(each)), start)

    def _back_from(self, start: Spot) -> Iterator[Spot]:
        """Yields a deviating cell and those that it follows from, the last of which reads none that deviates.

        Where none is such, since they read each other in a circle, all of them are yielded.
        """
        known, waiting = {start}, [start]
        while waiting:
            spot = waiting.pop()
            yield spot
            read = list(self._read_by(spot))
            if not read:
                return
            waiting += [each for each in dict.fromkeys(read) if each not in known]
            known.update(read)

    def _odd_beside(self, spot: Spot) -> Iterator[Spot]:
        """Yields the deviating cells of a cell's row whose formula is not the row's."""
        found = self._file.places[spot.name]
        here = self._spots[found.sheet.casefold()]
        for at in odd_cells(self._file, spot.name, spot.at):
            if (each := here.get(found.address(at))) is not None:
                yield each

    def _read_by(self, spot: Spot) -> Iterator[Spot]:
        """Yields the deviating cells that a cell's formula reads; none for a number that was typed over one."""
        found = self._file.places[spot.name]
        formula = self._file.formula(found.sheet, *found.address(spot.at))
        for area in read_by(formula, found.sheet, self._file.named) if formula else ():
            yield from self._inside(area)

    def _inside(self, area: Area) -> Iterator[Spot]:
        """Yields the deviating cells of an area, which may be a whole sheet."""
        here = self._spots.get(area.sheet.casefold(), {})
        rows, columns = range(area.top, area.bottom + 1), range(area.left, area.right + 1)
        if len(rows) * len(columns) < len(here):
            yield from (here[row, column] for row in rows for column in columns if (row, column) in here)
        else:
            yield from (spot for (row, column), spot in here.items() if row in rows and column in columns)
