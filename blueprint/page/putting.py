"""Putting one member in the place of a running index: a word's number in an equation of all words, the next decision's."""

from __future__ import annotations

from blueprint.language import Axis
from blueprint.language.axes import Position
from blueprint.language.nodes import Constant, Expr, Index, Lookup, Op, Reduce, Ref


def put(expr: Expr, axis: Axis, word: Expr) -> Expr:
    """Returns the expression for one word or member: every index that runs along `axis` is that one."""
    match expr:
        case Ref():
            return put_ref(expr, axis, word)
        case Op(operation, args, labels):
            return Op(operation, tuple(put(arg, axis, word) for arg in args), labels)
        case Reduce(operation, axes, body):
            return Reduce(operation, axes, put(body, axis, word))
    return expr


def put_ref(ref: Ref, axis: Axis, word: Expr) -> Ref:
    """Returns the cell of one word or member."""
    return Ref(ref.block, tuple(_member(axis, index, word) if runs(index, axis) else index for index in ref.at))


def _member(axis: Axis, index: Index, word: Expr) -> Lookup:
    """Returns the index of a word, or of the one before it."""
    before = isinstance(index, Position) and index.by < 0
    return Lookup(axis, Op("sub", (word, Constant(1))) if before else word)


def later(expr: Expr, time: Axis) -> Expr:
    """Returns the expression for the next decision."""
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
