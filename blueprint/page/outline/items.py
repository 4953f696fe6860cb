"""What may stand on a sheet, as data: rows and tables of blocks, sentences, views, charts, and the lines and panels of One page."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.language import Axis, Block
from blueprint.page.outline.terms import term_of


@dataclass(frozen=True)
class Series:
    """One curve, cloud of dots or set of bars.

    name:   what the legend calls it.
    values: the block that is drawn.
    over:   the block of the places along the horizontal axis; of words under bars.
    dots:   drawn as points instead of a line.
    words:  the block of the words beside the dots.
    colour: one of `ROLES`, that of the model whose numbers they are; "" where they are nobody's.
    """

    name: str
    values: Block
    over: Block
    dots: bool = False
    words: Block | None = None
    colour: str = ""


@dataclass(frozen=True)
class Scale:
    """An axis of a chart: its title, and its ends and the distance of its marks where they are fixed."""

    title: str
    low: float | None = None
    high: float | None = None
    unit: float | None = None


@dataclass(frozen=True)
class Chart:
    """A picture of series.

    kind: "scatter" (numbers over numbers) or "bars" (numbers over words).
    tells: one sentence on what to see; it is also read to those who cannot see the picture.
    numbers: the format of the numbers at the ends of bars; none: bars without numbers.
    wide: takes the room of two charts side by side.
    among: rows that are 1 where a member may have a bar; of each group those from the first to the last such one are drawn.
    given: a row that is 1 where a member has none.
    """

    title: str
    kind: str
    series: tuple[Series, ...]
    across: Scale
    up: Scale
    tells: str
    numbers: str = ""
    wide: bool = False
    among: tuple[Block, ...] = ()
    given: Block | None = None


@dataclass(frozen=True)
class Row:
    """A block on rows of its own; `role` picks its fill, `beside` are weights left of the rows that they multiply.

    fold: the rows are a step on the way and may be folded away.
    """

    block: Block
    role: str = ""
    beside: Block | None = None
    fold: bool = False


@dataclass(frozen=True)
class Table:
    """A block of weights or words as a table of its own, one column per member of `across` (none: a single column)."""

    block: Block
    across: Axis | None = None
    role: str = ""


@dataclass(frozen=True)
class Line:
    """Single numbers (and short lists) side by side on one row; the first one names it."""

    blocks: tuple[Block, ...]
    role: str = ""


@dataclass(frozen=True)
class Usual:
    """Lines of single numbers that are folded away where their first number is the usual one.

    pairs: the first block of each line, and the table whose first member is the usual number of that line. kept: blocks whose
    lines are never folded. what, of: what lines are, and what they differ from, as a sentence on them says it.
    """

    pairs: tuple[tuple[Block, Block], ...]
    kept: frozenset[Block] = frozenset()
    what: str = "lines"
    of: str = "the usual ones"


@dataclass(frozen=True)
class Note:
    """A sentence. about: a block to which it leads, and whose address its text may hold as {cell}: `Sums!N51`."""

    text: str
    about: Block | None = None


@dataclass(frozen=True)
class Piece:
    """A named number shown again, with the meaning, the equation (if `equation`) and the row of the block it speaks of.

    of: what the number is a mean or a sum of. says: a sentence in place of the block's meaning.
    among: if it is a total or one of its parts: the total and all of its parts. sign: what stands between the parts.
    """

    title: str
    shown: Block
    about: Block
    equation: bool = True
    of: str = ""
    says: str = ""
    among: tuple[Block, ...] = ()
    sign: str = "+"


@dataclass(frozen=True)
class Box:
    """A box of a flow: a name that leads to a block; a small one says what else enters the box above it.

    A name may hold the {sheet} and {row} of the block. Without a block it leads nowhere.
    """

    title: str
    block: Block | None
    small: bool = False


@dataclass(frozen=True)
class Flow:
    """A picture made of cells: each row of it holds boxes and the signs between them ("" where nothing is)."""

    rows: tuple[tuple[Box | str, ...], ...]


@dataclass(frozen=True)
class Entry:
    """A row of a table of words, from the column of symbols on: texts, links (boxes), and single numbers shown again.

    The last text goes on below where it is long.
    """

    cells: tuple[str | Box | Block, ...]


@dataclass(frozen=True)
class Sample:
    """A cell that is dressed as an example, and what its looks mean."""

    text: str
    kind: str
    role: str
    meaning: str
    faded: bool = False


@dataclass(frozen=True)
class Step:
    """A quantity in the chosen column: symbol, equation, the equation with its numbers, and the value.

    member: for a quantity with one number per member of its last axis, the id of the one that is meant, or which one,
    counted from 0. later: the number of the next column is meant.
    """

    block: Block
    member: Block | int | None = None
    later: bool = False


@dataclass(frozen=True)
class Listed:
    """A quantity with a number per member, listed side by side; it is left out where there are too many.

    member: for a table of weights, the id of the member whose weights are meant.
    by: −1 for the column before. says: a sentence in place of the block's meaning.
    adds: the numbers are displayed with as many decimals as they need to add up, as probabilities do to 1.
    """

    block: Block
    member: Block | None = None
    by: int = 0
    says: str = ""
    adds: bool = False


@dataclass(frozen=True)
class Told:
    """Numbers of one group of columns side by side, each behind the word of its column: those that count.

    group: a table of 0 and 1, a row for each member that may be picked: 1 stands at the group that is meant. Left out if too many.
    whole: what they add up to (or their mean): they are displayed with as many decimals as a pocket calculator needs for it.
    """

    numbers: Block
    words: Block
    counts: Block
    group: Block
    whole: Block
    says: str


@dataclass(frozen=True)
class Spread:
    """Quantities with one number per member, in the chosen column: a row per member, and under each title a quantity."""

    columns: Mapping[str, Block]


@dataclass(frozen=True)
class Finder:
    """The two lines that find the chosen column: how far apart the groups stand, and its place in every row.

    They stand on the sheet of the steps.
    """


@dataclass(frozen=True)
class Tour:
    """A list of all other sheets, each with a link and what happens there."""


@dataclass(frozen=True)
class Unchanged:
    """Whether everything typed is still as it was when the file was made."""

    title: str


@dataclass(frozen=True)
class Judged:
    """The verdict on all checks and on all formulas; where a formula is not as delivered, its sheet and row."""

    title: str
    checks: Block


View = Piece | Flow | Entry | Sample | Step | Listed | Told | Spread | Finder | Tour | Unchanged | Judged | Chart
"""What shows blocks again that stand elsewhere."""

Item = Block | Row | Table | Line | Note | View
"""What stands under a heading; a bare block is a plain row."""


def key(block: Block) -> Row:
    """Makes the row of a quantity that one looks for."""
    return Row(block, "key")


def minor(block: Block, role: str = "") -> Row:
    """Makes the rows of a step on the way, which may be folded away."""
    return Row(block, role, fold=True)


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
    least:    how many decimals it shows at least, where there is room.
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
    least: int = 0

    @property
    def called(self) -> str:
        """What other lines call it."""
        return self.id or self.block

    @property
    def reads(self) -> list[str]:
        """The names of the blocks that it reads."""
        return _reads(self.block, self.value)

    @property
    def is_result(self) -> bool:
        """Whether a line stands above it, and its numbers are bold."""
        return bool(self.equals) if self.result is None else self.result


@dataclass(frozen=True)
class PageMatrix:
    """A number for each member of the block's last axis, in rows below each other, and a column for each member.

    framed: the member that was written is framed. weights: a table of the same members that is shown at the left.
    decimals: how many are shown. symbol, words: beside it. most: above so many members it is left out.
    captions: above the weights: the first of these of which all that its {expressions} read is there.
    """

    block: str
    framed: bool = False
    weights: str = ""
    decimals: int = 3
    symbol: str = ""
    words: str = ""
    most: int = 10
    captions: tuple[str, ...] = ()


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
    head: what stands before the number of a member that has no word; "": what a member is, as `pair`.
    ends: a block along an axis: of more members those up to the last where it is 1 as delivered; without it the first ones.
    """

    of: str
    axis: str = ""
    member: int = 1
    most: int = 6
    words: str = ""
    head: str = ""
    ends: str = ""


