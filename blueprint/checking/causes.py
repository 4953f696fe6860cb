"""Causes: the cell in which a deviation began, and what that is due to. A broken formula, stale values, or broken arithmetic;
and the misconception that gives what is shown there, if one does.

A recursion may run along its row either way: advantages run backwards, memory and draws forwards. So the first cell of
a row that deviates is not the one to blame, but one that reads no other deviating cell.

The misconceptions are data of the kind of workbook (`Kind.misconceptions`). Each is tried on the numbers of the file itself,
so that one is recognised however far its consequences reach back into what the row reads.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum

import numpy as np

from blueprint.checking.checked_file import Checked
from blueprint.checking.deviations import Deviation
from blueprint.language import Array, NotationError, Values
from blueprint.misconceptions import Arrays, Rows, Shown, diagnose, misconceptions_of, wrong_values
from blueprint.page.grid import Along
from blueprint.page.outline import Blank
from blueprint.page.parse_cell import is_error
from blueprint.page.read import ReadError, Spot
from blueprint.page.saved_file import Area, as_seen_from, read_by
from blueprint.quoting import LONGEST_FORMULA, quoted, unquoted
from blueprint.reopening.fresh import Like

At = tuple[int, ...]


class Cause(Enum):
    """Why the sheet shows another number than the witness."""

    ANSWER = "wrong answer"
    FORMULA = "broken formula"
    STALE = "stale values"
    ARITHMETIC = "broken arithmetic"


def cause_of(file: Checked, spot: Spot) -> tuple[Cause, str]:
    """Classes the deviation of one cell, and says why.

    A formula is broken if its relative form is not that of its row, or if a number stands where the row has formulas;
    values are stale if the engine gets another number from the same formula; else the formula of the row is broken, if it
    is not that of a fresh workbook, or its arithmetic is wrong. What was filled into a blank is none of these.
    """
    if spot in file.blanks.cells:
        return Cause.ANSWER, _filled_in(file, spot)
    forms = _forms(file, spot)
    here = forms.pop(spot.at)
    if forms and here not in forms.values():
        said = "a number stands there" if here is None else f"its formula is {unquoted(here, LONGEST_FORMULA)}"
        usual = Counter(forms.values()).most_common(1)[0][0]
        others = "numbers" if usual is None else unquoted(usual, LONGEST_FORMULA)
        seen = f"(as seen from {file.places[spot.name].cell(spot.at)})"
        return Cause.FORMULA, f"{said}; the cells beside it have {others} {seen}"
    if here is None:
        return Cause.FORMULA, "numbers stand there instead of formulas"
    return _of_value(file, spot, unquoted(here, LONGEST_FORMULA))


def _filled_in(file: Checked, spot: Spot) -> str:
    """Says how a blank was filled in."""
    place, text = file.places[spot.name], file.odd[spot.name].get(spot.at)
    if text is not None:
        return f"this blank is filled in with {unquoted(text)}, which is no number to the sheet: type a number"
    formula = file.formula(place.sheet, *place.address(spot.at))
    return (
        f"this blank is filled in with {f'the formula {unquoted(formula, LONGEST_FORMULA)}' if formula else 'a number'}"
    )


def _of_value(file: Checked, spot: Spot, formula: str) -> tuple[Cause, str]:
    """Classes a deviation of a cell that has the formula of its row, by what an engine makes of it."""
    shown, place = file.says(*spot), file.places[spot.name]
    if is_error(shown):
        return Cause.FORMULA, f"{formula} comes to the error {shown}"
    if file.computed is None:
        return Cause.ARITHMETIC, f"its formula is {formula}; no engine here can say what it comes to"
    computed = file.computed.get((place.sheet, place.cell(spot.at)))
    if not _same(computed, shown):
        return Cause.STALE, f"its formula comes to {_print(computed)}, but the file still shows {_print(shown)}"
    if (other := file.compared.at(file.cell(*spot))) is not None:
        return Cause.FORMULA, f"the whole row is {formula}; a fresh workbook has {other.meant}"
    return Cause.ARITHMETIC, f"the whole row is {formula} and comes to what it shows"


def _forms(file: Checked, spot: Spot) -> dict[At, str | None]:
    """Returns the formulas of the cells of a row that have one with a cell, as they would read there; None for a number.

    Blanks beside it are left out: what one fills in is not that of the row.
    """
    place = file.places[spot.name]
    (row, _), kind, cell = place.address(spot.at), _edges(place.shape, spot.at), place.cell(spot.at)
    forms = {
        at: file.formula(place.sheet, r, c)
        for at, r, c in place.cells()
        if r == row and _edges(place.shape, at) == kind and (at == spot.at or (spot.name, at) not in file.blanks.cells)
    }
    return {at: form and as_seen_from(form, place.cell(at), cell) for at, form in forms.items()}


def _edges(shape: tuple[Along, ...], at: At) -> list[tuple[bool, bool]]:
    """Tells along which axes a cell is the one before the first or after the last member."""
    return [(along.start and i == 0, along.end and i == along.cells - 1) for along, i in zip(shape, at, strict=True)]


def _same(computed: object, shown: object) -> bool:
    if isinstance(computed, int | float) and isinstance(shown, int | float):
        return abs(computed - shown) <= 1e-9 * max(1.0, abs(computed))
    return (computed or "") == (shown or "")


def _print(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else quoted(value)


class Roots:
    """The deviating cells of a file, and which of them the others follow from."""

    def __init__(self, file: Checked, deviating: Iterable[Deviation]) -> None:
        """Remembers where the cells stand that deviate."""
        self._file = file
        self._spots: dict[str, dict[tuple[int, int], Spot]] = {}
        for line in deviating:
            found = file.places[line.name]
            on_sheet = self._spots.setdefault(found.sheet.casefold(), {})
            on_sheet.update({found.address(at): Spot(line.name, at) for at in line.differing})

    def of(self, line: Deviation) -> Spot:
        """Returns the cell with which the deviation of a quantity began, in its own row or in one that it follows from.

        Cells whose formula is not that of their row go first: in the row of the root, and where formulas read in a circle.
        """
        start = Spot(line.name, line.differing[0])
        passed = list(self._back_from(start))
        if not self._read_by(passed[-1]):
            return next(self._odd_cells(passed[-1]), passed[-1])
        return next((each for each in passed if each in self._odd_cells(each)), start)

    def _back_from(self, start: Spot) -> Iterator[Spot]:
        """Yields a deviating cell and those that it follows from, the last of which reads none that deviates.

        Where none is such, since they read each other in a circle, all of them are yielded.
        """
        known, waiting = {start}, [start]
        while waiting:
            spot = waiting.pop()
            yield spot
            read = self._read_by(spot)
            if not read:
                return
            waiting += [each for each in read if each not in known]
            known.update(read)

    def _odd_cells(self, spot: Spot) -> Iterator[Spot]:
        """Yields the deviating cells of a cell's row whose formula is not that of most of them; a number is no formula."""
        found, forms = self._file.places[spot.name], _forms(self._file, spot)
        usual, count = Counter(forms.values()).most_common(1)[0]
        for at, form in forms.items() if 2 * count > len(forms) else ():
            each = self._spots[found.sheet.casefold()].get(found.address(at))
            if form != usual and each is not None:
                yield each

    def _read_by(self, spot: Spot) -> list[Spot]:
        """Lists the deviating cells that a cell's formula reads; none for a number that was typed over one."""
        found = self._file.places[spot.name]
        formula = self._file.formula(found.sheet, *found.address(spot.at)) or ""
        areas = read_by(formula, found.sheet, self._file.named)
        return list(dict.fromkeys(each for area in areas for each in self._inside(area)))

    def _inside(self, area: Area) -> Iterator[Spot]:
        """Yields the deviating cells of an area, which may be a whole sheet."""
        here = self._spots.get(area.sheet.casefold(), {})
        rows, columns = range(area.top, area.bottom + 1), range(area.left, area.right + 1)
        if len(rows) * len(columns) < len(here):
            yield from (here[row, column] for row in rows for column in columns if (row, column) in here)
        else:
            yield from (spot for (row, column), spot in here.items() if row in rows and column in columns)


