"""The watch: in the margin of every row with formulas one cell that sees when one of them was overwritten.

It says “!” where a cell holds no formula, or one that reads nothing (=0.5), whatever is typed elsewhere: FORMULATEXT has
no text for the first, and in the text of the second there is no capital letter, while every formula of ours has one, in
an address or a function. It says “≠” where a formula has another value than the delivered one: words, and what the page
itself picks and prints, are computed a second time, at all times; the numbers of the steps have the delivered sum as
long as everything typed is as delivered. It says “#” where the row shows an error: since something else was typed, or as it
was delivered, and then a “#” stands for the delivered sum. What hangs on blanks has no delivered value, and is only watched
for being a formula. Whether a watch itself is overwritten is seen on the sheet Formulas. A program without FORMULATEXT
(Gnumeric) has an error for every one of these texts: there no cell is called overwritten, and a line says so.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from math import isfinite
from typing import NamedTuple

from blueprint.page import grid, names, to_fill, waiting
from blueprint.page import watch_pieces as pieces
from blueprint.page.cells import Value, runs
from blueprint.page.formulas import (
    ENDED,
    ENDED_CELL,
    INTACT,
    OVERWRITTEN,
    REPLACED,
    SUMS_BESIDE,
    TOLERANCE_CELL,
    address,
    fixed,
    summary,
)
from blueprint.page.layout import Label, Layout, Live
from blueprint.page.parse_cell import is_error

MARGIN, WATCH = 0, "watch"
BELOW = 2
"""Rows between the end of a sheet and the watches of rows that are too long for one."""


class Watch(NamedTuple):
    """What is watched; and the verdict's own chain, which nothing watches: watches, what follows from them, delivered numbers.

    sums: the formulas whose numbers each delivered sum adds up, in the order of these among the labels.
    """

    watched: list[Live]
    lives: list[Live]
    labels: list[Label]
    sums: list[list[Live]]


def watch_of(layout: Layout) -> Watch:
    """Returns the watches of a workbook, and what follows from them; they are spelled once."""
    if layout.watch is None:
        watched = [*_watched(layout)]
        layout.hangs = waiting.hangs_on(watched, layout)
        watched = [replace(each, waits=True) if each.at in layout.hangs else each for each in watched]
        layout.watch = Watch(watched, [*to_fill.lives(layout)], [*fixed(layout, sum(map(_is_error, watched)))], [])
        found: dict[str, dict[int, list[Live]]] = {}
        for live in layout.watch.watched:
            found.setdefault(live.sheet, {}).setdefault(live.row, []).append(live)
        sums_row = layout.end[names.FORMULAS] + 2
        for sheet, rows in found.items():
            spelled = Speller(sheet, layout.end[sheet] + BELOW, sums_row)
            layout.watch.lives.extend(live for row in sorted(rows) for live in spelled.row(row, rows[row]))
            layout.watch.labels.extend(spelled.expected())
            layout.watch.sums.extend(spelled.sums)
            sums_row += 1 + len(spelled.sums) // SUMS_BESIDE
        marks = [live for live in layout.watch.lives if live.column == MARGIN and live.style == WATCH]
        verdicts = [*summary(layout, marks)]
        layout.hangs |= waiting.hangs_on([*watched, *verdicts], layout)
        layout.watch.lives.extend(verdicts)
    return layout.watch


def expected(layout: Layout) -> dict[tuple[str, str], Value | bool | None]:
    """Returns what every formula cell must come to, by sheet and address, but for those that wait for a blank."""
    waits = waiting_in(layout)
    found = {(each.sheet, each.cell): each.value for each in formulas_of(layout)}
    return {cell: value for cell, value in found.items() if cell not in waits}


def waiting_in(layout: Layout) -> frozenset[tuple[str, str]]:
    """Returns the formula cells that wait for a blank that is empty, by sheet and address."""
    watch_of(layout)  # which finds what hangs on blanks
    return frozenset((sheet, grid.address(row, column)) for sheet, row, column in waiting.open_of(layout))


def formulas_of(layout: Layout) -> Iterator[Live]:
    """Yields every formula of the workbook, those that watch the others too."""
    watch = watch_of(layout)
    yield from watch.watched
    yield from watch.lives


def fingerprint(layout: Layout) -> str:
    """Returns what tells the formulas of this workbook from those that another version of this program writes.

    Those of One page are left out: how many columns and decimals it has follows from the numbers.
    """
    fixed = (each for each in formulas_of(layout) if not names.is_of_one_page(each.sheet, each.formula))
    spelled = (f"{each.sheet}!{each.row},{each.column}{each.formula}" for each in fixed)
    return sha256("\n".join(spelled).encode("utf-8")).hexdigest()[:16]


def _watched(layout: Layout) -> Iterator[Live]:
    """Yields every formula but those of the chain."""
    for run in runs(layout):
        for column, formula, value in zip(run.columns, run.formulas or (), run.values, strict=False):
            number = not isinstance(value, str) and isfinite(value)
            summed = number or (
                is_error(value) and not run.block.text
            )  # a word such as `off`, or nothing, is in no sum
            yield Live(run.sheet, run.row, column, formula, value, "", run.block.link, summed)
    yield from layout.lives


def _is_error(formula: Live) -> bool:
    return not formula.waits and is_error(formula.value)


class Speller:
    """Spells the watches of one sheet, and notes the sums that they expect; `below` is the first free row under it."""

    def __init__(self, sheet: str, below: int, sums_row: int):
        self.sheet, self.below, self.sums_row = sheet, below, sums_row
        self.sums: list[list[Live]] = []

    def row(self, row: int, formulas: list[Live]) -> list[Live]:
        """Spells the watch of one row; one that is too long becomes several below the sheet, and a word on them."""
        parts = [self.watch(part) for part in pieces.parts(sorted(formulas, key=lambda formula: formula.column))]
        if len(parts) == 1:
            return [self.live(row, *parts[0])]
        first, self.below = self.below, self.below + len(parts)
        lives = [self.live(first + i, *part) for i, part in enumerate(parts)]
        cells = grid.area(first, MARGIN, self.below - 1, MARGIN)
        said = f'"{INTACT}"'
        for sign in (ENDED, REPLACED, OVERWRITTEN):
            said = f'IF(COUNTIF({cells},"{sign}")>0,"{sign}",{said})'
        return [*lives, self.live(row, f"={said}", ENDED if any(sign == ENDED for _, sign in parts) else INTACT)]

    def live(self, row: int, formula: str, sign: str) -> Live:
        """Puts a formula into the margin; sign: what it says as delivered."""
        return Live(self.sheet, row, MARGIN, formula, sign, WATCH)

    def watch(self, formulas: list[Live]) -> tuple[str, str]:
        """Spells one watch; returns also the sign that it gives as delivered."""
        constant = ",".join(map(pieces.constant, formulas))
        known = [formula for formula in formulas if not formula.waits]
        if not known:
            return f'=IF(IFERROR(OR({constant}),{names.READS_FORMULAS}),"{OVERWRITTEN}","{INTACT}")', INTACT
        values = [pieces.again(formula) for formula in known if not formula.summed]
        may_end = f"{names.CHANGED_SINCE}+{ENDED_CELL}>0"
        if summed := [formula for formula in known if formula.summed]:
            may_end = f"OR({names.CHANGED_SINCE}>0,ISTEXT({address(*self.place(len(self.sums)))}))"
            values.append(self.summed(summed))
        same = f'IF(AND({",".join(values)}),"{INTACT}","{REPLACED}")'
        ended = INTACT if all(formula.repeats for formula in known) else ENDED  # it is said where it begins
        overwritten = f"IFERROR(OR({constant}),{names.READS_FORMULAS})"
        formula = f'=IF({overwritten},"{OVERWRITTEN}",IFERROR({same},IF({may_end},"{ended}","{REPLACED}")))'
        return formula, ended if any(map(_is_error, known)) else INTACT

    def summed(self, formulas: list[Live]) -> str:
        """Spells that numbers have the sum that they were delivered with; that they are numbers is part of the sum.

        After a change the sum has no more to be than itself, so that an error among the numbers is one of the watch, too.
        """
        ranges = ",".join(pieces.ranges(formulas))
        total = address(*self.place(len(self.sums)))
        self.sums.append(formulas)
        off, scale = f"SUM({ranges})+2*COUNT({ranges})-{total}", f"1+ABS({total})+MAX({ranges})-MIN({ranges})"
        return f"IF({names.CHANGED_SINCE}>0,SUM({ranges})=SUM({ranges}),ABS({off})<={TOLERANCE_CELL}*({scale}))"

    def place(self, number: int) -> tuple[int, int]:
        """Returns row and column in which an expected sum stands."""
        return self.sums_row + number // SUMS_BESIDE, grid.LEFT + number % SUMS_BESIDE

    def expected(self) -> Iterator[Label]:
        """Yields the expected sums, with the sheet's name beside them."""
        yield Label(names.FORMULAS, self.sums_row, grid.SYMBOL, self.sheet, "name")
        for i, formulas in enumerate(self.sums):
            yield Label(names.FORMULAS, *self.place(i), delivered_sum(formula.value for formula in formulas), "sum")


def delivered_sum(values: Iterable[float | str]) -> float | str:
    """Returns what a watch expects of numbers: their sum, and 2 for each, so that they are numbers at all; # of an error."""
    values = [*values]
    if any(map(is_error, values)):
        return ENDED
    numbers = [*map(float, values)]
    return sum(numbers) + 2 * len(numbers)
