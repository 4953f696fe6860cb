"""The columns of one sheet: as wide as what stands in them needs, so that names and numbers are seen together."""

from __future__ import annotations

from functools import cached_property

from blueprint.language import Block
from blueprint.page import grid, styles
from blueprint.page.layout import Layout
from blueprint.page.outline import Sheet, blocks_on
from blueprint.page.place import Place
from blueprint.page.ruler import Ruler, Text, _texts, pixels

MARGIN, GAP, THIN, SUM, EDGE, LEAST, NUMBER = 12, 10, 12, 18, 40, 46, 57
"""Pixels: the left margin, between groups, an empty column, an empty Σ, the cells before and after a group, a weight, a
number."""
SYMBOL, NAME, WIDEST, WIDEST_IN_GROUPS = 60, 150, 180, 90
EQUATION, BESIDE, SLIVER = 320, 300, 4
"""Where an equation needs more than this it is broken into lines in a column of this width, and the other nine are slivers;
beside weights and single numbers, which need those columns, it is cut."""
NAMES = ("symbol", "name", "head name", "link", "box")
HEADINGS = ("column heading", "section column", "verdict")


class Columns:
    """Measures one sheet.

    widths: the pixels of every column that is set.
    lines: for a row whose equation is broken, into how many lines. cut: for one whose equation is cut, what is left of it.
    """

    def __init__(self, sheet: Sheet, layout: Layout, ruler: Ruler):
        self.sheet, self.layout, self.ruler = sheet, layout, ruler
        self.sizes = [layout.values.size(axis) for axis in sheet.across]
        self.blocks = blocks_on(sheet)
        self.texts = list(_texts(sheet.title, layout))
        symbol = self.names(grid.SYMBOL, SYMBOL)
        name = max(self.names(grid.NAME, NAME), self.titles(symbol))
        self.widths = {0: MARGIN, grid.SYMBOL: symbol, grid.NAME: name}
        if sheet.across:
            self.widths |= self.groups() | self.singles()
            self.widths |= self.left()
        else:
            self.widths |= self.given()
        self.lines, self.cut = dict[int, int](), dict[int, str]()
        if sheet.across:
            self.fit_equations()

    def names(self, column: int, least: int) -> int:
        """Returns the width of symbols, or of names."""
        here = (x for x in self.texts if x.column == column and x.style in NAMES)
        return max([least, *map(self.measured, here)])

    def titles(self, symbol: int) -> int:
        """Returns the width of names that titles need beside which something stands; symbol: the width of symbols."""
        full = {text.row for text in self.texts if text.column == grid.LEFT}
        titles = (x for x in self.texts if x.style == "section" and x.row in full)
        return max((self.measured(title) for title in titles), default=0) - symbol

    def measured(self, text: Text) -> int:
        """Returns the pixels that a text needs."""
        return self.ruler(text.text, styles.label_dress(text.style))

    def given(self) -> dict[int, int]:
        """Returns the widths that the outline gives the columns of a sheet without axes."""
        last = max((self.place(b).corners(b, self.layout.values)[3] for b in self.blocks), default=0)
        ends = last, grid.LEFT + len(self.sheet.widths) - 1 if self.sheet.widths else grid.SINGLE
        widths = dict.fromkeys(range(grid.LEFT, max(ends) + 1), NUMBER) | self.prints()
        return widths | {grid.LEFT + number: pixels(width) for number, width in enumerate(self.sheet.widths)}

    def prints(self) -> dict[int, int]:
        """Returns the widths of columns in which numbers are printed for equations, right of all that one reads."""
        found = dict[int, int]()
        for live in self.layout.lives:
            if live.sheet == self.sheet.title and live.style == "as print":
                printed = (
                    self.ruler(str(live.value), styles.label_dress(live.style)) if isinstance(live.value, str) else 0
                )
                found[live.column] = max(NUMBER, printed, found.get(live.column, 0))
        return found

    def place(self, block: Block) -> Place:
        """Returns where a block stands."""
        return self.layout.places[block]

    @cached_property
    def single(self) -> list[Block]:
        """The blocks in the column of single numbers."""
        return [block for block in self.blocks if self.place(block).column == grid.SINGLE]

    def singles(self) -> dict[int, int]:
        """Returns the widths of the column of single numbers, and of the gap behind it."""
        width = max([NUMBER, *map(self.needs, self.single)]) if self.single else THIN
        return {grid.SINGLE: width, grid.SINGLE + 1: GAP}

    def needs(self, block: Block) -> int:
        """Returns the pixels that the cells of a block need."""
        key = "typed" if block.typed else "formula", self.layout.roles[block]
        return self.ruler.block(block, self.layout.values, styles.cell_dress(*key, block.about.decimals, edge=False))

    def left(self) -> dict[int, int]:
        """Returns the widths of the ten left columns: what stands there, and in the others room for equations."""
        used = self.used
        room = max((self.measured(x) - self.beyond(x.row) for x in self.equations), default=0)
        if room > EQUATION and not used:
            return dict.fromkeys(range(grid.LEFT, grid.SINGLE), SLIVER) | {grid.LEFT: EQUATION}
        free = [column for column in range(grid.LEFT, grid.SINGLE) if column not in used]
        share = max(THIN, -(-(min(BESIDE if used else EQUATION, room) - sum(used.values())) // max(1, len(free))))
        return used | dict.fromkeys(free, share)

    @cached_property
    def used(self) -> dict[int, int]:
        """The left columns in which weights or single numbers stand, and what they need."""
        used = dict[int, int]()
        for block in self.blocks:
            if grid.LEFT <= self.place(block).column < grid.SINGLE:
                _, first, _, last = self.place(block).corners(block, self.layout.values)
                for column in range(first, last + 1):
                    used[column] = max(used.get(column, LEAST), self.needs(block))
        for text in self.texts:
            if text.column in used and text.style in HEADINGS:
                used[text.column] = max(used[text.column], self.measured(text))
        return used

    @cached_property
    def equations(self) -> list[Text]:
        """The equations that stand left of numbers, and the links that say where numbers come from."""
        return [
            x for x in self.texts if x.column == grid.LEFT and x.style in ("equation", "link") and x.row in self.filled
        ]

    @cached_property
    def filled(self) -> dict[int, int]:
        """The first column of numbers on every row that has some."""
        first = dict[int, int]()
        for block in self.blocks:
            top, left, bottom, _ = self.place(block).corners(block, self.layout.values)
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
            has = room + self.beyond(text.row)
            if text.style == "equation" and self.measured(text) > has:
                look = styles.label_dress(text.style)
                if self.used:
                    self.cut[text.row] = self.ruler.cut(text.text, look, has)
                else:
                    self.lines[text.row] = self.ruler.lines(text.text, look, self.widths[grid.LEFT])

    def groups(self) -> dict[int, int]:
        """Returns the widths of all groups: start, members, end, Σ, gap."""
        members, widths = self.sizes[-1], dict[int, int]()
        for group in range(self.sizes[0] if len(self.sizes) > 1 else 1):
            start = grid.start_column(group, members)
            widths |= dict.fromkeys(range(start + 1, start + members + 1), self.member)
            widths |= {start: self.edge(-1), start + members + 1: self.edge(1)}
            widths |= {start + members + 2: NUMBER if self.sums else SUM, start + members + 3: GAP}
        return widths

    @cached_property
    def member(self) -> int:
        """The width of a member's column; where there are no groups, their words find room."""
        most = WIDEST_IN_GROUPS if len(self.sizes) > 1 else WIDEST
        along = [b for b in self.blocks if self.sheet.across[-1] in b.axes and self.layout.roles[b] != "paragraph"]
        across = [b for b in along if self.place(b).column >= grid.GROUPS]
        return max(NUMBER, min(most, max(map(self.needs, across), default=0)))

    def edge(self, side: int) -> int:
        """Returns the width of the column before (−1) or after the members: as theirs where numbers stand there."""
        there = [b for b in self.blocks if (self.sheet.across[-1], side) in b.edges]
        head = {id(block) for block in self.sheet.head}
        if any(id(block) not in head for block in there):
            return self.member
        words = [self.ruler.block(b, self.layout.values, styles.BASE) for b in there if b.text]
        return min(self.member, max([EDGE, *words])) if {-1: "start", 1: "end"}[side] in self.ends else THIN

    @cached_property
    def ends(self) -> set[str]:
        """The columns besides the members that have a heading: in groups all, else those in which something stands."""
        if len(self.sizes) > 1:
            return {"start", "end", "Σ"}
        sides = {side for block in self.blocks for axis, side in block.edges if axis is self.sheet.across[-1]}
        return {{-1: "start", 1: "end"}[side] for side in sides}

    @cached_property
    def sums(self) -> bool:
        """Whether a block has one number for each group."""
        groups = self.sheet.across[:-1]
        return bool(groups) and any(groups[0] in b.axes and self.sheet.across[-1] not in b.axes for b in self.blocks)
