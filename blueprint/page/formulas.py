"""Formulas: the sheet that says whether every formula is still the one that was delivered, and where one is not.

In the margin of every row with formulas stands a watch (`watch.py`); here the watches of each sheet are summed up.
"""

from collections.abc import Iterable, Iterator, Mapping

from blueprint.language import Block, picked
from blueprint.page import grid, names
from blueprint.page.layout import Label, Layout, Link, Live, sheet_of_its_own

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
SUMS_BESIDE, SUMS_WIDE = 16, 11
WIDTHS = (1.5, 30, 48, 12, 14, 14, 14, *[SUMS_WIDE] * SUMS_BESIDE)
HEADINGS = {
    grid.SYMBOL: "sheet", VERDICT: "verdict", **{column: f"{sign} first row" for sign, column in COLUMNS.items()},
    COLUMNS[UNWATCHED]: "A gone in row", WATCHES: "watches, some to a cell: the last row whose watch is gone",
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
    return f"{names.FORMULAS}!{grid.address(row, column, fixed=True)}"


FOUND_CELL, CHANGED_CELL = address(FOUND_ROW, GONE), address(CHANGED_ROW, VERDICT)
TOLERANCE_CELL, ENDED_CELL = address(TOLERANCE_ROW, VERDICT), address(ENDED_ROW, VERDICT)
PROBE_CELL = address(PROBE_ROW, VERDICT)
ON_ALL_CELL, RESULT_CELL = address(FOUND_ROW, VERDICT), address(RESULT_ROW, VERDICT)
SHORTEST_HERE, PROBE_HERE = (grid.address(row, VERDICT, fixed=True) for row in (SHORTEST_ROW, PROBE_ROW))
"""The same on this sheet itself: a formula for each watch that reads them is shorter by the sheet's name."""
Signs = Mapping[str, Mapping[str, int]]
"""By sheet, the first row with a sign, as delivered, counted from 1."""


def lay_formulas(layout: Layout) -> None:
    """Adds the sheet: its names, and a link to every sheet that is watched."""
    pen = sheet_of_its_own(names.FORMULAS, LEAD, layout, grid.SYMBOL, FIRST_ROW, HEADINGS)
    for row, text in LABELS.items():
        pen.label(row, grid.NAME, text, "name")
    watched = watched_sheets(layout)
    for row, sheet in enumerate(watched, FIRST_ROW):
        pen.link(row, grid.SYMBOL, f"{grid.quoted(sheet)}!A1", sheet)
    for sheet, row, _ in layout.judged:
        layout.links.append(Link(sheet, row, VERDICT + 3, f"{names.FORMULAS}!A1", names.FORMULAS))
    layout.end[names.FORMULAS] = FIRST_ROW + len(watched)
    pen.label(layout.end[names.FORMULAS] + 1, VERDICT, SUMMED, "table head")


def watched_sheets(layout: Layout) -> list[str]:
    """Lists the sheets as numbers are derived: those on which something is computed first, then those that show it again."""
    computing = {place.sheet for block, place in layout.places.items() if not (block.typed or block.link)}
    watched = (sheet for sheet in layout.body if sheet not in (names.FORMULAS, names.CONTENTS, names.BLANKS))
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
        f"{names.defined_name(b.name)}={address(CHANGED_ROW, GONE + i)}" for i, b in enumerate(_looks(layout))
    )
    shown = f"+IF(IFERROR(AND({same}),0),0,1)" if same else ""
    yield Live(names.FORMULAS, CHANGED_ROW, VERDICT, f"={names.CHANGED_INPUTS}{shown}", 0.0, "live 0")
    yield _result(layout)
    first, on_all = _first(watched, signs), _on_all(signs, layout)
    yield from _found(FIRST_ROW + len(watched) - 1, first, on_all)
    # Of a cell without a formula FORMULATEXT has no text, #N/A; a program that does not know it has another error.
    probe = f"=IF(ISERR(_xlfn.FORMULATEXT({grid.address(PROBE_ROW, grid.NAME)})),0,1)"
    yield Live(names.FORMULAS, PROBE_ROW, VERDICT, probe, 1.0, "live 0")
    found = f'=IF(OR({names.READS_FORMULAS}=1,{names.FIRST_FORMULA}<>""),{names.FIRST_FORMULA},"{NOT_ALL_SEEN}")'
    for sheet, row, checks in layout.judged:
        verdict = OK if _fine(checks, layout) and on_all in (SAME, REMARK) else LOOK
        fine = f'AND({_spelled_fine(checks, layout)},OR({ON_ALL_CELL}="{SAME}",{ON_ALL_CELL}="{REMARK}"))'
        yield Live(sheet, row, VERDICT, f'=IFERROR(IF({fine},"{OK}","{LOOK}"),"{LOOK}")', verdict, "verdict")
        yield Live(sheet, row, VERDICT + 4, found, first, "found")


