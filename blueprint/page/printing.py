"""Printing: each sheet on as few pages as letters allow that can be read, cut only between groups and between sections."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, product
from math import ceil
from typing import Any

A4 = 9
MARGIN, TOP, BOTTOM = 0.25, 0.4, 0.5
INCH = 96
LONG, SHORT = 11.69, 8.27
LETTER = 11.0, 8.5
SURE = 0.93, 0.96
"""How much of a page's width and height is counted on where a scale is set: on paper LibreOffice makes columns 6 % wider than
on the screen (a digit of Calibri is 7.43 pixels, not 7), and a page that is a hair too narrow costs another one."""
HEADERS = 34, 20
"""Pixels that the numbers of rows and the letters of columns take."""
FULL = 0.6, 0.8, 1.0
"""How much of what it could hold a page must hold to end before a section; the first of these that takes no more pages."""
SMALLEST = 53
"""In percent: there ten points are more than five on paper, the smallest that one reads without a lens."""


@dataclass
class Area:
    """What is put on paper, from the first cell on.

    widths, heights: of columns and rows, in pixels.
    names, head: how many columns and rows every page repeats.
    columns: before which a page may end. rows: before which one ends best. blocks: before which it may end as well.
    cut: only the first group of columns is printed.
    """

    widths: list[int]
    heights: list[int]
    names: int
    head: int
    columns: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    blocks: tuple[int, ...] = ()
    cut: bool = False

    @cached_property
    def depths(self) -> list[int]:
        """How far below the first row each row ends."""
        return list(accumulate(self.heights))


@dataclass(frozen=True)
class Plan:
    """How an area is put on pages: on which paper, how small, and before which columns and rows a page ends.

    across: how many pages stand side by side. full: how much a page holds before it ends at a section.
    """

    landscape: bool
    percent: int
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    across: int
    full: float = 0.0

    @property
    def pages(self) -> int:
        """How many pages it takes."""
        return self.across * (len(self.rows) + 1)


def plan(area: Area) -> Plan:
    """Returns the way that takes the fewest pages; of several, the one with the largest letters."""
    papers = product((True, False), {(), area.columns})
    ways = (way for paper in papers for way in _ways(area, *paper))
    return min(ways, key=lambda way: (way.across > len(way.columns) + 1, way.pages, way.full, -way.percent))


def _ways(area: Area, landscape: bool, columns: tuple[int, ...]) -> Iterator[Plan]:
    """Yields the ways at every scale at which no page is too narrow; where one group is, it goes on to the next page."""
    parts = _parts(area, columns)
    wide, high = _room(landscape, a4=True)
    one = round(100 * min(1, wide / max(parts), high / (HEADERS[1] + area.depths[-1])))
    if not columns and one >= SMALLEST:
        yield Plan(landscape, one, (), (), 1)
        return
    wide, high = _room(landscape, a4=False)
    largest, across = min(100, int(100 * wide / max(parts))), len(parts)
    if largest < SMALLEST and columns != area.columns:
        return
    if largest < SMALLEST:
        largest, across = SMALLEST, sum(ceil(part / (wide * 100 / SMALLEST)) for part in parts)
    for percent, full in product(range(SMALLEST, largest + 1), FULL):
        yield Plan(landscape, percent, columns, tuple(_row_breaks(area, high * 100 / percent, full)), across, full)


def _room(landscape: bool, a4: bool) -> tuple[float, float]:
    """Returns the width and height, in pixels, of what a page of A4 holds, or surely of A4 and of Letter as well.

    A program that fits a single page to its paper needs to be told no scale; several pages are of a scale that suits both.
    """
    long, short = (LONG, SHORT) if a4 else (min(LONG, LETTER[0]), min(SHORT, LETTER[1]))
    (across, down), sure = (long, short) if landscape else (short, long), (1.0, 1.0) if a4 else SURE
    return sure[0] * (across - 2 * MARGIN) * INCH, sure[1] * (down - TOP - BOTTOM) * INCH


def _parts(area: Area, columns: tuple[int, ...]) -> list[int]:
    """Returns how wide each page's part of the columns is, with what it repeats."""
    names = HEADERS[0] + sum(area.widths[: area.names])
    parts = pairwise([0, *columns, len(area.widths)])
    return [names + sum(area.widths[max(first, area.names) : end]) for first, end in parts]


def _row_breaks(area: Area, high: float, full: float) -> Iterator[int]:
    """Yields the rows before which a page ends: at a section, if the page is as full as asked, or at a block, or anywhere."""
    top = area.head
    room = high - HEADERS[1] - area.depths[top - 1]
    while (fits := bisect_right(area.depths, area.depths[top - 1] + room)) < len(area.heights):
        least = bisect_right(area.depths, area.depths[top - 1] + full * room)
        sections = [row for row in area.rows if least < row <= fits]
        blocks = [row for row in area.blocks if top < row <= fits]
        top = max(sections or blocks or [max(fits, top + 1)])
        yield top


def set_footer(page: Any) -> None:
    """Says at the foot of each page the file, the sheet, and which page it is."""
    page.set_footer("&L&8&F&C&8&A&R&8page &P of &N", {"margin": 0.25})


def set_up_print(page: Any, area: Area) -> None:
    """Sets paper, margins, pages, repeated rows and columns, and what stands at the foot of each page."""
    way = plan(area)
    page.set_landscape() if way.landscape else page.set_portrait()
    page.set_paper(A4)
    page.set_margins(MARGIN, MARGIN, TOP, BOTTOM)
    page.print_row_col_headers()
    page.print_area(0, 0, len(area.heights) - 1, len(area.widths) - 1)
    page.repeat_rows(0, area.head - 1)
    if area.names:
        page.repeat_columns(0, area.names - 1)
    set_footer(page)
    if way.pages == 1:  # a single page is left to the program, which heeds no ends when it fits
        page.fit_to_pages(1, 1)
    else:
        page.set_print_scale(way.percent)
        page.set_h_pagebreaks(list(way.rows))
        page.set_v_pagebreaks(list(way.columns))
