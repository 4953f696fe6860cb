"""Delivered: a copy of everything typed, as it was when the file was made, and whether each is still the same.

A changed input is no mistake, so this says “changed” and no check fails. To get a number back, copy it from here.
"""

from collections.abc import Iterator
from itertools import product

from blueprint.language import Block
from blueprint.page import grid, names, styles
from blueprint.page.cells import runs_of
from blueprint.page.layout import Layout, Pen, sheet_of_its_own

LEAD = "everything typed, as it was when the file was made; to undo a change, copy the number back"
SAME, CHANGED = "same", "changed"
VERDICT, OFF, EMPTIED, COPY = grid.LEFT, grid.LEFT + 1, grid.LEFT + 2, grid.LEFT + 3
FIRST_ROW, COUNT_ROW = 6, 3
COUNT_CELL = f"{names.DELIVERED}!{grid.address(COUNT_ROW, VERDICT, fixed=True)}"
WIDTHS = (1.5, 30, 44, 10, 14, 9)
COPIES_WIDE = 8.43
HEADINGS = {
    grid.SYMBOL: "name", grid.NAME: "meaning", VERDICT: "verdict", OFF: "Σ (now − copy)²", EMPTIED: "emptied",
    COPY: "the copy",
}  # fmt: skip


def lay_delivered(layout: Layout) -> None:
    """Adds the sheet of copies: a verdict and a copy per typed block, and one verdict on all of them above."""
    pen = sheet_of_its_own(names.DELIVERED, LEAD, layout, grid.SYMBOL, FIRST_ROW, HEADINGS)
    row, changed = FIRST_ROW, 0
    for block in layout.places:
        if block.typed and block not in layout.blueprint.looks:
            row, same = _block(block, row, pen)
            changed += not same
    layout.end[names.DELIVERED] = row
    # What is no longer counted as the same is counted, so that an error counts too.
    verdicts = f"{grid.address(FIRST_ROW, VERDICT)}:{grid.address(row - 1, VERDICT)}"
    pen.label(COUNT_ROW, grid.NAME, "inputs that were changed", "name")
    pen.live(COUNT_ROW, VERDICT, f'=COUNTA({verdicts})-COUNTIF({verdicts},"{SAME}")', float(changed), "live 0 key")
    for sheet, place in layout.unchanged:
        asking = Pen(sheet, layout)
        asking.live(
            place, VERDICT, f'=IF({names.CHANGED_INPUTS}=0,"{SAME}","{CHANGED}")', _says(not changed), "verdict"
        )
        asking.link(place, VERDICT + 1, f"{names.DELIVERED}!A1", f"{names.DELIVERED}, row {COUNT_ROW + 1}")


def widths(layout: Layout) -> list[float]:
    """Returns the width of every column, those of the copies included, in letters."""
    last = max((label.column for label in layout.labels if label.sheet == names.DELIVERED), default=COPY)
    return [*WIDTHS, *[COPIES_WIDE] * (last - len(WIDTHS) + 1)]


def _says(same: bool) -> str:
    return SAME if same else CHANGED


def _block(block: Block, row: int, pen: Pen) -> tuple[int, bool]:
    """Adds one block from a row on; returns the next free row, and whether what is typed is what was copied."""
    pen.link(row, grid.SYMBOL, block, block.name)
    pen.label(row, grid.NAME, block.about.meaning, "name")
    style = "live word" if block.text else f"delivered {block.about.decimals}" + styles.read_as(block.about.reads)
    copies = [*_cells(block, pen.layout)]
    for down, along, value in copies:
        if value == value:
            pen.label(row + down, COPY + along, value, style)
    top, left, bottom, right = pen.layout.corners(block)
    copy = grid.area(row, COPY, row + bottom - top, COPY + right - left)
    by_cell = bool(block.axes) and (block.text or block.limit)
    spelled = _same_cells(block, row, pen) if by_cell else _same(block, copy, row, pen)
    same = _typed(block, pen.layout) == {(down, along): value for down, along, value in copies if value == value}
    pen.live(row, VERDICT, f'=IF({spelled},"{SAME}","{CHANGED}")', _says(same), "verdict")
    return row + (bottom - top + 1) * (2 if by_cell else 1), same


def _same(block: Block, copy: str, row: int, pen: Pen) -> str:
    """Spells that a single cell, or a range of numbers, is as it was, and none of them emptied.

    SUMXMY2 says the first at once, but ironcalc has it only within one sheet; HyperFormula subtracts no range of another.
    """
    name = names.defined_name(block.name)
    if not block.axes:
        return f"AND(EXACT({name},{copy}),ISNUMBER({name})=ISNUMBER({copy}))"  # a number typed as text is no number
    pen.live(row, OFF, f"=IFERROR(SUMPRODUCT({name}-{copy},{name}-{copy}),SUMXMY2({name},{copy}))", 0.0, "live 10")
    pen.live(row, EMPTIED, f"=COUNT({copy})-COUNT({name})", 0.0, "live 0")
    # Counted, so that an error (a word where a number was) is not the same, and no error itself.
    return f"COUNTIF({grid.area(row, OFF, row, EMPTIED)},0)=2"


def _same_cells(block: Block, row: int, pen: Pen) -> str:
    """Spells that words, or limits, are as they were: below the copies a cell for each is 1 where it differs."""
    top, left, bottom, right = pen.layout.corners(block)
    below = row + bottom - top + 1
    for i, j, _ in _cells(block, pen.layout):
        typed = f"{grid.quoted(pen.layout.places[block].sheet)}!{grid.address(top + i, left + j)}"
        copy = grid.address(row + i, COPY + j)
        same = f"EXACT({typed},{copy})"
        if block.limit:
            same = f"AND({same},ISNUMBER({typed})=ISNUMBER({copy}))"  # a number typed as text is no number
        pen.live(below + i, COPY + j, f"=IF({same},0,1)", 0.0, "live 0")
    return f"SUM({grid.address(below, COPY)}:{grid.address(below + bottom - top, COPY + right - left)})=0"


def _typed(block: Block, layout: Layout) -> dict[tuple[int, int], float | str]:
    """Returns what is typed in the cells of a block, by row and column from its first one, blank ones left out."""
    top, left, *_ = layout.corners(block)
    cells = (
        (run.row - top, column - left, value)
        for run in runs_of(block, layout)
        for column, value in zip(run.columns, run.values, strict=True)
    )
    return {(down, along): value for down, along, value in cells if value == value}


def _cells(block: Block, layout: Layout) -> Iterator[tuple[int, int, float | str]]:
    """Yields the rows and columns from the block's first cell, and the value, of every typed cell."""
    top, left, *_ = layout.corners(block)
    for places in product(*layout.values.spans(block)):
        row, column = layout.places[block].cell(block, places)
        yield row - top, column - left, layout.values.cell(block, *places)
