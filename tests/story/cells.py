"""Numbers in a page's text that come out of workbooks, and the list of the cells in which they stand.

`{reinforce: expected_reward}` is the number in a cell of the workbook `reinforce`; a row with axes needs a member of each
(`{very-very-sleepy: td_errors@n=1,t=3}`), settings stand behind the name of the numbers (`{optimum optimum.way=1: objective}`),
and behind a stroke the decimals, four at most if none are said (`{reinforce: variance.with | 2}`). `{cells}` lists, by
workbook, all cells that the text has named since the last such list. `{count default: policy.E policy.W}` is how many cells
some rows have.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from blueprint.book import Book
from tests.page.workshop import made
from tests.scenarios import Row, row_of, shown, value

FIELD = re.compile(r"\{([^{}]+)\}")
COUNT = re.compile(r"\{count ([\w/-]+): ([^{}]+)\}")
LIST = "cells"
"""The field that lists the cells which were named before it."""


class Cell(NamedTuple):
    """A cell of a workbook, as a text names it.

    numbers: the built-in numbers of the workbook; settings: what is changed in them, each `key=value`; row: the block and the
    member of each axis; decimals: how many are shown, None for four at most.
    """

    numbers: str
    settings: tuple[str, ...]
    row: Row
    decimals: int | None

    @property
    def book(self) -> Book:
        """The workbook, which tests share."""
        return made(*self.settings, numbers=self.numbers)

    @property
    def command(self) -> str:
        """The line that builds it."""
        named = "" if self.numbers == "default" else f" --numbers {self.numbers}"
        return f"blueprint build{named}{''.join(f' --set {each}' for each in self.settings)}"

    @property
    def number(self) -> str:
        """What stands in it, as the page shows it."""
        found = value(self.book, self.row)
        return shown(found) if self.decimals is None else f"{float(found):.{self.decimals}f}".replace("-", "−")

    @property
    def place(self) -> str:
        """Where it stands, the symbol of its row, and what is in it: `Loss!T20` (ρ) = 0.7."""
        where = self.book.show(self.row.block, **self.row.members).cell
        symbol = re.sub(r"([*|])", r"\\\1", self.book.blocks[self.row.block].symbol)  # as they are, not as Markdown's
        return f"`{where}` ({symbol}) = {shown(value(self.book, self.row))}"


def cell_of(text: str) -> Cell:
    """Reads a field, without its braces."""
    head, _, rest = text.partition(": ")
    row, _, decimals = rest.partition("|")
    numbers, *settings = head.split()
    return Cell(numbers, tuple(settings), row_of(row), int(decimals) if decimals else None)


def cells_in(text: str) -> list[Cell]:
    """Returns the cells that a text names, in its order, each once."""
    return [cell_of(each) for each in dict.fromkeys(FIELD.findall(text)) if ": " in each]


def listed(cells: list[Cell]) -> str:
    """Returns the list of cells, a line for each workbook: the command that builds it, and where each number stands."""
    commands = dict.fromkeys(each.command for each in cells)
    lines = []
    for command in commands:
        places = dict.fromkeys(each.place for each in cells if each.command == command)
        lines.append(f"`{command}`: " + "; ".join(places))
    return "<sub>Cells. " + "<br>\n".join(lines) + "</sub>"


def counted(found: re.Match[str]) -> str:
    """Returns how many cells the rows of a workbook have."""
    of = made(numbers=found[1])
    return str(sum(of.values[of.blocks[row]].size for row in found[2].split()))


def filled(text: str) -> str:
    """Returns a text with its numbers and with its lists of cells; raises KeyError with near names if a row is none."""
    text, made_of, named = COUNT.sub(counted, text), [], ""
    for part in re.split(rf"(\{{{LIST}\}})", text):
        if part == f"{{{LIST}}}":
            made_of.append(listed(cells_in(named)))
            named = ""
        else:
            made_of.append(FIELD.sub(lambda found: cell_of(found[1]).number if ": " in found[1] else found[0], part))
            named += part
    return "".join(made_of)
