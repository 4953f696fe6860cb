"""Where the cells of a fresh workbook stand in a file: sheets renamed, blocks moved, rows and columns inserted or deleted.

The defined names of blocks say so for their own cells. What stands between them, and on sheets without blocks, is found by
the formulas of its row, without the addresses in them. Where that leaves a choice nothing is said.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple

from blueprint.page import parse_cell, saved_file
from blueprint.page.grid import Address, Spot
from blueprint.page.read import Found

Signature = tuple[tuple[str, ...], ...]
Formulas = Mapping[saved_file.Cell, str]


class Lines:
    """Rows, or columns, of a sheet: those of which the new number is known, and the others between them."""

    def __init__(self, known: Mapping[int, int]):
        """Remembers pairs of numbers, both of which rise."""
        self.known = {0: 0} | dict(known)
        self.pairs, self.still = sorted(self.known.items()), all(here == there for here, there in self.known.items())

    def there(self, number: int) -> int | None:
        """Returns the new number; None between lines that were moved by different distances."""
        if self.still or number in self.known:
            return self.known.get(number, number)
        after = bisect(self.pairs, number, key=lambda pair: pair[0])
        by = [there - here for here, there in self.pairs[after - 1 : after + 1]]
        return number + by[0] if by[0] == by[-1] else None

    def reversed(self) -> Lines:
        """Returns the way back."""
        return Lines({there: here for here, there in self.pairs})


class Way(NamedTuple):
    """The way of cells from one file into another: what the sheets are called there, their lines, and cells moved alone."""

    sheets: Mapping[str, str]
    lines: Mapping[str, tuple[Lines, Lines]]
    alone: dict[Address, Address]

    def to(self, place: Address) -> Address | None:
        """Returns where a cell stands in the other file; None where that is not sure."""
        if place in self.alone or place.sheet.casefold() not in self.sheets:
            return self.alone.get(place)
        rows, columns = self.lines[place.sheet.casefold()]
        row, column = rows.there(place.row), columns.there(place.column)
        return Address(self.sheets[place.sheet.casefold()], row, column) if row and column else None


class Moved:
    """The way of every cell from a fresh workbook into a file, and back. Rows and columns are counted from 1."""

    _unmoved: Collection[str] = ()

    def __init__(
        self,
        fresh: saved_file.Written,
        blocks: Mapping[str, Spot],
        file: saved_file.Written,
        places: Mapping[str, Found],
    ):
        """Finds the sheets and lines; blocks: where they stand in the fresh workbook, places: in the file."""
        alike = [name for name, block in blocks.items() if name in places and places[name].shape == block.shape]
        both = [(blocks[name], places[name]) for name in alike]
        self.known = len(both) / max(1, len(blocks))
        sheets = _sheets(fresh, both, file)
        on = {pair: [(b, f) for b, f in both if (b.sheet, f.sheet) == pair] for pair in sheets.items()}
        lines = {sheet: _lines(fresh[sheet], file.get(title, {}), on[sheet, title]) for sheet, title in sheets.items()}
        self._into = Way(_folded(sheets), _folded(lines), {})
        for block, found in both:
            if self.to_file(Address(block.sheet, block.top, block.left)) != (found.sheet, found.top, found.left):
                for (_, *here), (_, *there) in zip(block.cells(), found.cells(), strict=True):
                    self._into.alone[Address(block.sheet, *here)] = Address(found.sheet, *there)
        back = {titles: tuple(each.reversed() for each in lines[sheet]) for sheet, titles in sheets.items()}
        alone = {there: here for here, there in self._into.alone.items()}
        self._back = Way(_folded({title: sheet for sheet, title in sheets.items()}), _folded(back), alone)
        self._lost = any(formulas and sheet not in sheets for sheet, formulas in fresh.items())
        still = all(each.still for pair in lines.values() for each in pair)
        self.nowhere = not alone and still and all(sheet == title for sheet, title in sheets.items())
        self._unmoved = frozenset(sheets if self.nowhere else ())

    def to_file(self, place: Address) -> Address | None:
        """Returns where a cell of the fresh workbook stands in the file; None where that is not sure."""
        return place if place.sheet in self._unmoved else self._into.to(place)

    def to_fresh(self, place: Address) -> Address | None:
        """Returns where a cell of the file stands in the fresh workbook; None where that is not sure.

        A cell of a sheet that the fresh workbook has not stays what it is.
        """
        if place in self._back.alone or place.sheet.casefold() in self._back.sheets:
            return self._back.to(place)
        return None if self._lost else place


def _folded(by_sheet: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what is known of sheets, whose names programs tell apart without regard to capitals."""
    return {sheet.casefold(): known for sheet, known in by_sheet.items()}


