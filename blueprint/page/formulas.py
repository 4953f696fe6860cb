"""Formulas: the sheet that says whether every formula is still the one that was delivered, and where one is not.

In the margin of every row with formulas stands a watch, one cell that sees when one of them was overwritten; the watches of
each sheet are summed up on the sheet Formulas.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from math import isfinite
from typing import NamedTuple, TypeVar

from blueprint.language import Block, picked
from blueprint.page import blanks, grid
from blueprint.page.cells import Value, runs
from blueprint.page.layout import Label, Layout, Link, Live, sheet_of_its_own
from blueprint.page.parse_cell import is_error

LEAD = "whether every formula is the one that was delivered; a sign in the margin of a sheet marks the row of one that is not"
OVERWRITTEN, REPLACED, UNWATCHED, ENDED, INTACT = "!", "≠", "A", "#", ""
"""What a watch says of its row: no formula where one was; other values than delivered, from the same inputs; an error; nothing.
And what is said of a row whose watch, in column A, is gone."""
MEANINGS = {
    OVERWRITTEN: "a number or a text stands where a formula was",
    REPLACED: "other values than delivered, though no input was changed: a formula here, or one that it reads, is another",
    UNWATCHED: "the formula in column A, which watches this row, was overwritten",
    ENDED: "no number: what was typed is too large, empty, not in a list, or leads to a division by 0",
}
UNREAD = "; the result does not read it"
"""What is added where a row has no number, and what the result reads has."""
SAME, REMARK, OK, LOOK = "same", "remark", "OK", "LOOK"
SAYS = {OVERWRITTEN: "overwritten", REPLACED: "differs", UNWATCHED: "unwatched", ENDED: "error"}
VERDICT, GONE = grid.LEFT, grid.LEFT + 1
COLUMNS = {sign: GONE + i for i, sign in enumerate(SAYS)}
"""Where a sheet's first row with a sign stands; of one that is not watched the last."""
WATCHES = GONE + len(SAYS) + 1
"""From here on stand, some watches to a cell, the last rows whose watch is gone."""
FOUND_ROW, CHANGED_ROW, TOLERANCE_ROW, PROBE_ROW, ENDED_ROW, RESULT_ROW, SHORTEST_ROW, FIRST_ROW = *range(3, 10), 11
TOLERANCE = 1e-9
"""How far the sum of a row may be from the delivered one, relative to its numbers: as far as the proof allows a cell."""
SHORTEST = 30
"""Letters that the formula of every watch has at least, and hardly another one that somebody types."""
LONGEST = 7_500
"""Letters of one formula; a cell takes 8,192."""
MOST_CELLS = 120
"""Cells that one formula lists; a function takes 255 arguments."""
SUMS_BESIDE, SUMS_WIDE = 16, 11
WIDTHS = (1.5, 30, 48, 12, 14, 14, 14, *[SUMS_WIDE] * SUMS_BESIDE)
HEADINGS = {
    grid.SYMBOL: "sheet", VERDICT: "verdict", **{column: f"{sign} first row" for sign, column in COLUMNS.items()},
    COLUMNS[UNWATCHED]: "A gone in row", WATCHES: "several watches to a cell: the last row whose formula in A was overwritten",
}  # fmt: skip
SUMMED = "Σ of the numbers and of a 2 for each, watch by watch from top to bottom, as delivered"
LABELS = {
    FOUND_ROW: "formulas, against those delivered",
    CHANGED_ROW: "what was typed since, on Walk too: blocks",
    TOLERANCE_ROW: "sums may differ by, relative to numbers",
    PROBE_ROW: "1: FORMULATEXT is known here; 0: it is not",
    ENDED_ROW: "cells that had no number as delivered",
    RESULT_ROW: "1 if all that the result reads has numbers",
    SHORTEST_ROW: "letters of a watch, at least",
}
NOT_ALL_SEEN = (
    "This program has no FORMULATEXT: a number typed over a formula is seen only if it is another, "
    "and no input was changed."
)
"""What is said where nothing is found, but not all could be looked for."""


