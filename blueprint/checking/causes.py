"""Causes: what a deviating cell is due to. A broken formula, stale values, or broken arithmetic."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from blueprint.checking.files import Checked
from blueprint.page.parse_cell import is_error
from blueprint.page.place import Along
from blueprint.page.written import as_seen_from
from blueprint.quoting import LONGEST_FORMULA, quoted, unquoted

At = tuple[int, ...]


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


def cause_of(file: Checked, name: str, at: At) -> Found:
    """Classes the deviation of one cell.

    A formula is broken if its relative form is not that of its row, or if a number stands where the row has formulas;
    values are stale if the engine gets another number from the same formula; else the formula of the row is broken, if it
    is not that of a fresh workbook, or its arithmetic is wrong.
    """
    forms = _forms(file, name, at)
    here = forms.pop(at)
    place = file.places[name]
    cell = place.cell(at)
    others = Counter(forms.values())
    if others and here not in others:
        said = "a number stands there" if here is None else f"its formula is {_shown(here)}"
        usual = others.most_common(1)[0][0]
        beside = "numbers" if usual is None else _shown(usual)
        return Found(Cause.FORMULA, f"{said}; the cells beside it have {beside} (as seen from {cell})")
    if here is None:
        return Found(Cause.FORMULA, "numbers stand there instead of formulas")
    return _of_value(file, name, at, here)


def _of_value(file: Checked, name: str, at: At, formula: str) -> Found:
    """Classes a deviation of a cell that has the formula of its row, by what an engine makes of it."""
    shown = file.says(name, at)
    if is_error(shown):
        return Found(Cause.FORMULA, f"{_shown(formula)} comes to the error {shown}")
    if file.computed is None:
        return Found(Cause.ARITHMETIC, f"its formula is {_shown(formula)}; no engine here can say what it comes to")
    computed = file.computed.get((file.places[name].sheet, file.places[name].cell(at)))
    if not _same(computed, shown):
        return Found(Cause.STALE, f"its formula comes to {_print(computed)}, but the file still shows {_print(shown)}")
    if (other := file.compared.at(file.cell(name, at))) is not None:
        return Found(Cause.FORMULA, f"the whole row is {_shown(formula)}; a fresh workbook has {other.meant}")
    return Found(Cause.ARITHMETIC, f"the whole row is {_shown(formula)} and comes to what it shows")


def odd_cells(file: Checked, name: str, at: At) -> Iterator[At]:
    """Yields the cells of a cell's row whose formula is not that of most of them; a number is no formula."""
    forms = _forms(file, name, at)
    usual, count = Counter(forms.values()).most_common(1)[0]
    if 2 * count > len(forms):
        yield from (index for index, form in forms.items() if form != usual)


def _forms(file: Checked, name: str, at: At) -> dict[At, str | None]:
    """Returns the formulas of a cell and of those beside it, each as it would read in the cell; None for a number."""
    place = file.places[name]
    beside = {index: file.formula(place.sheet, *place.address(index)) for index in _beside(file, name, at)}
    cell = place.cell(at)
    return {at: written and as_seen_from(written, place.cell(at), cell) for at, written in beside.items()}


def _beside(file: Checked, name: str, at: At) -> list[At]:
    """Returns the cells of the block's row that have one formula with a cell: edges of one kind."""
    place = file.places[name]
    row, kind = place.address(at)[0], _edges(place.shape, at)
    return [index for index, r, _ in place.cells() if r == row and _edges(place.shape, index) == kind]


def _edges(shape: tuple[Along, ...], at: At) -> tuple[tuple[bool, bool], ...]:
    """Tells along which axes a cell is the one before the first or after the last member."""
    return tuple(
        (along.start and i == 0, along.end and i == along.cells - 1) for along, i in zip(shape, at, strict=True)
    )


def _same(computed: object, shown: object) -> bool:
    if isinstance(computed, int | float) and isinstance(shown, int | float):
        return abs(computed - shown) <= 1e-9 * max(1.0, abs(computed))
    return (computed or "") == (shown or "")


def _print(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else quoted(value)


def _shown(formula: str) -> str:
    return unquoted(formula, LONGEST_FORMULA)
