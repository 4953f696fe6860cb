"""Formulas: the sheet that says whether every formula is still the one that was delivered, and where one is not.

In the margin of every row with formulas stands a watch (`watch.py`); here the watches of each sheet are summed up.
"""

from collections.abc import Iterator

from blueprint.language import Block, picked
from blueprint.page import grid, names
from blueprint.page.layout import Label, Layout, Link, Live, sheet_of_its_own

LEAD = "whether every formula is the one that was delivered; a sign in the margin of a sheet marks the row of one that is not"
OVERWRITTEN, REPLACED, ENDED, INTACT = "!", "≠", "#", ""
"""What a watch says of its row: no formula where one was; other values than delivered, from the same inputs; an error since
something else was typed; nothing."""
MEANINGS = {
    OVERWRITTEN: "a number or a text stands where a formula was",
    REPLACED: "other values than delivered, though no input was changed: a formula here, or one that it reads, is another",
    ENDED: "no number: what was typed is too large, empty, not in a list, or leads to a division by 0",
}
SAME = "same"
SAYS = {OVERWRITTEN: "overwritten", REPLACED: "differs", ENDED: "error"}
VERDICT, GONE = grid.LEFT, grid.LEFT + 1
COLUMNS = {sign: GONE + i for i, sign in enumerate(SAYS)}
"""Where a sheet's first row with a sign stands."""
FOUND_ROW, CHANGED_ROW, TOLERANCE_ROW, PROBE_ROW, FIRST_ROW = 3, 4, 5, 6, 9
TOLERANCE = 1e-9
"""How far the sum of a row may be from the delivered one, relative to its numbers: as far as the proof allows a cell."""
SUMS_BESIDE, SUMS_WIDE = 16, 11
WIDTHS = (1.5, 30, 48, 12, 14, 14, 14, *[SUMS_WIDE] * SUMS_BESIDE)
HEADINGS = {
    grid.SYMBOL: "sheet", VERDICT: "verdict", **{column: f"{sign} first row" for sign, column in COLUMNS.items()},
}  # fmt: skip
SUMMED = "Σ of the numbers and of a 2 for each, watch by watch from top to bottom, as delivered"
LABELS = {
    FOUND_ROW: "formulas, against those delivered",
    CHANGED_ROW: "what was typed since, on Walk too: blocks",
    TOLERANCE_ROW: "sums may differ by, relative to numbers",
    PROBE_ROW: "1: FORMULATEXT is known here; 0: it is not",
}
UNREAD = "This program has no FORMULATEXT: a number typed over a formula is seen only if it is another, and no input was changed."
"""What is said where nothing is found, but not all could be looked for."""


def address(row: int, column: int) -> str:
    """Returns the fixed address of a cell of this sheet, as other sheets write it."""
    return f"{names.FORMULAS}!{grid.address(row, column, fixed=True)}"


FOUND_CELL, CHANGED_CELL = address(FOUND_ROW, GONE), address(CHANGED_ROW, VERDICT)
TOLERANCE_CELL, PROBE_CELL = address(TOLERANCE_ROW, VERDICT), address(PROBE_ROW, VERDICT)


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


def summary(layout: Layout) -> Iterator[Live]:
    """Spells what follows from the watches: a line for each sheet, the first place of all, and the verdicts on it."""
    watched = watched_sheets(layout)
    for row, sheet in enumerate(watched, FIRST_ROW):
        yield from _line(sheet, row, layout)
    same = ",".join(
        f"{names.defined_name(b.name)}={address(CHANGED_ROW, GONE + i)}" for i, b in enumerate(_looks(layout))
    )
    shown = f"+IF(IFERROR(AND({same}),0),0,1)" if same else ""
    yield Live(names.FORMULAS, CHANGED_ROW, VERDICT, f"={names.CHANGED_INPUTS}{shown}", 0.0, "live 0")
    yield from _found(FIRST_ROW + len(watched) - 1)
    # Of a cell without a formula FORMULATEXT has no text, #N/A; a program that does not know it has another error.
    probe = f"=IF(ISERR(_xlfn.FORMULATEXT({grid.address(PROBE_ROW, grid.NAME)})),0,1)"
    yield Live(names.FORMULAS, PROBE_ROW, VERDICT, probe, 1.0, "live 0")
    found = f'=IF(OR({names.READS_FORMULAS}=1,{names.FIRST_FORMULA}<>""),{names.FIRST_FORMULA},"{UNREAD}")'
    for sheet, row, checks in layout.judged:
        verdict = f'=IF(IFERROR(AND({checks}="OK",{names.FIRST_FORMULA}=""),0),"OK","LOOK")'
        yield Live(sheet, row, VERDICT, verdict, "OK", "verdict")
        yield Live(sheet, row, VERDICT + 4, found, "", "found")


def fixed(layout: Layout) -> Iterator[Label]:
    """Yields the numbers on which the watches rely, besides the sums: the tolerance, and which member was shown."""
    yield Label(names.FORMULAS, TOLERANCE_ROW, VERDICT, TOLERANCE, "delivered 12")
    for i, block in enumerate(_looks(layout)):
        yield Label(names.FORMULAS, CHANGED_ROW, GONE + i, float(layout.values.cell(block)), "delivered 0")


def _looks(layout: Layout) -> list[Block]:
    return sorted(layout.blueprint.looks, key=lambda block: block.name)


def _line(sheet: str, row: int, layout: Layout) -> Iterator[Live]:
    """Spells the line of one sheet: its first rows with a sign in the margin, and the verdict on them."""
    top, margin = f"{grid.quoted(sheet)}!$A$1", f"{grid.quoted(sheet)}!$A$1:$A${layout.end[sheet] + 1}"
    verdict = f'"{SAME}"'
    for sign, column in COLUMNS.items():
        formula = f'=IFERROR(MATCH("{sign}",{margin},0)+ROW({top})-1,0)'
        yield Live(names.FORMULAS, row, column, formula, 0.0, "live 0")
    for sign, column in reversed(COLUMNS.items()):
        verdict = f'IF({grid.address(row, column)}>0,"{SAYS[sign]}",{verdict})'
    yield Live(names.FORMULAS, row, VERDICT, f"={verdict}", SAME, "verdict")


def _found(last: int) -> Iterator[Live]:
    """Spells sheet and row of the first formula that is not as delivered, in words, and the verdict on all."""

    def column_of(column: int) -> str:
        return f"{grid.address(FIRST_ROW, column)}:{grid.address(last, column)}"

    places = '""'
    for sign, column in reversed(COLUMNS.items()):
        at = f'MATCH("{SAYS[sign]}",{column_of(VERDICT)},0)'
        sheet, row = picked(column_of(grid.SYMBOL), at), picked(column_of(column), at)
        places = f'IFERROR({sheet}&", row "&{row}&": {MEANINGS[sign]}",{places})'
    yield Live(names.FORMULAS, FOUND_ROW, GONE, f"={places}", "", "found")
    here = grid.address(FOUND_ROW, GONE)
    yield Live(names.FORMULAS, FOUND_ROW, VERDICT, f'=IF({here}="","{SAME}","LOOK")', SAME, "verdict")
