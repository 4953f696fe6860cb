"""The outline itself: sheets, their sections, and what the whole workbook starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import count
from typing import Any, TypeVar

import numpy as np

from blueprint.language import Axis, Block, NotationError, require
from blueprint.page.outline.items import Item, Line, OnePage, Row, Table, Usual


@dataclass(frozen=True)
class Section:
    """A headed group of items.

    columns: headings over the cells of its lines. printed: whether it is put on paper; those that are not are the last.
    numbered: whether it counts among the sections of a sheet that numbers them.
    """

    title: str
    items: tuple[Item, ...]
    columns: tuple[str, ...] = ()
    printed: bool = True
    numbered: bool = True


READ, AGAIN, LOOKED_UP = range(3)
"""When a sheet is read: the first time through, as a repetition of one that was read, or when something is looked up."""


@dataclass(frozen=True)
class Sheet:
    """One sheet.

    lead:   the sentence under the title.
    across: the axes that run from left to right: groups and their members, one axis, or none.
    head:   blocks over the last of them that stay in view above everything else.
    grey:   the block of the head whose zeros turn a column grey: what stands there does not count.
    pinned: items that stay in view above everything else, on a sheet without axes.
    widths: the widths of the columns from the fourth on, on a sheet without axes, in letters.
    heading: what stands above everything else, if not the title.
    closed: rows that may be folded away are folded when the file is opened.
    printed: whether it is printed; of a sheet that is not, its head is, and says so.
    aside: how many of the last columns of `widths` are not printed.
    tight: rows are no higher than their letters, and gaps between sections are narrow, so that all of it fits on a page.
    tries: it proposes changes to the workbook, and tells what they lead to.
    first: the number of its first section; None: its sections have no numbers, as on a page of words.
    colour: that of its tab and of its head, one of the roles of `page.outline.items`; what leads to it has the same.
    usual: lines that are folded away where they are as usual.
    tab: where its tab stands: `READ`, behind those `AGAIN`, or `LOOKED_UP`, in grey among the last.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    across: tuple[Axis, ...] = ()
    head: tuple[Block, ...] = ()
    grey: Block | None = None
    pinned: tuple[Item, ...] = ()
    widths: tuple[float, ...] = ()
    heading: str = ""
    closed: bool = False
    printed: bool = True
    aside: int = 0
    tight: bool = False
    tries: bool = False
    first: int | None = 1
    colour: str = "none"
    tab: int = READ
    usual: Usual | None = None

    def headings(self) -> list[str]:
        """Returns what stands above each section: its title, after its number if it has one."""
        number = count(self.first or 0)
        return [
            f"{next(number)}  {section.title}" if self._counts(section) else section.title for section in self.sections
        ]

    def _counts(self, section: Section) -> bool:
        """Tells whether a section has a number: not one that is folded away."""
        return self.first is not None and section.numbered and not self.folds_away(section)

    def folds_away(self, section: Section) -> bool:
        """Tells whether nothing of a section is to be seen when the file is opened, so that its heading is folded, too."""
        return self.closed and all(isinstance(item, Row) and item.fold for item in section.items)

    def items(self) -> Iterator[Item]:
        """Yields what stands on the sheet below its title, in reading order."""
        yield from self.pinned
        for section in self.sections:
            yield from section.items


@dataclass(frozen=True)
class Choice:
    """A column that the reader picks.

    across, numbers: the axes, and for each the typed number of the member that is picked. decimals: typed, those of equations.
    """

    across: tuple[Axis, ...]
    numbers: tuple[Block, ...]
    decimals: Block