NEAR = 1e-9
"""How near the wrong row must come, as a part of its largest number: rounding takes 1e-12 of it, another mistake none of it."""
Places = Sequence[tuple[int, ...]]


def likely(file: Checked, line: Deviation, meant: Array) -> str:
    """Returns how the misconception is said by which all deviating cells of a row show what they show; "" if none is known.

    meant: what torch has in the row. Cells at the edges of a block are left out; of a row of words none is known.
    """
    if file.places[line.name].words:
        return ""
    inside = _inside(file, line.name)
    starts = [cut.start for cut in inside]
    differs = np.zeros(file.arrays[line.name].shape, dtype=bool)
    differs[tuple(zip(*line.differing, strict=True))] = True
    cells = [tuple(at) for at in np.argwhere(differs[inside]).tolist()]
    shown = [float(file.arrays[line.name][tuple(np.add(at, starts))]) for at in cells]
    largest = float(np.abs(np.nan_to_num(meant[inside].astype(float))).max(initial=0.0))
    for said, numbers in _wrong(file, line.name, meant[inside], cells):
        allowed = NEAR * max(largest, *map(abs, numbers)) if cells else 0.0
        if cells and all(abs(ours - wrong) <= allowed for ours, wrong in zip(shown, numbers, strict=True)):
            return said
    return ""


