"""Steps: which lines a walk down one column has. A quantity is told after everything that its equation reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from blueprint.language import Axis, Block, Constant, Expr, Lookup, Op, Reduce, Ref, text
from blueprint.page import grid
from blueprint.page.byhand import MORE, WITHIN
from blueprint.page.outline import Listed, Sheet, Step
from blueprint.page.putting import (
    LONGEST,
    Chosen,
    can_be_told,
    origin,
    put_ref,
    step_of,
    whole_of,
    written_out,
)

VALUE, EQUATION, NUMBERS, WHERE, UNIT, DIGITS, TRIED = range(grid.LEFT, grid.LEFT + 7)
DUE = TRIED + len(MORE)
OWN = DUE + 1
"""The columns of a line: what one reads; and how it is made: the power of ten of the value, the decimals of the numbers
in its equation, what comes out with so many decimals, the value as it is shown, and numbers that have no line of their own.
"""

UNITS = {VALUE: UNIT, NUMBERS: OWN}
"""The column of the power of ten of a value, by that of the value."""

Leaf = Ref | Reduce
"""What one line holds a number of: a cell of the chosen column (or its neighbour), or a sum over all members."""
SELECTING = ("choose", WITHIN)
"""Operations whose first operand says which is meant, and is no number of the equation."""


@dataclass(frozen=True)
class WalkLine:
    """One line: the number that it holds, and the equation that gives it (none where it is only read).

    told: the equation with its sums written out. own: numbers of a sum that have no line; they stand right of this one.
    beside: it stands right of another number that is only read, where that one's equation would be.
    """

    sheet: Sheet
    row: int
    leaf: Leaf
    expr: Expr | None
    told: Expr | None = None
    own: tuple[Ref, ...] = ()
    beside: bool = False

    @property
    def column(self) -> int:
        """The column of its value."""
        return NUMBERS if self.beside else VALUE


@dataclass(frozen=True)
class WalkList:
    """A line that lists a quantity's members side by side, which stand right of it; `says` is its name, if not its block's."""

    sheet: Sheet
    row: int
    whole: Ref
    axis: Axis
    own: tuple[Ref, ...]
    says: str


@dataclass
class Walk:
    """The lines of a walk from top to bottom, and the cell of each number that has one already."""

    lines: list[WalkLine | WalkList] = field(default_factory=list)
    cells: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, item: Step | Listed, sheet: Sheet, row: int, chosen: Chosen) -> int:
        """Adds a step, or a list, from a row on; returns how many lines it took."""
        if isinstance(item, Step):
            return self._step(item, sheet, row, chosen)
        return self._list(item, sheet, row, chosen)

    def _step(self, step: Step, sheet: Sheet, row: int, chosen: Chosen) -> int:
        """Adds a step from `row` on, after those of its operands that have no line yet; returns how many lines it took."""
        leaf, expr = step_of(step, chosen)
        told = None if expr is None else written_out(expr, leaf, chosen)
        if not can_be_told(told, leaf.block.axes):
            expr = told = None
        missing = {name(read): read for read in leaves(told) if name(read) not in self.cells}
        alone = [read for read in missing.values() if not is_member(read)]
        for number, read in enumerate(alone):
            self._keep(WalkLine(sheet, row + number // 2, read, None, beside=number % 2 == 1))
        rows = (len(alone) + 1) // 2
        own = tuple(read for read in missing.values() if isinstance(read, Ref) and is_member(read))
        self._keep(WalkLine(sheet, row + rows, leaf, expr, told, own))
        return rows + 1

    def _list(self, listed: Listed, sheet: Sheet, row: int, chosen: Chosen) -> int:
        """Adds a list at `row`, if it is short enough; returns how many lines it took."""
        axis = listed.block.axes[-1]
        size = chosen.values.size(axis)
        if size > LONGEST:
            return 0
        whole = whole_of(listed, chosen)
        own = tuple(origin(put_ref(whole, axis, Constant(member))) for member in range(size))
        self._keep(WalkList(sheet, row, whole, axis, own, listed.says))
        return 1

    def _keep(self, line: WalkLine | WalkList) -> None:
        self.lines.append(line)
        if isinstance(line, WalkLine):
            self.cells[name(line.leaf)] = line.row, line.column
        self.cells |= {name(ref): (line.row, OWN + number) for number, ref in enumerate(line.own)}


def name(leaf: Leaf) -> str:
    """Returns what tells one number from all others: the block (not what repeats it) and the indices, or the sum."""
    if isinstance(leaf, Reduce):
        return text(leaf)
    return f"{leaf.block.name}[{', '.join(map(str, leaf.at))}]"


def leaves(expr: Expr | None) -> Iterator[Leaf]:
    """Yields the numbers that an equation reads, in its order."""
    match expr:
        case Ref():
            yield origin(expr)
        case Reduce():
            yield expr
        case Op(operation, (_, *rows)) if operation in SELECTING:
            yield from _all(rows)
        case Op(_, args):
            yield from _all(args)


def _all(exprs: Iterable[Expr]) -> Iterator[Leaf]:
    for expr in exprs:
        yield from leaves(expr)


def is_member(leaf: Leaf) -> bool:
    """Tells whether a number is one of many in the chosen column, or a weight: it has no line of its own."""
    return isinstance(leaf, Ref) and any(
        isinstance(index, Lookup) and isinstance(index.id, Constant) for index in leaf.at
    )


def blocks_of(leaf: Leaf) -> list[Block]:
    """Returns the blocks whose cells a leaf holds: its own, or the factors of the sum."""
    if isinstance(leaf, Ref):
        return [leaf.block]
    factors = leaf.body.args if isinstance(leaf.body, Op) else (leaf.body,)
    return [origin(factor).block for factor in factors if isinstance(factor, Ref)]
