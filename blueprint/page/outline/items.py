"""What may stand under a heading: rows and tables of blocks, sentences, and views of blocks that stand elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.language import Axis, Block
from blueprint.page.outline.charts import Chart


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
