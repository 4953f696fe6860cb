"""Sizes: how wide the columns and how high the rows of a sheet are, and on which pages of paper it is printed.

Columns are as wide as what stands in them needs, so that names and numbers are seen together. Each sheet is printed on as few
pages as letters allow that can be read, cut only between groups and between sections.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise, product
from math import ceil
from typing import Any

from blueprint.language import Block
from blueprint.page import blanks, charts, grid, outline, steps, styles
from blueprint.page.layout import Label, Layout, PlacedChart
from blueprint.page.styles import Ruler, pixels, texts_on

MARGIN, GAP, THIN, SUM, EDGE, LEAST, NUMBER = 12, 10, 12, 18, 40, 46, 57
"""Pixels: the left margin, between groups, an empty column, an empty Σ, the cells before and after a group, a weight, a
number."""
SYMBOL, NAME, WIDEST, WIDEST_IN_GROUPS = 60, 150, 180, 90
EQUATION, BESIDE, SLIVER = 320, 300, 4
"""Where an equation needs more than this it is broken into lines in a column of this width, and the other nine are slivers;
beside weights and single numbers, which need those columns, it is cut."""
WALK_NAMES = 400
"""Pixels of symbols and names beside which a walk's equations have all their room."""
NAMES = ("symbol", "name", "head name", "link", "box")
HEADINGS = ("column heading", "section column", "verdict")
SIDES = {-1: "start", 1: "end"}
"""The headings of the columns before and after the members."""


