"""Contents: every block with name, symbol, meaning, kind, place, and what it reads, by which readers find it; and links back."""

from __future__ import annotations

from math import ceil

from blueprint.language import Block, equations, needs
from blueprint.page import grid, reserved_names
from blueprint.page.layout import Hop, Jump, Label, Layout
from blueprint.page.names import defined_name
from blueprint.page.outline import Blueprint
from blueprint.page.place import shape_of

SHEET = reserved_names.CONTENTS
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
RANGE_NAME = reserved_names.CONTENTS_RANGE
LAYOUT_VERSION = "2"
"""Version of the way in which blocks lie in a file; a reader refuses what it does not know."""


def kind_of(block: Block) -> str:
    """Returns whether a block is typed, a formula, or a link to another sheet."""
    return "typed" if block.typed else "link" if block.link else "formula"


def lay_contents(layout: Layout) -> None:
    """Adds the sheet of contents to a layout, one row per block in reading order."""
    for row, text, style in (
        (grid.TITLE_ROW, SHEET, "title"),
        (grid.LEAD_ROW, LEAD + _example(layout.blueprint), "lead"),
    ):
        layout.labels.append(Label(SHEET, row, 0, text, style))
    layout.labels.append(Label(SHEET, grid.BANNER_ROW, 2, reserved_names.UNPRINTED, "note"))
    for column, heading in enumerate(COLUMNS):
        layout.labels.append(Label(SHEET, FIRST_ROW - 1, column, heading, "table head"))
    readers = _readers(layout)
    for row, block in enumerate(layout.places, FIRST_ROW):
        for column, text in enumerate(_row(block, layout, readers.get(block, []))):
            if COLUMNS[column] == "stands at":
                layout.jumps.append(Jump(SHEET, row, column, block, text))
            elif text:
                style = "wrapped" if COLUMNS[column] in WRAPPED else "cell"
                layout.labels.append(Label(SHEET, row, column, text, style))
    layout.body[SHEET] = FIRST_ROW
    layout.end[SHEET] = FIRST_ROW + len(layout.places)


def _example(blueprint: Blueprint) -> str:
    """Says by an example, of the axes of the workbook's own sheets, how cells lie."""
    *groups, time = max((sheet.across for sheet in blueprint.sheets), key=len, default=()) or (None,)
    if time is None:
        return ""
    outer = f"{groups[0].letter}→2/12 " if groups else ""
    told = f"two {groups[0].plural} every 12 columns, each of 8 {time.plural}" if groups else f"8 {time.plural}"
    return f": {outer}{time.letter}→8(start) are {told} and a start cell"


def heights(layout: Layout) -> dict[int, float]:
    """Returns the height of every row in points, so that the longest wrapped text has its lines."""
    lines: dict[int, int] = {}
    for label in layout.labels:
        if label.sheet == SHEET and label.style == "wrapped":
            width = WIDTHS[COLUMNS[label.column]]
            lines[label.row] = max(lines.get(label.row, 1), ceil(LETTERS_WIDER * len(label.text) / width))
    return {row: LINE_HEIGHT * count for row, count in lines.items()}


def reads(block: Block) -> list[Block]:
    """Returns the blocks that a block's equations read, each once, in their order."""
    return [read for read in dict.fromkeys(need.read for need in needs(block)) if read is not block]


def table_of(layout: Layout) -> str:
    """Returns the range of the table, its headings included."""
    return f"{SHEET}!$A${FIRST_ROW}:${grid.letters(len(COLUMNS) - 1)}${layout.end[SHEET]}"


def _readers(layout: Layout) -> dict[Block, list[Block]]:
    """Returns, for each block, those that read it."""
    readers: dict[Block, list[Block]] = {}
    for block in layout.places:
        for read in reads(block):
            readers.setdefault(read, []).append(block)
    return readers


def range_of(block: Block, layout: Layout, absolute: bool = True) -> str:
    """Returns the range of a block, edges included, with its sheet."""
    place = layout.places[block]
    top, left, bottom, right = place.corners(block, layout.values)
    mark = "$" if absolute else ""
    first = f"{mark}{grid.letters(left)}{mark}{top + 1}"
    last = f"{mark}{grid.letters(right)}{mark}{bottom + 1}"
    return f"{grid.quoted(place.sheet)}!{first}" + (f":{last}" if last != first else "")


def holds(block: Block) -> str:
    """Says what the cells of a block hold."""
    return WORDS if block.text else LIMITS if block.limit else NUMBERS


def _row(block: Block, layout: Layout, readers: list[Block]) -> tuple[str, ...]:
    about = block.about
    shape = " ".join(str(along) for along in shape_of(block, layout.places[block], layout.values))
    equation = "" if block.typed else ";  ".join(equations(block).split("\n"))
    if block.link:
        equation = f"repeats {reads(block)[0].name}"
    cells = {
        "name": block.name, "symbol": about.symbol, "meaning": about.meaning, "unit or range": about.unit,
        "kind": kind_of(block), "holds": holds(block), "axes": ", ".join(axis.letter for axis in block.axes),
        "stands at": range_of(block, layout, absolute=False).replace("'", ""), "equation": equation,
        "reads from": _names(reads(block)), "read by": _names(readers), "source": about.source,
        "defined name": defined_name(block), "lies": shape,
    }  # fmt: skip
    return tuple(cells[column] for column in COLUMNS)


def _names(blocks: list[Block]) -> str:
    return ", ".join(block.name for block in blocks)


def lay_links(layout: Layout) -> None:
    """Adds the links below the title of every sheet but the first."""
    first = layout.blueprint.sheets[0].title
    for sheet in [*layout.body]:
        if sheet == first:
            continue
        column = 0 if sheet == SHEET else grid.SYMBOL
        layout.hops.append(Hop(sheet, grid.BANNER_ROW, column, f"{grid.quoted(first)}!A1", f"← {first}"))
        if first in layout.maps:
            target = f"{grid.quoted(first)}!{grid.letters(grid.SYMBOL)}{layout.maps[first] + 1}"
            layout.hops.append(Hop(sheet, grid.BANNER_ROW, column + 1, target, "map of the flow"))
