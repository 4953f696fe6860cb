"""The canvas of One page: what stands on the sheet so far, how something is put there, and where each panel begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf

import numpy as np

from blueprint.language import Axis, Block
from blueprint.page import grid
from blueprint.page.layout import Layout, Live, Pen
from blueprint.page.one_page import look
from blueprint.page.one_page.columns import Column, ColumnMaker, Finder, Strip, columns_of
from blueprint.page.outline.derived import axis_of
from blueprint.page.outline.items import OnePage, PageMatrix, PageRow, Panel
from blueprint.page.styles import Ruler

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
        self.pen = Pen(grid.ONE_PAGE, layout)
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
        live = Live(grid.ONE_PAGE, row, column, f"={formula}", value, f"one-page {style}", repeats)
        self.layout.lives.append(live)

    def again(self, row: int, column: int, block: Block, places: tuple[int, ...], style: str) -> None:
        """Shows a cell of a block again."""
        formula = self.layout.address(block, places, fixed=True)
        self.live(row, column, formula, self.layout.values.cell(block, *places), style, repeats=True)

    def mark(self, corners: tuple[int, int, int, int], condition: str, name: str, style: look.Properties) -> None:
        """Notes that cells look otherwise where a condition holds."""
        self.sheet.marks.append(Mark(corners, condition, f"one-page {name}", style))

    def merge(self, top: int, left: int, bottom: int, right: int, style: str) -> None:
        """Makes one cell of several."""
        if (top, left) != (bottom, right):
            self.sheet.merged.append(((top, left, bottom, right), style))

    def has(self, row: PageRow) -> bool:
        """Tells whether all blocks of a line are there, and some column is wide enough for their numbers."""
        return all(
            name in self.blocks and (not self.page.grows or self.largest(self.blocks[name]) < TOO_LARGE)
            for name in row.reads
        )

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


COLUMNS_OF_TILE = 4
"""Columns that a tile and its sign need at least, so that they stand where there is room."""
EDGES, INDENT, WIDE = 8, 14, 72
"""Pixels beside a number in its cell, and beside a symbol; of a column that is wide enough for more decimals."""
NEARLY = "≈"
"""What follows a sign where only the last digit is off."""
TITLE_GAP = 48
"""Pixels between the title and what is said at its right."""
CELLS_WIDE = (look.CELL, look.NARROW_CELL, look.LEAST_CELL)
"""Pixels of a member's column, as many as there is room for."""


