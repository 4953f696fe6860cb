"""Paints One page: places panels, writes heads, members and matrices, then the result as tiles, and what the marks mean.

Rows of all panels lie on one grid, so that what feeds another panel stands in the same row.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, product

from blueprint.language import Block
from blueprint.page import digits, grid
from blueprint.page.digits import Sum
from blueprint.page.layout import Layout
from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import CELLS_WIDE, NEARLY, Placed, Sheet
from blueprint.page.one_page.columns import Column
from blueprint.page.one_page.lines import ALL, LineWriter
from blueprint.page.outline.items import PageMatrix, Tile
from blueprint.page.outline.terms import Leaf, term_of

TITLE, HEAD, STRIPS = 0, 1, 2
"""Rows of the title, of the heads of panels, and of what stands above several groups."""
LEAD = 6
"""Members that were read before, of which the last are shown."""
ROWS_OF_HEAD = 4
"""Rows above weights that leave room for two rows of words, below the two of another matrix."""


class PanelWriter(LineWriter):
    """Writes panels."""

    gold_said = False
    """Whether a panel has said what the gold head is."""

    def write_title(self) -> None:
        """Writes the title, what was read and written, and the hint."""
        self.put(TITLE, 1, self.page.title, "title")
        last = len(self.sheet.widths) - 1
        self.say(TITLE, last, self.hint(), "hint")
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
        row, time = self.checks_row, self.finder.along
        self.checks_row += 2
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
            for shown in placed.columns:  # whose members are others than those above
                for axis, member in (shown.at or {}).items():
                    self.put(head, shown.column, str(member + axis.start), f"headnumber {panel.model}")
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
        """Writes at the head of a column which member of an axis it is: by its word, or by what it is and its number."""
        axis, member = next(iter((column.at or {}).items()))
        called, numbered = self.called(placed.panel, axis), self.numbered(placed.panel, axis)
        if isinstance(called, Block) and (fitting := self.fitting_heads(self.words_of(called), placed, style)):
            address = self.layout.address(called, (member,), fixed=True)
            self.live(self.heads_row, column.column, address, self.words_of(called)[member], fitting)
        elif fitting := self.fitting_heads(numbered, placed, style):
            self.put(self.heads_row, column.column, numbered[member], fitting)
        else:
            self.put(self.heads_row, column.column, f"{axis.letter} {member + axis.start}", style)

    def mark_chosen(self, column: Column) -> bool:
        """Marks the head of a column where Walk shows it; tells whether Walk may show it."""
        numbers, condition = self.finder.numbers, ""
        if column.place and self.finder.time in numbers:
            condition = f"{column.place}={grid.CHOSEN_PLACE}"
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
            self.write_head_of_weights(matrix, weights, placed, top)
        for v in range(size):
            row = top + v
            if isinstance(called, Block) and (matrix.framed or weights is not None) and not placed.panel.tight:
                self.again(row, label, called, (v,), "member")
            elif matrix.symbol and v == 0:  # its symbol leads to its rows
                self.pen.link(row, placed.symbol, block, matrix.symbol, f"one-page caption {model}")
            elif v == 1:
                self.put(row, placed.symbol, matrix.words, "hint")
            for column in placed.columns:
                number = self.finder.value(block, column, member=v)
                spelled = self.finder.formula(block, column, member=v)
                formula = f'IF({column.place}="","",{spelled})' if column.place else spelled
                self.live(row, column.column, formula, number, f"matrix {model} {decimals}")
            if weights is not None:
                for j, cell in enumerate(placed.weights):
                    self.again(row, cell, weights, (j, v), "weights")
        for cells in placed.cells:
            corners = top, cells[0], top + size - 1, cells[-1]
            first = grid.address(top, cells[0])
            word = f"{grid.column_letters(cells[0])}${self.heads_row + 1}"
            if matrix.framed:
                named = self.name_of(called, label, top, placed)
                condition = f"AND(ISNUMBER({first}),EXACT({named},{word}))"
                self.mark(corners, condition, f"written {model}", look.WRITTEN[model])
                most = f"MAX({grid.area(*corners, fixed=True)})"
                for step, dark in zip(look.STEPS, look.SHADES, strict=False):
                    fill = {"bg_color": look.shade(look.STRONG[model], dark)}
                    self.mark(corners, f"AND(ISNUMBER({first}),{first}>={step}*{most})", f"{model} {step}", fill)
        return top + size

    def write_head_of_weights(self, matrix: PageMatrix, weights: Block, placed: Placed, top: int) -> None:
        """Writes above weights what they do, and above that row, if there are enough, the names of their columns."""
        can = (text for text in matrix.captions if self.can_say(text))
        caption, named = next(can, f"weights {weights.about.symbol}"), self.layout.blueprint.names.get(weights.axes[0])
        heads = isinstance(named, str) and top - ROWS_OF_HEAD > self.heads_row
        self.say(top - 1 - heads, placed.weights[0], caption, "small")
        if isinstance(named, str) and heads:
            for j, cell in enumerate(placed.weights):
                self.put(top - 1, cell, named.format(j + weights.axes[0].start), "weightshead")

    def name_of(self, called: object, label: int, top: int, placed: Placed) -> str:
        """Spells the word of a matrix's first member, as a condition that goes on downwards reads it."""
        if not placed.panel.tight or not isinstance(called, Block):
            return f"${grid.column_letters(label)}{top + 1}"
        sheet, _, cell = self.layout.address(called, (0,)).rpartition("!")
        return f"{sheet}!${cell}"


