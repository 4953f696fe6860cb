"""What a page of a book holds, as plain data: quantities with their equations and numbers, sheets, the walk, how symbols are set;
and One page: the same panels, lines and tiles as the sheet, its expressions as trees.

Keys that would be empty are left out. Columns of One page are the members that count of the chosen group, of all groups of its
family, or of one side of its pair; or the members of an axis.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from math import isinf
from typing import Any

import numpy as np

from blueprint.language import Axis, Block, Values
from blueprint.language.making import behind_links
from blueprint.language.packed import Data, Node, Packing, filled
from blueprint.language.spelling.mathml import STYLE
from blueprint.language.spelling.text import ATOM, binding_of
from blueprint.misconceptions.wrong_numbers import Rows
from blueprint.page.outline import Blueprint, Chart, Listed, Row, Sheet, Step, Table
from blueprint.page.outline.book import blocks_of, blocks_on
from blueprint.page.outline.items import Columns, OnePage, PageMatrix, PageRow, Panel, Tile
from blueprint.page.outline.terms import Leaf, pieces_of, term_of
from blueprint.workbooks.registry import kind_of_level

MOST_WRONG = 3
"""Known mistakes of a row on which a vote is held, beside what is right."""
YOURS, PRESET = ".yours", ".preset"
"""How the blocks end in which a setting of one's own is typed, and that of the preset."""


def contents_of(outline: Blueprint, values: Values) -> Data:
    """Returns everything that the page shows and computes from."""
    return Contents(outline, values).data()


