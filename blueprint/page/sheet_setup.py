"""What a sheet has besides its blocks: columns, panes, print, the banner over the groups, the grey columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from blueprint.page import contents, delivered, formulas, grid, reserved_names, styles
from blueprint.page.columns import Columns
from blueprint.page.digits import LARGE_FORMAT, MOST
from blueprint.page.layout import Layout
from blueprint.page.outline import Sheet, blocks_on
from blueprint.page.paper import Rows, area_of, head_of, rows_of
from blueprint.page.picking import PLACE
from blueprint.page.printing import set_up_print
from blueprint.page.ruler import Ruler, pixels
from blueprint.page.steps import UNITS
from blueprint.page.worksheet import put

Look = Callable[[Any, styles.Properties], Any]


class SheetSetup:
    """Sets up one sheet; `page` is the writer's sheet, `look` makes its format of a dress."""

    def __init__(self, sheet: Sheet, page: Any, layout: Layout, look: Look, ruler: Ruler):
        self.sheet, self.page, self.layout, self.look = sheet, page, layout, look
        self.columns = Columns(sheet, layout, ruler)
        self.rows = rows_of(sheet, layout, self.columns)
        self.sizes = self.columns.sizes

    def place(self) -> None:
        """Sets everything."""
        body = self.layout.body[self.sheet.title]
        self.page.hide_gridlines(2)
        self.rows.set(self.page)
        self.page.freeze_panes(body, grid.LEFT if self.sheet.across else 0)
        self.set_widths()
        if self.sheet.across:
            self.head_names()
            for group in range(self.groups):
                self.banner(group)
        if self.sheet.grey is not None:
            for group in range(self.groups):
                self.grey(group)
        self.verdicts()
        self.large_values()
        self.mark_chosen()
        set_up_print(self.page, area_of(self.sheet, self.layout, self.columns, self.rows))

    @property
    def groups(self) -> int:
        """How many groups of columns the sheet has."""
        return self.sizes[0] if len(self.sizes) > 1 else 1

    def set_widths(self) -> None:
        """Sets the widths of all columns."""
        for column, width in self.columns.widths.items():
            self.page.set_column_pixels(column, column, width)

    def large_values(self) -> None:
        """Shows values that the column has no room for as powers of ten; a number format cannot, it would lose the sign."""
        rows = [line.row for line in self.layout.walk.lines if line.sheet is self.sheet]
        if rows:
            first, last = min(rows), max(rows)
            large = f"=ABS({grid.letters(min(UNITS))}{first + 1})>={MOST:.0f}"
            look = self.look("large", {"num_format": LARGE_FORMAT})
            self.page.conditional_format(
                first, min(UNITS), last, max(UNITS), {"type": "formula", "criteria": large, "format": look}
            )

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
        return any(sheet == title for sheet, _ in self.layout.asks) or any(word in styles.VERDICTS for word in words)

    def mark_chosen(self) -> None:
        """Marks the number of the chosen column at the head of the sheet."""
        choice = self.layout.blueprint.chosen
        if choice is None or self.sheet.across != choice.across or self.layout.finder is None:
            return
        last = grid.start_column(self.groups, self.sizes[-1])
        look = self.look("chosen", styles.CHOSEN)
        rule = {"type": "formula", "criteria": f"=COLUMN()-{grid.GROUPS}={PLACE}", "format": look}
        self.page.conditional_format(grid.NUMBER_ROW, grid.GROUPS, grid.NUMBER_ROW, last, rule)

    def label(self, row: int, column: int, text: str | int, style: str) -> None:
        """Writes a fixed text or number."""
        put(self.page, row, column, text, self.look(style, styles.label_dress(style)))

    def head_names(self) -> None:
        """Names the row of numbers and the column of single numbers."""
        time = self.sheet.across[-1]
        self.label(grid.NUMBER_ROW, grid.NAME, f"{time.meaning}  {time.letter}", "head name")
        if self.columns.single:
            self.label(
                grid.NUMBER_ROW,
                grid.SINGLE,
                self.layout.blueprint.whole if len(self.sizes) > 1 else "all",
                "head number",
            )

    def banner(self, group: int) -> None:
        """Writes the head of one group: what it is, then start, 1 … T, end, Σ."""
        members, (outer, time) = self.sizes[-1], (self.sheet.across[0], self.sheet.across[-1])
        start = grid.start_column(group, members)
        for column in range(start, start + members + 3):
            self.page.write_blank(grid.BANNER_ROW, column, None, self.look("banner", styles.label_dress("banner")))
        title = f"{outer.meaning} {group + outer.start}" if len(self.sizes) > 1 else time.meaning
        self.label(grid.BANNER_ROW, start, title.capitalize(), "banner")
        for head, column in (("start", start), ("end", start + members + 1), ("Σ", start + members + 2)):
            if head in self.columns.ends:
                self.label(grid.NUMBER_ROW, column, head, "head number")
        for member in range(members):
            self.label(grid.NUMBER_ROW, start + 1 + member, member + time.start, "head number")

    def grey(self, group: int) -> None:
        """Fades the columns of a group that do not count, those where the mask is 0."""
        assert self.sheet.grey is not None
        left = grid.start_column(group, self.sizes[-1]) + 1
        first, last = self.layout.body[self.sheet.title], self.layout.end[self.sheet.title]
        row = self.layout.places[self.sheet.grey].row
        faded = self.look("faded", {"font_color": styles.FADED, "bold": False})
        rule = {"type": "formula", "criteria": f"={grid.letters(left)}${row + 1}=0", "format": faded}
        self.page.conditional_format(first, left, last, left + self.sizes[-1] - 1, rule)


def colour_verdicts(page: Any, last_row: int, last_column: int, look: Look) -> None:
    """Colours the words that say how a check went, and errors, which say that it could not be made."""
    for word, colours in styles.VERDICTS.items():
        rule = {"type": "cell", "criteria": "==", "value": f'"{word}"', "format": look(("verdict", word), colours)}
        page.conditional_format(0, grid.LEFT, last_row, last_column, rule)
    page.conditional_format(
        0, grid.LEFT, last_row, last_column, {"type": "errors", "format": look("error", styles.BAD)}
    )


OWN_WIDTHS: dict[str, Callable[[Layout], Iterable[float]]] = {
    reserved_names.DELIVERED: delivered.widths,
    reserved_names.FORMULAS: lambda _: formulas.widths(),
    reserved_names.CONTENTS: lambda _: contents.WIDTHS.values(),
}


def set_up_own(title: str, page: Any, layout: Layout, look: Look) -> None:
    """Sets up one of the page's own sheets: the table of contents, or the copy of what was typed."""
    listed = title == contents.SHEET
    widths = [pixels(width) for width in OWN_WIDTHS[title](layout)]
    for column, width in enumerate(widths):
        page.set_column_pixels(column, column, width)
    page.freeze_panes(layout.body[title], 1 if listed else grid.NAME)
    page.hide_gridlines(2)
    rows = Rows()
    if listed:
        rows.heights |= contents.heights(layout)
    else:
        colour_verdicts(page, layout.end[title], grid.LEFT, look)
    rows.set(page)
    body = layout.body[title]
    set_up_print(page, head_of(widths, [rows.pixels(row) for row in range(body)], body))
