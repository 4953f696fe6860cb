"""One page of a book, as data for the browser: the same panels, lines and tiles as the sheet, its expressions as trees.

Columns are the members that count of the chosen group, of all groups of its family, or of one side of its pair; or the members of
an axis.
"""

from __future__ import annotations

import ast
from typing import Any

from blueprint.language import Axis, Block
from blueprint.language.packed import Data, Node, Packing, filled
from blueprint.page.outline import Blueprint
from blueprint.page.outline.book import blocks_on
from blueprint.page.outline.items import Columns, OnePage, PageMatrix, PageRow, Panel, Tile
from blueprint.page.outline.terms import Leaf, pieces_of, term_of

OPERATIONS: dict[type | str, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.USub: "neg", ast.LtE: "at_most", ast.Lt: "less",
    "exp": "exp", "ln": "log", "sqrt": "sqrt", "abs": "abs", "min": "minimum", "max": "maximum",
}  # fmt: skip
SWAPPED: dict[type | str, str] = {ast.GtE: "at_most", ast.Gt: "less"}
"""Operations by sign or name, and comparisons whose sides are swapped."""
SHIFTS = {"": 0, "next": 1, "before": -1}


def one_page_of(outline: Blueprint, packing: Packing) -> Data | None:
    """Returns the page, None where there is none."""
    return None if outline.one_page is None else Pages(outline, outline.one_page, packing).data()


class Pages:
    """Packs one page."""

    def __init__(self, outline: Blueprint, page: OnePage, packing: Packing):
        self.page, self.packing = page, packing
        self.named = {block.name: block for block in packing.blocks}
        anchor = self.first(page.mask or page.words)
        sheets = (sheet.across for sheet in outline.sheets if anchor in {*blocks_on(sheet)})
        across: tuple[Axis, ...] = next(sheets, ())
        self.time, self.group = (across or (None,))[-1], across[0] if len(across) > 1 else None

    def data(self) -> Data:
        """Returns the page."""
        page = self.page
        return filled(
            title=page.title,
            time=None if self.time is None else self.packing.axis(self.time),
            group=None if self.group is None else self.packing.axis(self.group),
            mask=self.number(page.mask),
            words=self.number(page.words),
            lead=self.number(page.lead),
            panels=[*filter(None, map(self.panel, page.panels))],
            tiles=[*filter(None, map(self.tile, page.tiles))],
            result=page.result or "loss",
        )

    def number(self, named: str) -> int | None:
        """Returns the number of the first of several blocks that is there."""
        block = self.first(named)
        return None if block is None else self.packing.blocks[block]

    def first(self, named: str) -> Block | None:
        """Returns the first of several blocks that is there."""
        return next((self.named[name] for name in named.split() if name in self.named), None)

    def panel(self, panel: Panel) -> Data | None:
        """Packs a panel, if its lines are in this book."""
        if self.first(panel.unless) is not None:
            return None
        columns = self.columns(self.page.columns[panel.columns])
        matrices = [*filter(None, map(self.matrix, panel.matrices))]
        sections = [
            filled(title=section.title, rows=rows)
            for section in panel.sections
            if (rows := [*filter(None, map(self.row, section.rows))])
        ]
        if columns is None or not (matrices or sections):
            return None
        return filled(
            head=panel.head,
            model=panel.model,
            below=panel.below or None,
            columns=columns,
            heads=[*panel.heads],
            aside=[*panel.aside],
            matrices=matrices,
            sections=sections,
        )

    def columns(self, columns: Columns) -> Data | None:
        """Packs what the columns of a panel are: an axis, or the blocks that say which groups belong together; and how many."""
        if columns.of == "members":
            axis = next((axis for axis in self.packing.axes if axis.letter == columns.axis), None)
            return None if axis is None else {"of": columns.of, "axis": self.packing.axis(axis), "most": columns.most}
        blocks = [self.number(name) for name in columns.axis.split()]
        if None in blocks:
            return None
        return filled(of=columns.of, blocks=blocks, member=columns.member, most=columns.most)

    def matrix(self, matrix: PageMatrix) -> Data | None:
        """Packs a column of numbers for each column of the panel."""
        number = self.number(matrix.block)
        if number is None:
            return None
        return filled(block=number, framed=matrix.framed or None, symbol=matrix.symbol, words=matrix.words)

    def row(self, row: PageRow) -> Data | None:
        """Packs a line, if all that it reads is there."""
        value = self.tree(row.value) if row.value else None
        number = self.number(row.block) if row.block else None
        if value is None and number is None:
            return None
        return filled(
            block=number,
            value=value,
            sign=row.sign or ("=" if row.equals else ""),
            symbol=row.symbol,
            words=self.told(row.words),
            equals=self.tree(row.equals) if row.equals and "{" in row.words else None,
            model=row.model if row.model != "none" else None,
            fills=self.tree(row.fills) if row.fills else None,
            clipped=self.tree(row.clipped) if row.clipped else None,
            result=row.is_result or None,
            back=row.back or None,
        )

    def tile(self, tile: Tile) -> Data | None:
        """Packs a part of the result."""
        number, value = self.number(tile.block), self.tree(tile.value) if tile.value else None
        groups = self.columns(self.page.columns[tile.groups]) if tile.groups else None
        if number is None and value is None:
            return None
        words = tile.words.replace(", {all}", "")  # which is said above the panels
        return filled(block=number, value=value, sign=tile.sign, words=words, model=tile.model, groups=groups)

    def told(self, words: str) -> list[Any]:
        """Returns words as texts and, where they hold {expressions}, trees; without those that cannot be said here."""
        packed = [part if i % 2 == 0 else self.tree(part) for i, part in enumerate(pieces_of(words))]
        return [] if None in packed else [part for part in packed if part != ""]

    def tree(self, text: str) -> Node | None:
        """Packs an expression of a line; None where it reads what is not there."""
        try:
            return term_of(text).folded(self._reference, lambda number: ["c", number], self._operation)
        except KeyError:
            return None

    def _operation(self, name: type | str, parts: list[Node]) -> Node:
        if name == "clip":
            x, low, high = parts
            return ["o", "minimum", [["o", "maximum", [x, low]], high]]
        return ["o", SWAPPED[name], parts[::-1]] if name in SWAPPED else ["o", OPERATIONS[name], parts]

    def _reference(self, leaf: Leaf) -> Node:
        way, name = leaf
        block, by = self.named[name], SHIFTS[way]
        offset = self.packing.values.offset
        indices = [
            [self.packing.axis(axis), offset(block, axis, axis) + (by if axis is self.time else 0)]
            for axis in block.axes
        ]
        return ["r", self.packing.blocks[block], indices]
