"""Steps: which lines a walk down one column has. A quantity is told after everything that its equation reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import NamedTuple

from blueprint.language import Axis, Block, Values
from blueprint.language.axes import Edge, Position
from blueprint.language.nodes import Constant, Expr, Find, Index, Lookup, Op, Reduce, Ref, walk
from blueprint.language.spelling.text import text
from blueprint.page import grid
from blueprint.page.byhand import MORE, WITHIN
from blueprint.page.outline import Listed, Sheet, Step
from blueprint.page.putting import later, put, put_ref, runs

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
LONGEST = 12
"""Members up to which a sum is written out, and a list is shown; more of them nobody would read on one line."""


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

    def add(self, step: Step, sheet: Sheet, row: int, chosen: Chosen) -> int:
        """Adds a step from `row` on, after those of its operands that have no line yet; returns how many lines it took."""
        leaf, expr = _of(step, chosen)
        told = None if expr is None else _written_out(expr, leaf, chosen)
        if not _can_be_told(told, leaf.block.axes):
            expr = told = None
        missing = {name(read): read for read in leaves(told) if name(read) not in self.cells}
        alone = [read for read in missing.values() if not is_member(read)]
        for number, read in enumerate(alone):
            self._keep(WalkLine(sheet, row + number // 2, read, None, beside=number % 2 == 1))
        rows = (len(alone) + 1) // 2
        own = tuple(read for read in missing.values() if isinstance(read, Ref) and is_member(read))
        self._keep(WalkLine(sheet, row + rows, leaf, expr, told, own))
        return rows + 1

    def add_list(self, listed: Listed, sheet: Sheet, row: int, chosen: Chosen) -> int:
        """Adds a list at `row`, if it is short enough; returns how many lines it took."""
        axis = listed.block.axes[-1]
        size = chosen.values.size(axis)
        if size > LONGEST:
            return 0
        whole = _whole(listed, chosen)
        own = tuple(origin(put_ref(whole, axis, Constant(member))) for member in range(size))
        self._keep(WalkList(sheet, row, whole, axis, own, listed.says))
        return 1

    def _keep(self, line: WalkLine | WalkList) -> None:
        self.lines.append(line)
        if isinstance(line, WalkLine):
            self.cells[name(line.leaf)] = line.row, line.column
        self.cells |= {name(ref): (line.row, OWN + number) for number, ref in enumerate(line.own)}


class Chosen(NamedTuple):
    """What lines are made of: the numbers, and the axes of which one member is chosen."""

    values: Values
    across: tuple[Axis, ...]


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


def origin(ref: Ref) -> Ref:
    """Returns the cell that a repeating block repeats."""
    while ref.block.link:
        inner = next(node for node in walk(ref.block.definitions[-1].expr) if isinstance(node, Ref))
        ref = Ref(inner.block, ref.at)
    return ref


def _all(exprs: Iterable[Expr]) -> Iterator[Leaf]:
    for expr in exprs:
        yield from leaves(expr)


def _of(step: Step, chosen: Chosen) -> tuple[Ref, Expr | None]:
    """Returns the cell that a step holds and its equation, both for the member that is meant."""
    block = step.block
    at: tuple[Index, ...] = tuple(Position(axis) for axis in block.axes)
    inner = next((d for d in block.definitions if not any(isinstance(index, Edge) for index in d.target)), None)
    expr = None if inner is None or block.link or block.text else inner.expr
    meant = partial(_meant, step=step, time=chosen.across[-1], member=_member(step, at))
    leaf = meant(Ref(block, at))
    assert isinstance(leaf, Ref)
    return origin(leaf), None if expr is None else meant(expr)


def _member(step: Step, at: tuple[Index, ...]) -> Expr | None:
    """Returns the id of the member that is meant."""
    if isinstance(step.member, Block):
        return Ref(step.member, at[:-1])
    return None if step.member is None else Constant(step.member)


def _meant(expr: Expr, step: Step, time: Axis, member: Expr | None) -> Expr:
    """Returns an expression for the members that a step means, of its last axis and of the chosen ones."""
    expr = expr if member is None else put(expr, step.block.axes[-1], member)
    return later(expr, time) if step.later else expr


def _whole(listed: Listed, chosen: Chosen) -> Ref:
    """Returns a listed quantity as it is written, with the axis along which it runs left open."""
    *others, axis = listed.block.axes
    if listed.member is not None:
        id = Ref(listed.member, tuple(map(Position, listed.member.axes)))
        return Ref(listed.block, (*(Lookup(each, id) for each in others), Position(axis)))
    time = chosen.across[-1]
    return Ref(listed.block, (*(Position(each, listed.by * (each is time)) for each in others), Position(axis)))


def _can_be_told(expr: Expr | None, axes: tuple[Axis, ...]) -> bool:
    """Tells whether numbers can be put in: every one stands in the chosen column, or is a single number."""
    match expr:
        case Op(_, args):
            return all(_can_be_told(arg, axes) for arg in args)
        case Reduce(_, over):
            return set(over) <= set(axes) or not axes
        case Ref() | Constant():
            return True
    return False


def _written_out(expr: Expr, leaf: Ref, chosen: Chosen) -> Expr:
    """Returns an expression with its short sums over members that are not chosen written out, and a search as what it finds."""
    match expr:
        case Reduce("sum", (axis,), body) if axis not in chosen.across and chosen.values.size(axis) <= LONGEST:
            terms = [put(body, axis, Constant(member)) for member in range(chosen.values.size(axis))]
            return reduce(lambda all, term: Op("add", (all, term)), terms)
        case Op(operation, args, labels):
            return Op(operation, tuple(_written_out(arg, leaf, chosen) for arg in args), labels)
        case Find("find", axis, Ref(block, at) as among, value):
            high = Ref(block, tuple(Position(axis) if runs(index, axis) else index for index in at))
            return Op(WITHIN, (leaf, put(among, axis, leaf), value, put(high, axis, leaf)))
    return expr


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