def _sheets(fresh: saved_file.Written, pairs: Iterable[tuple[Spot, Found]], file: saved_file.Written) -> dict[str, str]:
    """Returns what each sheet is called in the file: that of its blocks, of its name, or of most of its formulas."""
    called: dict[str, Counter[str]] = {}
    for block, found in pairs:
        called.setdefault(block.sheet, Counter())[found.sheet] += 1
    sheets = {sheet: votes.most_common(1)[0][0] for sheet, votes in called.items()}
    free = [title for title in file if title not in sheets.values()]
    for sheet in (each for each in fresh if each not in sheets):
        title = sheet if sheet in free else _most_like(fresh[sheet], {each: file[each] for each in free})
        if title is not None:
            sheets[sheet] = title
            free.remove(title)
    return {sheet: sheets[sheet] for sheet in fresh if sheet in sheets}


def _most_like(formulas: Formulas, sheets: Mapping[str, Formulas]) -> str | None:
    """Returns the sheet that has more than half of the formulas, if one has."""
    ours = Counter(map(parse_cell.formula_shape, formulas.values()))
    shared = {
        title: (ours & Counter(map(parse_cell.formula_shape, each.values()))).total() for title, each in sheets.items()
    }
    best = max(shared, key=lambda title: shared[title], default=None)
    return best if best is not None and 2 * shared[best] > len(formulas) else None


def _lines(fresh: Formulas, file: Formulas, pairs: list[tuple[Spot, Found]]) -> tuple[Lines, Lines]:
    """Returns the rows and the columns of a sheet."""
    rows, columns = [], []
    for block, found in pairs:
        high = sum((each.cells - 1) * each.down for each in block.shape)
        wide = sum((each.cells - 1) * each.right for each in block.shape)
        rows += [(block.top, found.top), (block.top + high, found.top + high)]
        columns += [(block.left, found.left), (block.left + wide, found.left + wide)]
    return _matched(rows, fresh, file, lambda cell: cell[0]), _matched(columns, fresh, file, lambda cell: cell[1])


def _matched(
    pairs: list[tuple[int, int]], fresh: Formulas, file: Formulas, line: Callable[[saved_file.Cell], int]
) -> Lines:
    """Returns the lines of a sheet by pairs that are known; between pairs that moved apart by what stands there."""
    known = _rising(pairs)
    last = [max(map(line, formulas), default=0) + 1 for formulas in (fresh, file)]
    ends = [(0, 0), *sorted(known.items())]
    if ends[-1][0] < last[0]:
        ends.append((last[0], max(last[1], ends[-1][1] + 1)))
    apart = [(one, two) for one, two in pairwise(ends) if two[0] - one[0] != two[1] - one[1]]
    if apart:
        signed = _signatures(fresh, line), _signatures(file, line)
        for one, two in apart:
            known |= _by_formulas(signed, one, two)
    return Lines(known)


def _rising(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """Returns the pairs; where they do not rise together, as after a block was moved alone, those of the commonest way."""
    known, ordered = dict(pairs), sorted(set(pairs))
    if all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(ordered)):
        return known
    way = Counter(there - here for here, there in pairs).most_common(1)[0][0]
    return {here: there for here, there in pairs if there - here == way}


def _signatures(formulas: Formulas, line: Callable[[saved_file.Cell], int]) -> dict[int, Signature]:
    """Returns the formulas of every line that has any, without their addresses."""
    found: dict[int, list[tuple[str, ...]]] = {}
    for cell in sorted(formulas):
        found.setdefault(line(cell), []).append(parse_cell.formula_shape(formulas[cell]))
    return {number: tuple(shapes) for number, shapes in sorted(found.items())}


def _by_formulas(
    signed: tuple[dict[int, Signature], dict[int, Signature]], after: tuple[int, int], before: tuple[int, int]
) -> dict[int, int]:
    """Pairs the lines between two known pairs that have the same formulas, in order."""
    here, there = (
        [number for number in lines if low < number < high]
        for lines, low, high in zip(signed, after, before, strict=True)
    )
    matcher = SequenceMatcher(None, [signed[0][n] for n in here], [signed[1][n] for n in there], autojunk=False)
    return {here[i + k]: there[j + k] for i, j, size in matcher.get_matching_blocks() for k in range(size)}
