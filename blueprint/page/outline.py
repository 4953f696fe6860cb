"""The outline of a workbook: which block stands on which sheet, under which heading, beside what. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from blueprint.language import Axis, Block, NotationError


@dataclass(frozen=True)
class Row:
    """A block on rows of its own; `role` picks its fill, `beside` are weights left of the rows that they multiply."""

    block: Block
    role: str = ""
    beside: Block | None = None


@dataclass(frozen=True)
class Table:
    """A block of weights or words as a table of its own, one column per member of `across` (none: a single column)."""

    block: Block
    across: Axis | None = None
    role: str = ""


@dataclass(frozen=True)
class Line:
    """Single numbers (and short lists of words) side by side on one row; the first one names it."""

    blocks: tuple[Block, ...]
    role: str = ""


@dataclass(frozen=True)
class Note:
    """A sentence."""

    text: str


@dataclass(frozen=True)
class Piece:
    """A named number shown again, with a link to the block that it speaks of."""

    title: str
    shown: Block
    about: Block


Item = Block | Row | Table | Line | Note | Piece
"""What stands under a heading; a bare block is a plain row."""


def key(block: Block) -> Row:
    """Makes the row of a quantity that one looks for."""
    return Row(block, "key")


@dataclass(frozen=True)
class Section:
    """A headed group of items; `columns` are headings over the cells of its lines."""

    title: str
    items: tuple[Item, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """One sheet.

    lead:   the sentence under the title.
    across: the axes that run from left to right: (episodes, decisions), one axis, or none.
    head:   blocks over the last of them that stay in view above everything else.
    grey:   the block of the head whose zeros turn a column grey: what stands there does not count.
    """

    title: str
    lead: str
    sections: tuple[Section, ...]
    across: tuple[Axis, ...] = ()
    head: tuple[Block, ...] = ()
    grey: Block | None = None


@dataclass(frozen=True)
class Blueprint:
    """A workbook to be: its sheets, how many members each axis has, and the typed numbers.

    names:   words for the members of an axis: a block of text over it, or a letter to put before the number.
    facts:   what a copy of the file should still say about itself (preset, seed), name by name.
    result:  the number that everything leads to, which a build reports; `parts` add up to it.
    choices: for a typed block, the words that may be typed there (a list, or a block that holds it).
    ranges:  for a typed block, the lowest and highest number that may be typed there.
    """

    title: str
    sheets: tuple[Sheet, ...]
    sizes: Mapping[Axis, int]
    typed: Mapping[Block, object]
    names: Mapping[Axis, Block | str] = field(default_factory=dict)
    choices: Mapping[Block, Block] = field(default_factory=dict)
    ranges: Mapping[Block, tuple[float, float]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    result: Block | None = None
    parts: tuple[Block, ...] = ()

    def with_typed(self, more: Mapping[str, object]) -> Blueprint:
        """Returns the blueprint with more typed numbers, given by the names of their blocks."""
        named = {block.name: block for block in self.blocks()}
        if stray := next((name for name in more if name not in named), None):
            raise NotationError(f"there is no block {stray} to type numbers into")
        return replace(self, typed=dict(self.typed) | {named[name]: value for name, value in more.items()})

    def blocks(self) -> list[Block]:
        """Returns every block that stands on a sheet, in reading order."""
        return [block for sheet in self.sheets for block in blocks_on(sheet)]


def blocks_on(sheet: Sheet) -> list[Block]:
    """Returns the blocks of a sheet in reading order."""
    listed = list(sheet.head)
    for section in sheet.sections:
        for item in section.items:
            match item:
                case Block():
                    listed.append(item)
                case Row(block, _, None) | Table(block):
                    listed.append(block)
                case Row(block, _, Block() as beside):
                    listed += [beside, block]
                case Line(blocks, _):
                    listed += blocks
    return listed
