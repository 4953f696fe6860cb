"""Errors of a file: which of them are right, because torch has no number there either.

Nothing goes on from an error in a spreadsheet, while torch goes on from infinity: one divided by it is 0. So an error is right
where torch has no finite number, and where the formula reads a cell whose error is right.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from blueprint.checking.files import At, Checked
from blueprint.language import Array
from blueprint.page.filled_in import Spot
from blueprint.page.parse_cell import is_error
from blueprint.page.written import read_by

Cell = tuple[str, int, int]
"""Sheet, row and column, as a formula means it: without regard to case."""


def right_errors(file: Checked, witness: Mapping[str, Array]) -> dict[str, set[At]]:
    """Returns by quantity the cells that rightly show an error."""
    shown = {spot for name in witness if name in file.places for spot in _shown(file, name)}
    right = {spot for spot in shown if _is_none(witness[spot.name], spot.at)}
    cells, left = {_cell(file, spot) for spot in right}, shown - right
    while more := {spot for spot in left if cells and _reads(file, spot, cells)}:
        right, left = right | more, left - more
        cells |= {_cell(file, spot) for spot in more}
    found: dict[str, set[At]] = {}
    for spot in right:
        found.setdefault(spot.name, set()).add(spot.at)
    return found


def _shown(file: Checked, name: str) -> Iterator[Spot]:
    """Yields the cells of a quantity that show an error."""
    array, odd = file.arrays[name], file.odd.get(name, {})
    cells = zip(np.ndindex(array.shape), array.flat, strict=True) if file.places[name].words else odd.items()
    yield from (Spot(name, at) for at, text in cells if is_error(text))


def _is_none(row: Array, at: At) -> bool:
    """Says whether torch has no finite number in a cell; of words it says nothing."""
    return row.dtype != object and all(map(int.__lt__, at, row.shape)) and not np.isfinite(row[at])


def _cell(file: Checked, spot: Spot) -> Cell:
    place = file.places[spot.name]
    return (place.sheet.casefold(), *place.address(spot.at))


def _reads(file: Checked, spot: Spot, cells: set[Cell]) -> bool:
    """Says whether the formula of a cell reads one of others."""
    place = file.places[spot.name]
    formula = file.formula(place.sheet, *place.address(spot.at)) or ""
    return any(
        sheet == area.sheet.casefold() and area.top <= row <= area.bottom and area.left <= column <= area.right
        for area in read_by(formula, place.sheet, file.named)
        for sheet, row, column in cells
    )
