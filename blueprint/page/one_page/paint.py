"""Paints One page: places panels, writes them, then the result as tiles, and what the marks mean.

Rows of all panels lie on one grid, so that what feeds another panel stands in the same row.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from blueprint.page import digits, grid, names
from blueprint.page.layout import Layout, Link
from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import Sheet
from blueprint.page.one_page.heads import HEAD, STRIPS, TITLE, PanelWriter
from blueprint.page.one_page.panels import CELLS_WIDE
from blueprint.page.one_page.terms import Leaf, term_of
from blueprint.page.outline.one_page import Tile
from blueprint.page.sums import Sum

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
        for self.cells_wide in CELLS_WIDE:
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
        self.pen.label(
            self.sheet.end + 1,
            1,
            HOW,
            "one-page madename",
        )
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
        self.layout.body[names.ONE_PAGE] = self.heads_row + 1
        self.layout.end[names.ONE_PAGE] = self.checks_row + 1
        heights = {TITLE: look.TITLE_HIGH, HEAD: look.HEAD_HIGH, bottom: look.SPACE_HIGH, bottom + 1: look.TILE_HIGH}
        heights |= {bottom + 2: look.TILE_HIGH, bottom + 3: look.SMALL_HIGH}
        self.sheet.heights = {row: heights.get(row, look.ROW_HIGH) for row in range(self.sheet.end)}
        return self.sheet

    def write_tiles(self, row: int) -> None:
        """Writes the result and what adds up to it, each over some columns."""
        result = self.blocks[self.page.of] if self.page.of else self.layout.blueprint.result
        tiles = [each for tile in self.page.tiles if self.can_tile(tile) for each in self.each_tile(tile)]
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
        self.live(top, left, names.defined_name(result.name), value, style, repeats=True)
        cells = [grid.address(top, left) for left, _ in spans]
        for tile, (left, right), before in zip(tiles, spans[1:], spans, strict=False):
            sign = before[1] + 1
            self.merge(top, sign, bottom, max(sign, left - 1), "one-page tilesign")
            if tile.sign == "=":
                formula = sum_of.sign_formula(cells, self.of(decimals), self.of(shown), self.tolerance)
                self.live(top, sign, formula, sum_of.sign(decimals, shown), "tilesign")
            else:
                self.put(top, sign, tile.sign or "=", "tilesign")
            self.merge(top, left, top, right, f"one-page tile {tile.model} {decimals}")
            self.merge(bottom, left, bottom, right, f"one-page tilewords {tile.model}")
            self.live(top, left, *numbers[tiles.index(tile)], f"tile {tile.model} {decimals}")
            self.tile_words(tile, bottom, left)

    def write_ways(self, row: int) -> None:
        """Writes below the tiles what there is to know, and the links that lead on."""
        for i, (sheet, text) in enumerate(self.ways()):
            at = len(self.sheet.widths) - 1 - 2 * i
            self.layout.links.append(Link(names.ONE_PAGE, row, at, f"{grid.quoted(sheet)}!A1", text, "one-page way"))
        said = [text for text in self.page.settings if self.can_say(text)]
        if note := "; ".join([*said, *([self.page.note] if self.page.note else [])]):
            self.say(row, 1, note, "small")

    def can_say(self, text: str) -> bool:
        """Tells whether all that the expressions of a text read is there."""
        return all(
            name in self.blocks for part in text.replace("}", "{").split("{")[1::2] for _, name in term_of(part).leaves
        )

    def ways(self) -> list[tuple[str, str]]:
        """Lists the sheets to which the page leads on, with the words of the links."""
        walk = [(self.layout.finder[0], "→ Walk: choose another column")] if self.layout.finder else []
        first = self.layout.blueprint.sheets[0].title
        return [(first, "→ Start: every piece" if first == "Start" else "→ every row"), *walk]

    def can_tile(self, tile: Tile) -> bool:
        """Tells whether what a tile shows is there."""
        reads = [tile.block] if tile.block else [name for _, name in term_of(tile.value).leaves]
        return all(name in self.blocks for name in reads)

    def each_tile(self, tile: Tile) -> list[Tile]:
        """Returns a tile for each group, or the tile itself."""
        if not tile.groups:
            return [tile]
        families, _ = self.maker.family_axes(self.page.columns[tile.groups])
        kept = [
            replace(tile, groups=f"{tile.groups} {g}", sign="+" if g else "=", words=tile.words.format(g + 1))
            for g in range(families)
        ]
        if families <= MOST_TILES:
            return kept
        return []

    def group_sum(self, tile: Tile) -> tuple[str, float]:
        """Spells the sum of a block's numbers over the groups of a family, which stand in one row."""
        name, g = tile.groups.split(" ")
        peers, block = self.maker.peer_numbers(self.page.columns[name]), self.blocks[tile.block]
        size, time = self.layout.values.size(peers.axes[1]), self.finder.time
        assert time is not None
        last = self.layout.values.size(time) - 1
        parts, total = [], 0.0
        for i in range(size):
            group = int(float(self.layout.values.cell(peers, int(g), i))) - 1
            ends = (self.layout.address(block, (group, t), fixed=True) for t in (0, last))
            first, final = ends
            parts.append(f"SUM({first}:{final.rpartition('!')[2]})")
            total += sum(float(self.layout.values.cell(block, group, t)) for t in range(last + 1))
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

        term = term_of(tile.value)
        return term.formula(lambda leaf: names.defined_name(self.blocks[leaf[1]].name)), term.value(known) + 0.0

    def tile_words(self, tile: Tile, row: int, column: int) -> None:
        """Writes the words of a tile, as a link to its rows."""
        name = tile.block or next(name for _, name in term_of(tile.value).leaves)
        self.layout.links.append(
            Link(
                names.ONE_PAGE,
                row,
                column,
                self.blocks[name],
                tile.words or self.blocks[name].about.meaning,
                f"one-page tilewords {tile.model}",
            )
        )

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
            ("keywritten", "0.133", "what was written", any(m.framed for p in self.panels for m in p.panel.matrices)),
            ("keyline", "= 0.5", "result of lines above", True),
            (
                "sign",
                "↖",
                "read one to the left",
                any(line.row.back and self.sheet.widths[line.cells[0][1]] >= look.CELL for line in self.order),
            ),
            ("keycounts", "0.362", "of two, the one that counts", any(line.row.fills for line in self.order)),
            ("keyclipped", f"{SNIP}1.204", "clipped: no gradient", any(line.row.clipped for line in self.order)),
            ("keychosen", "very", "shown on Walk", self.layout.finder is not None),
        ]
        shown = [each[:3] for each in meanings if each[3]]
        room = self.sheet.end - 4 - row
        if room < 1:
            return
        halves = shown[: min(room, 3)], shown[min(room, 3) : 2 * min(room, 3)]
        edges = [0, *accumulate(self.sheet.widths)]
        members = [cell for cells in first.cells for cell in cells]
        beside = min(members, key=lambda cell: abs(edges[cell] - edges[first.first] - 200))
        if not first.weights:
            halves = halves[1], halves[0]
        for column, half in zip((first.first, beside), halves, strict=True):
            room = edges[first.last + 1] - edges[column + 1]
            if column != first.first and any(self.ruler(text, look.style("key")) > room for _, _, text in half):
                continue
            for i, (style, sample, text) in enumerate(half):
                fits = self.ruler(sample, look.style(style)) <= self.sheet.widths[column]
                self.put(row + i, column, SNIP if sample.startswith(SNIP) and not fits else sample, style)
                self.put(row + i, column + 1, text, "key")