MOST_TILES, LONG, SNIP = 4, 1e4, "✂"
RESULT_WIDE, SIGN_WIDE = 210, 26
"""Pixels of the result, and of a sign between two tiles, at least."""
HOW = "hidden below: places of the members, then whether each line is right from the digits that it shows"


def lay_one_page(layout: Layout) -> None:
    """Adds the sheet to a layout, if its blueprint has one, and something to show there."""
    if layout.blueprint.one_page is None:
        return
    painter = PagePainter(layout, layout.blueprint.one_page)
    if any(map(painter.holds, painter.page.panels)):
        layout.one_page = painter.lay()


class PagePainter(PanelWriter):
    """Paints the whole page."""

    def lay(self) -> Sheet:
        """Places panels, then rows, then writes."""
        panels = [panel for panel in self.page.panels if self.holds(panel)]
        for self.cells_wide, self.roomy in product(CELLS_WIDE, (True, False)):
            self.panels = []
            self.place_panels(panels)
            if sum(self.sheet.widths) <= look.WIDEST:
                break
        several = any(len(placed.cells) > 1 for placed in self.panels)
        self.heads_row = STRIPS + several
        rows = self.place_rows(self.heads_row + 1)
        bottom = max(rows, default=self.heads_row) + 1
        self.sheet.end = bottom + 4
        self.maker.row, self.maker.listed = self.sheet.end + 2, len(self.sheet.widths) + 1
        self.pen.label(self.sheet.end + 1, 1, HOW, "one-page madename")
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
        self.write_ways(bottom + 3)
        self.write_key()
        self.layout.body[grid.ONE_PAGE] = self.heads_row + 1
        self.layout.end[grid.ONE_PAGE] = self.checks_row + 1
        heights = {TITLE: look.TITLE_HIGH, HEAD: look.HEAD_HIGH, bottom: look.SPACE_HIGH, bottom + 1: look.TILE_HIGH}
        heights |= {bottom + 2: look.TILE_HIGH, bottom + 3: look.SMALL_HIGH}
        self.sheet.heights = {row: heights.get(row, look.ROW_HIGH) for row in range(self.sheet.end)}
        return self.sheet

    def write_tiles(self, row: int) -> None:
        """Writes the result and what adds up to it, each over some columns."""
        result = self.blocks[self.page.of] if self.page.of else self.layout.blueprint.result
        can = (tile for tile in self.page.tiles if all(name in self.blocks for name in tile.reads))
        tiles = [each for tile in can for each in self.each_tile(tile)]
        if result is None or result.axes:
            return
        edges = [0, *accumulate(self.sheet.widths)]
        total = edges[-1]
        share = max(RESULT_WIDE, min(300, int(total * 0.22)))
        if self.page.grows and not tiles and self.largest(result) >= LONG:
            share = total - edges[1]
        spans = [self.span(edges, edges[1], edges[1] + share)]
        room = (total - edges[1] - share) / max(1, len(tiles))
        for i in range(len(tiles)):
            left = edges[1] + share + i * room
            first, last = self.span(edges, left + 40, left + room)
            first = max(first, spans[-1][1] + 2)
            while edges[first] - edges[spans[-1][1] + 1] < SIGN_WIDE and first < last:
                first += 1
            spans.append((first, max(first, last)))
        top, bottom = row, row + 1
        left, right = spans[0]
        value, numbers = self.layout.values.cell(result), [self.single(tile) for tile in tiles]
        sum_of = Sum(value, tuple(number for _, number in numbers), tuple(tile.sign for tile in tiles))
        alike = self.layout.blueprint.blanks  # every student's copy is written alike, whatever its numbers
        decimals, shown = (digits.SHOWN, digits.SHOWN) if alike else sum_of.decimals()
        if self.page.grows and not tiles:
            shown = min(result.about.decimals, digits.SHOWN)
        style = f"result {self.page.result.replace(' ', '_')} {shown}"
        self.merge(top, left, bottom, right, f"one-page {style}")
        self.live(top, left, grid.defined_name(result.name), value, style, repeats=True)
        cells = [grid.address(top, left) for left, _ in spans]
        for tile, (left, right), before in zip(tiles, spans[1:], spans, strict=False):
            sign = before[1] + 1
            self.merge(top, sign, bottom, max(sign, left - 1), "one-page tilesign")
            if tile.sign == "=" and not alike:
                formula = sum_of.sign_formula(cells, self.of(decimals), self.of(shown), self.tolerance)
                self.live(top, sign, formula, sum_of.sign(decimals, shown), "tilesign")
            else:
                self.put(top, sign, tile.sign or "=", "tilesign")
            self.merge(top, left, top, right, f"one-page tile {tile.model} {decimals}")
            self.merge(bottom, left, bottom, right, f"one-page tilewords {tile.model}")
            self.live(top, left, *numbers[tiles.index(tile)], f"tile {tile.model} {decimals}")
            self.tile_words(tile, bottom, left, right)

    def write_ways(self, row: int) -> None:
        """Writes below the tiles what there is to know, and the links that lead on."""
        edges, whole = [0, *accumulate(self.sheet.widths)], self.whole()
        left, columns = edges[-1], range(len(self.sheet.widths) - 1, -1, -2)
        for column, (sheet, text) in zip(columns, self.ways(), strict=False):
            self.pen.link(row, column, f"{grid.quoted_title(sheet)}!A1", text, "one-page way")
            left = min(left, edges[column + 1] - self.ruler(text, look.style("way")))
        texts = [text.replace(ALL, whole) for text in self.page.settings if whole or ALL not in text]
        said = [text for text in texts if self.can_say(text)]
        if note := self.as_many_as_fit([*said, *filter(None, self.page.note.split("; "))], left - edges[1]):
            self.say(row, 1, note, "small")

    def ways(self) -> list[tuple[str, str]]:
        """Lists the sheets to which the page leads on, with the words of the links."""
        walk = [(self.layout.finder[0], "→ Walk: choose another column")] if self.layout.finder else []
        first = self.layout.blueprint.sheets[0].title
        return [(first, "→ Start: every piece" if first == "Start" else "→ every row"), *walk]

    def each_tile(self, tile: Tile) -> list[Tile]:
        """Returns a tile for each group, or the tile itself."""
        if not tile.groups:
            return [tile]
        families, _ = self.maker.family_axes(self.page.columns[tile.groups])
        return [
            replace(tile, groups=f"{tile.groups} {g}", sign="+" if g else "=", words=tile.words.format(g + 1))
            for g in range(families if families <= MOST_TILES else 0)
        ]

    def group_sum(self, tile: Tile) -> tuple[str, float]:
        """Spells the sum of a block's numbers over the groups of a family, which stand in one row."""
        block, last = self.blocks[tile.block], self.layout.values.size(self.finder.along) - 1
        parts, total = [], 0.0
        for group in self.family(tile):
            first, final = (self.layout.address(block, (group, t), fixed=True) for t in (0, last))
            parts.append(f"SUM({first}:{final.rpartition('!')[2]})")
            total += sum(float(self.layout.values.cell(block, group, t)) for t in range(last + 1))
        return "+".join(parts), total

    def family(self, tile: Tile) -> list[int]:
        """Returns the groups that a tile sums over, counted from 0."""
        name, g = tile.groups.split(" ")
        peers = self.maker.peer_numbers(self.page.columns[name])
        return [
            int(float(self.layout.values.cell(peers, int(g), i))) - 1
            for i in range(self.layout.values.size(peers.axes[1]))
        ]

    def target(self, tile: Tile) -> Block | str:
        """Returns where the words of a tile lead: to its block, or to the cells of its groups, where these stand together."""
        block = self.blocks[tile.reads[0]]
        if not tile.groups:
            return block
        groups, last = self.family(tile), self.layout.values.size(self.finder.along) - 1
        first, final = self.layout.address(block, (groups[0], 0)), self.layout.address(block, (groups[-1], last))
        together = groups == [*range(groups[0], groups[0] + len(groups))]
        return f"{first}:{final.rpartition('!')[2]}" if together else first

    def single(self, tile: Tile) -> tuple[str, float | str]:
        """Spells the number of a tile."""
        if tile.groups:
            return self.group_sum(tile)
        if tile.block and not self.blocks[tile.block].axes:
            block = self.blocks[tile.block]
            return grid.defined_name(block.name), self.layout.values.cell(block)

        def known(leaf: Leaf) -> float:
            return float(self.layout.values.cell(self.blocks[leaf[1]]))

        term = term_of(tile.value)
        return term.formula(lambda leaf: grid.defined_name(self.blocks[leaf[1]].name)), term.value(known) + 0.0

    def tile_words(self, tile: Tile, row: int, left: int, right: int) -> None:
        """Writes the words of a tile, as a link to its numbers."""
        room = sum(self.sheet.widths[left : right + 1])
        said = self.words_of_tile(tile, room) or self.blocks[tile.reads[0]].about.meaning
        self.pen.link(row, left, self.target(tile), said, f"one-page tilewords {tile.model}")

    @staticmethod
    def span(edges: list[int], left: float, right: float) -> tuple[int, int]:
        """Returns the first and last column between two places in pixels."""
        first = min(range(len(edges) - 1), key=lambda i: abs(edges[i] - left))
        last = min(range(first, len(edges) - 1), key=lambda i: abs(edges[i + 1] - right))
        return first, last

    def write_key(self) -> None:
        """Says what the marks mean, below the first panel where there is room: the first half on the left, the second beside it."""
        first = self.panels[0]
        row = self.free[first.first] + 1
        claims = not self.layout.blueprint.blanks and any(line.row.equals for line in self.order)
        framed = [p.panel.model for p in self.panels for matrix in p.panel.matrices if matrix.framed]
        meanings = [
            (f"keywritten {framed[0] if framed else 'none'}", "0.5", "what was written", framed),
            ("keyline", "= 0.5", "result of lines above", True),
            (
                "sign",
                "↖",
                "read one to the left",
                any(line.row.back and self.sheet.widths[line.cells[0][1]] >= look.CELL for line in self.order),
            ),
            ("sign", NEARLY, "last digit rounded", claims),
            ("keycounts", "0.5", "the one that counts", any(line.row.fills for line in self.order)),
            ("keyclipped", f"{SNIP}0.5", "clipped: no gradient", any(line.row.clipped for line in self.order)),
            ("keychosen", "gold", "shown on Walk", self.layout.finder is not None),
        ]
        shown = [each[:3] for each in meanings if each[3]]
        room = self.sheet.end - 4 - row
        if room < 1:
            return
        many = min(room, max(3, (len(shown) + 1) // 2))
        halves = shown[:many], shown[many : 2 * many]
        edges = [0, *accumulate(self.sheet.widths)]
        members = [cell for cells in first.cells for cell in cells]
        beside = min(members, key=lambda cell: abs(edges[cell] - edges[first.first] - 200))
        if not first.weights:
            halves = halves[1], halves[0]
        wide = max((self.ruler(text, look.style("key")) for _, _, text in halves[0]), default=0)
        while edges[beside] - edges[first.first + 1] < wide and beside < first.last:
            beside += 1
        for column, half in zip((first.first, beside), halves, strict=True):
            room = edges[first.last + 1] - edges[column + 1]
            if column != first.first and any(self.ruler(text, look.style("key")) > room for _, _, text in half):
                continue
            for i, (style, sample, text) in enumerate(half):
                fits = self.ruler(sample, look.style(style)) <= self.sheet.widths[column]
                self.put(row + i, column, SNIP if sample.startswith(SNIP) and not fits else sample, style)
                self.put(row + i, column + 1, text, "key")