class Contents:
    """Packs a book: its outline, and its numbers."""

    def __init__(self, outline: Blueprint, values: Values):
        self.outline, self.values = outline, values
        self.packing = Packing(self.outline.blocks(), self.values)
        self.texts: dict[str, int] = {}

    def data(self) -> Data:
        """Returns the whole."""
        outline, number = self.outline, self.packing.blocks
        steps, blocks = self.packing.steps(), [self.block(block) for block in number]
        chosen = outline.chosen
        usual = [sheet.across for sheet in outline.sheets if sheet.across]
        across = chosen.across if chosen else max(usual, key=usual.count, default=())
        start = [int(self.values.cell(each)) for each in chosen.numbers] if chosen else [axis.start for axis in across]
        return filled(
            title=outline.title,
            kind=outline.facts.get("kind", ""),
            columns=[self.packing.axis(axis) for axis in across],
            start=start,
            result=None if outline.result is None else number[outline.result],
            parts=[number[part] for part in outline.parts],
            sheets=[*filter(None, map(self.sheet, outline.tabs))],
            walk=[*self.walk()],
            page=one_page_of(outline, self.packing),
            settings=[*self.settings()],
            steps=steps,
            blocks=blocks,
            axes=[self.axis(axis) for axis in self.packing.axes],
            texts=[*self.texts],
            indices=self.packing.shared(),
            proof=[*self.proof()],
            style=spelling(),
        )

    def block(self, block: Block) -> Data:
        """Packs a quantity: what it is, and its equations or what is typed."""
        outline, about = self.outline, block.about
        low, high = outline.ranges.get(block, (None, None))
        choices = outline.choices.get(block)
        return filled(
            name=block.name,
            symbol=self.text(block.symbol),
            binds=None if (strength := binding_of(block.symbol)) == ATOM else strength,
            meaning=self.text(about.meaning),
            unit=self.text(about.unit),
            source=self.text(about.source),
            note=self.text(outline.notes.get(block.name)),
            axes=[self.packing.axis(axis) for axis in block.axes],
            spans=self.packing.spans(block) if block.edges else None,
            text=block.text or None,
            limit=block.limit or None,
            link=block.link or None,
            low=low,
            high=high,
            choices=None if choices is None else self.packing.blocks[choices],
            typed=[*plain(self.values.arrays[block])] if block.typed else None,
            equations=None if block.typed else self.packing.definitions(block),
            wrong=[*self.wrong(block)] if block in self.walked else None,
        )

    @cached_property
    def walked(self) -> frozenset[Block]:
        """The quantities of the walk, and of the derivation on which a book without one is walked; links lead to their source."""
        items = (item for sheet in self.outline.sheets for section in sheet.sections for item in section.items)
        named = {block.name: block for block in self.packing.blocks}
        found = [item.block for item in items if isinstance(item, Step | Listed)]
        found += [named[name] for name in self.outline.derivation if name in named]
        return frozenset(map(behind_links, found))

    def wrong(self, block: Block) -> Iterator[list[Any]]:
        """Packs mistakes that are often made in a row: a sentence, and the equations instead, each with its number."""
        kind, order = kind_of_level(self.outline.facts.get("level")), [*block.definitions]
        for row in Rows.of(self.outline).rewritten(kind, block)[:MOST_WRONG]:
            yield [
                self.text(row.says),
                [[order.index(d), self.packing.expression(expr)] for d, expr in row.instead.items()],
            ]

    def text(self, text: str | None) -> int | None:
        """Returns the number of a text; many quantities share one."""
        return self.texts.setdefault(text, len(self.texts)) if text else None

    def axis(self, axis: Axis) -> Data:
        """Packs an axis, with what its members are called."""
        return {
            "letter": axis.letter,
            "meaning": self.outline.called(axis).meaning,
            "start": axis.start,
            "size": self.values.size(axis),
            "words": [self.member(axis, place) for place in range(self.values.size(axis))],
            **filled(heads=self.heads(axis)),
        }

    def heads(self, axis: Axis) -> list[str] | None:
        """Returns what stands above each group of columns on the sheets; None for an axis of which no sheet has groups."""
        chosen = [self.outline.chosen.across] if self.outline.chosen else []
        across = (*chosen, *(sheet.across for sheet in self.outline.sheets))
        if axis not in (each[0] for each in across if len(each) > 1):
            return None
        numbered = [
            f"{self.outline.called(axis).meaning} {place + axis.start}" for place in range(self.values.size(axis))
        ]
        return [*self.outline.heads.get(axis, numbered)]

    def member(self, axis: Axis, place: int) -> str:
        """Returns what a member is called: a word, or a letter with its number."""
        part, inside = self.values.part(axis, place)
        called = self.outline.names.get(part.extent, self.outline.names.get(part))
        if isinstance(called, Block):
            return str(self.values.arrays[called].flat[inside])
        number = part.start + inside
        return str(number) if called is None else called.format(number) if "{" in called else f"{called}{number}"

    def sheet(self, sheet: Sheet) -> Data | None:
        """Packs a sheet on which something is computed or typed."""
        packed = [(section.title, [*filter(None, map(self.item, section.items))]) for section in sheet.sections]
        sections = [{"title": title, "items": items} for title, items in packed if items]
        if not sections:
            return None
        number = self.packing.blocks
        return filled(
            title=sheet.title,
            lead=sheet.lead,
            colour=sheet.colour if sheet.colour != "none" else None,
            across=[self.packing.axis(axis) for axis in sheet.across],
            head=[number[block] for block in sheet.head],
            grey=None if sheet.grey is None else number[sheet.grey],
            sections=sections,
        )

    def item(self, item: object) -> Data | list[int] | None:
        """Packs what stands under a heading: rows, a table, single numbers or a chart; most are a list of blocks."""
        if isinstance(item, Chart):
            return {"chart": self.chart(item)}
        blocks = blocks_of(item)
        if not blocks:
            return None
        role = item.role if isinstance(item, Row) and item.role == "key" else None
        fold = True if isinstance(item, Row) and item.fold else None
        numbers = [self.packing.blocks[block] for block in blocks]
        turned = (
            True
            if isinstance(item, Table) and len(item.block.axes) == 2 and item.across is item.block.axes[0]
            else None
        )
        return filled(blocks=numbers, role=role, fold=fold, turned=turned) if role or fold or turned else numbers

    def chart(self, chart: Chart) -> Data:
        """Packs a chart: which rows are drawn over which, and what its axes are called."""
        number = self.packing.blocks
        across, up = (filled(title=s.title, low=s.low, high=s.high, unit=s.unit) for s in (chart.across, chart.up))
        return filled(
            title=chart.title,
            kind=chart.kind,
            tells=chart.tells,
            wide=chart.wide or None,
            across=across,
            up=up,
            among=[number[block] for block in chart.among],
            given=None if chart.given is None else number[chart.given],
            series=[
                filled(
                    name=each.name,
                    values=number[each.values],
                    over=number[each.over],
                    dots=each.dots or None,
                    words=None if each.words is None else number[each.words],
                )
                for each in chart.series
            ],
        )

    def walk(self) -> Iterator[Data]:
        """Packs the steps of the walk, by section."""
        for section in (section for sheet in self.outline.sheets for section in sheet.sections):
            steps = [self.step(item) for item in section.items if isinstance(item, Step | Listed)]
            if steps:
                yield {"title": section.title, "steps": steps}

    def step(self, step: Step | Listed) -> Data:
        """Packs a step: its quantity, which member is meant, and whether that of the next or the last column."""
        member = step.member
        return filled(
            block=self.packing.blocks[step.block],
            by=(1 if step.later else None) if isinstance(step, Step) else step.by or None,
            member=self.packing.blocks[member] if isinstance(member, Block) else None,
            id=member if isinstance(member, int) else None,
            says=step.says or None if isinstance(step, Listed) else None,
            listed=True if isinstance(step, Listed) and isinstance(member, Block) else None,
        )

    def settings(self) -> Iterator[Data]:
        """Yields the settings that may be tried: the block that is read, and the one in which one's own is typed."""
        named = {block.name: block for block in self.packing.blocks}
        if "preset" in named:
            yield {"read": self.packing.blocks[named["preset"]], "own": self.packing.blocks[named["preset"]]}
        for name, own in named.items():
            read = named.get(name.removesuffix(YOURS))
            if name.endswith(YOURS) and read is not None and f"{read.name}{PRESET}" in named:
                yield {"read": self.packing.blocks[read], "own": self.packing.blocks[own]}

    def proof(self) -> Iterator[float]:
        """Yields the sum of each computed block of numbers, in order, against which the page holds its own."""
        for block in self.packing.blocks:
            if not (block.text or block.typed or block.link):
                cells = self.values.arrays[block].astype(float)
                yield float(f"{cells[np.isfinite(cells)].sum():.14g}")


