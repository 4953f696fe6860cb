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

from blueprint.page import grid
from blueprint.page.cells import Value, echo_formula, runs
from blueprint.page.formulas import (
    SHEET,
    SUMS_BESIDE,
    fixed,
    summary,
)
from blueprint.page.layout import Copied, Layout, Live
from blueprint.page.watch_rows import BELOW, Formula, Speller


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


def own_formulas(layout: Layout) -> dict[tuple[str, int, int], str]:
    """Returns the formulas of the page's own, which belong to no block, by sheet, row and column, counted from 0."""
    echoes = {(echo.sheet, echo.row, echo.column): echo_formula(echo, layout) for echo in layout.echoes}
    lives = (*layout.lives, *watch_of(layout).lives)
    return echoes | {(live.sheet, live.row, live.column): live.formula for live in lives}


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


def _is_number(value: float | str) -> bool:
    """Says whether a value can be part of a sum: no word such as `off`, and nothing beyond all numbers."""
    return not isinstance(value, str) and isfinite(value)
