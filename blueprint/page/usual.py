"""Usual lines: those whose number is the usual one are folded away, and a sentence at the head of the sheet counts them.

Which lines are folded is settled when the file is made, and no formula hangs on it: a 1 at the end of a line says so. How many
of the folded lines have another number now is counted live.
"""

from blueprint.page import grid
from blueprint.page.layout import Layout, Pen
from blueprint.page.outline import Sheet, Usual, blocks_on

OPENS = "the sign 2 at the upper left shows them"


def lay_usual(layout: Layout) -> None:
    """Folds the usual lines of every sheet that has some, and adds its sentence."""
    for sheet in layout.blueprint.sheets:
        if sheet.usual is not None:
            _lay(sheet, sheet.usual, layout)


def _lay(sheet: Sheet, usual: Usual, layout: Layout) -> None:
    pen, values = Pen(sheet.title, layout), layout.values
    column = layout.flags[sheet.title] = 1 + max(layout.corners(block)[3] for block in blocks_on(sheet))
    changed, rows, folded = list[str](), list[int](), 0
    for block, table in usual.pairs:
        row = layout.places[block].row
        fold = block not in usual.kept and values.cell(block) == values.cell(table, 0)
        if fold:
            layout.folds.append((sheet.title, row, row))
        pen.label(row, column, float(fold), "delivered 0")
        cells = layout.address(block, (), sheet.title), layout.address(table, (0,), sheet.title)
        changed.append(f"{grid.address(row, column)}*(1-EXACT({','.join(cells)}))")
        rows.append(row)
        folded += fold
    flags, count = grid.area(min(rows), column, max(rows), column), grid.address(grid.BANNER_ROW, column)
    pen.live(grid.BANNER_ROW, column, f"=IFERROR({'+'.join(changed)},1)", 0.0, "live 0")
    says = f'SUM({flags})&" of "&COUNT({flags})&" {usual.what} are {usual.of} and are folded: {OPENS}. "'
    now = f'IF({count}=0,"None of them differs now.",{count}&" of them differ"&IF({count}=1,"s","")&" now.")'
    said = f"{folded} of {len(rows)} {usual.what} are {usual.of} and are folded: {OPENS}. None of them differs now."
    pen.live(grid.BANNER_ROW, grid.LEFT, f"={says}&{now}", said, "note")