def address(row: int, column: int) -> str:
    """Returns the fixed address of a cell of this sheet, as other sheets write it."""
    return f"{grid.FORMULAS}!{grid.address(row, column, fixed=True)}"


FOUND_CELL, CHANGED_CELL = address(FOUND_ROW, GONE), address(CHANGED_ROW, VERDICT)
TOLERANCE_CELL, ENDED_CELL = address(TOLERANCE_ROW, VERDICT), address(ENDED_ROW, VERDICT)
PROBE_CELL = address(PROBE_ROW, VERDICT)
PROBE = grid.FORMULAS, PROBE_ROW, VERDICT
ON_ALL_CELL, RESULT_CELL = address(FOUND_ROW, VERDICT), address(RESULT_ROW, VERDICT)
SHORTEST_HERE, PROBE_HERE = (grid.address(row, VERDICT, fixed=True) for row in (SHORTEST_ROW, PROBE_ROW))
"""The same on this sheet itself: a formula for each watch that reads them is shorter by the sheet's name."""
Signs = Mapping[str, Mapping[str, int]]
"""By sheet, the first row with a sign, as delivered, counted from 1."""


def lay_formulas(layout: Layout) -> None:
    """Adds the sheet: its names, and a link to every sheet that is watched."""
    pen = sheet_of_its_own(grid.FORMULAS, LEAD, layout, grid.SYMBOL, FIRST_ROW, HEADINGS)
    for row, text in LABELS.items():
        pen.label(row, grid.NAME, text, "name")
    watched = watched_sheets(layout)
    for row, sheet in enumerate(watched, FIRST_ROW):
        pen.link(row, grid.SYMBOL, f"{grid.quoted_title(sheet)}!A1", sheet)
    for sheet, row, _ in layout.judged:
        layout.links.append(Link(sheet, row, VERDICT + 3, f"{grid.FORMULAS}!A1", grid.FORMULAS))
    layout.end[grid.FORMULAS] = FIRST_ROW + len(watched)
    pen.label(layout.end[grid.FORMULAS] + 1, VERDICT, SUMMED, "table head")


def watched_sheets(layout: Layout) -> list[str]:
    """Lists the sheets as numbers are derived: those on which something is computed first, then those that show it again."""
    computing = {place.sheet for block, place in layout.places.items() if not (block.typed or block.link)}
    watched = (sheet for sheet in layout.body if sheet not in (grid.FORMULAS, grid.CONTENTS, grid.BLANKS))
    return sorted(watched, key=lambda sheet: sheet not in computing)


