"""Putting one member in the place of a running index: one member's number in an equation of all, the next column's."""

from __future__ import annotations

from functools import partial, reduce
from typing import NamedTuple

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
    walk,
)
from blueprint.page.byhand import WITHIN
from blueprint.page.outline import Listed, Step


def put(expr: Expr, axis: Axis, member: Expr) -> Expr:
    """Returns the expression for one member: every index that runs along `axis` is that one."""
    match expr:
        case Ref():
            return put_ref(expr, axis, member)
        case Op(operation, args, labels):
            return Op(operation, tuple(put(arg, axis, member) for arg in args), labels)
        case Reduce(operation, axes, body):
            return Reduce(operation, axes, put(body, axis, member))
    return expr


def put_ref(ref: Ref, axis: Axis, member: Expr) -> Ref:
    """Returns the cell of one member."""
    return Ref(ref.block, tuple(_looked_up(axis, index, member) if runs(index, axis) else index for index in ref.at))


def _looked_up(axis: Axis, index: Index, member: Expr) -> Lookup:
    """Returns the index of a member, or of the one before it."""
    before = isinstance(index, Position) and index.by < 0
    return Lookup(axis, Op("sub", (member, Constant(1))) if before else member)


def later(expr: Expr, time: Axis) -> Expr:
    """Returns the expression for the next member along an axis."""
    match expr:
        case Ref(block, at):
            return Ref(block, tuple(Position(time, 1) if index == Position(time) else index for index in at))
        case Op(operation, args, labels):
            return Op(operation, tuple(later(arg, time) for arg in args), labels)
        case Reduce(operation, axes, body):
            return Reduce(operation, axes, later(body, time))
    return expr


def runs(index: object, axis: Axis) -> bool:
    """Tells whether an index runs along an axis."""
    return isinstance(index, Position) and index.axis is axis


LONGEST = 12
"""Members up to which a sum is written out, and a list is shown; more of them nobody would read on one line."""


class Chosen(NamedTuple):
    """What lines are made of: the numbers, and the axes of which one member is chosen."""

    values: Values
    across: tuple[Axis, ...]


def origin(ref: Ref) -> Ref:
    """Returns the cell that a repeating block repeats."""
    while ref.block.link:
        inner = next(node for node in walk(ref.block.definitions[-1].expr) if isinstance(node, Ref))
        ref = Ref(inner.block, ref.at)
    return ref


def step_of(step: Step, chosen: Chosen) -> tuple[Ref, Expr | None]:
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


def whole_of(listed: Listed, chosen: Chosen) -> Ref:
    """Returns a listed quantity as it is written, with the axis along which it runs left open."""
    *others, axis = listed.block.axes
    if listed.member is not None:
        id = Ref(listed.member, tuple(map(Position, listed.member.axes)))
        return Ref(listed.block, (*(Lookup(each, id) for each in others), Position(axis)))
    time = chosen.across[-1]
    return Ref(listed.block, (*(Position(each, listed.by * (each is time)) for each in others), Position(axis)))


def can_be_told(expr: Expr | None, axes: tuple[Axis, ...]) -> bool:
    """Tells whether numbers can be put in: every one stands in the chosen column, or is a single number."""
    match expr:
        case Op(_, args):
            return all(can_be_told(arg, axes) for arg in args)
        case Reduce(_, over):
            return set(over) <= set(axes) or not axes
        case Ref() | Constant():
            return True
    return False


def written_out(expr: Expr, leaf: Ref, chosen: Chosen) -> Expr:
    """Returns an expression with its short sums over members that are not chosen written out, and a search as what it finds."""
    match expr:
        case Reduce("sum", (axis,), body) if axis not in chosen.across and chosen.values.size(axis) <= LONGEST:
            terms = [put(body, axis, Constant(member)) for member in range(chosen.values.size(axis))]
            return reduce(lambda all, term: Op("add", (all, term)), terms)
        case Op(operation, args, labels):
            return Op(operation, tuple(written_out(arg, leaf, chosen) for arg in args), labels)
        case Find("find", axis, Ref(block, at) as among, value):
            high = Ref(block, tuple(Position(axis) if runs(index, axis) else index for index in at))
            return Op(WITHIN, (leaf, put(among, axis, leaf), value, put(high, axis, leaf)))
    return expr
