"""Causes: what a deviating cell is due to. A broken formula, stale values, or broken arithmetic."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum

from blueprint.checking.files import Checked, address_of
from blueprint.page.relative import as_seen_from
from blueprint.page.shape import Along


class Cause(Enum):
    """Why the sheet shows another number than the witness."""

    FORMULA = "broken formula"
    STALE = "stale values"
    ARITHMETIC = "broken arithmetic"


@dataclass(frozen=True)
class Found:
    """A cause and the sentence that explains it."""

    cause: Cause
    why: str


def cause_of(file: Checked, name: str, at: tuple[int, ...]) -> Found:
    """Classes the deviation of one cell.

    A formula is broken if its relative form is not that of its row, or if a number stands where the row has formulas;
    values are stale if the engine gets another number from the same formula; else the arithmetic of the row is wrong.
    """
    place = file.places[name]
    cell = file.address(name, at)
    forms = {address: _form(file, place.sheet, address, cell) for address in _beside(file, name, at)}
    others = Counter(form for address, form in forms.items() if address != cell)
    if others and forms[cell] not in others:
        here = "a number stands there" if forms[cell] is None else f"its formula is {_written(file, place.sheet, cell)}"
        usual = others.most_common(1)[0][0] or "numbers"
        return Found(Cause.FORMULA, f"{here}; the cells beside it have {usual} (as seen from {cell})")
    if forms[cell] is None:
        return Found(Cause.FORMULA, "numbers stand there instead of formulas")
    computed = file.computed.get((place.sheet, cell))
    shown = file.arrays[name][at]
    if not _same(computed, shown):
        return Found(Cause.STALE, f"its formula comes to {_print(computed)}, but the file still shows {_print(shown)}")
    return Found(Cause.ARITHMETIC, f"the whole row is {_written(file, place.sheet, cell)} and comes to what it shows")


def _beside(file: Checked, name: str, at: tuple[int, ...]) -> list[str]:
    """Returns the addresses of the cells of the block's row that have one formula with a cell: edges of one kind."""
    place = file.places[name]
    row = next(r for index, r, _ in place.cells() if index == at)
    kind = _edges(place.shape, at)
    cells = ((index, r, c) for index, r, c in place.cells() if r == row)
    return [address_of(r, c) for index, r, c in cells if _edges(place.shape, index) == kind]


def _edges(shape: tuple[Along, ...], at: tuple[int, ...]) -> tuple[tuple[bool, bool], ...]:
    """Tells along which axes a cell is the one before the first or after the last member."""
    return tuple(
        (along.start and i == 0, along.end and i == along.cells - 1) for along, i in zip(shape, at, strict=True)
    )


def _form(file: Checked, sheet: str, address: str, seen_from: str) -> str | None:
    """Returns a cell's formula as it would read if it stood in another cell; None for a number."""
    written = file.formulas[sheet][address].value
    if not isinstance(written, str) or not written.startswith("="):
        return None
    return as_seen_from(written, address, seen_from)


def _written(file: Checked, sheet: str, address: str) -> str:
    return str(file.formulas[sheet][address].value)


def _same(computed: object, shown: object) -> bool:
    if isinstance(computed, int | float) and isinstance(shown, int | float):
        return abs(computed - shown) <= 1e-9 * max(1.0, abs(computed))
    return (computed or "") == (shown or "")


def _print(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else repr(value)