@dataclass(frozen=True)
class Tile:
    """A part of the result: the sign before it, its block (or an expression), and words.

    groups: one tile for each family of these columns: the sum of the block's numbers over its groups.
    words: where they end in ", {all}", over which groups it goes is said there, if there are several and there is room.
    """

    block: str = ""
    value: str = ""
    sign: str = ""
    words: str = ""
    model: str = "none"
    groups: str = ""

    @property
    def reads(self) -> list[str]:
        """The names of the blocks that it reads."""
        return _reads(self.block, self.value)


def _reads(block: str, value: str) -> list[str]:
    return [block] if block else [name for _, name in term_of(value).leaves]


@dataclass(frozen=True)
class OnePage:
    """The sheet. result: the words before the result's number; its block is the blueprint's.

    words, mask: the blocks of the word of a position, and of whether it counts.
    member: what a group is called; the hint says which of them is shown. lead: the block of the words that were read.
    note: a line below the tiles; settings: what stands before it, each where all that its {expressions} read is there; {all} is
    over which groups the result goes. part: a block with which that is only a part of them, and what that part is called.
    of: the block of the result, if not the blueprint's. grows: columns are as wide as their numbers and symbols need, and a
    number that is too long for any of them has no line.
    """

    title: str
    panels: tuple[Panel, ...]
    columns: Mapping[str, Columns] = field(default_factory=dict)
    tiles: tuple[Tile, ...] = ()
    result: str = ""
    hint: str = "read downwards"
    member: str = ""
    words: str = ""
    mask: str = ""
    lead: str = ""
    note: str = ""
    settings: tuple[str, ...] = ()
    part: tuple[str, ...] = ()
    of: str = ""
    grows: bool = False
