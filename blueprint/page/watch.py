"""The watch: in the margin of every row with formulas one cell that sees when one of them was overwritten.

It says “!” where a cell holds no formula, or one that reads nothing (=0.5), whatever is typed elsewhere: FORMULATEXT has
no text for the first, and in the text of the second there is no capital letter, while every formula of ours has one, in
an address or a function. It says “≠” where a formula has another value than the delivered one: words, and what the page
itself picks and prints, are computed a second time, at all times; the numbers of the steps have the delivered sum as
long as everything typed is as delivered. It says “#” where something else was typed, and the row shows an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from math import isfinite
from typing import NamedTuple

from blueprint.page import grid, own
from blueprint.page.cells import Value, echo_formula, runs
from blueprint.page.formulas import (
    ENDED,
    INTACT,
    OVERWRITTEN,
    REPLACED,
    SHEET,
    SUMS_BESIDE,
    TOLERANCE_CELL,
    address,
    fixed,
    summary,
)
from blueprint.page.layout import Copied, Layout, Live

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


class Watch(NamedTuple):
    """The verdict's own chain, which nothing watches: the watches and what follows from them, and the delivered numbers."""

    lives: list[Live]
    copies: list[Copied]


def watch_of(layout: Layout) -> Watch:
    """Returns the watches of a workbook, and what follows from them; they are spelled once."""
    if layout.watch is None:
        layout.watch = _spelled(layout)
    return layout.watch


def _spelled(layout: Layout) -> Watch:
    made = Watch(summary(layout), fixed(layout))
    row = layout.end[SHEET] + 2
    for sheet, rows in _formulas(layout).items():
        spelled = Speller(sheet, layout.end[sheet] + BELOW, row)
        made.lives.extend(live for number in sorted(rows) for live in spelled.row(number, rows[number]))
        made.copies.extend(spelled.copies())
        row += 1 + len(spelled.sums) // SUMS_BESIDE
    return made


def expected(layout: Layout) -> dict[tuple[str, str], Value | bool | None]:
    """Returns what every formula cell of the workbook must come to, by sheet and address."""
    cells: dict[tuple[str, str], Value | bool | None] = {}
    for run in runs(layout):
        if run.formulas is not None:
            for column, value in zip(run.columns, run.values, strict=True):
                cells[run.sheet, f"{grid.letters(column)}{run.row + 1}"] = value
    for echo in layout.echoes:
        value = layout.values.cell(echo.block, *echo.places)
        cells[echo.sheet, f"{grid.letters(echo.column)}{echo.row + 1}"] = value
    for live in (*layout.lives, *watch_of(layout).lives):
        cells[live.sheet, f"{grid.letters(live.column)}{live.row + 1}"] = live.value
    return cells


def formulas_of(layout: Layout) -> Iterator[tuple[str, int, int, str]]:
    """Yields sheet, row, column and text of every formula of the workbook, those that watch the others too."""
    for sheet, row, formula in _all(layout):
        yield sheet, row, formula.column, formula.text
    for live in watch_of(layout).lives:
        yield live.sheet, live.row, live.column, live.formula


def fingerprint(layout: Layout) -> str:
    """Returns what tells the formulas of this workbook from those that another version of this program writes."""
    told = "\n".join(f"{sheet}!{row},{column}{text}" for sheet, row, column, text in formulas_of(layout))
    return sha256(told.encode("utf-8")).hexdigest()[:16]


def _formulas(layout: Layout) -> dict[str, dict[int, list[Formula]]]:
    """Returns every formula but those of the chain, by sheet and row."""
    found: dict[str, dict[int, list[Formula]]] = {}
    for sheet, row, formula in _all(layout):
        found.setdefault(sheet, {}).setdefault(row, []).append(formula)
    return found


def _all(layout: Layout) -> Iterator[tuple[str, int, Formula]]:
    for run in runs(layout):
        if run.formulas is not None:
            for cell in zip(run.columns, run.formulas, run.values, strict=True):
                yield run.sheet, run.row, Formula(*cell, again=not _is_number(cell[2]), repeats=run.block.link)
    for echo in layout.echoes:
        value = layout.values.cell(echo.block, *echo.places)
        yield echo.sheet, echo.row, Formula(echo.column, echo_formula(echo, layout), value, True, repeats=True)
    for live in layout.lives:
        yield live.sheet, live.row, Formula(live.column, live.formula, live.value, again=True)


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
        error = f'IF({own.CHANGED_SINCE}>0,"{ended}","{REPLACED}")'
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
        return f"IF({own.CHANGED_SINCE}>0,SUM({ranges})=SUM({ranges}),{near})"

    def place(self, number: int) -> tuple[int, int]:
        """Returns row and column in which an expected sum stands."""
        return self.sums_row + number // SUMS_BESIDE, grid.LEFT + number % SUMS_BESIDE

    def copies(self) -> Iterator[Copied]:
        """Returns the expected sums, with the sheet's name beside them."""
        yield Copied(SHEET, self.sums_row, grid.SYMBOL, self.sheet, "name")
        yield from (Copied(SHEET, *self.place(i), value, "sum") for i, value in enumerate(self.sums))


def _is_number(value: float | str) -> bool:
    """Says whether a value can be part of a sum: no word such as `off`, and nothing beyond all numbers."""
    return not isinstance(value, str) and isfinite(value)


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
