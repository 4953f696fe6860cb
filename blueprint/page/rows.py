"""The rows of one sheet: how high they are, and which may be folded away."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from blueprint.page import dress, grid
from blueprint.page.columns import Columns
from blueprint.page.layout import Layout
from blueprint.page.outline import Sheet
from blueprint.page.ruler import LINE, PIXELS_PER_LETTER, PIXELS_PER_POINT

STANDARD, TITLE, LOW, TIGHT, NARROW = 15, 24, 13.5, LINE / PIXELS_PER_POINT, 5.25
PARAGRAPH = 13
"""Points: a row, the row of the title, a row of a sheet with axes, a row and a gap of a tight sheet, a line of a paragraph."""


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
            fold = {"level": 1, "hidden": self.closed} if row in self.folds else {}
            page.set_row(row, self.heights.get(row), None, fold)

    def pixels(self, row: int) -> int:
        """Returns how high a row is on the screen."""
        points = 0.0 if self.closed and row in self.folds else self.heights.get(row, STANDARD)
        return round(points * PIXELS_PER_POINT)


def rows_of(sheet: Sheet, layout: Layout, columns: Columns) -> Rows:
    """Measures the rows of a sheet of the outline."""
    folds = {row for title, first, last in layout.folds if title == sheet.title for row in range(first, last + 1)}
    rows = Rows(folds=folds, closed=sheet.closed)
    pictures = any(hung.sheet == sheet.title for hung in layout.charts)
    rows.heights |= low(sheet, layout) if sheet.tight or (sheet.across and not pictures) else {}
    rows.heights |= {row: lines * LINE / PIXELS_PER_POINT + 3 for row, lines in columns.lines.items()}
    for (title, row), (column, text) in layout.tall.items():
        if title == sheet.title:
            lines = columns.ruler.lines(text, dress.label_dress("walk numbers"), columns.widths[column])
            rows.heights |= {row: lines * LINE / PIXELS_PER_POINT + 3} if lines > 1 else {}
    for block in columns.blocks:
        if layout.roles[block] == "paragraph":
            longest = max(map(len, map(str, layout.values[block].ravel())))
            letters = columns.member // PIXELS_PER_LETTER
            rows.heights[layout.places[block].row] = PARAGRAPH * (2 + longest // letters)
    return rows


def low(sheet: Sheet, layout: Layout) -> dict[int, float]:
    """Returns the heights of rows that are no higher than they need be, from the first one below the title on."""
    rows = range(grid.TITLE_ROW + 1, layout.end[sheet.title])
    if not sheet.tight:
        return dict.fromkeys(rows, LOW)
    gaps = {row - 1 for row in layout.sections(sheet.title)}
    return {row: NARROW if row in gaps else TIGHT for row in rows}