def _inside(file: Checked, name: str) -> tuple[slice, ...]:
    """Returns where the cells of a block are that are no edges."""
    return tuple(slice(int(along.start), along.start + along.size) for along in file.places[name].shape)


def _wrong(file: Checked, name: str, meant: Array, cells: Places) -> Iterator[tuple[str, list[float]]]:
    """Yields what cells of a row would show by each misconception that is known of it."""
    rows = Arrays(file.places, lambda row: file.arrays[row][_inside(file, row)])
    right = np.nan_to_num(meant.astype(float))
    for each in misconceptions_of(file.kind):
        if each.made is not None and (bound := each.bound(name)) is not None:
            with suppress(
                KeyError, ValueError
            ):  # rows that this file has not, or in which somebody changed how they lie
                made = np.broadcast_to(each.made(Shown(rows, right, bound)), right.shape)
                yield each.says, [float(made[at]) for at in cells]
    with suppress(ReadError):  # of another version nobody knows the equations
        yield from _rewritten(file, name, cells)


def _rewritten(file: Checked, name: str, cells: Places) -> Iterator[tuple[str, list[float]]]:
    """Yields what cells would show if the row had the equation of a misconception; in the step alone, and throughout."""
    outline = Like(file).fresh().blueprint
    blocks, values = {block.name: block for block in outline.blocks()}, Values(outline.sizes, beyond=True)
    values.arrays = {
        block: file.arrays[row]
        for row, block in blocks.items()
        if row in file.arrays and file.arrays[row].shape == values.shape(block)
    }
    for row in Rows.of(outline).rewritten(file.kind, blocks[name]) if name in blocks else ():
        for made in (row.in_the_step, row.throughout):
            with suppress(KeyError, ValueError, IndexError, NotationError):
                if numbers := made(cells, values):
                    yield row.says, numbers


def likely_answer(file: Checked, spot: Spot, answer: float) -> str:
    """Returns the misconception by which a wrong number was filled into a blank, "" if none is known; answer: the right one."""
    block = file.book.blocks.get(spot.name) if file.book else None
    if file.book is None or block is None:
        return ""
    values = file.book.values
    places = tuple(int(i) - values.before(block, axis) for i, axis in zip(spot.at, block.axes, strict=True))
    rights = [[answer], *([float(values.own[block][spot.at])] for _ in range(block in values.own))]
    wrong = wrong_values(file.kind, file.book.blueprint, values, Blank(spot.name, block, (places,)))
    found = diagnose([float(file.arrays[spot.name][spot.at])], wrong, rights, block.about.decimals)
    return found.says if found else ""
