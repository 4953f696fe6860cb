"""One page, as data: the whole computation on one sheet, written as at school.

Columns are members and one reads downwards: operands with their sign at the left, a line above the result. Panels stand
side by side, a model each. What a page holds is said here by the names of blocks; `blueprint.page.one_page` paints it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

ROLES = ("blue", "grey", "orange", "purple", "green", "none")
"""Whose number it is; each has a colour of its own, and "none" has none."""


@dataclass(frozen=True)
class PageRow:
    """One line of written arithmetic.

    block:    the name of the block that is shown; "" where `value` is spelled.
    value:    an expression of blocks, of `next(block)`, the number of the next position, and of `before(block)`.
    id:       what other lines call it; by default the block's name.
    sign:     what stands at its left: "=", "−", "×", "exp" …
    equals:   what the line claims to be, as an expression of ids and of single numbers; checked from what is displayed.
    symbol, words: beside the numbers; "" takes the block's symbol, and nothing. Words may hold {expressions} of single numbers.
    model:    whose number it is. letter: of another panel from which it comes, as words name it.
    back:     an arrow to the upper left stands in its cells: each goes to the column before.
    fills:    a comparison of blocks; where it holds the number is the one that counts, and is filled.
    clipped:  a block that is 1 where the number is a constant: it is marked ✂.
    arrow:    an arrow points at the line from the panel on the left.
    result:   a line above it, and bold numbers; by default where it claims something.
    """

    block: str = ""
    value: str = ""
    id: str = ""
    sign: str = ""
    equals: str = ""
    symbol: str = ""
    words: str = ""
    model: str = "none"
    back: bool = False
    fills: str = ""
    clipped: str = ""
    arrow: bool = False
    result: bool | None = None

    @property
    def called(self) -> str:
        """What other lines call it."""
        return self.id or self.block


@dataclass(frozen=True)
class PageMatrix:
    """A number for each member of the block's last axis, in rows below each other, and a column for each member.

    framed: the member that was written is framed. weights: a table of the same members that is shown at the left.
    decimals: how many are shown. symbol, words: beside it. most: above so many members it is left out.
    """

    block: str
    framed: bool = False
    weights: str = ""
    decimals: int = 3
    symbol: str = ""
    words: str = ""
    most: int = 10


@dataclass(frozen=True)
class PageSection:
    """Lines under a head of their own; no head where the title is empty."""

    title: str
    rows: tuple[PageRow, ...]


@dataclass(frozen=True)
class Panel:
    """What stands in one column of the page.

    head, model: its title, in the model's colour. columns: the name of what its columns are, a key of `OnePage.columns`.
    below: it stands below the panel before it, in the same columns. beside: a block in whose row, in another panel, its
    first line stands. tight: it goes on from its left, without signs, symbols and words of its own.
    matrices, sections: what it holds, from top to bottom. aside: words right of its matrices. aside_of: the block that they
    tell of, without which they are not said.
    unless: a block with which the panel is left out. heads: what stands above each of its strips, {} for its number.
    """

    head: str
    model: str
    columns: str
    below: bool = False
    beside: str = ""
    matrices: tuple[PageMatrix, ...] = ()
    sections: tuple[PageSection, ...] = ()
    aside: tuple[str, ...] = ()
    aside_of: str = ""
    heads: tuple[str, ...] = ()
    unless: str = ""
    tight: bool = False


@dataclass(frozen=True)
class Columns:
    """What the columns of a panel are.

    of: "counted": the members that count of the group that Walk shows; "peers": those of all groups of its family;
    "pair": those of the chosen (or, with `member` 0, the rejected) group of its pair; "members" of `axis`.
    most: how many of them are shown; of more, those around the chosen one. words: the block of what members are called.
    """

    of: str
    axis: str = ""
    member: int = 1
    most: int = 6
    words: str = ""


@dataclass(frozen=True)
class Tile:
    """A part of the result: the sign before it, its block (or an expression), and words.

    groups: one tile for each family of these columns: the sum of the block's numbers over its groups.
    """

    block: str = ""
    value: str = ""
    sign: str = ""
    words: str = ""
    model: str = "none"
    groups: str = ""


@dataclass(frozen=True)
class OnePage:
    """The sheet. result: the words before the result's number; its block is the blueprint's.

    words, mask: the blocks of the word of a position, and of whether it counts.
    lead: the block of the words that were read. note: a line below the tiles; settings: what stands before it, each where
    all that its {expressions} read is there.
    of: the block of the result, if not the blueprint's. grows: columns are as wide as their numbers and symbols need, and a
    number that is too long for any of them has no line.
    """

    title: str
    panels: tuple[Panel, ...]
    columns: Mapping[str, Columns] = field(default_factory=dict)
    tiles: tuple[Tile, ...] = ()
    result: str = ""
    hint: str = "read downwards"
    words: str = ""
    mask: str = ""
    lead: str = ""
    note: str = ""
    settings: tuple[str, ...] = ()
    of: str = ""
    grows: bool = False
