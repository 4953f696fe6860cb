"""Putting one member in the place of a running index: one member's number in an equation of all, the next column's."""

from collections.abc import Callable
from functools import reduce
from typing import TypeGuard

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
    rebuilt,
)
from blueprint.page import byhand, cell_writer
from blueprint.page.outline import Listed, Step

LONGEST = 12
"""Members up to which a sum is written out, and a list is shown; more of them nobody would read on one line."""


def reindexed(expr: Expr, change: Callable[[Index], Index]) -> Expr:
    """Returns the expression with other indices."""
    if isinstance(expr, Ref):
        return Ref(expr.block, tuple(map(change, expr.at)))
    return rebuilt(expr, lambda inner: reindexed(inner, change)) if isinstance(expr, Op | Reduce) else expr


def put(expr: Expr, axis: Axis, member: Expr) -> Expr:
    """Returns the expression for one member: every index that runs along `axis` is that one, or the one before it."""

    def chosen(index: Index) -> Index:
        at = Op("sub", (member, Constant(1))) if isinstance(index, Position) and index.by < 0 else member
        return Lookup(axis, at) if _runs(index, axis) else index

    return reindexed(expr, chosen)


def _runs(index: Index, axis: Axis) -> TypeGuard[Position]:
    return isinstance(index, Position) and index.axis is axis


def origin(ref: Expr) -> Ref:
    """Returns the cell that a repeating block repeats."""
    assert isinstance(ref, Ref)
    while ref.block.link:
        ref = Ref(cell_writer.origin(ref.block), ref.at)
    return ref


def step_of(step: Step, time: Axis) -> tuple[Ref, Expr | None]:
    """Returns the cell that a step holds and its equation, both for the member that is meant."""
    block, member = step.block, step.member
    at: tuple[Index, ...] = tuple(map(Position, block.axes))
    id = Ref(member, at[:-1]) if isinstance(member, Block) else None if member is None else Constant(member)

    def meant(expr: Expr) -> Expr:
        expr = expr if id is None else put(expr, block.axes[-1], id)
        return (
            reindexed(expr, lambda index: Position(time, 1) if index == Position(time) else index)
            if step.later
            else expr
        )

    inner = (each.expr for each in block.definitions if not any(isinstance(index, Edge) for index in each.target))
    expr = None if block.link or block.text else next(inner, None)
    return origin(meant(Ref(block, at))), None if expr is None else meant(expr)


def whole_of(listed: Listed, time: Axis) -> Ref:
    """Returns a listed quantity as it is written, with the axis along which it runs left open."""
    *others, axis = listed.block.axes
    if listed.member is not None:
        id = Ref(listed.member, tuple(map(Position, listed.member.axes)))
        return Ref(listed.block, (*(Lookup(each, id) for each in others), Position(axis)))
    return Ref(listed.block, (*(Position(each, listed.by * (each is time)) for each in others), Position(axis)))


def takes_numbers(expr: Expr | None, axes: tuple[Axis, ...]) -> bool:
    """Tells whether numbers can be put in: every one stands in the chosen column, or is a single number."""
    match expr:
        case Op(_, args):
            return all(takes_numbers(arg, axes) for arg in args)
        case Reduce(_, over):
            return set(over) <= set(axes) or not axes
    return isinstance(expr, Ref | Constant)


def written_out(expr: Expr, leaf: Ref, across: tuple[Axis, ...], values: Values) -> Expr:
    """Returns an expression with its short sums over members that are not chosen written out, and a search as what it finds."""
    match expr:
        case Reduce("sum", (axis,), body) if axis not in across and values.size(axis) <= LONGEST:
            terms = [put(body, axis, Constant(member)) for member in range(values.size(axis))]
            return reduce(lambda all, term: Op("add", (all, term)), terms)
        case Op():
            return rebuilt(expr, lambda arg: written_out(arg, leaf, across, values))
        case Find("find", axis, Ref() as among, value):
            high = reindexed(among, lambda index: Position(axis) if _runs(index, axis) else index)
            return Op(byhand.WITHIN, (leaf, put(among, axis, leaf), value, put(high, axis, leaf)))
    return expr
