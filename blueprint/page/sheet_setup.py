"""What a sheet has besides its blocks: columns, panes, print, banner, grey columns; and what the file says about itself."""

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from blueprint.files import SaveError
from blueprint.page import blanks, contents, digits, formulas, grid, outline, sizes, steps, styles
from blueprint.page.grid import ONE_PAGE
from blueprint.page.layout import Layout
from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import Sheet
from blueprint.page.styles import Ruler, pixels

Look = Callable[[Any, styles.Properties], Any]


class SheetSetup:
    """Sets up one sheet; `page` is the writer's sheet, `look` makes its format of a style."""

    def __init__(self, sheet: outline.Sheet, page: Any, layout: Layout, look: Look, ruler: Ruler):
        self.sheet, self.page, self.layout, self.look = sheet, page, layout, look
        self.columns = sizes.Columns(sheet, layout, ruler)
        self.sizes = self.columns.sizes
        self.groups = self.sizes[0] if len(self.sizes) > 1 else 1

    def set_up(self) -> sizes.Columns:
        """Sets columns, rows, panes, heads, colours and print; returns the columns as they were measured."""
        rows = sizes.rows_of(self.sheet, self.layout, self.columns)
        area = sizes.area_of(self.sheet, self.layout, self.columns, rows)
        frozen = self.layout.body[self.sheet.title], grid.LEFT if self.sheet.across else 0
        set_up_page(self.page, self.columns.widths, rows, frozen, area)
        if (
            colour := styles.LOOKED_UP_TAB
            if self.sheet.tab == outline.LOOKED_UP
            else styles.TABS.get(self.sheet.colour)
        ):
            self.page.set_tab_color(colour)
        blanks.show_waiting(
            self.sheet.title, self.page, self.look, self.layout
        )  # first of all, since the first rule wins
        if self.sheet.across:
            self.head_names()
            if area.cut:
                self.label(grid.BANNER_ROW, grid.LEFT, grid.FIRST_PRINTED, "note")
        for group in range(self.groups if self.sheet.across else 0):
            self.banner(group)
            if self.sheet.grey is not None:
                self.grey(group, self.layout.places[self.sheet.grey].row)
        if found := self.verdicts():
            corners = 0, grid.LEFT, self.layout.end[self.sheet.title], grid.LEFT + 3
            colour_verdicts(self.page, corners, self.look, runs_of(found))
        self.heat()
        self.large_values()
        self.mark_chosen()
        blanks.wait_in_gnumeric(self.page, self.layout)
        return self.columns

    def where(self, corners: tuple[int, int, int, int], condition: str, name: str, style: styles.Properties) -> None:
        """Shows cells in a style where a condition holds."""
        self.page.conditional_format(
            *corners, {"type": "formula", "criteria": f"={condition}", "format": self.look(name, style)}
        )

    def heat(self) -> None:
        """Colours the rows that are read like a map by their numbers: all members of a block on one scale."""
        for block in outline.blocks_on(self.sheet):
            if self.layout.roles[block] == "heat":
                self.page.conditional_format(*self.layout.corners(block), styles.HEAT)

    def large_values(self) -> None:
        """Shows values that the column has no room for as powers of ten; a number format cannot, it would lose the sign."""
        rows = [line.row for line in self.layout.walk]
        if rows and self.layout.finder and self.layout.finder[0] == self.sheet.title:
            corners = min(rows), min(steps.UNITS), max(rows), max(steps.UNITS)
            large = f"ABS({grid.address(*corners[:2])})>={digits.MOST:.0f}"
            self.where(corners, large, "large", {"num_format": digits.LARGE_FORMAT})

    def verdicts(self) -> set[tuple[int, int]]:
        """Returns the cells in which a check says how it went; an option of a setting may be one of its words, too."""
        blocks = (block for block in outline.blocks_on(self.sheet) if block.text and not block.axes)
        judged = {self.layout.corners(b)[:2] for b in blocks if self.layout.values.cell(b) in styles.JUDGEMENTS}
        lives = (live for live in self.layout.lives if live.sheet == self.sheet.title and live.style == "verdict")
        said = (live for live in lives if not live.repeats or live.value in styles.JUDGEMENTS)
        all_of_them = {(row, formulas.VERDICT) for sheet, row, _ in self.layout.judged if sheet == self.sheet.title}
        return judged | all_of_them | {(live.row, live.column) for live in said}

    def mark_chosen(self) -> None:
        """Marks the number of the chosen column at the head of the sheet."""
        choice = self.layout.blueprint.chosen
        if choice is not None and self.sheet.across == choice.across and self.layout.finder is not None:
            corners = grid.NUMBER_ROW, grid.GROUPS, grid.NUMBER_ROW, grid.start_column(self.groups, self.sizes[-1])
            self.where(corners, f"COLUMN()-{grid.GROUPS}={grid.CHOSEN_PLACE}", "chosen", styles.CHOSEN)

    def label(self, row: int, column: int, text: str | int, style: str) -> None:
        """Writes a fixed text or number."""
        self.page.put(row, column, text, self.look(style, styles.label_style(style)))

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
        members, outer, time = self.sizes[-1], self.sheet.across[0], self.sheet.across[-1]
        start, banner = grid.start_column(group, members), styles.coloured("banner", self.sheet.colour)
        for column in range(start, start + members + 3):
            self.page.write_blank(grid.BANNER_ROW, column, None, self.look(banner, styles.label_style(banner)))
        heads = self.layout.blueprint.heads.get(outer)
        title = (
            heads[group]
            if heads
            else f"{self.layout.blueprint.called(outer).meaning} {group + outer.start}"
            if len(self.sizes) > 1
            else time.meaning
        )
        self.label(grid.BANNER_ROW, start, title[:1].upper() + title[1:], banner)
        for column, head in enumerate(
            (sizes.SIDES[-1], *range(time.start, time.start + members), sizes.SIDES[1], "Σ"), start
        ):
            if isinstance(head, int) or head in self.columns.ends:
                self.label(grid.NUMBER_ROW, column, head, "head number")

    def grey(self, group: int, mask: int) -> None:
        """Fades the columns of a group that do not count, those where the row of the mask is 0."""
        left, title = grid.start_column(group, self.sizes[-1]) + 1, self.sheet.title
        corners = self.layout.body[title], left, self.layout.end[title], left + self.sizes[-1] - 1
        self.where(
            corners, f"{grid.column_letters(left)}${mask + 1}=0", "faded", {"font_color": styles.FADED, "bold": False}
        )


