"""Putting one member in the place of a running index: one member's number in an equation of all, the next column's."""

from __future__ import annotations

from blueprint.language import Axis
from blueprint.language.axes import Position
from blueprint.language.nodes import Constant, Expr, Index, Lookup, Op, Reduce, Ref


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
    return Ref(ref.block, tuple(_member(axis, index, member) if runs(index, axis) else index for index in ref.at))


def _member(axis: Axis, index: Index, member: Expr) -> Lookup:
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
