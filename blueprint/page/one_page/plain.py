"""The page of a blueprint that has no file for it: a panel for each sheet that computes something, without claims."""

from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Row, blocks_of
from blueprint.page.outline.one_page import Columns, OnePage, PageRow, PageSection, Panel, Tile

MOST_PANELS, MOST_ROWS, MOST_COLUMNS, LONGEST_WORDS = 3, 16, 6, 26
MODELS = ("none", "blue", "orange")


def plain_page(made: Blueprint) -> OnePage | None:
    """Returns the page of a blueprint: its computed rows over the columns of its sheets; None where no sheet has columns."""
    panels, columns = list[Panel](), dict[str, Columns]()
    for sheet in made.sheets:
        axis = sheet.across[-1] if len(sheet.across) == 1 else None
        if axis is None or len(panels) == MOST_PANELS:
            continue
        rows = [row for item in sheet.items() for block in blocks_of(item) if (row := _row(block, item, axis))]
        if any(not block.typed for item in sheet.items() for block in blocks_of(item) if block.axes == (axis,)):
            name = f"columns of {sheet.title}"
            columns[name] = Columns("members", axis.letter, most=MOST_COLUMNS)
            panels.append(
                Panel(sheet.title, MODELS[len(panels)], name, sections=(PageSection("", tuple(rows[:MOST_ROWS])),))
            )
    if not panels:
        return None
    tiles = tuple(Tile(block.name, sign="+" if i else "=") for i, block in enumerate(made.parts) if not block.axes)
    symbol = made.result.about.symbol if made.result is not None else ""
    return OnePage(f"{made.title} on one page", tuple(panels), columns, tiles, result=symbol, hint="read downwards")


def _row(block: Block, item: object, axis: Axis) -> PageRow | None:
    """Returns the line of a block over the columns; what one looks for is a result."""
    if block.axes != (axis,) or block.text or block.link:
        return None
    meaning = block.about.meaning
    words = meaning if len(meaning) <= LONGEST_WORDS else ""
    return PageRow(block.name, words=words, result=isinstance(item, Row) and item.role == "key")