class Columns:
    """Measures one sheet.

    widths: the pixels of every column that is set.
    lines: for a row whose equation is broken, into how many lines. cut: for one whose equation is cut, what is left of it.
    """

    def __init__(self, sheet: outline.Sheet, layout: Layout, ruler: Ruler):
        self.sheet, self.layout, self.ruler = sheet, layout, ruler
        self.sizes = [layout.values.size(axis) for axis in sheet.across]
        self.corners = {block: layout.corners(block) for block in outline.blocks_on(sheet)}
        self.single = [block for block in self.corners if layout.places[block].column == grid.SINGLE]
        self.texts = texts_on(sheet.title, layout)
        self.lines, self.cut = dict[int, int](), dict[int, str]()
        symbol = self.names(grid.SYMBOL, SYMBOL)
        self.widths = {0: MARGIN, grid.SYMBOL: symbol, grid.NAME: max(self.names(grid.NAME, NAME), self.titles(symbol))}
        if sheet.across:
            single = max([NUMBER, *map(self.needs, self.single)]) if self.single else THIN
            self.widths |= self.groups() | {grid.SINGLE: single, grid.SINGLE + 1: GAP}
            self.widths |= self.left()
            self.fit_equations()
        else:
            self.widths |= self.given()
        if layout.finder and layout.finder[0] == sheet.title:
            self.widths |= self.beside_names()

    def names(self, column: int, least: int) -> int:
        """Returns the width of symbols, or of names."""
        return max(
            [
                least,
                *(self.measured(x) for x in self.texts if x.column == column and styles.uncoloured(x.style) in NAMES),
            ]
        )

    def titles(self, symbol: int) -> int:
        """Returns the width of names that titles need beside which something stands; symbol: the width of symbols."""
        full = {text.row for text in self.texts if text.column == grid.LEFT}
        return max((self.measured(x) for x in self.texts if x.style == "section" and x.row in full), default=0) - symbol

    def measured(self, text: Label) -> int:
        """Returns the pixels that a text needs."""
        return self.ruler(str(text.text), styles.label_style(text.style))

    def needs(self, block: Block) -> int:
        """Returns the pixels that the cells of a block need."""
        kind, role = "typed" if block.typed else "formula", self.layout.roles[block]
        style = styles.cell_style(kind, role, block.about.decimals, edge=False)
        return self.ruler.block(block, self.layout.values, style)

    def given(self) -> dict[int, int]:
        """Returns the widths that the outline gives the columns of a sheet without axes.

        Right of all that one reads stand numbers printed for equations, in columns as wide as these.
        """
        last = max((right for _, _, _, right in self.corners.values()), default=0)
        end = grid.LEFT + len(self.sheet.widths) - 1 if self.sheet.widths else grid.SINGLE
        widths = dict.fromkeys(range(grid.LEFT, max(last, end) + 1), NUMBER)
        prints = dict[int, int]()
        for live in self.layout.lives:
            if live.sheet == self.sheet.title and live.style == "as print":
                wide = self.ruler(live.value, styles.label_style(live.style)) if isinstance(live.value, str) else NUMBER
                prints[live.column] = max(NUMBER, wide, prints.get(live.column, 0))
        return widths | prints | {column: pixels(width) for column, width in enumerate(self.sheet.widths, grid.LEFT)}

    def beside_names(self) -> dict[int, int]:
        """Returns the widths of a walk's equations: long names take from their room, so that the sheet fits on a page."""
        beyond = max(0, self.widths[grid.SYMBOL] + self.widths[grid.NAME] - WALK_NAMES)
        return {column: self.widths[column] - beyond // 2 for column in (steps.EQUATION, steps.NUMBERS)}

    def left(self) -> dict[int, int]:
        """Returns the widths of the ten left columns: what stands there, and in the others room for equations."""
        used, left = self.used, range(grid.LEFT, grid.SINGLE)
        room = max((self.measured(x) - self.beyond(x.row) for x in self.equations), default=0)
        if room > EQUATION and not used:
            return dict.fromkeys(left, SLIVER) | {grid.LEFT: EQUATION}
        free = [column for column in left if column not in used]
        share = max(THIN, -(-(min(BESIDE if used else EQUATION, room) - sum(used.values())) // max(1, len(free))))
        return used | dict.fromkeys(free, share)

    @cached_property
    def used(self) -> dict[int, int]:
        """The left columns in which weights, single numbers or what lies before the first group stand, and what they need."""
        used = dict[int, int]()
        for block, (_, first, _, last) in self.corners.items():
            if grid.LEFT <= first < grid.SINGLE:
                before = self.layout.places[block].column >= grid.GROUPS
                columns = range(first, first + self.sizes[-1] if before else last + 1)
                used |= {column: max(used.get(column, LEAST), self.needs(block)) for column in columns}
        for text in self.texts:
            if text.column in used and text.style in HEADINGS:
                used[text.column] = max(used[text.column], self.measured(text))
        return used

    @cached_property
    def sections(self) -> tuple[int, ...]:
        """The rows at which the sections of the sheet begin."""
        return tuple(text.row for text in self.texts if text.style == "section")

    @cached_property
    def equations(self) -> list[Label]:
        """The equations that stand left of numbers, and the links that say where numbers come from."""
        shown = [text for text in self.texts if text.style in ("equation", "link")]
        return [text for text in shown if text.column == grid.LEFT and text.row in self.filled]

    @cached_property
    def filled(self) -> dict[int, int]:
        """The first column of numbers on every row that has some."""
        first = dict[int, int]()
        for top, left, bottom, _ in self.corners.values():
            if left >= grid.SINGLE:
                first |= {row: min(left, first.get(row, left)) for row in range(top, bottom + 1)}
        return first

    def beyond(self, row: int) -> int:
        """Returns the pixels of the empty cells between the left columns and the first number of a row."""
        return sum(self.widths.get(column, 0) for column in range(grid.SINGLE, self.filled[row]))

    def fit_equations(self) -> None:
        """Breaks equations that do not fit into lines, or, beside weights, where there is no wide cell, cuts them."""
        room = sum(self.widths[column] for column in range(grid.LEFT, grid.SINGLE))
        for text in self.equations:
            has, style = room + self.beyond(text.row), styles.label_style(text.style)
            if text.style == "link" or self.measured(text) <= has:
                continue
            if self.used:
                self.cut[text.row] = self.ruler.cut(str(text.text), style, has)
            else:
                self.lines[text.row] = self.ruler.lines(str(text.text), style, self.widths[grid.LEFT])

    def groups(self) -> dict[int, int]:
        """Returns the widths of all groups: start, members, end, Σ, gap."""
        outer, time = self.sheet.across[:-1], self.sheet.across[-1]
        sums = bool(outer) and any(outer[0] in block.axes and time not in block.axes for block in self.corners)
        members, widths = self.sizes[-1], dict[int, int]()
        for group in range(self.sizes[0] if outer else 1):
            start = grid.start_column(group, members)
            widths |= dict.fromkeys(range(start + 1, start + members + 1), self.member)
            widths |= {start: self.edge(-1), start + members + 1: self.edge(1)}
            widths |= {start + members + 2: NUMBER if sums else SUM, start + members + 3: GAP}
        return widths

    @cached_property
    def member(self) -> int:
        """The width of a member's column; where there are no groups, their words find room."""
        along = [b for b in self.corners if self.sheet.across[-1] in b.axes and self.layout.roles[b] != "paragraph"]
        needs = [self.needs(block) for block in along if self.layout.places[block].column >= grid.GROUPS]
        return max(NUMBER, min(WIDEST_IN_GROUPS if len(self.sizes) > 1 else WIDEST, max(needs, default=0)))

    def edge(self, side: int) -> int:
        """Returns the width of the column before (−1) or after the members: as theirs where numbers stand there."""
        there = [block for block in self.corners if (self.sheet.across[-1], side) in block.edges]
        if {*there} - {*self.sheet.head}:
            return self.member
        words = (self.ruler.block(block, self.layout.values, styles.BASE) for block in there if block.text)
        return min(self.member, max([EDGE, *words])) if SIDES[side] in self.ends else THIN

    @cached_property
    def ends(self) -> set[str]:
        """The columns besides the members that have a heading: in groups all, else those in which something stands."""
        edges = {edge for block in self.corners for edge in block.edges}
        there = {SIDES[side] for axis, side in edges if axis is self.sheet.across[-1]}
        return {*SIDES.values(), "Σ"} if len(self.sizes) > 1 else there


A4 = 9
PAPER_MARGIN, TOP, BOTTOM = 0.25, 0.4, 0.5
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
    return sure[0] * (across - 2 * PAPER_MARGIN) * INCH, sure[1] * (down - TOP - BOTTOM) * INCH


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
    page.set_margins(PAPER_MARGIN, PAPER_MARGIN, TOP, BOTTOM)
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


STANDARD, TITLE, LOW, TIGHT, NARROW, BARE, PARAGRAPH = 15, 24, 13.5, styles.LINE / styles.PIXELS_PER_POINT, 5.25, 3, 13
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
        return round(points * styles.PIXELS_PER_POINT)


def rows_of(sheet: outline.Sheet, layout: Layout, columns: Columns) -> Rows:
    """Measures the rows of a sheet of the outline."""
    folds = {row for title, first, last in layout.folds if title == sheet.title for row in range(first, last + 1)}
    asked = {row for title, row, _ in blanks.cells_of(layout) if title == sheet.title}
    rows = Rows(folds=folds, closed=sheet.closed and not asked & folds)
    low = range(grid.TITLE_ROW + 1, layout.end[sheet.title])
    if sheet.tight:
        rows.heights |= dict.fromkeys(low, TIGHT) | {row - 1: NARROW for row in columns.sections}
        head = range(grid.BANNER_ROW, columns.sections[0])
        said = {each.row for each in (*layout.labels, *layout.lives, *layout.links) if each.sheet == sheet.title}
        rows.heights |= dict.fromkeys(set(head) - said, BARE)
    elif sheet.across and not any(placed.sheet == sheet.title for placed in layout.charts):
        rows.heights |= dict.fromkeys(low, LOW)
    style = styles.label_style("walk numbers")
    tall = {
        row: columns.ruler.lines(text, style, columns.widths[column])
        for row, (column, text) in layout.tall.items()
        if layout.finder and layout.finder[0] == sheet.title
    }
    broken = columns.lines | {row: lines for row, lines in tall.items() if lines > 1}
    rows.heights |= {row: lines * styles.LINE / styles.PIXELS_PER_POINT + 3 for row, lines in broken.items()}
    for block in columns.corners:
        if layout.roles[block] == "paragraph":
            longest = max(map(len, map(str, layout.values[block].ravel())))
            rows.heights[layout.places[block].row] = PARAGRAPH * (
                2 + longest // (columns.member // styles.PIXELS_PER_LETTER)
            )
    return rows


UNSET = 64
"""Pixels of a column that is not set."""
HEAD_WIDTH = 1000
"""Pixels of a head that is printed alone."""
MOST_PAGES = 4
"""Pages that a sheet may take: of one with more only the first group of columns is printed, the first of many."""


def area_of(sheet: outline.Sheet, layout: Layout, columns: Columns, rows: Rows) -> Area:
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
    area = Area(widths, heights, names, body, ends, columns.sections, blocks)
    if ends and plan(area).pages > MOST_PAGES:
        return replace(area, widths=widths[: ends[0]], columns=(), cut=True)
    return area


def head_of(widths: list[int], heights: list[int], head: int) -> Area:
    """Returns the head alone."""
    shown = [width for width, right in zip(widths, accumulate(widths), strict=True) if right <= HEAD_WIDTH]
    return Area(shown, heights[:head], 0, head)


def _pictures(placed: list[PlacedChart], widths: list[int], heights: list[int], body: int) -> Area:
    """Returns the charts without the rows below them from which they are drawn; a page never ends in a chart."""
    right = sum(widths[: grid.LEFT]) + max(map(charts.right_of, placed))
    across = widths + [UNSET] * ceil(right / UNSET)
    shown = [width for width, edge in zip(across, accumulate(across), strict=True) if edge - width < right]
    rows = sorted({each.row for each in placed})
    return Area(shown, heights[: rows[-1] + charts.ROWS], 0, body, (), tuple(rows))
