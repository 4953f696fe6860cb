"""The lines at the end of the walk: where the chosen column is, and the constants by which numbers are printed.

No formula hides one of them.
"""

from collections.abc import Iterator

from blueprint.language import Axis
from blueprint.page import grid
from blueprint.page.byhand import CLEAN, MORE
from blueprint.page.digits import LEAST, MOST, SHOWN, SMALLEST
from blueprint.page.layout import Layout, Pen

CONSTANTS = {
    "least": ("plain", "smaller ones are powers of ten", LEAST, "live 4"),
    "most": ("plain", "from here on powers of ten", MOST, "live 0"),
    "smallest": ("least", "smaller ones are 0, as rounding is", SMALLEST, "live 12"),
    "ten": ("ten", "what the powers are of", 10.0, "live 0"),
    "clean": ("digits", "decimals of a pocket calculator", float(CLEAN), "live 0"),
    "shown": ("shown", "decimals of the values", float(SHOWN), "live 0"),
}
"""By key: symbol, meaning, value and style."""
LAST = "last"
"""The key of the number of the last member, which hangs on how many there are."""
APART, PLACE, FIRST = 0, 1, 2
LINES = FIRST + len(CONSTANTS) + 3
"""The lines, from the first one on: how far apart the groups stand, the chosen place, the constants; and how many there are."""
LEVELS = (*MORE, MORE[-1] + 1)
"""Decimals beyond the fewest ones that are tried; the last stands for lines that do not come out with any."""


def cells_of_constants(first: int) -> dict[str, str]:
    """Returns the cell of each constant; first: the row of the first line."""
    return {key: _cell(first + FIRST + number) for number, key in enumerate((*CONSTANTS, LAST))}


def cells_of_levels(first: int) -> list[str]:
    """Returns the cells of the decimals that are tried."""
    return [_cell(first + LINES - 1, number) for number in range(len(LEVELS))]


def _cell(row: int, right: int = 0) -> str:
    return grid.address(row, grid.LEFT + right, fixed=True)


def lay_constants(
    layout: Layout, finder: tuple[str, int], across: tuple[Axis, ...], place: tuple[str, float], dec: str, least: int
) -> None:
    """Lays the lines out.

    across, place: the axes of the chosen column, and the formula and the number that say where it is.
    dec, least: the name of the fewest decimals, and how many these are.
    """
    pen, row = Pen(finder[0], layout), finder[1]
    *outer, time = across
    for line, (symbol, meaning, value, style) in enumerate(
        _named(outer[0].meaning if outer else "", time, layout), row
    ):
        pen.name(line, symbol, meaning)
        pen.label(line, grid.LEFT, value, style)
    pen.live(row + PLACE, grid.LEFT, *place, "live 0")
    tried = row + LINES - 1
    for column, more in enumerate(LEVELS, grid.LEFT):
        pen.label(tried - 1, column, float(more), "live 0")
        pen.live(tried, column, f"={dec}+{grid.address(tried - 1, column)}", float(least + more), "live 0")


def _named(outer: str, time: Axis, layout: Layout) -> Iterator[tuple[str, str, float | str, str]]:
    """Yields symbol, meaning, number and style of each line; "" for a number that is a formula's."""
    members = layout.values.size(time)
    yield "apart", f"columns from one {outer} to the next", float(grid.stride(members)), "live 0"
    yield "place", f"the chosen {time.meaning}’s place in every row", "", ""
    yield from CONSTANTS.values()
    yield time.letter.upper(), f"the last {time.meaning}", float(time.start + members - 1), "live 0"
    yield "more", "decimals beyond the fewest, to be tried", "", ""
    yield "tried", "decimals tried; the last: none is enough", "", ""
