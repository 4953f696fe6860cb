"""Paper: which part of a sheet is printed, and before which columns and rows its pages may end."""

from __future__ import annotations

from itertools import accumulate
from math import ceil

from blueprint.page import charts, grid
from blueprint.page.columns import Columns
from blueprint.page.layout import Hung, Layout
from blueprint.page.outline import Sheet
from blueprint.page.printing import Area
from blueprint.page.rows import Rows

UNSET = 64
"""Pixels of a column that is not set."""
HEAD_WIDTH = 1000
"""Pixels of a head that is printed alone."""


def area_of(sheet: Sheet, layout: Layout, columns: Columns, rows: Rows) -> Area:
    """Returns what is printed of a sheet of the outline."""
    body, end = layout.body[sheet.title], layout.end[sheet.title]
    widths = [columns.widths[column] for column in sorted(columns.widths)]
    heights = [rows.pixels(row) for row in range(layout.printed.get(sheet.title, end))]
    names = grid.LEFT if sheet.across else 0
    hung = [each for each in layout.charts if each.sheet == sheet.title]
    if not sheet.printed:
        return head_of(widths, heights, body)
    if hung:
        return _pictures(hung, widths, heights, body)
    if sheet.aside:
        widths = widths[: grid.LEFT + len(sheet.widths) - sheet.aside]
    return Area(
        widths, heights, names, body, _groups(columns), layout.sections(sheet.title), _blocks(sheet.title, layout)
    )


def head_of(widths: list[int], heights: list[int], head: int) -> Area:
    """Returns the head alone."""
    shown = [width for width, right in zip(widths, accumulate(widths), strict=True) if right <= HEAD_WIDTH]
    return Area(shown, heights[:head], 0, head)


def _groups(columns: Columns) -> tuple[int, ...]:
    """Returns the columns at which the second group and all later ones begin."""
    groups = columns.sizes[0] if len(columns.sizes) > 1 else 1
    return tuple(grid.start_column(group, columns.sizes[-1]) for group in range(1, groups))


def _blocks(title: str, layout: Layout) -> tuple[int, ...]:
    """Returns the rows at which blocks are named."""
    return tuple(row for sheet, row, _ in layout.heads.values() if sheet == title)


def _pictures(hung: list[Hung], widths: list[int], heights: list[int], body: int) -> Area:
    """Returns the charts without the rows below them from which they are drawn; a page never ends in a chart."""
    right = sum(widths[: grid.LEFT]) + max(charts.right_of(each) for each in hung)
    across = widths + [UNSET] * ceil(right / UNSET)
    shown = [width for width, edge in zip(across, accumulate(across), strict=True) if edge - width < right]
    bottom = max(each.row for each in hung) + charts.ROWS
    return Area(shown, heights[:bottom], 0, body, (), tuple(sorted({each.row for each in hung})))
