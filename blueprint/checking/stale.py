"""Stored values that no quantity stands behind: texts, what Walk prints, the watches in the margin; against what their formulas
come to.

torch knows nothing of them, so an engine computes the formulas of the file once more. A value that is another one was stored before
something else was typed or overwritten, by a program that does not calculate.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from blueprint.checking.files import Checked
from blueprint.language import Array
from blueprint.page import grid
from blueprint.page.digits import same_print
from blueprint.page.parse_cell import is_error
from blueprint.page.place import Address
from blueprint.quoting import quoted, unquoted

NEAR = 1e-9
"""How far numbers may be apart, relative to those above 1: programs round differently. The last digit of the largest number of
a file may be lost wherever that number was added."""


class Stale(NamedTuple):
    """A cell whose stored value is not that of its formula."""

    cell: str
    shows: str
    computed: str

    def __str__(self) -> str:
        return f"{self.cell}: the file shows {self.shows}, its formula comes to {self.computed}: saved without recalculation"


@dataclass(frozen=True)
class Values:
    """What a comparison of stored values came to. compared: of how many cells. why: why none could be, else ""."""

    stale: tuple[Stale, ...] = ()
    compared: int = 0
    why: str = ""


def values_of(file: Checked) -> Values:
    """Compares the stored values of a file's formulas that belong to no quantity."""
    of_quantities = _of_quantities(file)
    cells = [each for each in file.compared.cells if each not in of_quantities]
    if file.recalculated or not cells:
        return Values(why="the file was saved without them" if file.recalculated else "")
    if file.computed is None:
        return Values(why="no engine here can say what its formulas come to")
    known = [(at, file.value(*at), file.computed.get((at.sheet, _cell(at)))) for at in cells]
    # What waits for a blank of a worksheet was saved without a value.
    held = [(at, shows, is_) for at, shows, is_ in known if shows is not None or not file.blanks.cells]
    lost = float(np.spacing(max((_largest(array) for array in file.arrays.values()), default=1.0)))
    stale = (
        Stale(f"{unquoted(at.sheet)}!{_cell(at)}", _print(shows), _print(is_))
        for at, shows, is_ in held
        if not _same(shows, is_, lost)
    )
    return Values(tuple(stale), len(held))


def _of_quantities(file: Checked) -> set[Address]:
    """Returns the cells that are compared with torch."""
    return {Address(found.sheet, row, column) for found in file.places.values() for _, row, column in found.cells()}


def _largest(array: Array) -> float:
    numbers = array[np.isfinite(array)] if array.dtype != object else np.zeros(0)
    return float(np.abs(numbers).max(initial=1.0))


def _same(shows: object, computed: object, lost: float) -> bool:
    """Tells whether two values are the same: numbers nearly, prints but for their last digit, an error as any other.

    lost: how far apart numbers may be at least.
    """
    if isinstance(shows, int | float) and isinstance(computed, int | float):
        return abs(computed - shows) <= max(lost, NEAR * max(1.0, abs(computed)))
    if is_error(shows) or is_error(computed):
        return is_error(shows) and is_error(computed)
    if isinstance(shows, str) and isinstance(computed, str):
        return same_print(shows, computed)
    return (shows or "") == (computed or "")


def _cell(at: Address) -> str:
    return f"{grid.letters(at.column - 1)}{at.row}"


def _print(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, int | float) else quoted(str(value)) if value else "nothing"
