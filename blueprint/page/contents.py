"""The sheets Contents and Delivered: every block, by which readers find it; and a copy of everything typed.

Contents has name, symbol, meaning, kind, place and what a block reads; links lead back to the first sheet. Delivered says
whether what was typed is still the same. A changed input is no mistake, so it says “changed” and no check fails. To get a
number back, copy it from there.
"""

from collections.abc import Iterator
from itertools import product
from math import ceil

from blueprint.language import Block, equations, needs
from blueprint.page import grid, outline, styles
from blueprint.page.layout import Layout, Link, Pen, no_number, sheet_of_its_own

# Each column with its width in letters. A reader knows them by name and number: another order is another layout version.
WIDTHS = {
    "name": 29,
    "symbol": 14,
    "meaning": 46,
    "unit or range": 18,
    "kind": 9,
    "holds": 9,
    "axes": 9,
    "stands at": 30,
    "equation": 60,
    "reads from": 46,
    "read by": 46,
    "source": 60,
    "defined name": 26,
    "lies": 24,
}
COLUMNS = tuple(WIDTHS)
WRAPPED = ("meaning", "equation", "reads from", "read by", "source", "lies", "unit or range")
LINE_HEIGHT = 13.5
LETTERS_WIDER = 1.15
"""Lines break at words, so that a text takes more room than its letters."""
FIRST_ROW = 4
LEAD = "every block, in reading order; “lies” says how its cells lie"
WORDS, LIMITS, NUMBERS = "words", "numbers or off", "numbers"
KINDS = ("typed", "formula", "link")
LAYOUT_VERSION = "2"
"""Version of the way in which blocks lie in a file; a reader refuses what it does not know."""


def kind_of(block: Block) -> str:
    """Returns whether a block is typed, a formula, or a link to another sheet."""
    return "typed" if block.typed else "link" if block.link else "formula"


def holds(block: Block) -> str:
    """Says what the cells of a block hold."""
    return WORDS if block.text else LIMITS if block.limit else NUMBERS


def lay_contents(layout: Layout) -> None:
    """Adds the sheet of contents to a layout, one row per block in reading order, and links to the first sheet."""
    pen = sheet_of_its_own(
        grid.CONTENTS, LEAD + _example(layout.blueprint), layout, 0, FIRST_ROW, dict(enumerate(COLUMNS))
    )
    reads = {block: [each for each in dict.fromkeys(need.read for need in needs(block)) if each is not block]
             for block in layout.places}  # fmt: skip
    readers: dict[Block, list[Block]] = {block: [] for block in layout.places}
    for block, found in reads.items():
        for read in found:
            readers[read].append(block)
    for row, block in enumerate(layout.places, FIRST_ROW):
        cells = _cells(block, layout, reads[block], readers[block])
        for column, heading in enumerate(COLUMNS):
            if heading == "stands at":
                pen.link(row, column, block, cells[heading])
            else:
                pen.label(row, column, cells[heading], "wrapped" if heading in WRAPPED else "cell")
    layout.end[grid.CONTENTS] = FIRST_ROW + len(layout.places)
    _link_back(layout)


def _example(blueprint: outline.Blueprint) -> str:
    """Says by an example, of the axes of the workbook's own sheets, how cells lie."""
    across = max((sheet.across for sheet in blueprint.sheets), key=len, default=())
    if not across:
        return ""
    *groups, time = map(blueprint.called, across)
    if not groups:
        return f": {time.letter}→8(start) are 8 {time.plural} and a start cell"
    return (
        f": {groups[0].letter}→2/12 {time.letter}→8(start) are two {groups[0].plural} every 12 columns, "
        f"each of 8 {time.plural} and a start cell"
    )


def heights(layout: Layout) -> dict[int, float]:
    """Returns the height of every row in points, so that the longest wrapped text has its lines."""
    lines: dict[int, int] = {}
    for label in layout.labels:
        if label.sheet == grid.CONTENTS and label.style == "wrapped":
            takes = ceil(LETTERS_WIDER * len(str(label.text)) / WIDTHS[COLUMNS[label.column]])
            lines[label.row] = max(lines.get(label.row, 1), takes)
    return {row: LINE_HEIGHT * count for row, count in lines.items()}