def spelling() -> Data:
    """Returns how expressions are set: the one table that Python uses, too."""
    style = STYLE._asdict()
    del style["letters"]
    return style | {"table": {name: list(rule) for name, rule in STYLE.table.items()}, "changes": list(STYLE.changes)}


def plain(array: Any) -> Iterator[Any]:
    """Yields cells as JSON has them: no number for a blank, the word off for a limit that limits nothing."""
    for cell in array.flat:
        if isinstance(cell, str):
            yield cell
        elif cell != cell:
            yield None
        elif isinf(cell):
            yield "off"
        else:
            yield int(cell) if float(cell).is_integer() and abs(cell) < 1e15 else float(cell)


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
            if axis is None:
                return None
            words, ends = self.number(columns.words), self.number(columns.ends)
            return filled(of=columns.of, axis=self.packing.axis(axis), most=columns.most, words=words, ends=ends)
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
        if name == "sigmoid":
            return ["o", "div", [["c", 1], ["o", "add", [["c", 1], ["o", "exp", [["o", "neg", parts]]]]]]]
        return ["o", SWAPPED[name], parts[::-1]] if name in SWAPPED else ["o", OPERATIONS[name], parts]

    def _reference(self, leaf: Leaf) -> Node:
        way, name = leaf
        block, by = self.named[name], SHIFTS[way]
        offset = self.packing.values.offset
        indices = [
            [self.packing.axis(axis), offset(block, axis, axis) + by, by]
            if by and axis is self.time
            else [self.packing.axis(axis), offset(block, axis, axis)]
            for axis in block.axes
        ]
        return ["r", self.packing.blocks[block], indices]