@dataclass(frozen=True)
class Blank:
    """Computed cells that are left to the reader: they are empty, where a formula stood.

    title:  how files and people call it, such as `height@n=1,t=5`.
    cells:  the 0-based places of its cells in the block, in reading order.
    weight: what it counts beside the others, above 0.
    asks:   "number", or "formula" where a number alone is not what is asked for.
    check:  the two digits by which the reader checks what was filled in (`page.blanks.check_of` its numbers), or None.
    says:   whether its equation is printed, beside it and wherever the workbook lists its rows.
    """

    title: str
    block: Block
    cells: tuple[tuple[int, ...], ...]
    weight: float = 1.0
    asks: str = "number"
    check: int | None = None
    says: bool = True


@dataclass(frozen=True)
class Blueprint:
    """A workbook to be: its sheets, how many members each axis has, and the typed numbers.

    names:   words for the members of an axis: a block of text over it, or a letter to put before the number.
    heads:   for an axis of groups of columns, what stands above each of them, if not what it is and its number.
    members: for an axis, what one member is called here, if not as it is in every workbook.
    facts:   what a copy of the file should still say about itself, name by name.
    result, parts: the number that everything leads to, which a build reports, and what adds up to it.
    choices: for a typed block, the words that may be typed there (a list, or a block that holds it).
    ranges:  for a typed block, the lowest and highest number that may be typed there.
    needed:  what must have numbers besides the result, such as the gradients that were asked for; what neither of them reads may
        end in an error, which its cell shows. Without a result every number must be one.
    notes:   what a reader may want to know of a block besides its meaning, by the block's name.
    chosen:  the column that is shown from top to bottom.
    whole:   what all members of the axes that run to the right are together.
    derivation: the names of the steps by which one learns how the result comes about, the first ones first.
    topics: by a word, the names of the steps that one asks for where it alone is the topic.
    blanks, left_out: cells that are left to the reader; what is not there because of them, each with the reason.
    one_page: the sheet that shows the whole computation at a glance, if there is one.
    """

    title: str
    sheets: tuple[Sheet, ...]
    sizes: Mapping[Axis, int]
    typed: Mapping[Block, object]
    names: Mapping[Axis, Block | str] = field(default_factory=dict)
    choices: Mapping[Block, Block] = field(default_factory=dict)
    ranges: Mapping[Block, tuple[float, float]] = field(default_factory=dict)
    heads: Mapping[Axis, Sequence[str]] = field(default_factory=dict)
    members: Mapping[Axis, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    result: Block | None = None
    parts: tuple[Block, ...] = ()
    needed: tuple[Block, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    chosen: Choice | None = None
    whole: str = "table"
    derivation: tuple[str, ...] = ()
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blanks: tuple[Blank, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    one_page: OnePage | None = None

    def called(self, axis: Axis) -> Axis:
        """Returns an axis to be printed: its members are called what they are in this workbook."""
        return replace(axis, meaning=self.members.get(axis, self.members.get(axis.extent, axis.meaning)))

    @property
    def picked(self) -> dict[Block, Axis]:
        """The typed numbers by which the reader picks a column, each with the axis along which it picks."""
        return dict(zip(self.chosen.numbers, self.chosen.across, strict=True)) if self.chosen else {}

    @property
    def tabs(self) -> list[Sheet]:
        """The sheets in the order of their tabs, that of a first reading; among `sheets` they stand as they are computed."""
        return sorted(self.sheets, key=lambda sheet: sheet.tab)

    @property
    def colours(self) -> dict[Block, str]:
        """The colour of each block, that of its sheet."""
        return {block: sheet.colour for sheet in self.sheets for block in blocks_on(sheet)}

    @property
    def looks(self) -> set[Block]:
        """The typed numbers that change only what is shown."""
        return {*self.chosen.numbers, self.chosen.decimals} if self.chosen else set()

    @property
    def results(self) -> frozenset[Block] | None:
        """The blocks that must have numbers; None: all of them."""
        return None if self.result is None else frozenset((self.result, *self.parts, *self.needed))

    @property
    def unsaid(self) -> set[Block]:
        """The blocks whose equations are not printed."""
        return {blank.block for blank in self.blanks if not blank.says}

    def understood(self, sheet: Sheet) -> tuple[Axis, ...]:
        """Returns the letters that equations on a sheet leave out: those of its columns, or of the chosen column."""
        return sheet.across or (self.chosen.across if self.chosen else ())

    def with_typed(self, more: Mapping[str, object]) -> Blueprint:
        """Returns the blueprint with more typed numbers, given by the names of their blocks."""
        named = {block.name: block for block in self.blocks()}
        for stray in (name for name in more if name not in named):
            raise NotationError(f"there is no block {stray} to type numbers into")
        return replace(self, typed=dict(self.typed) | {named[name]: value for name, value in more.items()})

    def blocks(self) -> list[Block]:
        """Returns every block that stands on a sheet, in reading order."""
        return [block for sheet in self.sheets for block in blocks_on(sheet)]


def blocks_on(sheet: Sheet) -> list[Block]:
    """Returns the blocks of a sheet in reading order."""
    return [*sheet.head, *(block for item in sheet.items() for block in blocks_of(item))]


def blocks_of(item: object) -> tuple[Block, ...]:
    """Returns the blocks that stand where an item stands; what is only shown again is none of them."""
    match item:
        case Block():
            return (item,)
        case Row(block, _, Block() as beside):
            return beside, block
        case Row(block) | Table(block):
            return (block,)
        case Line(blocks):
            return blocks
    return ()


def on_one_sheet(title: str, blocks: Sequence[Block], across: Axis, numbers: Mapping[Block, object]) -> Blueprint:
    """Makes the blueprint of a few blocks on one sheet; `across` runs from left to right.

    numbers: those of every typed block; the sizes of the axes follow from them. Raises NotationError for another shape.
    """
    sizes: dict[Axis, int] = {}
    for block, given in numbers.items():
        shape = np.asarray(given, dtype=object).shape
        fits = len(shape) == len(block.axes)
        require(fits, f"{block.name} has {len(block.axes)} axes, but its numbers have {len(shape)}")
        for axis, cells in zip(block.axes, shape, strict=True):
            sizes.setdefault(axis.extent, cells - sum(edge in block.edges for edge in ((axis, -1), (axis, 1))))
    sheet = Sheet(title, "", (Section(title, tuple(blocks)),), (across,), first=None)
    return Blueprint(title, (sheet,), sizes, numbers)


Part = TypeVar("Part")


def sheet_again(sheet: Sheet, copies: Mapping[Block, Block], title: str, lead: str) -> Sheet:
    """Returns a sheet on which copies stand where their blocks stood, under another title; what is typed stands there once."""
    return replace(_with(sheet, copies), title=title, lead=lead)


def with_copies(blueprint: Blueprint, copies: Mapping[Block, Block]) -> Blueprint:
    """Returns a blueprint with copies of computed blocks in their places, and everything else as it was."""
    return _with(blueprint, {**dict(zip(blueprint.typed, blueprint.typed, strict=True)), **copies})


def _with(part: Part, copies: Mapping[Block, Block]) -> Part:
    """Returns a part of an outline with every block in it replaced by its copy, if it has one."""
    found: Any = part
    if isinstance(part, Block):
        found = copies.get(part, part)
    elif isinstance(part, tuple):
        found = tuple(_with(each, copies) for each in part if not _is_typed(each, copies))
    elif isinstance(part, Mapping):
        found = {_with(key, copies): _with(value, copies) for key, value in part.items()}
    elif is_dataclass(part) and not isinstance(part, Axis | type):
        found = replace(part, **{each.name: _with(getattr(part, each.name), copies) for each in fields(part)})
    return found  # type: ignore[no-any-return]


def _is_typed(item: object, copies: Mapping[Block, Block]) -> bool:
    """Tells whether an item is nothing but typed blocks that have no copy."""
    blocks = blocks_of(item)
    return bool(blocks) and all(block.typed and block not in copies for block in blocks)