def table_of(layout: Layout) -> str:
    """Returns the range of the table, its headings included."""
    return f"{grid.CONTENTS}!{grid.area(FIRST_ROW - 1, 0, layout.end[grid.CONTENTS] - 1, len(COLUMNS) - 1, fixed=True)}"


def _cells(block: Block, layout: Layout, reads: list[Block], readers: list[Block]) -> dict[str, str]:
    """Returns what the line of a block says, by the headings."""
    about = block.about
    equation = f"repeats {reads[0].name}" if block.link else ";  ".join(equations(block).split("\n"))
    why = "" if block.link else no_number(block, layout.values)  # its row may have no room for it
    return {
        "name": block.name, "symbol": about.symbol, "meaning": about.meaning, "unit or range": about.unit,
        "kind": kind_of(block), "holds": holds(block), "axes": ", ".join(axis.letter for axis in block.axes),
        "stands at": layout.range(block, fixed=False).replace("'", ""),
        "equation": "" if block.typed or block in layout.blueprint.unsaid else equation + why,
        "reads from": ", ".join(each.name for each in reads), "read by": ", ".join(each.name for each in readers),
        "source": about.source, "defined name": grid.defined_name(block.name),
        "lies": " ".join(map(str, grid.shape_of(block, layout.places[block], layout.values))),
    }  # fmt: skip


def _link_back(layout: Layout) -> None:
    """Adds the links below the title of every sheet but the first."""
    first, *others = layout.body
    links = [("A1", f"← {first}")]
    if first in layout.maps:
        links.append((grid.address(layout.maps[first], grid.SYMBOL), "map of the flow"))
    for sheet in others:
        if sheet == grid.ONE_PAGE:  # which has its own, below its tiles
            continue
        for column, (cell, text) in enumerate(links, 0 if sheet == grid.CONTENTS else grid.SYMBOL):
            layout.links.append(Link(sheet, grid.BANNER_ROW, column, f"{grid.quoted_title(first)}!{cell}", text))


COPIES_LEAD = "everything typed, as it was when the file was made; to undo a change, copy the number back"
SAME, CHANGED = "same", "changed"
VERDICT, OFF, EMPTIED, COPY = grid.LEFT, grid.LEFT + 1, grid.LEFT + 2, grid.LEFT + 3
FIRST_COPY_ROW, COUNT_ROW = 6, 3
COUNT_CELL = f"{grid.DELIVERED}!{grid.address(COUNT_ROW, VERDICT, fixed=True)}"
COPIES_WIDTHS = (1.5, 30, 44, 10, 14, 9)
COPIES_WIDE = 8.43
LONGEST_WORD = 12
"""Letters up to which the name of a member is seen in such a column."""
COPIES_HEADINGS = {
    grid.SYMBOL: "name", grid.NAME: "meaning", VERDICT: "verdict", OFF: "Σ (now − copy)²", EMPTIED: "emptied",
    COPY: "the copy",
}  # fmt: skip


def lay_delivered(layout: Layout) -> None:
    """Adds the sheet of copies: a verdict and a copy per typed block, and one verdict on all of them above."""
    pen = sheet_of_its_own(grid.DELIVERED, COPIES_LEAD, layout, grid.SYMBOL, FIRST_COPY_ROW, COPIES_HEADINGS)
    row = FIRST_COPY_ROW
    for block in layout.places:
        if block.typed and block not in layout.blueprint.looks:
            row = _block(block, row, pen)
    layout.end[grid.DELIVERED] = row
    # What is no longer counted as the same is counted, so that an error counts too.
    verdicts = f"{grid.address(FIRST_COPY_ROW, VERDICT)}:{grid.address(row - 1, VERDICT)}"
    pen.label(COUNT_ROW, grid.NAME, "inputs that were changed", "name")
    pen.live(COUNT_ROW, VERDICT, f'=COUNTA({verdicts})-COUNTIF({verdicts},"{SAME}")', 0.0, "live 0 key")
    for sheet, place in layout.unchanged:
        asking = Pen(sheet, layout)
        asking.live(place, VERDICT, f'=IF({grid.CHANGED_INPUTS}=0,"{SAME}","{CHANGED}")', SAME, "verdict")
        asking.link(place, VERDICT + 1, f"{grid.DELIVERED}!A1", f"{grid.DELIVERED}, row {COUNT_ROW + 1}")


