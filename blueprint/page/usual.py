"""Usual lines: those whose number is the usual one are folded away, and a line at the head of the sheet counts them.

Which lines are folded is settled when the file is made, and no formula hangs on it: behind the lines stand a 1 where one is
folded, and live a 1 where its number differs now. At the head is counted, live, how many of the folded lines differ.
"""

from blueprint.page import grid
from blueprint.page.layout import Layout, Pen
from blueprint.page.outline import Sheet, Usual, blocks_on

OPENS = "the sign 2 at the upper left shows them"


def lay_usual(layout: Layout) -> None:
    """Folds the usual lines of every sheet that has some, and counts them at its head."""
    for sheet in layout.blueprint.sheets:
        if sheet.usual is not None:
            _lay(sheet, sheet.usual, layout)


def _lay(sheet: Sheet, usual: Usual, layout: Layout) -> None:
    pen, values = Pen(sheet.title, layout), layout.values
    flags = layout.flags[sheet.title] = 1 + max(layout.corners(block)[3] for block in blocks_on(sheet))
    rows = [layout.places[block].row for block, _ in usual.pairs]
    folded = 0
    for row, (block, table) in zip(rows, usual.pairs, strict=True):
        differs = values.cell(block) != values.cell(table, 0)
        fold = not differs and block not in usual.kept
        if fold:
            layout.folds.append((sheet.title, row, row))
            folded += 1
        pen.label(row, flags, float(fold), "delivered 0")
        cells = layout.address(block, (), sheet.title), layout.address(table, (0,), sheet.title)
        pen.live(row, flags + 1, f"=IFERROR(IF(EXACT({','.join(cells)}),0,1),1)", float(differs), "live 0")
    first, last = min(rows), max(rows)
    ranges = ",".join(grid.area(first, column, last, column) for column in (flags, flags + 1))
    pen.live(grid.BANNER_ROW, grid.LEFT, f"=SUMPRODUCT({ranges})", 0.0, "live 0")
    said = f"of the {folded} {usual.what} that are folded, of {len(rows)}, differ now from {usual.of}; {OPENS}"
    pen.label(grid.BANNER_ROW, grid.LEFT + 1, said, "note")
