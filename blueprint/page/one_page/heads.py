"""Heads: the title, with what was read and written, the head of each panel, its members, and its matrices."""

from __future__ import annotations

from itertools import accumulate

from blueprint.language import Block
from blueprint.page import grid, names
from blueprint.page.layout import Link
from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import Placed
from blueprint.page.one_page.columns import Column
from blueprint.page.one_page.lines import LineWriter
from blueprint.page.outline.one_page import PageMatrix

TITLE, HEAD, STRIPS = 0, 1, 2
"""Rows of the title, of the heads of panels, and of what stands above several groups."""
LEAD = 6
"""Members that were read before, of which the last are shown."""


class PanelWriter(LineWriter):
    """Writes panels."""

    gold_said = False
    """Whether a panel has said what the gold head is."""

    def write_title(self) -> None:
        """Writes the title, what was read and written, and the hint."""
        self.put(TITLE, 1, self.page.title, "title")
        last = len(self.sheet.widths) - 1
        self.put(TITLE, last, self.page.hint, "hint")
        lead, first = self.first(self.page.lead), self.panels[0].columns
        if lead is None or not first or first[0].at is None or self.finder.time is None:
            return
        start = first[0].strip.columns[0]
        if not start.at:
            return
        free = self.ruler(self.page.title, look.style("title"))
        edges = [0, *accumulate(self.sheet.widths)]
        anchor = next(i for i, edge in enumerate(edges) if edge >= edges[1] + free)
        answered = len(self.panels) > 1 and self.page.columns[self.panels[0].panel.columns].of == "counted"
        right = next((placed for placed in self.panels if placed.first > self.panels[0].last), None)
        end = right.first if answered and right is not None else last
        if many := self.longest_lead(lead, edges[end] - edges[anchor]):
            self.live(TITLE, anchor, *self.write_lead(lead, start, many), "lead")
        if answered and right is not None:
            words = self.first(self.page.words)
            assert words is not None
            answer = [str(self.finder.value(words, column)) for column in first]
            heads = [grid.address(self.heads_row, column.column) for column in first]
            said = self.joined(heads, answer)
            self.live(TITLE, right.first, *said, f"answer {self.panels[0].panel.model}")

    def longest_lead(self, lead: Block, room: int) -> int:
        """Returns how many members, read before, have room beside the title, whichever group is chosen."""
        finder, many = self.finder, LEAD
        for group in range(self.layout.values.size(finder.outer) if finder.outer else 1):
            counted = self.maker.counted(group)
            places = range(counted[0]) if counted else ()
            words = [str(self.layout.values.cell(lead, *([group] if finder.outer else []), t)) for t in places]
            while many and self.ruler(" ".join(words[-many:]), look.style("lead")) > room:
                many -= 1
        return many

    def write_lead(self, lead: Block, start: Column, many: int) -> tuple[str, str]:
        """Writes below the page the last members that were read before the first written one; returns the cell that joins them.

        many: how many members there are at most.
        """
        row, time = self.checks_row, self.finder.time
        self.checks_row += 2
        assert time is not None
        assert start.at is not None
        words, shown = list[str](), list[str]()
        for i in range(many):
            column, back = self.maker.listed + i, many - 1 - i
            place, after = grid.address(row, column), grid.address(row, column + 1)
            at = start.at[time] - back
            begins = self.finder.place_of(start) - back
            self.live(row, column, f"{after}-1" if back else f"SUM({start.place})", begins, "made")
            spelled = f'IF({place}<{start.strip.begins},"",INDEX({self.finder.rows(lead)},1,{place})&"")'
            shown.append(str(self.finder.value(lead, start, -back)) if at >= 0 else "")
            self.live(row + 1, column, spelled, shown[-1], "made")
            words.append(grid.address(row + 1, column))
        return self.joined(words, shown)

    def joined(self, cells: list[str], words: list[str]) -> tuple[str, str]:
        """Joins words by blanks, one after the other, so that none stands at an end; returns the last formula and what it says."""
        row, so_far, said = self.checks_row, cells[0], words[0]
        self.checks_row += 1
        for i, (cell, word) in enumerate(zip(cells[1:], words[1:], strict=True)):
            said = f"{said} {word}" if said and word else said or word
            formula = f'{so_far}&IF(OR({so_far}="",{cell}=""),""," ")&{cell}'
            self.live(row, self.maker.listed + i, formula, said, "made")
            so_far = grid.address(row, self.maker.listed + i)
        return so_far, said

    def write_panel(self, placed: Placed, start: int) -> None:
        """Writes the head of a panel, its members and matrices, and notes its lines."""
        panel = placed.panel
        head = start - 1 if panel.below else HEAD
        letter = self.letter(placed)
        for column in range(placed.first, placed.last + 1):
            self.put(
                head, column, f" {letter}   {panel.head}" if column == placed.first else None, f"head {panel.model}"
            )
        if not panel.below:
            self.write_heads(placed)
        elif self.page.columns[panel.columns].of == "members":
            self.write_numbers(placed, head)
        row = start
        for matrix in panel.matrices:
            if self.shows(matrix):
                row = self.write_matrix(matrix, placed, row)
        for i, text in enumerate(self.aside(panel)):
            self.put(start + i, placed.words, text, "words")
        for title, rows in self.lines(panel):
            if title:
                for column in range(placed.first, placed.last + 1):
                    self.put(row, column, title if column == placed.first else None, "section")
                row += 1
            for each in rows:
                self.note_line(each, placed, row)
                row += 1

    def write_numbers(self, placed: Placed, head: int) -> None:
        """Writes into the head of a panel below another, whose columns are other members than those above, which they are."""
        for column in placed.columns:
            for axis, member in (column.at or {}).items():
                self.put(head, column.column, str(member + axis.start), f"headnumber {placed.panel.model}")

    def letter(self, placed: Placed) -> str:
        """Returns the letter of a panel: those at the top come first, from left to right."""
        order = sorted(self.panels, key=lambda each: each.panel.below)
        return chr(ord("A") + next(i for i, each in enumerate(order) if each is placed))

    def write_heads(self, placed: Placed) -> None:
        """Writes the member at the head of each column, in amber the one that Walk shows; above several groups, which."""
        model, words = placed.panel.model, self.first(self.page.words)
        style = f"headword {model}{' small' if self.cells_wide < look.NARROW_CELL else ''}"
        if len(placed.strips) > 1:
            for i, cells in enumerate(placed.cells):
                named = placed.panel.heads or ("{}",)
                title = named[min(i, len(named) - 1)].format(i + 1)
                room = sum(self.sheet.widths[cell] for cell in cells)
                title = title if self.ruler(title, look.style(f"strip {model}")) <= room else str(i + 1)
                self.merge(STRIPS, cells[0], STRIPS, cells[-1], f"one-page strip {model}")
                self.put(STRIPS, cells[0], title, f"strip {model}")
        if words is not None:
            said = [str(self.finder.value(words, column)) for column in placed.columns if column.place]
            fits = all(self.ruler(word, look.style(style)) <= self.cells_wide for word in said)
            live = style if fits else f"headword {model} tiny"
        for column in placed.columns:
            if column.place and words is not None:
                formula = f'IF({column.place}="","",{self.finder.formula(words, column)})'
                self.live(self.heads_row, column.column, formula, self.finder.value(words, column), live)
            elif not column.place and column.at:
                self.write_member(placed, column, style)
        marked = [self.mark_chosen(column) for column in placed.columns]
        if any(marked) and not self.gold_said:
            self.gold_said = True
            self.put(self.heads_row, placed.symbol, look.GOLD, "hint")

    def write_member(self, placed: Placed, column: Column, style: str) -> None:
        """Writes at the head of a column which member of an axis it is: by its word, or its number."""
        axis, member = next(iter((column.at or {}).items()))
        own = self.blocks.get(self.page.columns[placed.panel.columns].words)
        called = own if own is not None else self.layout.blueprint.names.get(axis)
        if isinstance(called, Block):
            address = self.layout.address(called, (member,), fixed=True)
            word = str(self.layout.values.cell(called, member))
            wide = self.sheet.widths[column.column]
            sizes = [each for each in (style, f"{style} tiny") if self.ruler(word, look.style(each)) <= wide]
            if sizes:
                self.live(self.heads_row, column.column, address, word, sizes[0])
                return
        pattern = called if isinstance(called, str) else f"{axis.letter} {{}}"
        self.put(self.heads_row, column.column, pattern.format(member + axis.start), style)

    def mark_chosen(self, column: Column) -> bool:
        """Marks the head of a column where Walk shows it; tells whether Walk may show it."""
        numbers, condition = self.finder.numbers, ""
        if column.place and self.finder.time in numbers:
            condition = f"{column.place}={names.CHOSEN_PLACE}"
        for axis, member in (column.at or {}).items():
            if not column.place and axis in numbers:
                condition = f"{self.finder.number(axis)}={member + axis.start}"
        if condition:
            at = (self.heads_row, column.column, self.heads_row, column.column)
            self.mark(at, condition, "chosen", {"bg_color": look.CHOSEN, "font_color": look.INK})
        return bool(condition)

    def write_matrix(self, matrix: PageMatrix, placed: Placed, top: int) -> int:
        """Writes a matrix and what stands at its left; returns the row below it."""
        block, model = self.blocks[matrix.block], placed.panel.model
        axis = block.axes[-1]
        decimals = min(matrix.decimals, 2) if self.cells_wide < look.NARROW_CELL else matrix.decimals
        size, called = self.layout.values.size(axis), self.layout.blueprint.names.get(axis)
        label = placed.first if placed.weights else placed.symbol
        weights = self.blocks.get(matrix.weights)
        if weights is not None and placed.weights and top > self.heads_row + 1:
            self.put(top - 1, placed.weights[0], f"weights {weights.about.symbol}", "small")
        for v in range(size):
            row = top + v
            if isinstance(called, Block) and (matrix.framed or weights is not None) and not placed.panel.tight:
                self.live(
                    row,
                    label,
                    self.layout.address(called, (v,), fixed=True),
                    self.layout.values.cell(called, v),
                    "member",
                    repeats=True,
                )
            elif matrix.symbol and v == 0:  # its symbol leads to its rows
                style = f"one-page caption {model}"
                self.layout.links.append(Link(names.ONE_PAGE, row, placed.symbol, block, matrix.symbol, style))
            elif v == 1:
                self.put(row, placed.symbol, matrix.words, "hint")
            for column in placed.columns:
                number = self.finder.value(block, column, member=v)
                spelled = self.finder.formula(block, column, member=v)
                formula = f'IF({column.place}="","",{spelled})' if column.place else spelled
                self.live(row, column.column, formula, number, f"matrix {model} {decimals}")
            if weights is not None:
                for j, cell in enumerate(placed.weights):
                    self.live(
                        row,
                        cell,
                        self.layout.address(weights, (j, v), fixed=True),
                        self.layout.values.cell(weights, j, v),
                        "weights",
                        repeats=True,
                    )
        for cells in placed.cells:
            corners = top, cells[0], top + size - 1, cells[-1]
            first = grid.address(top, cells[0])
            word = f"{grid.letters(cells[0])}${self.heads_row + 1}"
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
