"""The columns of one sheet: as wide as what stands in them needs, so that names and numbers are seen together."""

from functools import cached_property

from blueprint.language import Block
from blueprint.page import grid, outline, steps, styles
from blueprint.page.layout import Label, Layout
from blueprint.page.ruler import Ruler, pixels, texts_on

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
        """The left columns in which weights or single numbers stand, and what they need."""
        used = dict[int, int]()
        for block, (_, first, _, last) in self.corners.items():
            if grid.LEFT <= self.layout.places[block].column < grid.SINGLE:
                used |= {column: max(used.get(column, LEAST), self.needs(block)) for column in range(first, last + 1)}
        for text in self.texts:
            if text.column in used and text.style in HEADINGS:
                used[text.column] = max(used[text.column], self.measured(text))
        return used

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
