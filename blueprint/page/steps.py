"""Steps: which lines a walk down one column has. A quantity is told after everything that its equation reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from blueprint.language import Axis, Block
from blueprint.language.axes import Edge, Position
from blueprint.language.nodes import Constant, Expr, Lookup, Op, Reduce, Ref, walk
from blueprint.language.spelling.text import text
from blueprint.page.outline import Sheet, Step

Leaf = Ref | Reduce
"""What one line holds a number of: a cell of the chosen column (or its neighbour), or a sum over the whole batch."""


@dataclass(frozen=True)
class WalkLine:
    """One line: the number that it holds, and the equation that gives it (none where it is only read)."""

    sheet: Sheet
    row: int
    leaf: Leaf
    expr: Expr | None


@dataclass
class Walk:
    """The lines of a walk from top to bottom, and the row of each number that has a line already."""

    lines: list[WalkLine] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, step: Step, sheet: Sheet, row: int) -> int:
        """Adds a step from `row` on, after those of its operands that have no line yet; returns how many lines it took."""
        leaf, expr = _told(step)
        missing = {name(read): read for read in leaves(expr) if name(read) not in self.rows}
        for number, read in enumerate(missing.values()):
            self._keep(WalkLine(sheet, row + number, read, None))
        self._keep(WalkLine(sheet, row + len(missing), leaf, expr))
        return len(missing) + 1

    def _keep(self, line: WalkLine) -> None:
        self.lines.append(line)
        self.rows[name(line.leaf)] = line.row


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
        case Op("choose", (_, *rows)):
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


def _told(step: Step) -> tuple[Ref, Expr | None]:
    """Returns the cell that a step holds and its equation, both for the word that is meant."""
    block = step.block
    at = tuple(Position(axis) for axis in block.axes)
    inner = next((d for d in block.definitions if not any(isinstance(index, Edge) for index in d.target)), None)
    expr = None if inner is None or block.link or block.text else inner.expr
    if step.word is None:
        return origin(Ref(block, at)), expr if _can_be_told(expr, block.axes) else None
    axis = block.axes[-1]
    word = Lookup(axis, Ref(step.word, at[:-1]))
    expr = None if expr is None else _put(expr, axis, word)
    return Ref(block, (*at[:-1], word)), expr if _can_be_told(expr, block.axes) else None


def _can_be_told(expr: Expr | None, axes: tuple[Axis, ...]) -> bool:
    """Tells whether numbers can be put in: every one stands in the chosen column, or is one number of the batch."""
    match expr:
        case Op(_, args):
            return all(_can_be_told(arg, axes) for arg in args)
        case Reduce(_, over):
            return set(over) <= set(axes) or not axes
        case Ref() | Constant():
            return True
    return False


def _put(expr: Expr, axis: Axis, word: Lookup) -> Expr:
    """Returns the expression for one word: every index that runs along `axis` is the word."""
    match expr:
        case Ref(block, at):
            return Ref(block, tuple(word if _runs(index, axis) else index for index in at))
        case Op(name, args, labels):
            return Op(name, tuple(_put(arg, axis, word) for arg in args), labels)
    return expr


def _runs(index: object, axis: Axis) -> bool:
    return isinstance(index, Position) and index.axis is axis and not index.by


def blocks_of(leaf: Leaf) -> list[Block]:
    """Returns the blocks whose cells a leaf holds: its own, or the factors of the sum."""
    if isinstance(leaf, Ref):
        return [leaf.block]
    factors = leaf.body.args if isinstance(leaf.body, Op) else (leaf.body,)
    return [origin(factor).block for factor in factors if isinstance(factor, Ref)]
