"""Formulas: the sheet that says whether every formula is still the one that was delivered, and where one is not.

In the margin of every row with formulas stands a watch (`watch.py`); here the watches of each sheet are summed up.
"""

from __future__ import annotations

from blueprint.page import grid, reserved_names
from blueprint.page.layout import Copied, Hop, Label, Layout, Live
from blueprint.page.names import defined_name

SHEET = reserved_names.FORMULAS
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
FIRST_ROW = 9
FOUND_ROW, CHANGED_ROW, TOLERANCE_ROW = FIRST_ROW - 6, FIRST_ROW - 5, FIRST_ROW - 4
TOLERANCE = 1e-9
"""How far the sum of a row may be from the delivered one, relative to its numbers: as far as the proof allows a cell."""
WIDTHS = (1.5, 30, 48, 12, 14, 14, 14)
SUMS_WIDE, SUMS_BESIDE = 11, 16
HEADINGS = {
    grid.SYMBOL: "sheet", VERDICT: "verdict", **{column: f"{sign} first row" for sign, column in COLUMNS.items()},
}  # fmt: skip
SUMMED = "Σ of the numbers and of a 2 for each, watch by watch from top to bottom, as delivered"
LABELS = {
    FOUND_ROW: "formulas, against those delivered",
    CHANGED_ROW: "what was typed since, on Walk too: blocks",
    TOLERANCE_ROW: "sums may differ by, relative to numbers",
}


def address(row: int, column: int) -> str:
    """Returns the fixed address of a cell of this sheet, as other sheets write it."""
    return f"{SHEET}!${grid.letters(column)}${row + 1}"


FOUND_CELL, CHANGED_CELL = address(FOUND_ROW, GONE), address(CHANGED_ROW, VERDICT)
TOLERANCE_CELL = address(TOLERANCE_ROW, VERDICT)


def lay_formulas(layout: Layout) -> None:
    """Adds the sheet: its names, and a link to every sheet that is watched."""
    layout.labels += [
        Label(SHEET, grid.TITLE_ROW, grid.SYMBOL, SHEET, "title"),
        Label(SHEET, grid.LEAD_ROW, grid.SYMBOL, LEAD, "lead"),
        Label(SHEET, grid.BANNER_ROW, grid.LEFT, reserved_names.UNPRINTED, "note"),
        *(Label(SHEET, row, grid.NAME, text, "name") for row, text in LABELS.items()),
        *(Label(SHEET, FIRST_ROW - 1, column, text, "table head") for column, text in HEADINGS.items()),
    ]
    watched = watched_sheets(layout)
    for row, sheet in enumerate(watched, FIRST_ROW):
        layout.hops.append(Hop(SHEET, row, grid.SYMBOL, f"{grid.quoted(sheet)}!A1", sheet))
    for sheet, row, _ in layout.judged:
        layout.hops.append(Hop(sheet, row, VERDICT + 3, f"{SHEET}!A1", SHEET))
    layout.labels.append(Label(SHEET, FIRST_ROW + len(watched) + 1, VERDICT, SUMMED, "table head"))
    layout.body[SHEET], layout.end[SHEET] = FIRST_ROW, FIRST_ROW + len(watched)


def watched_sheets(layout: Layout) -> list[str]:
    """Lists the sheets as numbers are derived: those on which something is computed first, then those that show it again."""
    computing = {place.sheet for block, place in layout.places.items() if not (block.typed or block.link)}
    watched = (sheet for sheet in layout.body if sheet not in (SHEET, reserved_names.CONTENTS))
    return sorted(watched, key=lambda sheet: sheet not in computing)


def widths() -> list[float]:
    """Returns the width of every column, in letters."""
    return [*WIDTHS, *[SUMS_WIDE] * SUMS_BESIDE]


def summary(layout: Layout) -> list[Live]:
    """Spells what follows from the watches: a line for each sheet, the first place of all, and the verdicts on it."""
    watched = watched_sheets(layout)
    lines = [live for row, sheet in enumerate(watched, FIRST_ROW) for live in _line(sheet, row, layout)]
    last = FIRST_ROW + len(watched)
    return [*lines, _changed(layout), *_found(last), *(live for each in layout.judged for live in _judged(*each))]


