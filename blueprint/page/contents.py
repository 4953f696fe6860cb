"""Contents: every block with name, symbol, meaning, kind and place. Readers find the blocks of a saved copy by it."""

from __future__ import annotations

from blueprint.language import Block
from blueprint.language.nodes import Ref, walk
from blueprint.language.spelling.text import equations
from blueprint.page import grid
from blueprint.page.layout import Jump, Label, Layout
from blueprint.page.names import defined_name
from blueprint.page.shape import shape_of

SHEET = "Contents"
COLUMNS = (
    "name",
    "symbol",
    "meaning",
    "unit or range",
    "kind",
    "holds",
    "stands at",
    "defined name",
    "lies",
    "equation",
    "source",
)
WIDTHS = (24, 14, 52, 18, 9, 9, 28, 24, 30, 60, 60)
FIRST_ROW = 4
LEAD = (
    "every block, in reading order; “lies” says how its cells lie: n→2/12 t→8(start) are two episodes every 12 columns, "
    "each of 8 decisions and a start cell"
)
HOLDS = {True: "words", False: "numbers"}
RANGE_NAME = "blueprint_contents"
LAYOUT_VERSION = "1"
"""Version of the way in which blocks lie in a file; a reader refuses what it does not know."""


def kind_of(block: Block) -> str:
    """Returns whether a block is typed, a formula, or a link to another sheet."""
    return "typed" if block.typed else "link" if block.link else "formula"


def lay_contents(layout: Layout) -> None:
    """Adds the sheet of contents to a layout, one row per block in reading order."""
    layout.labels.append(Label(SHEET, grid.TITLE_ROW, 0, SHEET, "title"))
    layout.labels.append(
        Label(
            SHEET,
            grid.LEAD_ROW,
            0,
            LEAD,
            "lead",
        )
    )
    for column, heading in enumerate(COLUMNS):
        layout.labels.append(Label(SHEET, FIRST_ROW - 1, column, heading, "table head"))
    for row, block in enumerate(layout.places, FIRST_ROW):
        for column, text in enumerate(_row(block, layout)):
            if COLUMNS[column] == "stands at":
                layout.jumps.append(
                    Jump(SHEET, row, column, block, range_of(block, layout, absolute=False).replace("'", ""))
                )
            elif text:
                layout.labels.append(Label(SHEET, row, column, text, "name"))
    layout.body[SHEET] = FIRST_ROW
    layout.end[SHEET] = FIRST_ROW + len(layout.places)


def range_of(block: Block, layout: Layout, absolute: bool = True) -> str:
    """Returns the range of a block, edges included, with its sheet."""
    place = layout.places[block]
    top, left, bottom, right = place.corners(block, layout.values)
    mark = "$" if absolute else ""
    first = f"{mark}{grid.letters(left)}{mark}{top + 1}"
    last = f"{mark}{grid.letters(right)}{mark}{bottom + 1}"
    return f"{grid.quoted(place.sheet)}!{first}" + (f":{last}" if last != first else "")


def _row(block: Block, layout: Layout) -> tuple[str, ...]:
    about = block.about
    shape = " ".join(str(along) for along in shape_of(block, layout.places[block], layout.values))
    equation = "" if block.typed else ";  ".join(equations(block).split("\n"))
    if block.link:
        origin = next(ref.block for made in block.definitions for ref in walk(made.expr) if isinstance(ref, Ref))
        equation = f"repeats {origin.name}"
    return (
        block.name, about.symbol, about.meaning, about.unit, kind_of(block), HOLDS[block.text], "", defined_name(block),
        shape, equation, about.source,
    )  # fmt: skip
