"""The watches of one sheet: a formula in the margin of each row that sees when one of its formulas was overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from blueprint.page import grid, reserved_names
from blueprint.page.formulas import (
    ENDED,
    INTACT,
    OVERWRITTEN,
    REPLACED,
    SHEET,
    SUMS_BESIDE,
    TOLERANCE_CELL,
    address,
)
from blueprint.page.layout import Copied, Live

MARGIN = 0


LONGEST, MOST_CELLS = 7_500, 120
"""Letters and cells of one watch: a formula may have 8,192 letters, and a function 255 arguments."""


BELOW = 2
"""Rows between the end of a sheet and the watches of rows that are too long for one."""


class Formula(NamedTuple):
    """A formula that is watched.

    again:   it is computed a second time, else its number is part of a sum.
    repeats: it only shows another cell again.
    """

    column: int
    text: str
    value: float | str
    again: bool
    repeats: bool = False

    @property
    def cell(self) -> str:
        """The letters of its column."""
        return grid.letters(self.column)


class Speller:
    """Spells the watches of one sheet, and notes the sums that they expect; `below` is the first free row under it."""

    def __init__(self, sheet: str, below: int, sums_row: int):
        self.sheet, self.below, self.sums_row = sheet, below, sums_row
        self.sums: list[float] = []

    def row(self, row: int, formulas: list[Formula]) -> list[Live]:
        """Spells the watch of one row; one that is too long becomes several below the sheet, and a word on them."""
        parts = list(_parts(sorted(formulas), row))
        if len(parts) == 1:
            return [self.live(row, self.watch(row, parts[0]))]
        first, self.below = self.below, self.below + len(parts)
        lives = [self.live(first + i, self.watch(row, part)) for i, part in enumerate(parts)]
        cells = f"A{first + 1}:A{self.below}"
        said = f'"{INTACT}"'
        for sign in (ENDED, REPLACED, OVERWRITTEN):
            said = f'IF(COUNTIF({cells},"{sign}")>0,"{sign}",{said})'
        return [*lives, self.live(row, f"={said}")]

    def live(self, row: int, formula: str) -> Live:
        """Puts a formula into the margin."""
        return Live(self.sheet, row, MARGIN, formula, INTACT, "watch")

    def watch(self, row: int, formulas: list[Formula]) -> str:
        """Spells one watch."""
        constant = ",".join(_constant(f"{formula.cell}{row + 1}", formula.text) for formula in formulas)
        values = [_again(formula, row) for formula in formulas if formula.again]
        if summed := [formula for formula in formulas if not formula.again]:
            values.append(self.summed(row, summed))
        same = f'IF(AND({",".join(values)}),"{INTACT}","{REPLACED}")'
        ended = INTACT if all(formula.repeats for formula in formulas) else ENDED  # it is said where it begins
        error = f'IF({reserved_names.CHANGED_SINCE}>0,"{ended}","{REPLACED}")'
        return f'=IF(IFERROR(OR({constant}),TRUE),"{OVERWRITTEN}",IFERROR({same},{error}))'

    def summed(self, row: int, formulas: list[Formula]) -> str:
        """Spells that numbers have the sum that they were delivered with; that they are numbers is part of the sum.

        After a change the sum has no more to be than itself, so that an error among the numbers is one of the watch, too.
        """
        ranges = ",".join(_ranges(formulas, row))
        self.sums.append(sum(float(formula.value) for formula in formulas) + 2 * len(formulas))
        total = address(*self.place(len(self.sums) - 1))
        off = f"ABS(SUM({ranges})+2*COUNT({ranges})-{total})"
        near = f"{off}<={TOLERANCE_CELL}*(1+ABS({total})+MAX({ranges})-MIN({ranges}))"
        return f"IF({reserved_names.CHANGED_SINCE}>0,SUM({ranges})=SUM({ranges}),{near})"

    def place(self, number: int) -> tuple[int, int]:
        """Returns row and column in which an expected sum stands."""
        return self.sums_row + number // SUMS_BESIDE, grid.LEFT + number % SUMS_BESIDE

    def copies(self) -> Iterator[Copied]:
        """Returns the expected sums, with the sheet's name beside them."""
        yield Copied(SHEET, self.sums_row, grid.SYMBOL, self.sheet, "name")
        yield from (Copied(SHEET, *self.place(i), value, "sum") for i, value in enumerate(self.sums))


def _parts(formulas: list[Formula], row: int) -> Iterator[list[Formula]]:
    """Cuts the formulas of a row into parts that one watch can hold."""
    part: list[Formula] = []
    letters = 0
    for formula in formulas:
        cell = f"{formula.cell}{row + 1}"
        # The end of a range may be spelled once for each SUM, COUNT, MAX and MIN.
        needs = len(_constant(cell, formula.text)) + len(_again(formula, row) if formula.again else cell * 12) + 10
        if part and (letters + needs > LONGEST or len(part) == MOST_CELLS):
            yield part
            part, letters = [], 0
        part.append(formula)
        letters += needs
    yield part


def _constant(cell: str, text: str) -> str:
    """Spells that the text of a formula has no capital letter, or, where it never had one, no small one."""
    found = f"_xlfn.FORMULATEXT({cell})"
    if text == text.upper() == text.lower():
        return f"NOT(_xlfn.ISFORMULA({cell}))"
    return f"EXACT({found},{'UPPER' if text == text.lower() else 'LOWER'}({found}))"


def _again(formula: Formula, row: int) -> str:
    """Spells that a cell has the value to which its formula comes."""
    return f"{formula.cell}{row + 1}=({formula.text[1:]})"


def _ranges(formulas: list[Formula], row: int) -> Iterator[str]:
    """Returns the ranges of neighbouring cells."""
    first = last = formulas[0].column
    for column in (*(formula.column for formula in formulas[1:]), None):
        if column != last + 1:
            begin, end = f"{grid.letters(first)}{row + 1}", f"{grid.letters(last)}{row + 1}"
            yield begin if first == last else f"{begin}:{end}"
            first = column if column is not None else first
        last = column if column is not None else last