def _spelled_fine(checks: Block, layout: Layout) -> str:
    """Spells that no check fails; one that looks at what had no number as delivered has none itself, and does not fail."""
    place = layout.places[checks]
    area = f"{grid.quoted(place.sheet)}!$A$1:{grid.address(layout.end[place.sheet], grid.SINGLE, fixed=True)}"
    ended = f'AND({names.CHANGED_SINCE}=0,COUNTIF({area},"{LOOK}")=0)'
    return f'IFERROR({names.defined_name(checks.name)}="{OK}",{ended})'


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
        yield Label(names.FORMULAS, row, VERDICT, number, style)
    for i, block in enumerate(_looks(layout)):
        yield Label(names.FORMULAS, CHANGED_ROW, GONE + i, float(layout.values.cell(block)), "delivered 0")


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
    formula = f"=IF(AND({sums}),1,0)" if sums else f"=IF({names.CHANGED_SINCE}+{ENDED_CELL}>0,0,1)"
    if layout.blueprint.blanks:
        formula = f"=IF({names.CHANGED_SINCE}>0,0,1)"
    ended = any(block in layout.values.ended for block in results) or not (sums or not layout.values.ended)
    return Live(names.FORMULAS, RESULT_ROW, VERDICT, formula, 0.0 if ended else 1.0, "live 0")


def _line(sheet: str, row: int, watches: list[Live], signs: Mapping[str, int], end: int) -> Iterator[Live]:
    """Spells the line of one sheet: its first rows with a sign in the margin, and the verdict on them."""
    top, margin = f"{grid.quoted(sheet)}!$A$1", f"{grid.quoted(sheet)}!$A$1:$A${end + 1}"
    verdict, said = f'"{SAME}"', next((SAYS[sign] for sign in SAYS if sign in signs), SAME)
    gone = [*_gone(sheet, watches)]
    for column, formula in enumerate(gone, WATCHES):
        yield Live(names.FORMULAS, row, column, formula, 0.0, "live 0")
    last = f"=MAX({grid.area(row, WATCHES, row, WATCHES + max(len(gone), 1) - 1)})"
    for sign, column in COLUMNS.items():
        formula = last if sign == UNWATCHED else f'=IFERROR(MATCH("{sign}",{margin},0)+ROW({top})-1,0)'
        yield Live(names.FORMULAS, row, column, formula, float(signs.get(sign, 0)), "live 0")
    for sign, column in reversed(COLUMNS.items()):
        verdict = f'IF({grid.address(row, column)}>0,"{SAYS[sign]}",{verdict})'
    yield Live(names.FORMULAS, row, VERDICT, f"={verdict}", said, "verdict")


def _gone(sheet: str, watches: Iterable[Live]) -> Iterator[str]:
    """Spells, some watches to a formula, the last row whose watch is no formula, or a shorter one than any watch; 0 if none is.

    A row counts once if the text of its watch is too short, and not if it is long enough; where a cell has no text it counts
    as often as texts can be read, once or not at all. Every engine reads these formulas letter by letter: they are short.
    """
    parts: list[str] = []
    for live in watches:
        cell = f"{grid.quoted(sheet)}!{live.cell}"
        part = f"ROW({cell})*IFERROR(LEN(_xlfn.FORMULATEXT({cell}))<{SHORTEST_HERE},{PROBE_HERE})"
        if parts and len(part) + sum(map(len, parts)) + len(parts) > LONGEST:
            yield f"=MAX({','.join(parts)})"
            parts = []
        parts.append(part)
    if parts:
        yield f"=MAX({','.join(parts)})"


def _first(watched: Iterable[str], signs: Signs) -> str:
    """Says, as the sheet will, of the first row with a sign as delivered what it means: only that it has no number."""
    found = ((sheet, signs[sheet][ENDED]) for sheet in watched if ENDED in signs.get(sheet, {}))
    return next((f"{sheet}, row {row}: {MEANINGS[ENDED]}{UNREAD}" for sheet, row in found), "")


def _on_all(signs: Signs, layout: Layout) -> str:
    """Returns the verdict on all formulas, as delivered."""
    return (SAME if not any(signs.values()) else REMARK) if _result(layout).value else LOOK


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
    yield Live(names.FORMULAS, FOUND_ROW, GONE, f"={places}", first, "found")
    # Counted, so that a line of this sheet that somebody has cleared is not the same.
    same, ended, all_ = (
        f'COUNTIF({verdicts},"{SAME}")',
        f'COUNTIF({verdicts},"{SAYS[ENDED]}")',
        f"COUNTA({column_of(grid.SYMBOL)})",
    )
    remark = f'IF(AND({same}+{ended}={all_},{RESULT_CELL}=1),"{REMARK}","{LOOK}")'
    yield Live(names.FORMULAS, FOUND_ROW, VERDICT, f'=IF({same}={all_},"{SAME}",{remark})', on_all, "verdict")
