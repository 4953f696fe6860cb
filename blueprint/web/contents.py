"""What a page of a book holds, as plain data: quantities with their equations and numbers, sheets, the walk, how symbols are set.

Keys that would be empty are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import isinf
from typing import Any

import numpy as np

from blueprint.language import Axis, Block, Values
from blueprint.language.gradient.derivatives import behind_links
from blueprint.language.packed import Data, Packing, filled
from blueprint.language.spelling.mathml import STYLE
from blueprint.misconceptions.wrong_numbers import Rows
from blueprint.page.outline import Blueprint, Chart, Listed, Row, Sheet, Step
from blueprint.page.outline.book import blocks_of
from blueprint.web.one_page import one_page_of
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
            "meaning": axis.meaning,
            "start": axis.start,
            "size": self.values.size(axis),
            "words": [self.member(axis, place) for place in range(self.values.size(axis))],
        }

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
        return filled(blocks=numbers, role=role, fold=fold) if role or fold else numbers

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

    def proof(self) -> Iterator[tuple[int, float]]:
        """Yields the sum of each computed block of numbers, against which the page holds its own."""
        for block, number in self.packing.blocks.items():
            if not (block.text or block.typed or block.link):
                cells = self.values.arrays[block].astype(float)
                yield number, float(f"{cells[np.isfinite(cells)].sum():.14g}")


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
