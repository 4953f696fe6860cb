"""Panels: which of them there are, the columns of each from left to right, and the row in which each begins."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property

from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import DECIMALS, Canvas, Placed
from blueprint.page.one_page.terms import term_of
from blueprint.page.outline.derived import axis_of
from blueprint.page.outline.one_page import Panel
from blueprint.page.ruler import Ruler

COLUMNS_OF_TILE = 4
"""Columns that a tile and its sign need at least, so that they stand where there is room."""
EDGES, INDENT, WIDE = 8, 14, 72
"""Pixels beside a number in its cell, and beside a symbol; of a column that is wide enough for more decimals."""
TITLE_GAP = 48
"""Pixels between the title and what is said at its right."""
CELLS_WIDE = (look.CELL, look.NARROW_CELL, look.LEAST_CELL)
"""Pixels of a member's column, as many as there is room for."""


class PanelPlacer(Canvas):
    """Gives panels their columns and rows.

    starts: the first row of each below its head. free: by first column, the next free row.
    """

    starts: list[int]
    free: dict[int, int]

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
        title, hint = self.ruler(self.page.title, look.style("title")), self.ruler(self.page.hint, look.style("hint"))
        widths[2] += max(0, title + TITLE_GAP - sum(widths[1:-1]))  # the title ends before the cell of the hint
        last = widths[-1] + max(0, title + hint + TITLE_GAP - sum(widths))
        self.sheet.widths = [*widths[:-1], *self.with_room_for_tiles(last, len(widths))]
        for placed in self.panels:
            if placed.last == len(widths) - 1:
                placed.last = len(self.sheet.widths) - 1

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
            widths = [*widths, look.SIGN, self.symbols_wide(panel)]
        symbol = len(widths) - 1
        strips = self.maker.widths(self.page.columns[panel.columns])
        cells, wide = (
            list[list[int]](),
            min(self.cells_wide, look.CELL if sum(strips) <= 6 and not panel.tight else look.NARROW_CELL),
        )
        wide = max(wide, self.numbers_wide(panel)) if self.page.grows else wide
        for i, many in enumerate(strips):
            if i:
                widths = [*widths, 8]
            cells.append([*range(len(widths), len(widths) + many)])
            widths = [*widths, *[wide] * many]
        head = self.ruler(f" A   {panel.head}", look.style(f"head {panel.model}"))
        widths = [*widths, max(self.words_wide(panel), head - sum(widths[first:]))]
        self.panels.append(Placed(panel, first, first, symbol, cells, len(widths) - 1, len(widths) - 1, weights))
        return widths

    def symbols_wide(self, panel: Panel) -> int:
        """Returns the width of the symbols of a panel, in pixels."""
        symbols = [row.symbol for _, rows in self.lines(panel) for row in rows] if self.page.grows else []
        style = look.style("symbol none result")
        return max([look.SYMBOL, *(self.ruler(symbol, style) + INDENT for symbol in symbols)])

    def numbers_wide(self, panel: Panel) -> int:
        """Returns the width of the longest number of a panel, in pixels: with all its decimals only where that is not wide."""
        widths = [look.CELL]
        for row in (row for _, rows in self.lines(panel) for row in rows):
            for name in [row.block] if row.block else [name for _, name in term_of(row.value).leaves]:
                largest, decimals = self.largest(self.blocks[name]), self.blocks[name].about.decimals
                all_of_it, least = (
                    self.ruler(f"−{largest:.{many}f}", {"bold": True}) + EDGES
                    for many in (decimals, min(decimals, min(DECIMALS)) if row.block else min(DECIMALS))
                )
                widths.append(max(least, min(all_of_it, WIDE)))
        return max(widths)

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
