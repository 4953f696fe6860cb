"""What a sheet has besides its blocks: columns, panes, print, the banner over the groups, the grey columns."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from blueprint.page import (
    columns,
    contents,
    delivered,
    digits,
    formulas,
    grid,
    names,
    outline,
    paper,
    printing,
    steps,
    styles,
    to_fill,
    waiting,
)
from blueprint.page.layout import Layout
from blueprint.page.ruler import Ruler, pixels

Look = Callable[[Any, styles.Properties], Any]


class SheetSetup:
    """Sets up one sheet; `page` is the writer's sheet, `look` makes its format of a style."""

    def __init__(self, sheet: outline.Sheet, page: Any, layout: Layout, look: Look, ruler: Ruler):
        self.sheet, self.page, self.layout, self.look = sheet, page, layout, look
        self.columns = columns.Columns(sheet, layout, ruler)
        self.sizes = self.columns.sizes
        self.groups = self.sizes[0] if len(self.sizes) > 1 else 1

    def set_up(self) -> columns.Columns:
        """Sets columns, rows, panes, heads, colours and print; returns the columns as they were measured."""
        rows = paper.rows_of(self.sheet, self.layout, self.columns)
        area = paper.area_of(self.sheet, self.layout, self.columns, rows)
        frozen = self.layout.body[self.sheet.title], grid.LEFT if self.sheet.across else 0
        set_up_page(self.page, self.columns.widths, rows, frozen, area)
        if (
            colour := styles.LOOKED_UP_TAB
            if self.sheet.tab == outline.LOOKED_UP
            else styles.TABS.get(self.sheet.colour)
        ):
            self.page.set_tab_color(colour)
        waiting.show(self.sheet.title, self.page, self.look, self.layout)  # first of all, since the first rule wins
        if self.sheet.across:
            self.head_names()
            if area.cut:
                self.label(grid.BANNER_ROW, grid.LEFT, names.FIRST_PRINTED, "note")
        for group in range(self.groups if self.sheet.across else 0):
            self.banner(group)
            if self.sheet.grey is not None:
                self.grey(group, self.layout.places[self.sheet.grey].row)
        if found := self.verdicts():
            corners = 0, grid.LEFT, self.layout.end[self.sheet.title], grid.LEFT + 3
            colour_verdicts(self.page, corners, self.look, runs_of(found))
        self.large_values()
        self.mark_chosen()
        return self.columns

    def where(self, corners: tuple[int, int, int, int], condition: str, name: str, style: styles.Properties) -> None:
        """Shows cells in a style where a condition holds."""
        self.page.conditional_format(
            *corners, {"type": "formula", "criteria": f"={condition}", "format": self.look(name, style)}
        )

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
            self.where(corners, f"COLUMN()-{grid.GROUPS}={names.CHOSEN_PLACE}", "chosen", styles.CHOSEN)

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
            heads[group] if heads else f"{outer.meaning} {group + outer.start}" if len(self.sizes) > 1 else time.meaning
        )
        self.label(grid.BANNER_ROW, start, title[:1].upper() + title[1:], banner)
        for column, head in enumerate(
            (columns.SIDES[-1], *range(time.start, time.start + members), columns.SIDES[1], "Σ"), start
        ):
            if isinstance(head, int) or head in self.columns.ends:
                self.label(grid.NUMBER_ROW, column, head, "head number")

    def grey(self, group: int, mask: int) -> None:
        """Fades the columns of a group that do not count, those where the row of the mask is 0."""
        left, title = grid.start_column(group, self.sizes[-1]) + 1, self.sheet.title
        corners = self.layout.body[title], left, self.layout.end[title], left + self.sizes[-1] - 1
        self.where(corners, f"{grid.letters(left)}${mask + 1}=0", "faded", {"font_color": styles.FADED, "bold": False})


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


def colour_verdicts(page: Any, corners: Corners, look: Look, said: Iterable[Corners] = ()) -> None:
    """Colours the words that say how a check went, and errors, which say that it could not be made.

    said: where such words stand, if not everywhere within the corners.
    """
    rules = [
        {"type": "cell", "criteria": "==", "value": f'"{word}"', "format": look(("verdict", word), colours)}
        for word, colours in styles.VERDICTS.items()
    ]
    for place in said or [corners]:
        for rule in rules:
            page.conditional_format(*place, rule)
    page.conditional_format(*corners, {"type": "errors", "format": look("error", styles.BAD)})


def colour_states(page: Any, layout: Layout, look: Look) -> None:
    """Colours the words that say how far the blanks are filled in, and whether check digits are the same."""
    corners = to_fill.FIRST_ROW, grid.SYMBOL, layout.end[names.BLANKS], grid.SYMBOL + len(to_fill.widths(layout))
    for word, colours in ((to_fill.DONE, styles.GOOD), (to_fill.SAME, styles.GOOD), (to_fill.OTHER, styles.OTHER)):
        rule = {"type": "cell", "criteria": "==", "value": f'"{word}"', "format": look(("verdict", word), colours)}
        page.conditional_format(*corners, rule)


OWN_WIDTHS: dict[str, Callable[[Layout], Iterable[float]]] = {
    names.BLANKS: to_fill.widths,
    names.DELIVERED: delivered.widths,
    names.FORMULAS: lambda _: formulas.WIDTHS,
    names.CONTENTS: lambda _: contents.WIDTHS.values(),
}


def set_up_own(title: str, page: Any, layout: Layout, look: Look) -> None:
    """Sets up one of the page's own sheets: the table of contents, or the copy of what was typed."""
    listed, body, rows = title == names.CONTENTS, layout.body[title], paper.Rows()
    widths = [pixels(width) for width in OWN_WIDTHS[title](layout)]
    if listed:
        rows.heights |= contents.heights(layout)
    elif title == names.BLANKS:
        colour_states(page, layout, look)
    else:
        colour_verdicts(page, (0, grid.LEFT, layout.end[title], grid.LEFT), look)
    if title == names.FORMULAS:  # so that its head leaves room
        rows.heights |= dict.fromkeys(range(grid.TITLE_ROW + 1, body), paper.LOW)
    heights = [rows.pixels(row) for row in range(layout.end[title])]
    whole = printing.Area(widths, heights, 0, body)
    head = whole if title == names.BLANKS else paper.head_of(widths, heights, body)
    set_up_page(page, dict(enumerate(widths)), rows, (body, 1 if listed else grid.NAME), head)
    if title in names.SHEETS:
        page.set_tab_color(styles.LOOKED_UP_TAB)


def set_up_page(
    page: Any, widths: Mapping[int, int], rows: paper.Rows, frozen: tuple[int, int], area: printing.Area
) -> None:
    """Sets columns, rows, panes and print; frozen: the first row and column that move."""
    for column, width in widths.items():
        page.set_column_pixels(column, column, width)
    rows.set(page)
    page.hide_gridlines(2)
    page.freeze_panes(*frozen)
    printing.set_up_print(page, area)
