"""Delivered: a copy of everything typed, as it was when the file was made, and whether each is still the same.

A changed input is no mistake, so this says “changed” and no check fails. To get a number back, copy it from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from blueprint.language import Block
from blueprint.page import grid, reserved_names, styles
from blueprint.page.layout import Copied, Hop, Jump, Label, Layout, Live
from blueprint.page.names import defined_name
from blueprint.page.place import spans

SHEET = reserved_names.DELIVERED
LEAD = "everything typed, as it was when the file was made; to undo a change, copy the number back"
SAME, CHANGED = "same", "changed"
VERDICT, OFF, EMPTIED, COPY = grid.LEFT, grid.LEFT + 1, grid.LEFT + 2, grid.LEFT + 3
FIRST_ROW = 6
COUNT_ROW = FIRST_ROW - 3
COUNT_CELL = f"{SHEET}!${grid.letters(VERDICT)}${COUNT_ROW + 1}"
WIDTHS = (1.5, 30, 44, 10, 14, 9)
COPIES_WIDE = 8.43
HEADINGS = {
    grid.SYMBOL: "name", grid.NAME: "meaning", VERDICT: "verdict", OFF: "Σ (now − copy)²", EMPTIED: "emptied",
    COPY: "the copy",
}  # fmt: skip

Value = float | str


def lay_delivered(layout: Layout) -> None:
    """Adds the sheet of copies: a verdict and a copy per typed block, and one verdict on all of them above."""
    labels = ((grid.TITLE_ROW, SHEET, "title"), (grid.LEAD_ROW, LEAD, "lead"))
    layout.labels.append(Label(SHEET, grid.BANNER_ROW, grid.LEFT, reserved_names.UNPRINTED, "note"))
    layout.labels += [Label(SHEET, row, grid.SYMBOL, text, style) for row, text, style in labels]
    layout.labels += [Label(SHEET, FIRST_ROW - 1, column, text, "table head") for column, text in HEADINGS.items()]
    row = FIRST_ROW
    for block in layout.places:
        if block.typed and block not in layout.blueprint.looks:
            row = _block(block, row, layout)
    layout.body[SHEET], layout.end[SHEET] = FIRST_ROW, row
    _all(row, layout)


def widths(layout: Layout) -> list[float]:
    """Returns the width of every column, those of the copies included, in letters."""
    last = max((copy.column for copy in layout.copies if copy.sheet == SHEET), default=COPY)
    return [*WIDTHS, *[COPIES_WIDE] * (last - len(WIDTHS) + 1)]


def _all(end: int, layout: Layout) -> None:
    """Adds the verdict on all copies, here and on the sheets that ask for it."""
    letter = grid.letters(VERDICT)
    # What is no longer counted as the same is counted, so that an error counts too.
    column = f"{letter}{FIRST_ROW + 1}:{letter}{end}"
    count = f'=COUNTA({column})-COUNTIF({column},"{SAME}")'
    row = COUNT_ROW
    layout.labels.append(Label(SHEET, row, grid.NAME, "inputs that were changed", "name"))
    layout.lives.append(Live(SHEET, row, VERDICT, count, 0.0, "live 0 key"))
    formula = f'=IF({reserved_names.CHANGED_INPUTS}=0,"{SAME}","{CHANGED}")'
    for sheet, place in layout.asks:
        layout.lives.append(Live(sheet, place, VERDICT, formula, SAME, "verdict"))
        layout.hops.append(Hop(sheet, place, VERDICT + 1, f"{SHEET}!A1", f"{SHEET}, row {row + 1}"))


def _block(block: Block, row: int, layout: Layout) -> int:
    """Adds one block from a row on; returns the next free row."""
    layout.jumps.append(Jump(SHEET, row, grid.SYMBOL, block, block.name))
    layout.labels.append(Label(SHEET, row, grid.NAME, block.about.meaning, "name"))
    top, left, bottom, right = layout.places[block].corners(block, layout.values)
    for down, along, value in _cells(block, layout):
        if value == value and value != "":
            layout.copies.append(Copied(SHEET, row + down, COPY + along, value, _style(block)))
    high, wide = bottom - top, right - left
    copy = f"{grid.letters(COPY)}{row + 1}"
    if high or wide:
        copy += f":{grid.letters(COPY + wide)}{row + high + 1}"
    by_cell = bool(block.axes) and (block.text or block.limit)
    same = _same_cells(block, row, layout) if by_cell else _same(block, copy, row, layout)
    layout.lives.append(Live(SHEET, row, VERDICT, f'=IF({same},"{SAME}","{CHANGED}")', SAME, "verdict"))
    return row + (high + 1) * (2 if by_cell else 1)


def _same(block: Block, copy: str, row: int, layout: Layout) -> str:
    """Spells that a single cell, or a range of numbers, is as it was, and none of them emptied.

    (SUMXMY2 says the first at once, but ironcalc has it only within one sheet.)
    """
    name = defined_name(block)
    if not block.axes:
        return f"AND(EXACT({name},{copy}),ISNUMBER({name})=ISNUMBER({copy}))"  # a number typed as text is no number
    layout.lives.append(Live(SHEET, row, OFF, f"=SUMPRODUCT({name}-{copy},{name}-{copy})", 0.0, "live 10"))
    layout.lives.append(Live(SHEET, row, EMPTIED, f"=COUNT({copy})-COUNT({name})", 0.0, "live 0"))
    # Counted, so that an error (a word where a number was) is not the same, and no error itself.
    return f"COUNTIF({grid.letters(OFF)}{row + 1}:{grid.letters(EMPTIED)}{row + 1},0)=2"


def _same_cells(block: Block, row: int, layout: Layout) -> str:
    """Spells that words, or limits, are as they were: below the copies a cell for each is 1 where it differs."""
    place = layout.places[block]
    top, left, bottom, right = place.corners(block, layout.values)
    below = row + bottom - top + 1
    for i, j, _ in _cells(block, layout):
        typed = f"{grid.quoted(place.sheet)}!{grid.letters(left + j)}{top + i + 1}"
        copy = f"{grid.letters(COPY + j)}{row + i + 1}"
        same = f"EXACT({typed},{copy})"
        if block.limit:
            same = f"AND({same},ISNUMBER({typed})=ISNUMBER({copy}))"  # a number typed as text is no number
        layout.lives.append(Live(SHEET, below + i, COPY + j, f"=IF({same},0,1)", 0.0, "live 0"))
    first, last = f"{grid.letters(COPY)}{below + 1}", f"{grid.letters(COPY + right - left)}{below + bottom - top + 1}"
    return f"SUM({first}:{last})=0"


def _cells(block: Block, layout: Layout) -> Iterator[tuple[int, int, Value]]:
    """Yields the rows and columns from the block's first cell, and the value, of every typed cell."""
    values, place = layout.values, layout.places[block]
    top, left, *_ = place.corners(block, values)
    for places in product(*spans(block, values)):
        row, column = place.cell(block, places)
        yield row - top, column - left, values.cell(block, *places)


def _style(block: Block) -> str:
    reads = styles.READS + block.about.reads if block.about.reads else ""
    return "live word" if block.text else f"delivered {block.about.decimals}{reads}"
