"""Steps: which lines a walk down one column has, each after all that its equation reads, for the member that is meant."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Edge,
    Expr,
    Find,
    Index,
    Lookup,
    Op,
    Position,
    Reduce,
    Ref,
    Values,
    at_member,
    rebuilt,
    reindexed,
    text,
)  # fmt: skip
from blueprint.page import byhand, cell_writer, grid, outline

VALUE, EQUATION, NUMBERS, WHERE, UNIT, DIGITS, TRIED = range(grid.LEFT, grid.LEFT + 7)
DUE, MEMBERS = TRIED + len(byhand.MORE), TRIED + len(byhand.MORE) + 1
"""The columns of a line: what one reads; and how it is made: the power of ten of the value, the decimals of the numbers
in its equation, what comes out with so many decimals, the value as it is shown, and numbers that have no line of their own.
"""

UNITS = {VALUE: UNIT, NUMBERS: MEMBERS}
"""The column of the power of ten of a value, by that of the value."""

Leaf = Ref | Reduce
"""What one line holds a number of: a cell of the chosen column (or its neighbour), or a sum over all members."""
SELECTING = ("choose", byhand.WITHIN)
"""Operations whose first operand says which is meant, and is no number of the equation."""
LONGEST = 12
"""Members up to which a sum is written out, and a list is shown; more of them nobody would read on one line."""


@dataclass(frozen=True)
class WalkLine:
    """One line: the number that it holds, and the equation that gives it (none where it is only read).

    written: the equation with its sums written out. members: numbers of a sum that have no line; they stand right of this one.
    column: that of its value; NUMBERS right of another number that is only read, where that one's equation would be.
    """

    row: int
    leaf: Leaf
    expr: Expr | None = None
    written: Expr | None = None
    members: tuple[Ref, ...] = ()
    column: int = VALUE


@dataclass(frozen=True)
class WalkList:
    """A line that lists a quantity's members side by side, which stand right of it; `says` is its name, if not its block's.

    adds: as they are displayed they add up to their sum.
    """

    row: int
    whole: Ref
    axis: Axis
    members: tuple[Ref, ...]
    says: str
    adds: bool = False


def place_step(step: outline.Step, pen: cell_writer.SheetPen) -> None:
    """Keeps the row of a step, after those of its operands that have none yet; they are spelled when all have a place."""
    across = pen.layout.blueprint.understood(pen.sheet)
    leaf, expr = step_of(step, across[-1])
    written = None if expr is None else written_out(expr, leaf, across, pen.values)
    if not takes_numbers(written, leaf.block.axes, across):
        expr = written = None
    missing = {name(read): read for read in leaves(written) if name(read) not in pen.layout.numbered}
    _read([leaf for leaf in missing.values() if not is_member(leaf)], pen)
    members = tuple(read for read in missing.values() if isinstance(read, Ref) and is_member(read))
    _keep(WalkLine(pen.row, leaf, expr, written, members), pen)
    pen.row += 1


def _read(alone: list[Leaf], pen: cell_writer.SheetPen) -> None:
    """Keeps the rows of numbers that are only read, two on each."""
    for number, leaf in enumerate(alone):
        _keep(WalkLine(pen.row + number // 2, leaf, column=NUMBERS if number % 2 else VALUE), pen)
    pen.row += (len(alone) + 1) // 2


def place_list(listed: outline.Listed, pen: cell_writer.SheetPen) -> None:
    """Keeps the row of a list, if it is short enough."""
    axis = listed.block.axes[-1]
    if pen.values.size(axis) <= LONGEST:
        whole = whole_of(listed, pen.layout.blueprint.understood(pen.sheet)[-1])
        members = (origin(at_member(whole, axis, Constant(member))) for member in range(pen.values.size(axis)))
        _keep(WalkList(pen.row, whole, axis, tuple(members), listed.says, listed.adds), pen)
        pen.row += 1


def _keep(line: WalkLine | WalkList, pen: cell_writer.SheetPen) -> None:
    pen.layout.walk.append(line)
    if isinstance(line, WalkLine):
        pen.layout.numbered[name(line.leaf)] = line.row, line.column
    pen.layout.numbered |= {name(ref): (line.row, MEMBERS + number) for number, ref in enumerate(line.members)}


def name(leaf: Leaf) -> str:
    """Returns what tells one number from all others: the block (not what repeats it) and the indices, or the sum."""
    return text(leaf) if isinstance(leaf, Reduce) else f"{leaf.block.name}[{', '.join(map(str, leaf.at))}]"


def leaves(expr: Expr | None) -> Iterator[Leaf]:
    """Yields the numbers that an equation reads, in its order."""
    match expr:
        case Ref():
            yield origin(expr)
        case Reduce():
            yield expr
        case Op(operation, args):
            for arg in args[operation in SELECTING :]:
                yield from leaves(arg)


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


def origin(ref: Expr) -> Ref:
    """Returns the cell that a repeating block repeats."""
    assert isinstance(ref, Ref)
    while ref.block.link:
        ref = Ref(cell_writer.origin(ref.block), ref.at)
    return ref


def step_of(step: outline.Step, time: Axis) -> tuple[Ref, Expr | None]:
    """Returns the cell that a step holds and its equation, both for the member that is meant."""
    block, member = step.block, step.member
    at: tuple[Index, ...] = tuple(map(Position, block.axes))
    id = Ref(member, at[:-1]) if isinstance(member, Block) else None if member is None else Constant(member)

    def meant(expr: Expr) -> Expr:
        expr = expr if id is None else at_member(expr, block.axes[-1], id)
        return reindexed(expr, lambda at: Position(time, 1) if step.later and at == Position(time) else at)

    inner = (each.expr for each in block.definitions if not any(isinstance(index, Edge) for index in each.target))
    expr = None if block.link or block.text else next(inner, None)
    return origin(meant(Ref(block, at))), None if expr is None else meant(expr)


def whole_of(listed: outline.Listed, time: Axis) -> Ref:
    """Returns a listed quantity as it is written, with the axis along which it runs left open."""
    *others, axis = listed.block.axes
    if listed.member is not None:
        id = Ref(listed.member, tuple(map(Position, listed.member.axes)))
        return Ref(listed.block, (*(Lookup(each, id) for each in others), Position(axis)))
    return Ref(listed.block, (*(Position(each, listed.by * (each is time)) for each in others), Position(axis)))


def takes_numbers(expr: Expr | None, axes: tuple[Axis, ...], across: tuple[Axis, ...]) -> bool:
    """Tells whether numbers can be put in: every one stands in the chosen column, or is a single number.

    What lies along the column below other members (a row for each), or stands in another one, is none of its numbers.
    """
    match expr:
        case Ref(block, at):
            along = [slot in across for slot in block.axes]
            stays = all(not isinstance(index, Lookup) for index, here in zip(at, along, strict=True) if here)
            return stays and along == sorted(along, reverse=True)
        case Op(_, args):
            return all(takes_numbers(arg, axes, across) for arg in args)
        case Reduce(_, over):
            return set(over) <= set(axes) or not axes
    return isinstance(expr, Constant)


def written_out(expr: Expr, leaf: Ref, across: tuple[Axis, ...], values: Values) -> Expr:
    """Returns an expression with its short sums over members that are not chosen written out, and a search as what it finds."""
    match expr:
        case Reduce("sum", (axis,), body) if axis not in across and values.size(axis) <= LONGEST:
            terms = [at_member(body, axis, Constant(member)) for member in range(values.size(axis))]
            return reduce(lambda all, term: Op("add", (all, term)), terms)
        case Op():
            return rebuilt(expr, lambda arg: written_out(arg, leaf, across, values))
        case Find("find", axis, Ref() as among, value):
            high = at_member(among, axis, leaf, shifted=False)
            return Op(byhand.WITHIN, (leaf, at_member(among, axis, leaf), value, high))
    return expr
