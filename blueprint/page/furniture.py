"""Furniture: what a sheet has besides its blocks: columns, panes, print, the banner over the groups, the grey columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blueprint.page import dress, grid
from blueprint.page.layout import Layout
from blueprint.page.outline import Sheet, blocks_on

Look = Callable[[Any, dress.Properties], Any]
NARROW, WEIGHT, NUMBER, NAME, SYMBOL = 1.5, 7.6, 9, 38, 13


class Furniture:
    """Sets up one sheet; `page` is the writer's sheet, `look` makes its format of a dress."""

    def __init__(self, sheet: Sheet, page: Any, layout: Layout, look: Look):
        self.sheet, self.page, self.layout, self.look = sheet, page, layout, look
        self.sizes = [layout.values.size(axis) for axis in sheet.across]

    def place(self) -> None:
        """Sets everything."""
        self.page.hide_gridlines(2)
        self.page.set_landscape()
        self.page.fit_to_pages(1, 0)
        self.page.set_row(grid.TITLE_ROW, 24)
        self.page.freeze_panes(self.layout.body[self.sheet.title], grid.LEFT)
        self.columns()
        if self.sheet.across:
            self.head_names()
            for group in range(self.groups):
                self.banner(group)
        if self.sheet.grey is not None:
            for group in range(self.groups):
                self.grey(group)

    @property
    def groups(self) -> int:
        """How many groups of columns the sheet has."""
        return self.sizes[0] if len(self.sizes) > 1 else 1

    def columns(self) -> None:
        """Sets the widths of the columns left of the groups."""
        self.page.set_column(0, 0, NARROW)
        self.page.set_column(grid.SYMBOL, grid.SYMBOL, SYMBOL)
        self.page.set_column(grid.NAME, grid.NAME, NAME)
        if not self.sheet.across:
            self.page.set_column(grid.LEFT, max(grid.BATCH, self.last_column()), WEIGHT)
            return
        self.page.set_column(grid.LEFT, grid.BATCH - 1, self.left_width())
        self.page.set_column(grid.BATCH, grid.BATCH, NUMBER)
        self.page.set_column(grid.BATCH + 1, grid.BATCH + 1, NARROW)

    def last_column(self) -> int:
        """Returns the last column that a block of the sheet reaches."""
        blocks = blocks_on(self.sheet)
        return max((self.layout.places[b].corners(b, self.layout.values)[3] for b in blocks), default=0)

    def left_width(self) -> float:
        """Returns the width of the ten left columns: room for weights, or together for the longest equation."""
        here = self.sheet.title
        if any(self.layout.places[b].column == grid.LEFT for b in blocks_on(self.sheet)):
            return WEIGHT
        equations = (x.text for x in self.layout.labels if x.sheet == here and x.style == "equation")
        return max(4.5, 1 + max(map(len, equations), default=0) / grid.LEFT_COLUMNS)

    def label(self, row: int, column: int, text: str | int, style: str) -> None:
        """Writes a fixed text or number."""
        self.page.write(row, column, text, self.look(style, dress.label_dress(style)))

    def head_names(self) -> None:
        """Names the row of numbers and the column of single numbers."""
        time = self.sheet.across[-1]
        self.label(grid.NUMBER_ROW, grid.NAME, f"{time.meaning}  {time.letter}", "head name")
        self.label(grid.NUMBER_ROW, grid.BATCH, "batch" if len(self.sizes) > 1 else "all", "head number")

    def banner(self, group: int) -> None:
        """Writes the head of one group: what it is, then start, 1 … T, end, Σ."""
        members, (outer, time) = self.sizes[-1], (self.sheet.across[0], self.sheet.across[-1])
        start = grid.start_column(group, members)
        self.page.set_column(start, start + members + 2, NUMBER)
        self.page.set_column(start + members + 3, start + members + 3, NARROW)
        for column in range(start, start + members + 3):
            self.page.write_blank(grid.BANNER_ROW, column, None, self.look("banner", dress.label_dress("banner")))
        title = f"{outer.meaning} {group + outer.start}" if len(self.sizes) > 1 else time.meaning
        self.label(grid.BANNER_ROW, start, title.capitalize(), "banner")
        for head, column in (("start", start), ("end", start + members + 1), ("Σ", start + members + 2)):
            if head in self.ends():
                self.label(grid.NUMBER_ROW, column, head, "head number")
        for member in range(members):
            self.label(grid.NUMBER_ROW, start + 1 + member, member + time.start, "head number")

    def ends(self) -> set[str]:
        """Returns which columns besides the members have a use on this sheet."""
        if len(self.sizes) > 1:
            return {"start", "end", "Σ"}
        time = self.sheet.across[-1]
        sides = {side for block in blocks_on(self.sheet) for axis, side in block.edges if axis is time}
        return {{-1: "start", 1: "end"}[side] for side in sides}

    def grey(self, group: int) -> None:
        """Fades the columns of a group that do not count, those where the mask is 0."""
        assert self.sheet.grey is not None
        left = grid.start_column(group, self.sizes[-1]) + 1
        first, last = self.layout.body[self.sheet.title], self.layout.end[self.sheet.title]
        row = self.layout.places[self.sheet.grey].row
        faded = self.look("faded", {"font_color": dress.FADED, "bold": False, "italic": True})
        rule = {"type": "formula", "criteria": f"={grid.letters(left)}${row + 1}=0", "format": faded}
        self.page.conditional_format(first, left, last, left + self.sizes[-1] - 1, rule)
