"""Trees: what an expression is made of, and the axes whose member at hand it needs."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.language.axes import Axis, Position
from blueprint.language.nodes import Count, Expr, Find, Lookup, Op, Reduce, Ref


def children(expr: Expr) -> tuple[Expr, ...]:
    """Returns the expressions directly inside this one, indices included."""
    match expr:
        case Ref():
            return tuple(index.id for index in expr.at if isinstance(index, Lookup))
        case Op():
            return expr.args
        case Reduce():
            return (expr.body,)
        case Find():
            return (expr.among, expr.value)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Yields the expression and everything inside it, outermost first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def free_axes(expr: Expr) -> set[Axis]:
    """Returns the axes whose member at hand the expression needs; the axes of a Sum, Max or find are bound."""
    match expr:
        case Ref():
            own = {index.axis for index in expr.at if isinstance(index, Position)}
        case Count("number"):
            own = {expr.axis}
        case _:
            own = set()
    inside = own.union(*(free_axes(child) for child in children(expr)))
    match expr:
        case Reduce():
            return inside - set(expr.axes)
        case Find():
            return own.union(free_axes(expr.among) - {expr.axis}, free_axes(expr.value))
        case _:
            return inside