def _line(sheet: str, row: int, layout: Layout) -> list[Live]:
    """Spells the line of one sheet: its first rows with a sign in the margin, and the verdict on them."""
    top, margin = f"{grid.quoted(sheet)}!$A$1", f"{grid.quoted(sheet)}!$A$1:$A${layout.end[sheet] + 1}"

    def first(column: int, sign: str) -> Live:
        formula = f'=IFERROR(MATCH("{sign}",{margin},0)+ROW({top})-1,0)'
        return Live(SHEET, row, column, formula, 0.0, "live 0")

    verdict = f'"{SAME}"'
    for sign, column in reversed(COLUMNS.items()):
        verdict = f'IF({grid.letters(column)}{row + 1}>0,"{SAYS[sign]}",{verdict})'
    firsts = [first(column, sign) for sign, column in COLUMNS.items()]
    return [*firsts, Live(SHEET, row, VERDICT, f"={verdict}", SAME, "verdict")]


def _changed(layout: Layout) -> Live:
    """Counts what is typed otherwise than delivered: the inputs, and which member is shown."""
    looks = sorted(layout.blueprint.looks, key=lambda block: block.name)
    same = [f"{defined_name(block)}={address(CHANGED_ROW, GONE + i)}" for i, block in enumerate(looks)]
    shown = f"+IF(IFERROR(AND({','.join(same)}),FALSE),0,1)" if same else ""
    return Live(SHEET, CHANGED_ROW, VERDICT, f"={reserved_names.CHANGED_INPUTS}{shown}", 0.0, "live 0")


def fixed(layout: Layout) -> list[Copied]:
    """Returns the numbers on which the watches rely, besides the sums: the tolerance, and which member was shown."""
    looks = sorted(layout.blueprint.looks, key=lambda block: block.name)
    shown = [(GONE + i, float(layout.values.cell(block))) for i, block in enumerate(looks)]
    copies = [Copied(SHEET, CHANGED_ROW, column, value, "delivered 0") for column, value in shown]
    return [Copied(SHEET, TOLERANCE_ROW, VERDICT, TOLERANCE, "delivered 12"), *copies]


def _found(last: int) -> list[Live]:
    """Spells sheet and row of the first formula that is not as delivered, in words, and the verdict on all."""
    names, verdicts = (f"{grid.letters(c)}{FIRST_ROW + 1}:{grid.letters(c)}{last}" for c in (grid.SYMBOL, VERDICT))

    def place(sign: str, column: int) -> str:
        at = f'MATCH("{SAYS[sign]}",{verdicts},0)'
        rows = f"{grid.letters(column)}{FIRST_ROW + 1}:{grid.letters(column)}{last}"
        return f'INDEX({names},{at})&", row "&INDEX({rows},{at})&": {MEANINGS[sign]}"'

    places = '""'
    for sign, column in reversed(COLUMNS.items()):
        places = f"IFERROR({place(sign, column)},{places})"
    here = f"{grid.letters(GONE)}{FOUND_ROW + 1}"
    return [
        Live(SHEET, FOUND_ROW, GONE, f"={places}", "", "found"),
        Live(SHEET, FOUND_ROW, VERDICT, f'=IF({here}="","{SAME}","LOOK")', SAME, "verdict"),
    ]


def _judged(sheet: str, row: int, checks: str) -> list[Live]:
    """Spells the verdict on all checks and all formulas where a sheet asks for it, and the first place beside it."""
    verdict = f'=IF(IFERROR(AND({checks}="OK",{reserved_names.FIRST_FORMULA}=""),FALSE),"OK","LOOK")'
    return [
        Live(sheet, row, VERDICT, verdict, "OK", "verdict"),
        Live(sheet, row, VERDICT + 4, f"={reserved_names.FIRST_FORMULA}", "", "found"),
    ]