def summary(layout: Layout, watches: Iterable[Live]) -> Iterator[Live]:
    """Spells what follows from the watches: a line for each sheet, the first place of all, and the verdicts on it."""
    watched, by_sheet = watched_sheets(layout), dict[str, list[Live]]()
    for live in watches:
        by_sheet.setdefault(live.sheet, []).append(live)
    signs = {sheet: _signs(lives, layout.end[sheet]) for sheet, lives in by_sheet.items()}
    for row, sheet in enumerate(watched, FIRST_ROW):
        yield from _line(sheet, row, by_sheet.get(sheet, []), signs.get(sheet, {}), layout.end[sheet])
    same = ",".join(
        f"{grid.defined_name(b.name)}={address(CHANGED_ROW, GONE + i)}" for i, b in enumerate(_looks(layout))
    )
    shown = f"+IF(IFERROR(AND({same}),0),0,1)" if same else ""
    yield Live(grid.FORMULAS, CHANGED_ROW, VERDICT, f"={grid.CHANGED_INPUTS}{shown}", 0.0, "live 0")
    yield _result(layout)
    first, as_delivered = _first(watched, signs), REMARK if any(signs.values()) else SAME
    on_all = as_delivered if _result(layout).value else LOOK
    yield from _found(FIRST_ROW + len(watched) - 1, first, on_all)
    # Of a cell without a formula FORMULATEXT has no text, #N/A; a program that does not know it has another error.
    probe = f"=IF(ISERR(_xlfn.FORMULATEXT({grid.address(PROBE_ROW, grid.NAME)})),0,1)"
    yield Live(grid.FORMULAS, PROBE_ROW, VERDICT, probe, 1.0, "live 0")
    found = f'=IF(OR({grid.READS_FORMULAS}=1,{grid.FIRST_FORMULA}<>""),{grid.FIRST_FORMULA},"{NOT_ALL_SEEN}")'
    for sheet, row, checks in layout.judged:
        verdict = OK if _fine(checks, layout) and on_all in (SAME, REMARK) else LOOK
        fine = f'AND({_spelled_fine(checks, layout)},OR({ON_ALL_CELL}="{SAME}",{ON_ALL_CELL}="{REMARK}"))'
        yield Live(sheet, row, VERDICT, f'=IFERROR(IF({fine},"{OK}","{LOOK}"),"{LOOK}")', verdict, "verdict")
        yield Live(sheet, row, VERDICT + 4, found, first, "found")


def _spelled_fine(checks: Block, layout: Layout) -> str:
    """Spells that no check fails; one that looks at what had no number as delivered has none itself, and does not fail."""
    place = layout.places[checks]
    area = f"{grid.quoted_title(place.sheet)}!$A$1:{grid.address(layout.end[place.sheet], grid.SINGLE, fixed=True)}"
    ended = f'AND({grid.CHANGED_SINCE}=0,COUNTIF({area},"{LOOK}")=0)'
    return f'IFERROR({grid.defined_name(checks.name)}="{OK}",{ended})'


def _fine(checks: Block, layout: Layout) -> bool:
    """Says whether no check fails, as delivered."""
    if checks not in layout.values.ended:
        return layout.values.cell(checks) == OK
    here = (
        block for block, place in layout.places.items() if place.sheet == layout.places[checks].sheet and block.text
    )
    return not any(LOOK in layout.values.arrays[block].ravel().tolist() for block in here)


def fixed(layout: Layout, ended: int) -> Iterator[Label]:
    """Yields the numbers on which the watches rely, besides the sums: the tolerance, and which member was shown.

    ended: how many cells have no number.
    """
    for row, number, style in (
        (TOLERANCE_ROW, TOLERANCE, "delivered 12"),
        (ENDED_ROW, float(ended), "delivered 0"),
        (SHORTEST_ROW, float(SHORTEST), "delivered 0"),
    ):
        yield Label(grid.FORMULAS, row, VERDICT, number, style)
    for i, block in enumerate(_looks(layout)):
        yield Label(grid.FORMULAS, CHANGED_ROW, GONE + i, float(layout.values.cell(block)), "delivered 0")


def _looks(layout: Layout) -> list[Block]:
    return sorted(layout.blueprint.looks, key=lambda block: block.name)


def _signs(watches: Iterable[Live], end: int) -> dict[str, int]:
    """Returns the first row with each sign, of the watches of a sheet; those below its end are summed up in one of them."""
    found: dict[str, int] = {}
    for live in watches:
        if live.value != INTACT and live.row <= end:
            sign = str(live.value)
            found[sign] = min(found.get(sign, live.row + 1), live.row + 1)
    return found


