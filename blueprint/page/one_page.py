"""One page: draws the whole computation on one sheet, in live links, as `outline.one_page` says it.

The first tab. Rows of all panels lie on one grid, so that what feeds another panel stands in the same row. A line that
claims to be the result of the lines above it is recomputed, below what is printed, from the digits that are displayed:
its sign is "=" where a pocket calculator agrees, "≈" where only the last digit is off, "…" where it is something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, product
from math import isfinite

from xlsxwriter.utility import xl_pixel_width

from blueprint.language import Block
from blueprint.page import digits, grid, names
from blueprint.page import one_page_look as look
from blueprint.page.layout import Layout, Link, Live, Pen
from blueprint.page.one_page_columns import Column, ColumnMaker, Finder, Strip, tokens_of
from blueprint.page.one_page_terms import Leaf, Term
from blueprint.page.ruler import Ruler
from blueprint.page.outline.one_page import OnePage, PageMatrix, PageRow, Panel, Tile

TITLE, HEAD, STRIPS = 0, 1, 2
DECIMALS, NARROW_DECIMALS, LEAST_DECIMALS = (3, 4, 2, 5, 1), (2, 3, 4, 1), (2, 1)
"""How many decimals a line may show, the best first; and one whose columns are narrow."""
AGREES, ROUNDED, ANOTHER = 0.0, 1.0, 2.0
"""What a claim comes to: right from the displayed digits, right from all digits, or neither."""
SETTING = 4
"""Decimals of a single number that words and claims hold."""
TOLERANCE = 1e-9
MOST_TILES = 4
FEWER = 3
"""How much worse one decimal fewer is than one more."""
RESULT_WIDE, TITLE_GAP = 210, 40
"""Pixels of the result, at least; and between the title and what is said at its right."""
PROMPT = 6
"""Tokens of a prompt that are shown, its last ones."""
TOKENS_WIDE = (look.TOKEN, look.NARROW_TOKEN, look.LEAST_TOKEN)
"""Pixels of a token's column, as many as there is room for."""
SIGNS = "page made"


@dataclass(frozen=True)
class Mark:
    """Cells that look otherwise where a condition holds; corners: first and last row and column."""

    corners: tuple[int, int, int, int]
    condition: str
    name: str
    style: look.Properties


