"""Furniture: what a sheet has besides its blocks: columns, panes, print, the banner over the groups, the grey columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blueprint.page import contents, delivered, dress, grid
from blueprint.page.layout import Layout
from blueprint.page.outline import Sheet, blocks_on
from blueprint.page.picking import PLACE
from blueprint.page.plainly import put
from blueprint.page.printing import set_up_print

Look = Callable[[Any, dress.Properties], Any]
NARROW, WEIGHT, NUMBER, NAME, SYMBOL = 1.5, 7.6, 9, 38, 14
WIDEST, LINE = 25, 13
"""The widest column of words, in letters; the height of a line of a paragraph."""


class Furniture:
    """Sets up one sheet; `page` is the writer's sheet, `look` makes its format of a dress."""

    def __init__(self, sheet: Sheet, page: Any, layout: Layout, look: Look):
        self.sheet, self.page, self.layout, self.look = sheet, page, layout, look
        self.sizes = [layout.values.size(axis) for axis in sheet.across]
        self.widths: dict[int, float] = {}

    def place(self) -> None:
        """Sets everything."""
        body = self.layout.body[self.sheet.title]
        self.page.hide_gridlines(2)
        self.page.set_row(grid.TITLE_ROW, 24)
        self.page.freeze_panes(body, grid.LEFT if self.sheet.across else 0)
        self.columns()
        if self.sheet.across:
            self.head_names()
            for group in range(self.groups):
                self.banner(group)
        if self.sheet.grey is not None:
            for group in range(self.groups):
                self.grey(group)
        self.fold()
        self.paragraphs()
        self.verdicts()
        self.mark_chosen()
        set_up_print(self.page, body, self.widths, range(0, grid.LEFT) if self.sheet.across else range(0))

    @property
    def groups(self) -> int:
        """How many groups of columns the sheet has."""
        return self.sizes[0] if len(self.sizes) > 1 else 1

    def width(self, first: int, last: int, width: float) -> None:
        """Sets the width of columns, in letters."""
        self.page.set_column(first, last, width)
        self.widths |= dict.fromkeys(range(first, last + 1), width)

    def columns(self) -> None:
        """Sets the widths of the columns left of the groups."""
        self.width(0, 0, NARROW)
        self.width(grid.SYMBOL, grid.SYMBOL, SYMBOL)
        self.width(grid.NAME, grid.NAME, NAME)
        if not self.sheet.across:
            self.width(grid.LEFT, max(grid.BATCH, self.last_column()), WEIGHT)
            for number, width in enumerate(self.sheet.widths):
                self.width(grid.LEFT + number, grid.LEFT + number, width)
            return
        self.width(grid.LEFT, grid.BATCH - 1, self.left_width())
        self.width(grid.BATCH, grid.BATCH, NUMBER)
        self.width(grid.BATCH + 1, grid.BATCH + 1, NARROW)

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
        longest = max(map(len, equations), default=0)
        return max(4.5 if longest or len(self.sizes) > 1 else 1, 1 + longest / grid.LEFT_COLUMNS)

    def fold(self) -> None:
        """Groups the rows of steps on the way, so that they can be folded away at the sign above them."""
        self.page.outline_settings(symbols_below=False)
        for sheet, first, last in self.layout.folds:
            if sheet == self.sheet.title:
                for row in range(first, last + 1):
                    self.page.set_row(row, None, None, {"level": 1, "hidden": self.sheet.closed})

    def paragraphs(self) -> None:
        """Makes rows of sentences as high as the longest sentence needs."""
        for block in blocks_on(self.sheet):
            if self.layout.roles[block] == "paragraph":
                place = self.layout.places[block]
                longest = max(map(len, map(str, self.layout.values[block].ravel())))
                lines = 2 + longest // self.member_width()
                self.page.set_row(place.row, LINE * lines)

    def member_width(self) -> float:
        """Returns the width of a member's column; where members are no decisions, their words find room."""
        if len(self.sizes) > 1:
            return NUMBER
        rows = [b for b in blocks_on(self.sheet) if b.text and self.sheet.across[-1] in b.axes]
        words = [
            str(word) for b in rows if self.layout.roles[b] != "paragraph" for word in self.layout.values[b].ravel()
        ]
        return max(NUMBER, min(WIDEST, 3 + max(map(len, words), default=0)))

    def verdicts(self) -> None:
        """Colours the words that say how a check went."""
        if self.has_verdicts:
            colour_verdicts(self.page, self.layout.end[self.sheet.title], grid.LEFT + 3, self.look)

    @property
    def has_verdicts(self) -> bool:
        """Whether a check says on this sheet how it went."""
        title, values = self.sheet.title, self.layout.values
        words = [values.cell(b) for b in blocks_on(self.sheet) if b.text and not b.axes]
        words += [values.cell(echo.block, *echo.places) for echo in self.layout.echoes if echo.sheet == title]
        return any(sheet == title for sheet, _ in self.layout.asks) or any(word in dress.VERDICTS for word in words)

    def mark_chosen(self) -> None:
        """Marks the number of the chosen column at the head of the sheet."""
        choice = self.layout.blueprint.chosen
        if choice is None or self.sheet.across != choice.across or self.layout.finder is None:
            return
        last = grid.start_column(self.groups, self.sizes[-1])
        look = self.look("chosen", dress.CHOSEN)
        rule = {"type": "formula", "criteria": f"=COLUMN()-{grid.GROUPS}={PLACE}", "format": look}
        self.page.conditional_format(grid.NUMBER_ROW, grid.GROUPS, grid.NUMBER_ROW, last, rule)

    def label(self, row: int, column: int, text: str | int, style: str) -> None:
        """Writes a fixed text or number."""
        put(self.page, row, column, text, self.look(style, dress.label_dress(style)))

    def head_names(self) -> None:
        """Names the row of numbers and the column of single numbers."""
        time = self.sheet.across[-1]
        self.label(grid.NUMBER_ROW, grid.NAME, f"{time.meaning}  {time.letter}", "head name")
        self.label(grid.NUMBER_ROW, grid.BATCH, "batch" if len(self.sizes) > 1 else "all", "head number")

    def banner(self, group: int) -> None:
        """Writes the head of one group: what it is, then start, 1 … T, end, Σ."""
        members, (outer, time) = self.sizes[-1], (self.sheet.across[0], self.sheet.across[-1])
        start = grid.start_column(group, members)
        self.width(start, start + members + 2, NUMBER)
        self.width(start + 1, start + members, self.member_width())
        self.width(start + members + 3, start + members + 3, NARROW)
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
        faded = self.look("faded", {"font_color": dress.FADED, "bold": False})
        rule = {"type": "formula", "criteria": f"={grid.letters(left)}${row + 1}=0", "format": faded}
        self.page.conditional_format(first, left, last, left + self.sizes[-1] - 1, rule)