def _result(layout: Layout) -> Live:
    """Spells whether all that the result reads has numbers: an error goes on to whatever reads it.

    Where the result is left to the reader nobody can tell: then only what had no number as delivered may have none.
    """
    results = [block for block in layout.places if block in (layout.blueprint.results or ()) and not block.text]
    sums = ",".join(f"ISNUMBER(SUM({layout.range(block)}))" for block in results)
    formula = f"=IF(AND({sums}),1,0)" if sums else f"=IF({grid.CHANGED_SINCE}+{ENDED_CELL}>0,0,1)"
    if layout.blueprint.blanks:
        formula = f"=IF({grid.CHANGED_SINCE}>0,0,1)"
    ended = any(block in layout.values.ended for block in results) or not (sums or not layout.values.ended)
    return Live(grid.FORMULAS, RESULT_ROW, VERDICT, formula, 0.0 if ended else 1.0, "live 0")


def _line(sheet: str, row: int, watches: list[Live], signs: Mapping[str, int], end: int) -> Iterator[Live]:
    """Spells the line of one sheet: its first rows with a sign in the margin, and the verdict on them."""
    top, margin = f"{grid.quoted_title(sheet)}!$A$1", f"{grid.quoted_title(sheet)}!$A$1:$A${end + 1}"
    verdict, said = f'"{SAME}"', next((SAYS[sign] for sign in SAYS if sign in signs), SAME)
    gone = [*_gone(sheet, watches)]
    for column, formula in enumerate(gone, WATCHES):
        yield Live(grid.FORMULAS, row, column, formula, 0.0, "live 0")
    last = f"=MAX({grid.area(row, WATCHES, row, WATCHES + max(len(gone), 1) - 1)})"
    for sign, column in COLUMNS.items():
        formula = last if sign == UNWATCHED else f'=IFERROR(MATCH("{sign}",{margin},0)+ROW({top})-1,0)'
        yield Live(grid.FORMULAS, row, column, formula, float(signs.get(sign, 0)), "live 0")
    for sign, column in reversed(COLUMNS.items()):
        verdict = f'IF({grid.address(row, column)}>0,"{SAYS[sign]}",{verdict})'
    yield Live(grid.FORMULAS, row, VERDICT, f"={verdict}", said, "verdict")


def _gone(sheet: str, watches: Iterable[Live]) -> Iterator[str]:
    """Spells, some watches to a formula, the last row whose watch is no formula, or a shorter one than any watch; 0 if none is.

    A row counts once if the text of its watch is too short, and not if it is long enough; where a cell has no text it counts
    as often as texts can be read, once or not at all. Every engine reads these formulas letter by letter: they are short.
    """
    title = grid.quoted_title(sheet)
    cells = (f"{title}!{live.cell}" for live in watches)
    rows = (f"ROW({cell})*IFERROR(LEN(_xlfn.FORMULATEXT({cell}))<{SHORTEST_HERE},{PROBE_HERE})" for cell in cells)
    for part in cut(rows, lambda row: len(row) + 1):
        yield f"=MAX({','.join(part)})"


def _first(watched: Iterable[str], signs: Signs) -> str:
    """Says, as the sheet will, of the first row with a sign as delivered what it means: only that it has no number."""
    found = ((sheet, signs[sheet][ENDED]) for sheet in watched if ENDED in signs.get(sheet, {}))
    return next((f"{sheet}, row {row}: {MEANINGS[ENDED]}{UNREAD}" for sheet, row in found), "")


def _found(last: int, first: str, on_all: str) -> Iterator[Live]:
    """Spells sheet and row of the first formula that is not as delivered, in words, and the verdict on all.

    first, on_all: what both come to as delivered.
    """

    def column_of(column: int) -> str:
        return f"{grid.address(FIRST_ROW, column)}:{grid.address(last, column)}"

    places, verdicts = '""', column_of(VERDICT)
    for sign, column in reversed(COLUMNS.items()):
        at = f'MATCH("{SAYS[sign]}",{verdicts},0)'
        sheet, row = picked(column_of(grid.SYMBOL), at), picked(column_of(column), at)
        unread = f'&IF({RESULT_CELL}=1,"{UNREAD}","")' if sign == ENDED else ""
        places = f'IFERROR({sheet}&", row "&{row}&": {MEANINGS[sign]}"{unread},{places})'
    yield Live(grid.FORMULAS, FOUND_ROW, GONE, f"={places}", first, "found")
    # Counted, so that a line of this sheet that somebody has cleared is not the same.
    same, ended, all_ = (
        f'COUNTIF({verdicts},"{SAME}")',
        f'COUNTIF({verdicts},"{SAYS[ENDED]}")',
        f"COUNTA({column_of(grid.SYMBOL)})",
    )
    remark = f'IF(AND({same}+{ended}={all_},{RESULT_CELL}=1),"{REMARK}","{LOOK}")'
    yield Live(grid.FORMULAS, FOUND_ROW, VERDICT, f'=IF({same}={all_},"{SAME}",{remark})', on_all, "verdict")


