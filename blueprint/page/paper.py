"""Rows and paper: how high the rows of a sheet are, which part of it is printed, and before which lines its pages may end."""

from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import ceil
from typing import Any

from blueprint.page import blanks, charts, grid, outline, printing, ruler, styles
from blueprint.page.columns import Columns
from blueprint.page.layout import Layout, PlacedChart

STANDARD, TITLE, LOW, TIGHT, NARROW, BARE, PARAGRAPH = 15, 24, 13.5, ruler.LINE / ruler.PIXELS_PER_POINT, 5.25, 3, 13
"""Points: a row, the row of the title, a row of a sheet with axes, a row and a gap of a tight sheet and a row of its head in
which nothing stands, a line of a paragraph."""


@dataclass
class Rows:
    """heights: in points, where they are not the standard one. folds: rows that fold away. closed: they are folded."""

    heights: dict[int, float] = field(default_factory=lambda: {grid.TITLE_ROW: TITLE})
    folds: set[int] = field(default_factory=set)
    closed: bool = False

    def set(self, page: Any) -> None:
        """Sets them on the writer's sheet."""
        page.outline_settings(symbols_below=False)
        for row in sorted(self.heights.keys() | self.folds):
            page.set_row(
                row, self.heights.get(row), None, {"level": 1, "hidden": self.closed} if row in self.folds else {}
            )

    def pixels(self, row: int) -> int:
        """Returns how high a row is on the screen."""
        points = 0.0 if self.closed and row in self.folds else self.heights.get(row, STANDARD)
        return round(points * ruler.PIXELS_PER_POINT)


def rows_of(sheet: outline.Sheet, layout: Layout, columns: Columns) -> Rows:
    """Measures the rows of a sheet of the outline."""
    folds = {row for title, first, last in layout.folds if title == sheet.title for row in range(first, last + 1)}
    asked = {row for title, row, _ in blanks.cells_of(layout) if title == sheet.title}
    rows = Rows(folds=folds, closed=sheet.closed and not asked & folds)
    low = range(grid.TITLE_ROW + 1, layout.end[sheet.title])
    if sheet.tight:
        rows.heights |= dict.fromkeys(low, TIGHT) | {row - 1: NARROW for row in sections(sheet.title, layout)}
        head = range(grid.BANNER_ROW, sections(sheet.title, layout)[0])
        rows.heights |= dict.fromkeys(set(head) - said_in(sheet.title, layout), BARE)
    elif sheet.across and not any(placed.sheet == sheet.title for placed in layout.charts):
        rows.heights |= dict.fromkeys(low, LOW)
    style = styles.label_style("walk numbers")
    tall = {
        row: columns.ruler.lines(text, style, columns.widths[column])
        for row, (column, text) in layout.tall.items()
        if layout.finder and layout.finder[0] == sheet.title
    }
    broken = columns.lines | {row: lines for row, lines in tall.items() if lines > 1}
    rows.heights |= {row: lines * ruler.LINE / ruler.PIXELS_PER_POINT + 3 for row, lines in broken.items()}
    for block in columns.corners:
        if layout.roles[block] == "paragraph":
            longest = max(map(len, map(str, layout.values[block].ravel())))
            rows.heights[layout.places[block].row] = PARAGRAPH * (
                2 + longest // (columns.member // ruler.PIXELS_PER_LETTER)
            )
    return rows


UNSET = 64
"""Pixels of a column that is not set."""
HEAD_WIDTH = 1000
"""Pixels of a head that is printed alone."""
MOST_PAGES = 4
"""Pages that a sheet may take: of one with more only the first group of columns is printed, the first of many."""


def area_of(sheet: outline.Sheet, layout: Layout, columns: Columns, rows: Rows) -> printing.Area:
    """Returns what is printed of a sheet of the outline."""
    body, end = layout.body[sheet.title], layout.end[sheet.title]
    last = layout.flags.get(sheet.title, grid.LAST_COLUMN)
    widths = [columns.widths[column] for column in sorted(columns.widths) if column < last]
    heights = [rows.pixels(row) for row in range(layout.printed.get(sheet.title, end))]
    placed = [each for each in layout.charts if each.sheet == sheet.title]
    if not sheet.printed:
        return head_of(widths, heights, body)
    if placed:
        return _pictures(placed, widths, heights, body)
    if sheet.aside:
        widths = widths[: grid.LEFT + len(sheet.widths) - sheet.aside]
    groups = range(1, columns.sizes[0] if len(columns.sizes) > 1 else 1)
    ends = tuple(grid.start_column(group, columns.sizes[-1]) for group in groups)
    blocks = tuple(row for title, row, _ in layout.heads.values() if title == sheet.title)
    names = grid.LEFT if sheet.across else 0
    area = printing.Area(widths, heights, names, body, ends, sections(sheet.title, layout), blocks)
    if ends and printing.plan(area).pages > MOST_PAGES:
        return replace(area, widths=widths[: ends[0]], columns=(), cut=True)
    return area


def head_of(widths: list[int], heights: list[int], head: int) -> printing.Area:
    """Returns the head alone."""
    shown = [width for width, right in zip(widths, accumulate(widths), strict=True) if right <= HEAD_WIDTH]
    return printing.Area(shown, heights[:head], 0, head)


def _pictures(placed: list[PlacedChart], widths: list[int], heights: list[int], body: int) -> printing.Area:
    """Returns the charts without the rows below them from which they are drawn; a page never ends in a chart."""
    right = sum(widths[: grid.LEFT]) + max(map(charts.right_of, placed))
    across = widths + [UNSET] * ceil(right / UNSET)
    shown = [width for width, edge in zip(across, accumulate(across), strict=True) if edge - width < right]
    rows = sorted({each.row for each in placed})
    return printing.Area(shown, heights[: rows[-1] + charts.ROWS], 0, body, (), tuple(rows))


def said_in(title: str, layout: Layout) -> set[int]:
    """Returns the rows of a sheet in which a text, a formula or a link stands that belongs to no block."""
    return {each.row for each in (*layout.labels, *layout.lives, *layout.links) if each.sheet == title}


def sections(title: str, layout: Layout) -> tuple[int, ...]:
    """Returns the rows at which the sections of a sheet begin."""
    return tuple(label.row for label in layout.labels if label.sheet == title and label.style == "section")