def colour_verdicts(page: Any, last_row: int, last_column: int, look: Look) -> None:
    """Colours the words that say how a check went, and errors, which say that it could not be made."""
    for word, colours in dress.VERDICTS.items():
        rule = {"type": "cell", "criteria": "==", "value": f'"{word}"', "format": look(("verdict", word), colours)}
        page.conditional_format(0, grid.LEFT, last_row, last_column, rule)
    page.conditional_format(0, grid.LEFT, last_row, last_column, {"type": "errors", "format": look("error", dress.BAD)})


def set_up_own(title: str, page: Any, layout: Layout, look: Look) -> None:
    """Sets up one of the page's own sheets: the table of contents, or the copy of what was typed."""
    listed = title == contents.SHEET
    widths = dict(enumerate(contents.WIDTHS.values() if listed else delivered.widths(layout)))
    for column, width in widths.items():
        page.set_column(column, column, width)
    page.freeze_panes(layout.body[title], 1 if listed else grid.NAME)
    page.hide_gridlines(2)
    page.set_row(grid.TITLE_ROW, 24)
    if listed:
        for row, height in contents.heights(layout).items():
            page.set_row(row, height)
    else:
        colour_verdicts(page, layout.end[title], grid.LEFT, look)
    set_up_print(page, layout.body[title], widths, range(0, 1 if listed else grid.NAME))