def copies_widths(layout: Layout) -> list[float]:
    """Returns the width of every column, those of the copies included, in letters; names of several words may need more."""
    last = max((label.column for label in layout.labels if label.sheet == grid.DELIVERED), default=COPY)
    names = (block for block in layout.blueprint.names.values() if isinstance(block, Block) and block.typed)
    texts = (str(text) for block in names for _, along, text in _typed_cells(block, layout) if along)
    longest = max((len(text) for text in texts if " " in text), default=0)
    wide = longest if longest > LONGEST_WORD else COPIES_WIDE
    return [*COPIES_WIDTHS, *[wide] * (last - len(COPIES_WIDTHS) + 1)]


def _block(block: Block, row: int, pen: Pen) -> int:
    """Adds one block from a row on; returns the next free row."""
    pen.link(row, grid.SYMBOL, block, block.name)
    pen.label(row, grid.NAME, block.about.meaning, "name")
    style = "live word" if block.text else f"delivered {block.about.decimals}" + styles.read_as(block.about.reads)
    for down, along, value in _typed_cells(block, pen.layout):
        if value == value:
            pen.label(row + down, COPY + along, value, style)
    top, left, bottom, right = pen.layout.corners(block)
    copy = grid.area(row, COPY, row + bottom - top, COPY + right - left)
    by_cell = bool(block.axes) and (block.text or block.limit)
    spelled = _same_cells(block, row, pen) if by_cell else _same(block, copy, row, pen)
    pen.live(row, VERDICT, f'=IF({spelled},"{SAME}","{CHANGED}")', SAME, "verdict")
    return row + (bottom - top + 1) * (2 if by_cell else 1)


def _same(block: Block, copy: str, row: int, pen: Pen) -> str:
    """Spells that a single cell, or a range of numbers, is as it was, and none of them emptied.

    SUMXMY2 says the first at once, but ironcalc has it only within one sheet; HyperFormula subtracts no range of another.
    """
    name = grid.defined_name(block.name)
    if not block.axes:
        return _exact(name, copy)
    pen.live(row, OFF, f"=IFERROR(SUMPRODUCT({name}-{copy},{name}-{copy}),SUMXMY2({name},{copy}))", 0.0, "live 10")
    pen.live(row, EMPTIED, f"=COUNT({copy})-COUNT({name})", 0.0, "live 0")
    # Counted, so that an error (a word where a number was) is not the same, and no error itself.
    return f"COUNTIF({grid.area(row, OFF, row, EMPTIED)},0)=2"


def _exact(typed: str, copy: str) -> str:
    """Spells that a cell is as it was; a number typed as text is no number."""
    return f"AND(EXACT({typed},{copy}),ISNUMBER({typed})=ISNUMBER({copy}))"


def _same_cells(block: Block, row: int, pen: Pen) -> str:
    """Spells that words, or limits, are as they were: below the copies a cell for each is 1 where it differs."""
    top, left, bottom, right = pen.layout.corners(block)
    below = row + bottom - top + 1
    for i, j, _ in _typed_cells(block, pen.layout):
        typed = f"{grid.quoted_title(pen.layout.places[block].sheet)}!{grid.address(top + i, left + j)}"
        copy = grid.address(row + i, COPY + j)
        same = _exact(typed, copy) if block.limit else f"EXACT({typed},{copy})"
        pen.live(below + i, COPY + j, f"=IF({same},0,1)", 0.0, "live 0")
    return f"SUM({grid.address(below, COPY)}:{grid.address(below + bottom - top, COPY + right - left)})=0"


def _typed_cells(block: Block, layout: Layout) -> Iterator[tuple[int, int, float | str]]:
    """Yields the rows and columns from the block's first cell, and the value, of every typed cell."""
    top, left, *_ = layout.corners(block)
    for places in product(*layout.values.spans(block)):
        row, column = layout.places[block].cell(block, places)
        yield row - top, column - left, layout.values.cell(block, *places)