Corners = tuple[int, int, int, int]


def runs_of(cells: Iterable[tuple[int, int]]) -> list[Corners]:
    """Returns the runs of cells below each other, by their corners."""
    runs: list[Corners] = []
    for column, row in sorted((column, row) for row, column in cells):
        if runs and runs[-1][2:] == (row - 1, column):
            runs[-1] = (*runs[-1][:2], row, column)
        else:
            runs.append((row, column, row, column))
    return runs


def colour_words(page: Any, places: Iterable[Corners], look: Look, words: Mapping[str, styles.Properties]) -> None:
    """Colours the cells in some places that say one of some words."""
    for place in places:
        for word, colours in words.items():
            rule = {"type": "cell", "criteria": "==", "value": f'"{word}"', "format": look(("verdict", word), colours)}
            page.conditional_format(*place, rule)


def colour_verdicts(page: Any, corners: Corners, look: Look, said: Iterable[Corners] = ()) -> None:
    """Colours the words that say how a check went, and errors, which say that it could not be made.

    said: where such words stand, if not everywhere within the corners.
    """
    colour_words(page, said or [corners], look, styles.VERDICTS)
    page.conditional_format(*corners, {"type": "errors", "format": look("error", styles.BAD)})


OWN_WIDTHS: dict[str, Callable[[Layout], Iterable[float]]] = {
    grid.BLANKS: blanks.widths,
    grid.DELIVERED: contents.copies_widths,
    grid.FORMULAS: lambda _: formulas.WIDTHS,
    grid.CONTENTS: lambda _: contents.WIDTHS.values(),
}


def set_up_own(title: str, page: Any, layout: Layout, look: Look) -> None:
    """Sets up one of the page's own sheets: the table of contents, or the copy of what was typed."""
    listed, body, rows = title == grid.CONTENTS, layout.body[title], sizes.Rows()
    widths = [pixels(width) for width in OWN_WIDTHS[title](layout)]
    if listed:
        rows.heights |= contents.heights(layout)
    elif title == grid.BLANKS:
        corners = blanks.FIRST_ROW, grid.SYMBOL, layout.end[title], grid.SYMBOL + len(blanks.widths(layout))
        states = {blanks.DONE: styles.GOOD, blanks.SAME: styles.GOOD, blanks.OTHER: styles.OTHER}
        colour_words(page, [corners], look, states)
    else:
        colour_verdicts(page, (0, grid.LEFT, layout.end[title], grid.LEFT), look)
    if title == grid.FORMULAS:  # so that its head leaves room
        rows.heights |= dict.fromkeys(range(grid.TITLE_ROW + 1, body), sizes.LOW)
    heights = [rows.pixels(row) for row in range(layout.end[title])]
    whole = sizes.Area(widths, heights, 0, body)
    head = whole if title == grid.BLANKS else sizes.head_of(widths, heights, body)
    set_up_page(page, dict(enumerate(widths)), rows, (body, 1 if listed else grid.NAME), head)
    if title in grid.SHEETS:
        page.set_tab_color(styles.LOOKED_UP_TAB)