@dataclass
class Sheet:
    """The sheet as it is set up.

    widths, heights: in pixels. merged: ranges that are one cell, with their look. marks: looks by
    condition. filled: cells that have a look and nothing else. lines: those of written arithmetic. end: the row after the last
    that is printed.
    """

    widths: list[int] = field(default_factory=list)
    heights: dict[int, int] = field(default_factory=dict)
    merged: list[tuple[tuple[int, int, int, int], str]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    filled: list[tuple[int, int, str]] = field(default_factory=list)
    lines: list[Drawn] = field(default_factory=list)
    end: int = 0


@dataclass
class Placed:
    """A panel and its columns. sign, symbol, words: the columns beside its numbers; first, last: of the whole panel."""

    panel: Panel
    first: int
    sign: int
    symbol: int
    cells: list[list[int]]
    words: int
    last: int
    weights: list[int] = field(default_factory=list)
    strips: list[Strip] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        """All columns of numbers."""
        return [*tokens_of(self.strips)]


@dataclass
class Drawn:
    """A line on the sheet: its row, decimals, and for each cell its column (or strip), number, and address."""

    row: PageRow
    panel: Placed
    at: int
    decimals: int
    cells: list[tuple[Column, int, float | str]]
    choices: tuple[int, ...] = DECIMALS

    def cell(self, number: int) -> str:
        """Returns the address of one of its cells."""
        return grid.address(self.at, self.cells[number][1])


def lay_one_page(layout: Layout) -> None:
    """Adds the sheet to a layout, if its blueprint has one."""
    if layout.blueprint.one_page is not None:
        layout.one_page = OnePageLayer(layout, layout.blueprint.one_page).lay()


class OnePageLayer:
    """Lays one page out."""

    def __init__(self, layout: Layout, page: OnePage):
        self.layout, self.page, self.sheet = layout, page, Sheet()
        self.blocks = {block.name: block for block in layout.places}
        self.finder = Finder(layout, next((block for block in (self.first(page.mask), self.first(page.words)) if block is not None), None))
        self.pen = Pen(names.ONE_PAGE, layout)
        self.maker = ColumnMaker(self.finder, self.pen, self.first(page.mask), 0)
        self.drawn: dict[str, Drawn] = {}
        self.order: list[Drawn] = []
        self.kept: dict[str, list[Strip]] = {}
        self.panels: list[Placed] = []
        self.ruler = Ruler(xl_pixel_width)

    def first(self, named: str) -> Block | None:
        """Returns the first of several blocks that is there."""
        return next((self.blocks[name] for name in named.split() if name in self.blocks), None)

    # Where panels and rows stand

    def lay(self) -> Sheet:
        """Places panels, then rows, then writes."""
        panels = [panel for panel in self.page.panels if self.holds(panel)]
        for self.tokens_wide in TOKENS_WIDE:
            self.panels = []
            self.place_panels(panels)
            if sum(self.sheet.widths) <= look.WIDEST:
                break
        several = any(len(placed.cells) > 1 for placed in self.panels)
        self.tokens_row = STRIPS + several
        rows = self.place_rows(self.tokens_row + 1)
        bottom = max(rows, default=self.tokens_row) + 1
        self.sheet.end = bottom + 4
        self.maker.row, self.maker.listed = self.sheet.end + 2, len(self.sheet.widths) + 1
        self.pen.label(self.sheet.end + 1, 1, "how this page is made: places of the tokens, then whether each line is right from the digits that it shows", "one-page madename")
        for placed in self.panels:
            self.find_columns(placed)
        self.checks_row = self.maker.row + 1
        self.constants()
        self.write_title()
        for placed, start in zip(self.panels, self.starts, strict=True):
            self.write_panel(placed, start)
        self.choose_decimals()
        self.sheet.lines = self.order
        for line in self.order:
            self.write_line(line)
        self.write_tiles(bottom + 1)
        self.write_key()
        self.layout.body[names.ONE_PAGE] = self.tokens_row + 1
        self.layout.end[names.ONE_PAGE] = self.checks_row + 1
        heights = {TITLE: look.TITLE_HIGH, HEAD: look.HEAD_HIGH, bottom: look.SPACE_HIGH, bottom + 1: look.TILE_HIGH}
        heights |= {bottom + 2: look.TILE_HIGH, bottom + 3: look.SMALL_HIGH}
        self.sheet.heights = {row: heights.get(row, look.ROW_HIGH) for row in range(self.sheet.end)}
        return self.sheet

    def holds(self, panel: Panel) -> bool:
        """Tells whether a panel has anything to show in this workbook."""
        return any(self.has(row) for section in panel.sections for row in section.rows) or any(
            self.shows(matrix) for matrix in panel.matrices
        )

    def has(self, row: PageRow) -> bool:
        """Tells whether all blocks of a line are there."""
        reads = [row.block] if row.block else [name for _, name in Term(row.value).leaves]
        return all(name in self.blocks for name in reads)

    def shows(self, matrix: PageMatrix) -> bool:
        """Tells whether a matrix is there, and small enough."""
        block = self.blocks.get(matrix.block)
        return block is not None and self.layout.values.size(block.axes[-1]) <= matrix.most

    def lines(self, panel: Panel) -> Iterator[tuple[str, list[PageRow]]]:
        """Yields the sections of a panel with the lines that are there."""
        for section in panel.sections:
            if rows := [row for row in section.rows if self.has(row)]:
                yield section.title, rows

    def place_panels(self, panels: list[Panel]) -> None:
        """Gives each panel its columns, from left to right; one below another has the same."""
        widths = [look.MARGIN]
        for panel in panels:
            if panel.below and self.panels:
                above = self.panels[-1]
                self.panels.append(Placed(panel, above.first, above.sign, above.symbol, above.cells, above.words, above.last))
                continue
            if self.panels:
                widths.append(look.GAP)
            widths = self.place_panel(replace(panel, below=False), widths)
        title, hint = self.ruler(self.page.title, look.style("title")), self.ruler(self.page.hint, look.style("hint"))
        widths[2] += max(0, title + TITLE_GAP - sum(widths[1:-1]))  # the title ends before the cell of the hint
        self.sheet.widths = [*widths[:-1], widths[-1] + max(0, title + hint + TITLE_GAP - sum(widths))]

    def place_panel(self, panel: Panel, widths: list[int]) -> list[int]:
        """Places one panel right of the others."""
        first, weights = len(widths), list[int]()
        tables = [self.blocks[m.weights] for m in panel.matrices if m.weights in self.blocks and self.shows(m)]
        if tables:
            size = self.layout.values.size(tables[0].axes[0])
            widths = [*widths, look.WIDE_SYMBOL - 36, *[look.WEIGHT] * size, look.ARROW]
            weights = [*range(first + 1, first + 1 + size)]
        elif panel.tight:
            widths = [*widths, 4, 12]
        else:
            widths = [*widths, look.SIGN, look.SYMBOL]
        symbol = len(widths) - 1
        strips = self.maker.widths(self.page.columns[panel.columns])
        cells, token = list[list[int]](), min(self.tokens_wide, look.TOKEN if sum(strips) <= 6 and not panel.tight else look.NARROW_TOKEN)
        for i, many in enumerate(strips):
            if i:
                widths = [*widths, 8]
            cells.append([*range(len(widths), len(widths) + many)])
            widths = [*widths, *[token] * many]
        widths = [*widths, self.words_wide(panel)]
        self.panels.append(Placed(panel, first, first, symbol, cells, len(widths) - 1, len(widths) - 1, weights))
        return widths

    def words_wide(self, panel: Panel) -> int:
        """Returns the width of the words of a panel, in pixels."""
        words = [row.words for _, rows in self.lines(panel) for row in rows] + [*panel.aside]
        style = look.style("words")
        return max([4, *(self.ruler(re.sub(r"{.*?}", "0.99", text), style) + 8 for text in words if text)])

    def high(self, panel: Panel) -> int:
        """Counts the rows of a panel below its head."""
        matrices = sum(self.layout.values.size(self.blocks[m.block].axes[-1]) for m in panel.matrices if self.shows(m))
        return matrices + sum(len(rows) + bool(title) for title, rows in self.lines(panel))

    def place_rows(self, top: int) -> list[int]:
        """Gives each panel the row of its first line; returns the last rows of all."""
        self.starts = [0] * len(self.panels)
        rows_of: dict[str, int] = {}
        free: dict[int, int] = {}
        ends = list[int]()
        late = [i for i, placed in enumerate(self.panels) if placed.panel.below]
        for i in [*(i for i in range(len(self.panels)) if i not in late), *late]:
            placed = self.panels[i]
            start = top
            if placed.panel.below:
                start = free[placed.first] + 1
                wanted = rows_of.get(placed.panel.beside)
                if wanted is not None and wanted >= start:
                    start = wanted
            self.starts[i] = start
            row = start + sum(
                self.layout.values.size(self.blocks[m.block].axes[-1]) for m in placed.panel.matrices if self.shows(m)
            )
            for title, rows in self.lines(placed.panel):
                row += bool(title)
                for each in rows:
                    rows_of.setdefault(each.called, row)
                    row += 1
            free[placed.first] = row
            ends.append(row - 1)
        self.free = free
        return ends

    def find_columns(self, placed: Placed) -> None:
        """Makes the columns of a panel; panels whose columns are the same tokens share how they are found."""
        columns = self.page.columns[placed.panel.columns]
        known = self.kept.get(placed.panel.columns)
        if known is None:
            placed.strips = self.kept[placed.panel.columns] = self.maker.made(columns, placed.cells)
            return
        placed.strips = self.maker.again(known, placed.cells)

    def constants(self) -> None:
        """Writes the numbers of decimals, and the tolerance, that the claims are judged by."""
        row = self.checks_row
        self.of_decimals = {}
        for i, many in enumerate(sorted({0, *DECIMALS})):
            self.pen.label(row, 2 + i, float(many), "one-page made")
            self.of_decimals[many] = grid.address(row, 2 + i, fixed=True)
        self.pen.label(row, 1, TOLERANCE, "one-page made")
        self.tolerance = grid.address(row, 1, fixed=True)
        self.checks_row += 1

    # What is written

    def put(self, row: int, column: int, what: float | str | None, style: str) -> None:
        """Puts a text, or only its look, into a cell."""
        if what in (None, ""):
            self.sheet.filled.append((row, column, f"one-page {style}"))
        else:
            self.pen.label(row, column, what, f"one-page {style}")  # type: ignore[arg-type]

    def live(self, row: int, column: int, formula: str, value: float | str, style: str, repeats: bool = False) -> None:
        """Puts a formula into a cell."""
        live = Live(names.ONE_PAGE, row, column, f"={formula}", value, f"one-page {style}", repeats)
        self.layout.lives.append(live)

    def write_title(self) -> None:
        """Writes title, prompt, answer, the hint, and the result."""
        self.put(TITLE, 1, self.page.title, "title")
        last = len(self.sheet.widths) - 1
        self.put(TITLE, last, self.page.hint, "hint")
        prompt, first = self.first(self.page.prompt), self.panels[0].columns
        if prompt is None or not first or first[0].at is None or self.finder.time is None:
            return
        start = first[0].strip.columns[0]
        if not start.at:
            return
        said = self.write_prompt(prompt, start)
        free = self.ruler(self.page.title, look.style("title"))
        edges = [0, *accumulate(self.sheet.widths)]
        anchor = next(i for i, edge in enumerate(edges) if edge >= edges[1] + free)
        self.live(TITLE, anchor, *said, "prompt")
        if len(self.panels) > 1 and self.page.columns[self.panels[0].panel.columns].of == "tokens":
            words = self.first(self.page.words)
            assert words is not None
            answer = [str(self.finder.value(words, column)) for column in first]
            heads = [grid.address(self.tokens_row, column.column) for column in first]
            right = next(placed for placed in self.panels if placed.first > self.panels[0].last)
            said = self.joined(heads, answer)
            self.live(TITLE, right.first, *said, f"answer {self.panels[0].panel.model}")

    def write_prompt(self, prompt: Block, start: Column) -> tuple[str, str]:
        """Writes below the page the last tokens that were read before the first written one; returns the cell that joins them."""
        row, time = self.checks_row, self.finder.time
        self.checks_row += 2
        assert time is not None and start.at is not None
        words, shown = list[str](), list[str]()
        for i in range(PROMPT):
            column, back = self.maker.listed + i, PROMPT - 1 - i
            place, after = grid.address(row, column), grid.address(row, column + 1)
            at = start.at[time] - back
            begins = self.finder.place_of(start) - back
            self.live(row, column, f"{after}-1" if back else f"SUM({start.place})", begins, "made")
            spelled = f'IF({place}<{start.strip.begins},"",INDEX({self.finder.rows(prompt)},1,{place})&"")'
            shown.append(str(self.finder.value(prompt, start, -back)) if at >= 0 else "")
            self.live(row + 1, column, spelled, shown[-1], "made")
            words.append(grid.address(row + 1, column))
        return self.joined(words, shown)

    def joined(self, cells: list[str], words: list[str]) -> tuple[str, str]:
        """Joins words by blanks, one after the other, so that none stands at an end; returns the last formula and what it says."""
        row, so_far, said = self.checks_row, cells[0], words[0]
        self.checks_row += 1
        for i, (cell, word) in enumerate(zip(cells[1:], words[1:], strict=True)):
            said = (f"{said} {word}" if said and word else said or word)
            formula = f'{so_far}&IF(OR({so_far}="",{cell}=""),""," ")&{cell}'
            self.live(row, self.maker.listed + i, formula, said, "made")
            so_far = grid.address(row, self.maker.listed + i)
        return so_far, said

    def write_panel(self, placed: Placed, start: int) -> None:
        """Writes the head of a panel, its tokens and matrices, and notes its lines."""
        panel = placed.panel
        head = start - 1 if panel.below else HEAD
        letter = self.letter(placed)
        for column in range(placed.first, placed.last + 1):
            self.put(head, column, f" {letter}   {panel.head}" if column == placed.first else None, f"head {panel.model}")
        if not panel.below:
            self.write_tokens(placed)
        row = start
        for matrix in panel.matrices:
            if self.shows(matrix):
                row = self.write_matrix(matrix, placed, row)
        for i, text in enumerate(panel.aside):
            self.put(start + i, placed.words, text, "words")
        for title, rows in self.lines(panel):
            if title:
                for column in range(placed.first, placed.last + 1):
                    self.put(row, column, title if column == placed.first else None, "section")
                row += 1
            for each in rows:
                self.note_line(each, placed, row)
                row += 1

    def letter(self, placed: Placed) -> str:
        """Returns the letter of a panel: those at the top come first, from left to right."""
        order = sorted(self.panels, key=lambda each: each.panel.below)
        return chr(ord("A") + next(i for i, each in enumerate(order) if each is placed))

    def write_tokens(self, placed: Placed) -> None:
        """Writes the token at the head of each column, in amber the one that Walk shows; above several episodes, which they are."""
        model, words = placed.panel.model, self.first(self.page.words)
        look_of = f"token {model}{' small' if self.tokens_wide < look.NARROW_TOKEN else ''}"
        if len(placed.strips) > 1:
            for i, (strip, cells) in enumerate(zip(placed.strips, placed.cells, strict=True)):
                title = placed.panel.heads[i] if i < len(placed.panel.heads) else f"response {i + 1}"
                self.merge(STRIPS, cells[0], STRIPS, cells[-1], f"one-page strip {model}")
                self.put(STRIPS, cells[0], title, f"strip {model}")
                del strip
        for column in placed.columns:
            if column.place and words is not None:
                formula = f'IF({column.place}="","",{self.finder.formula(words, column)})'
                value = self.finder.value(words, column)
                self.live(self.tokens_row, column.column, formula, value, look_of)
            elif not column.place and column.at is not None:
                axis, member = next(iter(column.at.items()))
                own = self.blocks.get(self.page.columns[placed.panel.columns].words)
                called = own if own is not None else self.layout.blueprint.names.get(axis)
                if isinstance(called, Block):
                    address = self.layout.address(called, (member,), fixed=True)
                    word = str(self.layout.values.cell(called, member))
                    fits = self.ruler(word, look.style(look_of)) <= self.sheet.widths[column.column]
                    self.live(self.tokens_row, column.column, address, word, look_of if fits else f"{look_of} tiny")
                else:
                    text = called.format(member + axis.start) if called else f"{axis.letter} {member + axis.start}"
                    self.put(self.tokens_row, column.column, text, look_of)
        cells = [column for column in placed.columns if column.place]
        for column in placed.columns:
            axis = next(iter(column.at or {}), None)
            if not column.place and axis in self.finder.numbers and axis is not None and column.at:
                at = (self.tokens_row, column.column, self.tokens_row, column.column)
                number = column.at[axis] + axis.start
                self.mark(at, f"{self.finder.number(axis)}={number}", "chosen", {"bg_color": look.CHOSEN, "font_color": look.INK})
        if cells and self.finder.time in self.finder.numbers:
            for column in cells:
                at = (self.tokens_row, column.column, self.tokens_row, column.column)
                self.mark(at, f"{column.place}={names.CHOSEN_PLACE}", "chosen", {"bg_color": look.CHOSEN, "font_color": look.INK})

    def mark(self, corners: tuple[int, int, int, int], condition: str, name: str, style: look.Properties) -> None:
        """Notes that cells look otherwise where a condition holds."""
        self.sheet.marks.append(Mark(corners, condition, f"one-page {name}", style))

    def merge(self, top: int, left: int, bottom: int, right: int, style: str) -> None:
        """Makes one cell of several."""
        if (top, left) != (bottom, right):
            self.sheet.merged.append(((top, left, bottom, right), style))

    def write_matrix(self, matrix: PageMatrix, placed: Placed, top: int) -> int:
        """Writes a matrix and what stands at its left; returns the row below it."""
        block, model = self.blocks[matrix.block], placed.panel.model
        axis = block.axes[-1]
        decimals = min(matrix.decimals, 2) if self.tokens_wide < look.NARROW_TOKEN else matrix.decimals
        size, called = self.layout.values.size(axis), self.layout.blueprint.names.get(axis)
        label = placed.first if placed.weights else placed.symbol
        weights = self.blocks.get(matrix.weights)
        for v in range(size):
            row = top + v
            if isinstance(called, Block) and (matrix.framed or weights is not None) and not placed.panel.tight:
                self.live(row, label, self.layout.address(called, (v,), fixed=True), self.layout.values.cell(called, v), "member", repeats=True)
            elif matrix.symbol and v < 2:
                self.put(row, placed.symbol, matrix.symbol if v == 0 else matrix.words, f"caption {model}" if v == 0 else "hint")
            for column in placed.columns:
                number = self.finder.value(block, column, member=v)
                spelled = self.finder.formula(block, column, member=v)
                formula = f'IF({column.place}="","",{spelled})' if column.place else spelled
                self.live(row, column.column, formula, number, f"matrix {model} {decimals}")
            if weights is not None:
                for j, cell in enumerate(placed.weights):
                    self.live(row, cell, self.layout.address(weights, (j, v), fixed=True), self.layout.values.cell(weights, j, v), "weights", repeats=True)
        self.link(top, placed, block, matrix, label)
        for cells in placed.cells:
            corners = top, cells[0], top + size - 1, cells[-1]
            first = grid.address(top, cells[0])
            word = f"{grid.letters(cells[0])}${self.tokens_row + 1}"
            if matrix.framed:
                named = self.name_of(called, label, top, placed)
                condition = f"AND(ISNUMBER({first}),EXACT({named},{word}))"
                self.mark(corners, condition, f"written {model}", look.WRITTEN[model])
                most = f"MAX({grid.area(*corners, fixed=True)})"
                for step, dark in zip(look.STEPS, look.SHADES, strict=False):
                    fill = {"bg_color": look.shade(look.STRONG[model], dark)}
                    self.mark(corners, f"AND(ISNUMBER({first}),{first}>={step}*{most})", f"{model} {step}", fill)
        return top + size

    def name_of(self, called: object, label: int, top: int, placed: Placed) -> str:
        """Spells the word of a matrix's first member, as a condition that goes on downwards reads it."""
        if not placed.panel.tight or not isinstance(called, Block):
            return f"${grid.letters(label)}{top + 1}"
        sheet, _, cell = self.layout.address(called, (0,)).rpartition("!")
        return f"{sheet}!${cell}"

    def link(self, row: int, placed: Placed, block: Block, matrix: PageMatrix, label: int) -> None:
        """Puts a link to the rows of a matrix beside it, where there is room."""
        if matrix.symbol and not matrix.framed:
            self.layout.links.append(Link(names.ONE_PAGE, row, placed.symbol, block, matrix.symbol, f"one-page caption {placed.panel.model}"))
            self.layout.labels[:] = [each for each in self.layout.labels if (each.sheet, each.row, each.column) != (names.ONE_PAGE, row, placed.symbol)]
        del label

    # Lines

    def note_line(self, row: PageRow, placed: Placed, at: int) -> None:
        """Notes a line with its numbers; decimals are chosen when all are known."""
        cells = list[tuple[Column, int, float | str]]()
        by_token = self.by_token(row)
        for strip in placed.strips:
            for column in strip.columns if by_token else strip.columns[:1]:
                cells.append((column, column.column, self.number(row, column)))
        block = self.blocks.get(row.block)
        whole = block is not None and block.about.decimals == 0
        narrow = by_token and self.sheet.widths[cells[0][1]] < look.TOKEN
        least = LEAST_DECIMALS if self.tokens_wide < look.NARROW_TOKEN else NARROW_DECIMALS
        choices = (0,) if whole else least if narrow else DECIMALS
        line = Drawn(row, placed, at, choices[0], cells, choices)
        self.drawn.setdefault(row.called, line)
        self.order.append(line)

    def by_token(self, row: PageRow) -> bool:
        """Tells whether a line has a number for each token, or one for each episode."""
        reads = [row.block] if row.block else [name for _, name in Term(row.value).leaves]
        axes = {axis for name in reads for axis in self.blocks[name].axes}
        return self.finder.time in axes or not (axes & {*self.finder.across}) and self.is_member(axes)

    def is_member(self, axes: set[object]) -> bool:
        """Tells whether one of the axes is what columns of this page stand for."""
        letters = {each.axis for each in self.page.columns.values() if each.of == "members"}
        return any(getattr(axis, "letter", "") in letters for axis in axes)

    def number(self, row: PageRow, column: Column) -> float | str:
        """Returns the number of a line in a column as it is delivered."""
        if column.at is None:
            return ""
        if row.block:
            return self.finder.value(self.blocks[row.block], column)

        def known(leaf: Leaf) -> float:
            return float(self.finder.value(self.blocks[leaf[1]], column, shift=int(leaf[0] == "next")))

        return Term(row.value).value(known) + 0.0

    def formula(self, row: PageRow, column: Column) -> str:
        """Spells the number of a line in a column."""
        if row.block:
            spelled = self.finder.formula(self.blocks[row.block], column)
        else:
            spelled = Term(row.value).formula(self.raw(column))
        return f'IF({column.place}="","",{spelled})' if column.place else spelled

    def raw(self, column: Column):  # type: ignore[no-untyped-def]
        """Spells the blocks of an expression in a column."""
        return lambda leaf: self.finder.formula(self.blocks[leaf[1]], column, shift=int(leaf[0] == "next"))

    def choose_decimals(self) -> None:
        """Chooses how many decimals each line shows, so that as many claims as can be are right on a pocket calculator."""
        claims = [line for line in self.order if line.row.equals and self.can_claim(line)]
        free = {line.row.called: [self.drawn[name] for _, name in Term(line.row.equals).leaves if name in self.drawn] for line in claims}

        def wrong(lines: list[Drawn]) -> int:
            return sum(self.judged(line, i) != AGREES for line in lines for i in range(len(line.cells)))

        touched: dict[int, list[Drawn]] = {}
        for line in claims:
            for each in (line, *free[line.row.called]):
                touched.setdefault(id(each), []).append(line)
        for _ in range(4):
            for line in claims:
                if not wrong([line]):
                    continue
                movable = [each for each in (line, *free[line.row.called]) if len(each.choices) > 1][:4]
                concerned = list({id(each): each for move in movable for each in touched[id(move)]}.values())
                best = None
                for chosen in product(*(each.choices for each in movable)):
                    for each, decimals in zip(movable, chosen, strict=True):
                        each.decimals = decimals
                    away = sum(FEWER * max(0, each.choices[0] - d) + max(0, d - each.choices[0]) for d, each in zip(chosen, movable, strict=True))
                    cost = (wrong(concerned), away, sum(chosen), chosen)
                    if best is None or cost < best:
                        best = cost
                assert best is not None
                for each, decimals in zip(movable, best[3], strict=True):
                    each.decimals = decimals

    def can_claim(self, line: Drawn) -> bool:
        """Tells whether all that a claim reads is there."""
        return all(name in self.drawn or (name in self.blocks and not self.blocks[name].axes) for _, name in Term(line.row.equals).leaves)

    def judged(self, line: Drawn, i: int) -> float:
        """Judges a claim in a column from the numbers as delivered."""
        column, _, value = line.cells[i]
        if column.at is None or isinstance(value, str):
            return AGREES

        def known(leaf: Leaf, shown: bool) -> float:
            way, name = leaf
            if name not in self.drawn:
                single = float(self.layout.values.cell(self.blocks[name]))
                return float(digits.half_up(single, SETTING)) if shown and isfinite(single) else single
            operand = self.drawn[name]
            numbers = [operand.cells[j][2] for j in self.operands(line, i, operand, way)]
            found = [float(each) for each in numbers if not isinstance(each, str)]
            return sum(float(digits.half_up(each, operand.decimals)) if shown else each for each in found)

        term = Term(line.row.equals)
        shown = term.value(lambda leaf: known(leaf, True))
        if isfinite(shown) and digits.half_up(shown, line.decimals) == digits.half_up(value, line.decimals):
            return AGREES
        exact = term.value(lambda leaf: known(leaf, False))
        return ROUNDED if abs(exact - value) <= TOLERANCE * (1 + abs(value)) else ANOTHER

    def operands(self, line: Drawn, i: int, operand: Drawn, way: str) -> list[int]:
        """Returns which cells of another line a claim reads in its i-th cell: the one of its column, or all of its strip."""
        column = line.cells[i][0]
        strips, number = line.panel.strips, line.panel.strips.index(column.strip)
        if way == "sum":
            mine = operand.panel.strips[number] if len(operand.panel.strips) == len(strips) else operand.panel.strips[0]
            return [j for j, cell in enumerate(operand.cells) if cell[0].strip is mine]
        position = column.strip.columns.index(column)
        theirs = operand.panel.strips[min(number, len(operand.panel.strips) - 1)]
        mine_cells = [j for j, cell in enumerate(operand.cells) if cell[0].strip is theirs]
        return [mine_cells[min(position, len(mine_cells) - 1)]]

    def write_line(self, line: Drawn) -> None:
        """Writes a line: sign, symbol with a link to its rows, numbers, words."""
        row, placed, at = line.row, line.panel, line.at
        block = self.blocks.get(row.block)
        result = bool(row.equals) if row.result is None else row.result
        flag = " result" if result else ""
        symbol = "" if placed.panel.tight else row.symbol or (block.about.symbol if block is not None else "")
        if block is not None and symbol:
            self.layout.links.append(Link(names.ONE_PAGE, at, placed.symbol, block, symbol, f"one-page symbol {row.model}{flag}"))
        else:
            self.put(at, placed.symbol, symbol, f"symbol {row.model}{flag}")
        for i, (column, cell, value) in enumerate(line.cells):
            goes_back = row.back and line.choices == DECIMALS and column is not column.strip.columns[0]
            back = " back" if goes_back else ""
            middle = "" if self.by_token(row) else " middle"
            close = " close" if line.choices == NARROW_DECIMALS else ""
            style = f"number {row.model} {line.decimals}{flag}{back}{middle}{close}"
            if middle and len(column.strip.columns) > 1:
                self.merge(at, cell, at, column.strip.columns[-1].column, f"one-page {style}")
            self.live(at, cell, self.formula(row, column), value, style)
            del i
        self.write_words(line)
        self.write_sign(line)
        self.write_marks(line)
        if row.arrow and placed.first > 1:
            self.put(at, placed.first - 1, "→", "sign")

    def write_words(self, line: Drawn) -> None:
        """Writes the words beside a line; an expression of settings in them is live."""
        text, at, column = line.row.words, line.at, line.panel.words
        if "{" not in text:
            if text:
                self.put(at, column, text, "words")
            return
        formula, shown = [], []
        for i, part in enumerate(text.replace("}", "{").split("{")):
            if i % 2 == 0:
                if part:
                    formula.append('"' + part.replace('"', '""') + '"')
                    shown.append(part)
                continue
            term = Term(part)
            value = term.value(lambda leaf: float(self.layout.values.cell(self.blocks[leaf[1]])))
            spelled = term.formula(lambda leaf: names.defined_name(self.blocks[leaf[1]].name))
            formula.append(f"ROUND({spelled},{self.of(SETTING)})")
            number = digits.half_up(value, SETTING)
            shown.append(f"{number:f}" if number.is_finite() else str(value))
        self.live(at, column, "&".join(formula), digits.Print("".join(shown)), "words")

    def write_sign(self, line: Drawn) -> None:
        """Writes the sign of a line; where it claims something, with the claim judged below."""
        row, placed, at = line.row, line.panel, line.at
        if not row.equals or not self.can_claim(line):
            if row.sign and not row.equals:
                self.put(at, placed.sign, row.sign, "sign")
            return
        made, judgements = self.checks_row, list[float]()
        self.checks_row += 1
        self.put(made, 1, row.called, "madename")
        for i, (column, cell, value) in enumerate(line.cells):
            judgements.append(self.judged(line, i))
            self.live(made, cell, self.claim(line, i), judgements[-1], "made")
            del column, value
        area = grid.area(made, line.cells[0][1], made, line.cells[-1][1])
        sign = row.sign or "="
        near = "≈" if sign == "=" else f"{sign} ≈"
        formula = f'CHOOSE(MAX({area})+1,"{sign}","{near}","…")'
        said = {AGREES: sign, ROUNDED: near, ANOTHER: "…"}[max(judgements)]
        self.live(at, placed.sign, formula, said, "sign")

    def claim(self, line: Drawn, i: int) -> str:
        """Spells the judgement of a claim in a column."""
        result = line.cell(i)

        def spelled(leaf: Leaf, shown: bool) -> str:
            way, name = leaf
            if name not in self.drawn:
                single = names.defined_name(self.blocks[name].name)
                return f"ROUND({single},{self.of(SETTING)})" if shown else single
            operand = self.drawn[name]
            cells = [operand.cell(j) for j in self.operands(line, i, operand, way)]
            parts = [self.rounded(cell, operand.decimals) if shown else f"SUM({cell})" for cell in cells]
            return f"({'+'.join(parts)})"

        term = Term(line.row.equals)
        shown, exact = (term.formula(lambda leaf, way=way: spelled(leaf, way)) for way in (True, False))  # type: ignore[misc]
        last = self.of(line.decimals)
        agrees = f"ABS(ROUND({shown},{last})-ROUND({result},{last}))<{self.tolerance}"
        near = f"ABS({exact}-{result})<={self.tolerance}*(1+ABS({result}))"
        return f"IF(COUNT({result})=0,0,(1-({agrees}))*(2-({near})))"

    def rounded(self, cell: str, decimals: int) -> str:
        """Spells a number as it is displayed; an empty cell is 0."""
        return f"ROUND(SUM({cell}),{self.of(decimals)})"

    def of(self, decimals: int) -> str:
        """Returns the cell that holds a number of decimals."""
        return self.of_decimals.get(decimals, str(decimals))

    def write_marks(self, line: Drawn) -> None:
        """Writes what marks numbers of a line: the one that counts is filled, one that is a constant is clipped."""
        row, at = line.row, line.at
        for said, style in (
            (row.clipped, {"bg_color": look.COUNTS, "font_color": look.CLIPPED, "bold": True, "num_format": look.snipped(line.decimals)}),
            (row.fills, {"bg_color": look.COUNTS, "bold": True}),
        ):
            if not said or not all(name in self.blocks for _, name in Term(said).leaves):
                continue
            made, term = self.checks_row, Term(said)
            self.checks_row += 1
            self.put(made, 1, f"{row.called}: {said}", "madename")
            for column, cell, _ in line.cells:
                spelled = term.formula(self.raw(column))
                is_one = f"1*({spelled})" if any(sign in said for sign in "<>") else spelled
                value = 0.0 if column.at is None else term.value(lambda leaf, column=column: float(self.finder.value(self.blocks[leaf[1]], column)))  # type: ignore[misc]
                formula = f'IF({column.place}="",0,{is_one})' if column.place else is_one
                self.live(made, cell, formula, value, "made")
                self.mark((at, cell, at, cell), f"{grid.address(made, cell)}=1", f"mark {line.decimals} {bool(row.clipped and said == row.clipped)}", style)

    # The result

    def write_tiles(self, row: int) -> None:
        """Writes the result and what adds up to it, each over some columns."""
        result = self.layout.blueprint.result
        tiles = [each for tile in self.page.tiles if self.can_tile(tile) for each in self.each_tile(tile)]
        if result is None or result.axes:
            return
        edges = [0, *accumulate(self.sheet.widths)]
        total = edges[-1]
        share = max(RESULT_WIDE, min(300, int(total * 0.22)))
        spans = [self.span(edges, edges[1], edges[1] + share)]
        room = (total - edges[1] - share) / max(1, len(tiles) + 0.4 * bool(self.page.after))
        for i in range(len(tiles)):
            left = edges[1] + share + i * room
            first, last = self.span(edges, left + 40, left + room)
            first = max(first, spans[-1][1] + 2)
            spans.append((first, max(first, last)))
        words = self.page.result
        top, bottom = row, row + 1
        left, right = spans[0]
        style = "one-page result"
        self.merge(top, left, bottom, right, f"{style} {words.replace(' ', '_')}")
        self.live(top, left, names.defined_name(result.name), self.layout.values.cell(result), f"result {words.replace(' ', '_')}", repeats=True)
        for tile, (left, right), before in zip(tiles, spans[1:], spans, strict=False):
            sign = before[1] + 1
            self.merge(top, sign, bottom, max(sign, left - 1), "one-page tilesign")
            self.put(top, sign, tile.sign or "=", "tilesign")
            self.merge(top, left, top, right, f"one-page tile {tile.model}")
            self.merge(bottom, left, bottom, right, f"one-page tilewords {tile.model}")
            formula, value = self.single(tile)
            self.live(top, left, formula, value, f"tile {tile.model}")
            self.tile_words(tile, bottom, left)
        if self.page.after:
            self.put(top, spans[-1][1] + 1, self.page.after, "tilesign")
        for i, (sheet, text) in enumerate(self.ways()):
            at = len(self.sheet.widths) - 1 - 2 * i
            self.layout.links.append(Link(names.ONE_PAGE, row + 2, at, f"{grid.quoted(sheet)}!A1", text, "one-page way"))
        if self.page.note:
            self.put(row + 2, 1, self.page.note, "small")

    def ways(self) -> list[tuple[str, str]]:
        """Lists the sheets to which the page leads on, with the words of the links."""
        walk = [(self.layout.finder[0], "→ Walk: choose another token")] if self.layout.finder else []
        return [(self.layout.blueprint.sheets[0].title, "→ Start: every piece"), *walk]

    def can_tile(self, tile: Tile) -> bool:
        """Tells whether what a tile shows is there."""
        reads = [tile.block] if tile.block else [name for _, name in Term(tile.value).leaves]
        return all(name in self.blocks for name in reads)

    def each_tile(self, tile: Tile) -> list[Tile]:
        """Returns a tile for each group, or the tile itself."""
        if not tile.groups:
            return [tile]
        groups, _ = self.maker.group_axes(self.page.columns[tile.groups])
        kept = [replace(tile, groups=f"{tile.groups} {g}", sign="+" if g else "=", words=tile.words.format(g + 1)) for g in range(groups)]
        if groups <= MOST_TILES:
            return kept
        return []

    def group_sum(self, tile: Tile) -> tuple[str, float]:
        """Spells the sum of a block's numbers over the responses of a group, which stand in one row."""
        name, g = tile.groups.split(" ")
        responses, block = self.maker.response_numbers(self.page.columns[name]), self.blocks[tile.block]
        size, time = self.layout.values.size(responses.axes[1]), self.finder.time
        assert time is not None
        last = self.layout.values.size(time) - 1
        parts, total = [], 0.0
        for i in range(size):
            episode = int(float(self.layout.values.cell(responses, int(g), i))) - 1
            ends = (self.layout.address(block, (episode, t), fixed=True) for t in (0, last))
            first, final = ends
            parts.append(f"SUM({first}:{final.rpartition('!')[2]})")
            total += sum(float(self.layout.values.cell(block, episode, t)) for t in range(last + 1))
        return "+".join(parts), total

    def single(self, tile: Tile) -> tuple[str, float | str]:
        """Spells the number of a tile."""
        if tile.groups:
            return self.group_sum(tile)
        if tile.block and not self.blocks[tile.block].axes:
            block = self.blocks[tile.block]
            return names.defined_name(block.name), self.layout.values.cell(block)

        def known(leaf: Leaf) -> float:
            return float(self.layout.values.cell(self.blocks[leaf[1]]))

        term = Term(tile.value)
        return term.formula(lambda leaf: names.defined_name(self.blocks[leaf[1]].name)), term.value(known) + 0.0

    def tile_words(self, tile: Tile, row: int, column: int) -> None:
        """Writes the words of a tile, as a link to its rows."""
        name = tile.block or next(name for _, name in Term(tile.value).leaves)
        self.layout.links.append(Link(names.ONE_PAGE, row, column, self.blocks[name], tile.words or self.blocks[name].about.meaning, f"one-page tilewords {tile.model}"))

    @staticmethod
    def span(edges: list[int], left: float, right: float) -> tuple[int, int]:
        """Returns the first and last column between two places in pixels."""
        first = min(range(len(edges) - 1), key=lambda i: abs(edges[i] - left))
        last = min(range(first, len(edges) - 1), key=lambda i: abs(edges[i + 1] - right))
        return first, last

    def write_key(self) -> None:
        """Says what the marks mean, below the first panel where there is room: three on the left, three beside them."""
        first = self.panels[0]
        row = self.free[first.first] + 1
        meanings = [
            ("keywritten", "0.133", "the written token", any(m.framed for p in self.panels for m in p.panel.matrices)),
            ("keyline", "= 0.5", "result of lines above", True),
            ("sign", "↖", "read one to the left", any(line.row.back and line.choices == DECIMALS for line in self.order)),
            ("keycounts", "0.362", "of two, the one that counts", any(line.row.fills for line in self.order)),
            ("keyclipped", "✂1.204", "clipped: no gradient", any(line.row.clipped for line in self.order)),
            ("keychosen", "very", "shown on Walk", self.layout.finder is not None),
        ]
        shown = [each[:3] for each in meanings if each[3]]
        room = self.sheet.end - 4 - row
        if room < 1:
            return
        halves = shown[: min(room, 3)], shown[min(room, 3) : 2 * min(room, 3)]
        edges = [0, *accumulate(self.sheet.widths)]
        tokens = [cell for cells in first.cells for cell in cells]
        beside = min(tokens, key=lambda cell: abs(edges[cell] - edges[first.first] - 200))
        if not first.weights:
            halves = halves[1], halves[0]
        for column, half in zip((first.first, beside), halves, strict=True):
            room = edges[first.last + 1] - edges[column + 1]
            if column != first.first and any(self.ruler(text, look.style("key")) > room for _, _, text in half):
                continue
            for i, (style, sample, text) in enumerate(half):
                self.put(row + i, column, sample, style)
                self.put(row + i, column + 1, text, "key")
