"""The canvas of One page: what stands on the sheet so far, and how something is put there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

import numpy as np

from blueprint.language import Block
from blueprint.page import grid, names
from blueprint.page.layout import Layout, Live, Pen
from blueprint.page.one_page import look
from blueprint.page.one_page.columns import Column, ColumnMaker, Finder, Strip, columns_of
from blueprint.page.one_page.terms import term_of
from blueprint.page.outline.one_page import OnePage, PageMatrix, PageRow, Panel

DECIMALS, NARROW_DECIMALS, LEAST_DECIMALS = (3, 4, 2, 5, 1), (2, 3, 4, 1), (2, 1)
"""How many decimals a line may show, the best first; one whose columns are narrow; and one whose columns are the narrowest."""


TOO_LARGE = 1e9
"""From here on a number is too long for a column that grows."""


@dataclass(frozen=True)
class Mark:
    """Cells that look otherwise where a condition holds; corners: first and last row and column."""

    corners: tuple[int, int, int, int]
    condition: str
    name: str
    style: look.Properties


@dataclass
class Sheet:
    """The sheet as it is set up.

    widths, heights: in pixels. merged: ranges that are one cell, with their look. marks: looks by
    condition. filled: cells that have a look and nothing else. lines: those of written arithmetic. end: the row after the last
    that is printed.
    """

    widths: list[int] = field(default_factory=list)
    heights: dict[int, int] = field(default_factory=dict)
    merged: list[tuple[tuple[int, int, int, int], str]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    filled: list[tuple[int, int, str]] = field(default_factory=list)
    lines: list[Drawn] = field(default_factory=list)
    end: int = 0


@dataclass
class Placed:
    """A panel and its columns. sign, symbol, words: the columns beside its numbers; first, last: of the whole panel."""

    panel: Panel
    first: int
    sign: int
    symbol: int
    cells: list[list[int]]
    words: int
    last: int
    weights: list[int] = field(default_factory=list)
    strips: list[Strip] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        """All columns of numbers."""
        return [*columns_of(self.strips)]


@dataclass
class Drawn:
    """A line on the sheet: its row, decimals, and for each cell its column (or strip), number, and address."""

    row: PageRow
    panel: Placed
    at: int
    decimals: int
    cells: list[tuple[Column, int, float | str]]
    choices: tuple[int, ...] = DECIMALS

    def cell(self, number: int) -> str:
        """Returns the address of one of its cells."""
        return grid.address(self.at, self.cells[number][1])


class Canvas:
    """The sheet that is drawn: the page as it is told, the blocks it may show, and all that stands on it so far.

    panels, drawn, order: the panels and lines that are placed, lines by what others call them and in reading order.
    heads_row: the row of the members. cells_wide: how wide their columns are, in pixels. checks_row: the next free row
    below what is printed.
    """

    def __init__(self, layout: Layout, page: OnePage):
        self.layout, self.page, self.sheet = layout, page, Sheet()
        self.blocks = {block.name: block for block in layout.places}
        self.finder = Finder(
            layout,
            next((block for block in (self.first(page.mask), self.first(page.words)) if block is not None), None),
        )
        self.pen = Pen(names.ONE_PAGE, layout)
        self.maker = ColumnMaker(self.finder, self.pen, self.first(page.mask), 0)
        self.drawn: dict[str, Drawn] = {}
        self.order: list[Drawn] = []
        self.kept: dict[str, list[Strip]] = {}
        self.panels: list[Placed] = []
        self.heads_row, self.checks_row, self.cells_wide = 0, 0, look.CELL
        self.of_decimals: dict[int, str] = {}
        self.tolerance = ""

    def first(self, named: str) -> Block | None:
        """Returns the first of several blocks that is there."""
        return next((self.blocks[name] for name in named.split() if name in self.blocks), None)

    def put(self, row: int, column: int, what: float | str | None, style: str) -> None:
        """Puts a text, or only its look, into a cell."""
        if what is None or what == "":
            self.sheet.filled.append((row, column, f"one-page {style}"))
        else:
            self.pen.label(row, column, what, f"one-page {style}")

    def live(self, row: int, column: int, formula: str, value: float | str, style: str, repeats: bool = False) -> None:
        """Puts a formula into a cell."""
        live = Live(names.ONE_PAGE, row, column, f"={formula}", value, f"one-page {style}", repeats)
        self.layout.lives.append(live)

    def mark(self, corners: tuple[int, int, int, int], condition: str, name: str, style: look.Properties) -> None:
        """Notes that cells look otherwise where a condition holds."""
        self.sheet.marks.append(Mark(corners, condition, f"one-page {name}", style))

    def merge(self, top: int, left: int, bottom: int, right: int, style: str) -> None:
        """Makes one cell of several."""
        if (top, left) != (bottom, right):
            self.sheet.merged.append(((top, left, bottom, right), style))

    def has(self, row: PageRow) -> bool:
        """Tells whether all blocks of a line are there."""
        reads = [row.block] if row.block else [name for _, name in term_of(row.value).leaves]
        return all(name in self.blocks and self.fits_any(self.blocks[name]) for name in reads)

    def fits_any(self, block: Block) -> bool:
        """Tells whether there is a column wide enough for the numbers of a block, and whether each cell holds one."""
        return not self.page.grows or self.largest(block) < TOO_LARGE

    def largest(self, block: Block) -> float:
        """Returns the largest number of a block as delivered, without its sign; infinity where a cell holds none."""
        found = np.abs(np.asarray(self.layout.values.arrays[block], dtype=float))
        return float(np.max(found, initial=0.0)) if np.isfinite(found).all() else inf

    def shows(self, matrix: PageMatrix) -> bool:
        """Tells whether a matrix is there, and small enough."""
        block = self.blocks.get(matrix.block)
        return block is not None and self.layout.values.size(block.axes[-1]) <= matrix.most

    def aside(self, panel: Panel) -> tuple[str, ...]:
        """Returns the words beside the matrices of a panel, where what they tell of is there."""
        return panel.aside if not panel.aside_of or panel.aside_of in self.blocks else ()

    def lines(self, panel: Panel) -> Iterator[tuple[str, list[PageRow]]]:
        """Yields the sections of a panel with the lines that are there."""
        for section in panel.sections:
            if rows := [row for row in section.rows if self.has(row)]:
                yield section.title, rows
