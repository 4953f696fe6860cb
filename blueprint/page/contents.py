"""Contents: every block with name, symbol, meaning, kind, place, and what it reads, by which readers find it; and links back."""

from math import ceil

from blueprint.language import Block, equations, needs
from blueprint.page import cell_writer, grid, names, outline, place
from blueprint.page.layout import Layout, Link, sheet_of_its_own

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
        names.CONTENTS, LEAD + _example(layout.blueprint), layout, 0, FIRST_ROW, dict(enumerate(COLUMNS))
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
    layout.end[names.CONTENTS] = FIRST_ROW + len(layout.places)
    _link_back(layout)


def _example(blueprint: outline.Blueprint) -> str:
    """Says by an example, of the axes of the workbook's own sheets, how cells lie."""
    *groups, time = max((sheet.across for sheet in blueprint.sheets), key=len, default=()) or (None,)
    if time is None:
        return ""
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
        if label.sheet == names.CONTENTS and label.style == "wrapped":
            takes = ceil(LETTERS_WIDER * len(str(label.text)) / WIDTHS[COLUMNS[label.column]])
            lines[label.row] = max(lines.get(label.row, 1), takes)
    return {row: LINE_HEIGHT * count for row, count in lines.items()}


def table_of(layout: Layout) -> str:
    """Returns the range of the table, its headings included."""
    return (
        f"{names.CONTENTS}!{grid.area(FIRST_ROW - 1, 0, layout.end[names.CONTENTS] - 1, len(COLUMNS) - 1, fixed=True)}"
    )


def _cells(block: Block, layout: Layout, reads: list[Block], readers: list[Block]) -> dict[str, str]:
    """Returns what the line of a block says, by the headings."""
    about = block.about
    equation = f"repeats {reads[0].name}" if block.link else ";  ".join(equations(block).split("\n"))
    why = "" if block.link else cell_writer.no_number(block, layout.values)  # its row may have no room for it
    return {
        "name": block.name, "symbol": about.symbol, "meaning": about.meaning, "unit or range": about.unit,
        "kind": kind_of(block), "holds": holds(block), "axes": ", ".join(axis.letter for axis in block.axes),
        "stands at": layout.range(block, fixed=False).replace("'", ""),
        "equation": "" if block.typed or block in layout.blueprint.unsaid else equation + why,
        "reads from": ", ".join(each.name for each in reads), "read by": ", ".join(each.name for each in readers),
        "source": about.source, "defined name": names.defined_name(block.name),
        "lies": " ".join(map(str, place.shape_of(block, layout.places[block], layout.values))),
    }  # fmt: skip


def _link_back(layout: Layout) -> None:
    """Adds the links below the title of every sheet but the first."""
    first, *others = layout.body
    links = [("A1", f"← {first}")]
    if first in layout.maps:
        links.append((grid.address(layout.maps[first], grid.SYMBOL), "map of the flow"))
    for sheet in others:
        if sheet == names.ONE_PAGE:  # which has its own, below its tiles
            continue
        for column, (cell, text) in enumerate(links, 0 if sheet == names.CONTENTS else grid.SYMBOL):
            layout.links.append(Link(sheet, grid.BANNER_ROW, column, f"{grid.quoted(first)}!{cell}", text))