def set_up_page(
    page: Any, widths: Mapping[int, int], rows: sizes.Rows, frozen: tuple[int, int], area: sizes.Area
) -> None:
    """Sets columns, rows, panes and print; frozen: the first row and column that move."""
    for column, width in widths.items():
        page.set_column_pixels(column, column, width)
    rows.set(page)
    page.hide_gridlines(2)
    page.freeze_panes(*frozen)
    sizes.set_up_print(page, area)


ONE_PAGE_MARGIN, ONE_PAGE_BOTTOM = 0.3, 0.5


def set_up_one_page(sheet: Sheet, page: Any, layout: Layout, make: Any) -> None:
    """Sets up the writer's sheet `page`; `make` makes its format of a style."""
    for column, width in enumerate(sheet.widths):
        page.set_column_pixels(column, column, width)
    for row, height in sheet.heights.items():
        page.set_row_pixels(row, height)
    for row in range(sheet.end + 2, layout.end[ONE_PAGE]):
        page.set_row(row, None, None, {"hidden": True})  # not folded: the bar of folds would take from the width
    page.hide_gridlines(2)
    page.hide_row_col_headers()
    page.set_tab_color(look.STRONG["none"])
    page.set_landscape()
    page.set_paper(9)
    page.set_margins(*[ONE_PAGE_MARGIN] * 3, ONE_PAGE_BOTTOM)  # the foot of the page needs room above its own margin
    page.center_horizontally()
    page.fit_to_pages(1, 1)
    page.print_area(0, 0, sheet.end - 1, len(sheet.widths) - 1)
    head = layout.body[ONE_PAGE]
    page.repeat_rows(0, head - 1)
    page.freeze_panes(head, 0)
    sizes.set_footer(page)
    for corners, style in sheet.merged:
        page.merge_range(*corners, "", make(style, styles.label_style(style)))
    for row, column, style in sheet.filled:
        page.write_blank(row, column, None, make(style, styles.label_style(style)))
    blanks.show_waiting(ONE_PAGE, page, make, layout)  # first, since the first rule wins
    for mark in sheet.marks:
        condition = blanks.once_filled(mark.condition, mark.corners, ONE_PAGE, layout)
        rule = {"type": "formula", "criteria": f"={condition}", "format": make(mark.name, mark.style)}
        page.conditional_format(*mark.corners, rule)
    blanks.wait_in_gnumeric(page, layout)


LONGEST_PROPERTY = 255
"""Letters of a document property of one's own; programs drop what is longer."""
NEW_YEAR_2026 = 1_767_225_600
"""When a file says it was made, unless SOURCE_DATE_EPOCH says otherwise: fixed, so that the same numbers give the same bytes."""


def created() -> datetime:
    """Returns when the file says it was made."""
    given = os.environ.get("SOURCE_DATE_EPOCH") or NEW_YEAR_2026
    try:
        return datetime.fromtimestamp(int(given), UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError) as error:
        raise SaveError(
            f"SOURCE_DATE_EPOCH: found {given}, expected seconds since 1970, such as {NEW_YEAR_2026}"
        ) from error


def facts_of(layout: Layout) -> dict[str, str]:
    """Returns what the file is and what it was made from, name by name."""
    known = dict.fromkeys(axis for block in layout.places for axis in block.axes)
    axes = "; ".join(f"{axis.letter}={axis.meaning} from {axis.start}" for axis in known)
    return {
        "layout": contents.LAYOUT_VERSION,
        "blocks": str(len(layout.places)),
        "sizes": " ".join(f"{axis.letter}={size}" for axis, size in layout.blueprint.sizes.items()),
        "axes": axes if len(axes) <= LONGEST_PROPERTY else axes[:LONGEST_PROPERTY].rpartition(";")[0],
        "formulas": formulas.fingerprint(layout),
        **layout.blueprint.facts,
    }


def names_of(layout: Layout) -> dict[str, str]:
    """Returns the range of every block by its defined name, and so the table of contents, the chosen column, the blanks."""
    known = {grid.defined_name(block.name): layout.range(block) for block in layout.places} | {
        grid.CONTENTS_RANGE: contents.table_of(layout),
        grid.CHANGED_INPUTS: contents.COUNT_CELL,
        grid.CHANGED_SINCE: formulas.CHANGED_CELL,
        grid.FIRST_FORMULA: formulas.FOUND_CELL,
        grid.READS_FORMULAS: formulas.PROBE_CELL,
    }
    if layout.finder is not None:
        sheet, row = layout.finder
        known[grid.CHOSEN_PLACE] = f"{grid.quoted_title(sheet)}!{grid.address(row + 1, steps.VALUE, fixed=True)}"
    return known | blanks.names_of(layout)