Item = TypeVar("Item")


def cut(items: Iterable[Item], letters: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Cuts what a formula lists into parts that one formula can hold."""
    part: list[Item] = []
    used = 0
    for item in items:
        needs = letters(item)
        if part and (used + needs > LONGEST or len(part) == MOST_CELLS):
            yield part
            part, used = [], 0
        part.append(item)
        used += needs
    if part:
        yield part


Watched = tuple[Live, str]
"""A formula, and the condition that it is none any more."""


def letters_of(watched: Watched) -> int:
    """Returns how many letters a formula takes in its watch; a range may be spelled once for each SUM, COUNT, MAX and MIN."""
    formula, overwritten = watched
    return len(overwritten) + (12 * len(formula.cell) if formula.summed else len(computed_again(formula))) + 10


def not_a_formula(formula: Live) -> str:
    """Returns the condition that the text of a formula has no capital letter (no small one, if it never had a capital)."""
    text, found = formula.formula, f"_xlfn.FORMULATEXT({formula.cell})"
    small = text == text.lower()
    if small and text == text.upper():
        return f"NOT(_xlfn.ISFORMULA({formula.cell}))"
    return f"EXACT({found},{'UPPER' if small else 'LOWER'}({found}))"


def computed_again(formula: Live) -> str:
    """Spells that a cell has the value to which its formula comes."""
    return f"{formula.cell}=({formula.formula[1:]})"


def cell_ranges(formulas: list[Live]) -> Iterator[str]:
    """Yields the ranges of neighbouring cells."""
    for _, neighbours in groupby(enumerate(formulas), key=lambda numbered: numbered[1].column - numbered[0]):
        cells = [formula.cell for _, formula in neighbours]
        yield cells[0] if len(cells) == 1 else f"{cells[0]}:{cells[-1]}"


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
        layout.hangs = blanks.hangs_on(watched, layout)
        watched = [replace(each, waits=True) if each.at in layout.hangs else each for each in watched]
        layout.watch = Watch(watched, [*blanks.lives(layout)], [*fixed(layout, sum(map(_is_error, watched)))], [])
        found: dict[str, dict[int, list[Live]]] = {}
        for live in layout.watch.watched:
            found.setdefault(live.sheet, {}).setdefault(live.row, []).append(live)
        sums_row = layout.end[grid.FORMULAS] + 2
        for sheet, rows in found.items():
            spelled = Speller(sheet, layout.end[sheet] + BELOW, sums_row)
            layout.watch.lives.extend(live for row in sorted(rows) for live in spelled.row(row, rows[row]))
            layout.watch.labels.extend(spelled.expected())
            layout.watch.sums.extend(spelled.sums)
            sums_row += 1 + len(spelled.sums) // SUMS_BESIDE
        marks = [live for live in layout.watch.lives if live.column == MARGIN and live.style == WATCH]
        verdicts = [*summary(layout, marks)]
        layout.hangs |= blanks.hangs_on([*watched, *verdicts], layout)
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
    return frozenset((sheet, grid.address(row, column)) for sheet, row, column in blanks.waiting_cells(layout))


def formulas_of(layout: Layout) -> Iterator[Live]:
    """Yields every formula of the workbook, those that watch the others too."""
    watch = watch_of(layout)
    yield from watch.watched
    yield from watch.lives


def fingerprint(layout: Layout) -> str:
    """Returns what tells the formulas of this workbook from those that another version of this program writes.

    Those of One page are left out: how many columns and decimals it has follows from the numbers.
    """
    every = [*formulas_of(layout)]
    loose = {
        each.row for each in every if each.sheet == grid.FORMULAS and grid.is_of_one_page(each.sheet, each.formula)
    }
    fixed = (each for each in every if not grid.is_of_one_page(each.sheet, each.formula))
    spelled = (
        f"{each.sheet}!{each.row},{each.column}"
        + (grid.with_one_part(each.formula) if each.sheet == grid.FORMULAS and each.row in loose else each.formula)
        for each in fixed
    )
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
        across = [(each, not_a_formula(each)) for each in sorted(formulas, key=lambda formula: formula.column)]
        parts = [self.watch(part) for part in cut(across, letters_of)]
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

    def watch(self, formulas: list[Watched]) -> tuple[str, str]:
        """Spells one watch; returns also the sign that it gives as delivered."""
        overwritten = f"IFERROR(OR({','.join(constant for _, constant in formulas)}),{grid.READS_FORMULAS})"
        known = [formula for formula, _ in formulas if not formula.waits]
        if not known:
            return f'=IF({overwritten},"{OVERWRITTEN}","{INTACT}")', INTACT
        values = [computed_again(formula) for formula in known if not formula.summed]
        may_end = f"{grid.CHANGED_SINCE}+{ENDED_CELL}>0"
        if summed := [formula for formula in known if formula.summed]:
            may_end = f"OR({grid.CHANGED_SINCE}>0,ISTEXT({address(*self.place(len(self.sums)))}))"
            values.append(self.summed(summed))
        same = f'IF(AND({",".join(values)}),"{INTACT}","{REPLACED}")'
        ended = INTACT if all(formula.repeats for formula in known) else ENDED  # it is said where it begins
        formula = f'=IF({overwritten},"{OVERWRITTEN}",IFERROR({same},IF({may_end},"{ended}","{REPLACED}")))'
        return formula, ended if any(map(_is_error, known)) else INTACT

    def summed(self, formulas: list[Live]) -> str:
        """Spells that numbers have the sum that they were delivered with; that they are numbers is part of the sum.

        After a change the sum has no more to be than itself, so that an error among the numbers is one of the watch, too.
        """
        ranges = ",".join(cell_ranges(formulas))
        total = address(*self.place(len(self.sums)))
        self.sums.append(formulas)
        off, scale = f"SUM({ranges})+2*COUNT({ranges})-{total}", f"1+ABS({total})+MAX({ranges})-MIN({ranges})"
        return f"IF({grid.CHANGED_SINCE}>0,SUM({ranges})=SUM({ranges}),ABS({off})<={TOLERANCE_CELL}*({scale}))"

    def place(self, number: int) -> tuple[int, int]:
        """Returns row and column in which an expected sum stands."""
        return self.sums_row + number // SUMS_BESIDE, grid.LEFT + number % SUMS_BESIDE

    def expected(self) -> Iterator[Label]:
        """Yields the expected sums, with the sheet's name beside them."""
        yield Label(grid.FORMULAS, self.sums_row, grid.SYMBOL, self.sheet, "name")
        for i, formulas in enumerate(self.sums):
            yield Label(grid.FORMULAS, *self.place(i), delivered_sum(formula.value for formula in formulas), "sum")


def delivered_sum(values: Iterable[float | str]) -> float | str:
    """Returns what a watch expects of numbers: their sum, and 2 for each, so that they are numbers at all; # of an error."""
    values = [*values]
    if any(map(is_error, values)):
        return ENDED
    numbers = [*map(float, values)]
    return sum(numbers) + 2 * len(numbers)
