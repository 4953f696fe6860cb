"""The constants by which the walk prints its numbers, in cells of their own at its end: no formula hides one."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.language import Axis
from blueprint.page import grid
from blueprint.page.byhand import CLEAN, MORE
from blueprint.page.digits import LEAST, MOST, SHOWN, SMALLEST
from blueprint.page.layout import Copied, Label, Layout, Live

CONSTANTS = {
    "least": ("plain", "smaller ones are powers of ten", LEAST, "live 4"),
    "most": ("plain", "from here on powers of ten", MOST, "live 0"),
    "smallest": ("least", "smaller ones are 0, as rounding is", SMALLEST, "live 12"),
    "ten": ("ten", "what the powers are of", 10.0, "live 0"),
    "clean": ("digits", "decimals of a pocket calculator", float(CLEAN), "live 0"),
    "shown": ("shown", "decimals of the values", float(SHOWN), "live 0"),
}
"""By key: symbol, meaning, value and dress."""
LAST = "last"
"""The key of the number of the last member, which hangs on how many there are."""
MADE_BY = 2
"""Lines that find the chosen column; the constants stand below them."""
LINES = MADE_BY + len(CONSTANTS) + 3
"""How many lines there are at the end of the walk."""


@dataclass(frozen=True)
class Constants:
    """Where the constants stand: below the lines that find the chosen column, which begin at `row`."""

    sheet: str
    row: int

    @property
    def at(self) -> dict[str, str]:
        """The cell of each constant."""
        first = self.row + MADE_BY
        return {key: _fixed(first + number, grid.LEFT) for number, key in enumerate((*CONSTANTS, LAST))}

    def level(self, number: int) -> str:
        """Returns the cell of the decimals that are tried first, second …, last of all those that are not enough."""
        return _fixed(self._last, grid.LEFT + number)

    @property
    def levels(self) -> str:
        """The range of all of them."""
        return f"{self.level(0)}:{self.level(len(MORE))}"

    @property
    def _last(self) -> int:
        return self.row + LINES - 1

    def lay(self, layout: Layout, dec: str, levels: list[int], time: Axis, last: int) -> None:
        """Lays them out; `dec` is the name of the fewest decimals, `levels` are those that are tried.

        time, last: the axis whose member is chosen, and the number of its last one.
        """
        listed = (*CONSTANTS.values(), (time.letter.upper(), f"the last {time.meaning}", float(last), "live 0"))
        for row, (symbol, told, value, style) in enumerate(listed, self.row + MADE_BY):
            self._label(layout, row, symbol, told)
            layout.copies.append(Copied(self.sheet, row, grid.LEFT, value, style))
        self._label(layout, self._last - 1, "more", "decimals beyond the fewest, to be tried")
        self._label(layout, self._last, "tried", "decimals tried; the last: none is enough")
        for number, more in enumerate((*MORE, MORE[-1] + 1)):
            column = grid.LEFT + number
            formula = f"={dec}+{grid.letters(column)}{self._last}"
            layout.copies.append(Copied(self.sheet, self._last - 1, column, float(more), "live 0"))
            layout.lives.append(Live(self.sheet, self._last, column, formula, float(levels[number]), "live 0"))

    def _label(self, layout: Layout, row: int, symbol: str, told: str) -> None:
        layout.labels += [
            Label(self.sheet, row, grid.SYMBOL, symbol, "symbol"),
            Label(self.sheet, row, grid.NAME, told, "name"),
        ]


def _fixed(row: int, column: int) -> str:
    return f"${grid.letters(column)}${row + 1}"