class PanelPlacer(Canvas):
    """Gives panels their columns and rows.

    starts: the first row of each below its head. free: by first column, the next free row. roomy: whether signs have room for ≈.
    """

    starts: list[int]
    free: dict[int, int]
    roomy = True

    @cached_property
    def ruler(self) -> Ruler:
        """Measures texts; loaded late, since who asks for a number needs no page."""
        from xlsxwriter.utility import xl_pixel_width

        return Ruler(xl_pixel_width)

    def holds(self, panel: Panel) -> bool:
        """Tells whether a panel has anything to show in this workbook."""
        columns = self.page.columns[panel.columns]
        if panel.unless in self.blocks:
            return False
        if columns.of == "members" and axis_of(columns.axis, self.layout.blueprint) is None:
            return False  # as the steps, where there is one alone
        return any(self.has(row) for section in panel.sections for row in section.rows) or any(
            self.shows(matrix) for matrix in panel.matrices
        )

    def place_panels(self, panels: list[Panel]) -> None:
        """Gives each panel its columns, from left to right; one below another has the same."""
        widths = [look.MARGIN]
        for panel in panels:
            if panel.below and self.panels:
                above = self.panels[-1]
                self.panels.append(
                    Placed(panel, above.first, above.sign, above.symbol, above.cells, above.words, above.last)
                )
                continue
            if self.panels:
                widths.append(look.GAP)
            widths = self.place_panel(replace(panel, below=False), widths)
        title, hint = self.ruler(self.page.title, look.style("title")), self.ruler(self.hint(), look.style("hint"))
        widths[2] += max(0, title + TITLE_GAP - sum(widths[1:-1]))  # the title ends before the cell of the hint
        last = widths[-1] + max(0, title + hint + TITLE_GAP - sum(widths))
        self.sheet.widths = [*widths[:-1], *self.with_room_for_tiles(last, len(widths))]
        for placed in self.panels:
            if placed.last == len(widths) - 1:
                placed.last = len(self.sheet.widths) - 1

    def hint(self) -> str:
        """Returns what stands beside the title: which group is shown, where there are several, and how to read the page."""
        outer = self.finder.outer
        many = self.layout.values.size(outer) if outer is not None else 1
        number = self.finder.numbers.get(outer) if outer is not None else None
        if not self.page.member or many == 1 or number is None or number.name not in self.blocks:
            return self.page.hint
        return f"{self.page.member} {{{number.name}}} of {many}; {self.page.hint}"

    def whole(self) -> str:
        """Returns over which groups the result goes; nothing where there is one alone."""
        outer, called = self.finder.outer, self.page.member
        many = self.layout.values.size(outer) if outer is not None else 1
        if not called or many == 1:
            return ""
        if self.page.part and self.page.part[0] in self.blocks:
            return self.page.part[1]
        return f"both {called}s" if many == 2 else f"all {many} {called}s"

    def with_room_for_tiles(self, last: int, columns: int) -> list[int]:
        """Returns the last column, cut into as many narrow ones as the tiles need to stand beside each other."""
        pieces = max(1, 1 + COLUMNS_OF_TILE * (1 + len(self.page.tiles)) - columns)
        return [last // pieces] * (pieces - 1) + [last - last // pieces * (pieces - 1)]

    def place_panel(self, panel: Panel, widths: list[int]) -> list[int]:
        """Places one panel right of the others."""
        first, weights = len(widths), list[int]()
        tables = [self.blocks[m.weights] for m in panel.matrices if m.weights in self.blocks and self.shows(m)]
        if tables:
            size = self.layout.values.size(tables[0].axes[0])
            widths = [*widths, look.NAME, *[look.WEIGHT] * size, look.ARROW]
            weights = [*range(first + 1, first + 1 + size)]
        elif panel.tight:
            widths = [*widths, 4, 12]
        else:
            widths = [*widths, self.signs_wide(panel), self.symbols_wide(panel)]
        symbol = len(widths) - 1
        strips = self.maker.widths(self.page.columns[panel.columns])
        cells, wide = (
            list[list[int]](),
            min(self.cells_wide, look.CELL if sum(strips) <= 6 and not panel.tight else look.NARROW_CELL),
        )
        wide = max(wide, self.numbers_wide(panel) if self.page.grows else 0, self.members_wide(panel))
        for i, many in enumerate(strips):
            if i:
                widths = [*widths, 8]
            cells.append([*range(len(widths), len(widths) + many)])
            widths = [*widths, *[wide] * many]
        head = self.ruler(f" A   {panel.head}", look.style(f"head {panel.model}"))
        widths = [*widths, max(self.words_wide(panel), head - sum(widths[first:]))]
        self.panels.append(Placed(panel, first, first, symbol, cells, len(widths) - 1, len(widths) - 1, weights))
        return widths

    def signs_wide(self, panel: Panel) -> int:
        """Returns the width of the signs of a panel, in pixels; if they are roomy, with ≈ after an operation."""
        signs = [row.sign for _, rows in self.lines(panel) for row in rows if row.equals and row.sign not in ("", "=")]
        style = look.style("sign")
        return max([look.SIGN, *(self.ruler(f"{sign}{NEARLY}", style) for sign in signs if self.roomy)])

    def symbols_wide(self, panel: Panel) -> int:
        """Returns the width of the symbols of a panel, in pixels."""
        symbols = [row.symbol for _, rows in self.lines(panel) for row in rows] if self.page.grows else []
        style = look.style("symbol none result")
        return max([look.SYMBOL, *(self.ruler(symbol, style) + INDENT for symbol in symbols)])

    def numbers_wide(self, panel: Panel) -> int:
        """Returns the width of the longest number of a panel, in pixels: with all its decimals only where that is not wide."""
        widths = [look.CELL]
        for row in (row for _, rows in self.lines(panel) for row in rows):
            for name in row.reads:
                largest, decimals = self.largest(self.blocks[name]), self.blocks[name].about.decimals
                all_of_it, least = (
                    self.ruler(f"−{largest:.{many}f}", {"bold": True}) + EDGES
                    for many in (decimals, min(decimals, min(DECIMALS)) if row.block else min(DECIMALS))
                )
                widths.append(max(least, min(all_of_it, WIDE)))
        return max(widths)

    def members_wide(self, panel: Panel) -> int:
        """Returns the width of the longest word at the head of a column, in pixels, where the page has room for it."""
        columns = self.page.columns[panel.columns]
        if columns.of != "members" or self.cells_wide < look.CELL:
            return 0
        own = self.blocks.get(columns.words)
        if own is None:
            words, size = self.numbered(panel, self.maker.axis(columns.axis))[: columns.most], "small"
        elif own.text:
            words, size = self.words_of(own), "tiny"
        else:
            return 0
        style = look.style(f"headword {panel.model} {size}")
        widest = max((self.ruler(word, style) for word in words), default=0)
        return min(widest, look.MEMBER) if own is not None or widest <= look.MEMBER else 0

    def called(self, panel: Panel, axis: Axis) -> Block | str | None:
        """Returns what says how the members of an axis are called at the heads of a panel."""
        own = self.blocks.get(self.page.columns[panel.columns].words)
        return own if own is not None else self.layout.blueprint.names.get(axis)

    def words_of(self, called: Block) -> list[str]:
        """Returns the words of all members that a block names."""
        return [str(self.layout.values.cell(called, i)) for i in range(self.layout.values.size(called.axes[0]))]

    def numbered(self, panel: Panel, axis: Axis) -> list[str]:
        """Returns what every member of an axis is, with its number: `pair 1`."""
        called, numbers = self.called(panel, axis), range(axis.start, axis.start + self.layout.values.size(axis))
        if isinstance(called, str):
            return [called.format(number) for number in numbers]
        one = self.page.columns[panel.columns].head or self.layout.blueprint.called(axis).meaning or axis.letter
        return [f"{one} {number}" for number in numbers]

    def fitting_heads(self, words: list[str], placed: Placed, style: str) -> str:
        """Returns the style in which the words of all members have room, "" if one has none: heads are of one kind and size."""
        wide = [
            (words[member], self.sheet.widths[column.column])
            for column in placed.columns
            if not column.place
            for member in (column.at or {}).values()
        ]
        sizes = (style, f"headword {placed.panel.model} small", f"headword {placed.panel.model} tiny")
        return next(
            (each for each in sizes if all(self.ruler(word, look.style(each)) <= room for word, room in wide)), ""
        )

    def words_wide(self, panel: Panel) -> int:
        """Returns the width of the words of a panel, in pixels."""
        words = [row.words for _, rows in self.lines(panel) for row in rows] + [*self.aside(panel)]
        style = look.style("words")
        return max([4, *(self.ruler(re.sub(r"{.*?}", "0.99", text), style) + 8 for text in words if text)])

    def place_rows(self, top: int) -> list[int]:
        """Gives each panel the row of its first line; returns the last rows of all."""
        self.starts = [0] * len(self.panels)
        rows_of: dict[str, int] = {}
        free: dict[int, int] = {}
        ends = list[int]()
        late = [i for i, placed in enumerate(self.panels) if placed.panel.below]
        for i in [*(i for i in range(len(self.panels)) if i not in late), *late]:
            placed = self.panels[i]
            start = top
            if placed.panel.below:
                start = free[placed.first] + 1
                wanted = rows_of.get(placed.panel.beside)
                if wanted is not None and wanted >= start:
                    start = wanted
            self.starts[i] = start
            row = start + sum(
                self.layout.values.size(self.blocks[m.block].axes[-1]) for m in placed.panel.matrices if self.shows(m)
            )
            for title, rows in self.lines(placed.panel):
                row += bool(title)
                for each in rows:
                    rows_of.setdefault(each.called, row)
                    row += 1
            free[placed.first] = row
            ends.append(row - 1)
        self.free = free
        return ends

    def find_columns(self, placed: Placed) -> None:
        """Makes the columns of a panel; panels whose columns are the same members share how they are found."""
        columns = self.page.columns[placed.panel.columns]
        known = self.kept.get(placed.panel.columns)
        if known is None:
            placed.strips = self.kept[placed.panel.columns] = self.maker.made(columns, placed.cells)
            return
        placed.strips = self.maker.again(known, placed.cells)
