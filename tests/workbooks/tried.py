"""What is tried in a workbook's first hour: typed into the file, recalculated, and what one should see then.

`python -m tests.workbooks.tried` measures it in every built-in workbook and writes what the sheets say of it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ironcalc
import numpy as np
import numpy.typing as npt

from blueprint.book import Book
from blueprint.page.engine import lean
from blueprint.workbooks.common import guides
from blueprint.workbooks.common.guides import Try, tries
from tests.page.workshop import BUILT_IN, blocks_in, located, made, save_made

Array = npt.NDArray[Any]
Typed = Mapping[str, float | str]
FIRST = 3
"""The column, counted from 0, that writes the first response token of the first episode, whose prompt has four tokens."""
NEAR = 1e-9
"""What two numbers that are the same may differ by after a recalculation, and after a step of an optimiser."""
ABOUT = 1e-3
"""What they may differ by where a sentence says nearly."""
TABLE = Path(guides.__file__).with_name("first_hour.csv")


@cache
def built_ins() -> tuple[str, ...]:
    """Returns the built-in numbers whose workbooks have a sheet First hour."""
    outlines = {name: {block.name: block for block in made(numbers=name).blueprint.blocks()} for name in BUILT_IN}
    return tuple(name for name, blocks in outlines.items() if len(tries(blocks)) > 1)


class Tried:
    """A workbook in an engine, in which one change after the other is tried and undone."""

    def __init__(self, numbers: str, *overrides: str) -> None:
        """Saves and opens the workbook of built-in numbers."""
        self.book: Book = made(*overrides, numbers=numbers)
        self.values, self.blocks = self.book.values, self.book.blocks
        with TemporaryDirectory() as folder:
            path = save_made(Path(folder) / "tried.xlsx", *overrides, numbers=numbers)
            self.found = located(path)
            self.model = ironcalc.load_from_xlsx(str(lean(path, Path(folder) / "lean.xlsx")))
        self.sheets = {sheet["name"]: at for at, sheet in enumerate(self.model.get_worksheets_properties())}

    def type(self, typed: Typed, first: bool = False) -> None:
        """Types into the first cell of blocks, or into that of the first response token, and recalculates."""
        for name, value in typed.items():
            where = self._cell(name, first)
            if isinstance(value, str):
                self.model.update_cell_with_text(*where, value)
            else:
                self.model.update_cell_with_number(*where, float(value))
        self.model.evaluate()

    def undo(self, typed: Typed, first: bool = False) -> None:
        """Types again what stood there as delivered; no other cell was changed, so no recalculation is needed yet."""
        for name in typed:
            where, delivered = self._cell(name, first), self.values.arrays[self.blocks[name]].ravel()[first * FIRST]
            if delivered == "" or delivered != delivered:
                self.model.clear_cell_contents(*where)
            elif isinstance(delivered, str):
                self.model.update_cell_with_text(*where, delivered)
            else:
                self.model.update_cell_with_number(*where, float(delivered))

    def _cell(self, name: str, first: bool) -> tuple[int, int, int]:
        """Returns where a change is typed."""
        _, row, column = next(iter(self.found[name].cells()))
        return self.sheets[self.found[name].sheet], row, column + first * FIRST

    def delivered(self, name: str) -> Array:
        """Returns what a block is as delivered; of a row of tokens what stands on the response."""
        return self._counted(*(self.values[self.blocks[each]] for each in (name, *self._mask(name))))

    def now(self, name: str) -> Array:
        """Returns what a block is in the engine; of a row of tokens what stands on the response."""
        return self._counted(*(self._read(each) for each in (name, *self._mask(name))))

    def _mask(self, name: str) -> tuple[str, ...]:
        """Returns the mask of the response tokens, if a block is a row of tokens."""
        mask = self.blocks.get("mask")
        return ("mask",) if mask is not None and mask.axes == self.blocks[name].axes else ()

    def _counted(self, array: Array, mask: Array | None = None) -> Array:
        return np.asarray(array if mask is None else array[mask == 1])

    def _read(self, name: str) -> Array:
        """Returns a block's cells in the engine, without those at its edges."""
        block = self.blocks[name]
        starts = [(self.values.before(block, axis), self.values.size(axis)) for axis in block.axes]
        array = blocks_in(self.model, {name: self.found[name]})[name]
        return np.asarray(array[tuple(slice(start, start + size) for start, size in starts)])

    def holds(self, name: str, claim: str) -> bool:
        """Tells whether a block is as a try claims it, beside what it is as delivered."""
        now, before, near = self.now(name), self.delivered(name), NEAR
        if claim.startswith("nearly "):
            claim, near = claim.removeprefix("nearly "), ABOUT
        rest = claim.rpartition(" ")[2]
        match claim.split():
            case ["is", "one", "per", "response"]:
                rows, mask = self._read(name), self._read("mask")
                return all(np.ptp(row[m == 1]) <= NEAR for row, m in zip(rows, mask, strict=True))
            case ["sums", other]:
                both = zip(self._read(name), self._read(other), self._read("mask"), strict=True)
                return all(same(row[m == 1], np.cumsum(of[m == 1][::-1])[::-1]) for row, of, m in both)
            case ["times", factor]:
                return same(now, float(factor) * before, near) and bool(np.any(before))
            case ["at", "least", _]:
                return bool(np.all(now >= float(rest)))
            case ["at", "most", _]:
                return bool(np.all(now <= float(rest)))
            case ["is", "not", _]:
                return bool(np.any(np.abs(now - float(rest)) > NEAR))
            case ["is", other]:
                return same(now, self.now(other) if other in self.blocks else float(other))
        return moved(claim, now, before, near)


def moved(claim: str, now: Array, before: Array, near: float = NEAR) -> bool:
    """Tells whether numbers moved as one word says it: none the other way, and one at least."""
    if claim in ("stays", "changes"):
        return same(now, before, near) == (claim == "stays")
    up = {
        "rises": now - before,
        "falls": before - now,
        "grows": abs(now) - abs(before),
        "shrinks": abs(before) - abs(now),
    }
    return bool(np.all(up[claim] >= -NEAR) and np.any(up[claim] > NEAR))


def same(a: Array, b: Array | float, near: float = NEAR) -> bool:
    """Tells whether numbers are the same."""
    return bool(np.all(np.abs(a - b) <= near * np.maximum(1, np.abs(b))))


def watched(tried: Tried, change: Try) -> tuple[float, float]:
    """Returns what the number to watch is as delivered, and what it is in the engine; 0 has no sign."""
    name = change.watched(tried.blocks).name
    return tuple(round(float(number), 9) + 0.0 for number in (tried.delivered(name), tried.now(name)))  # type: ignore[return-value]


def write() -> None:
    """Measures every try in every built-in workbook, and writes the table."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("numbers", "do", "before", "after"))
        for numbers in built_ins():
            tried = Tried(numbers)
            for change in tries(tried.blocks):
                tried.type(change.type, change.first)
                rows.writerow((numbers, change.do, *(f"{number:.9f}" for number in watched(tried, change))))
                tried.undo(change.type, change.first)


if __name__ == "__main__":
    write()
