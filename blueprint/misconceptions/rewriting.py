"""How a misconception changes an equation: words that each make a wrong right-hand side of the right one.

They read no axes, so that one line holds for every workbook in which a row has this name, whatever its conventions.
A change that finds nothing to change gives the equation back as it is: then the misconception is none of that row.
"""

from __future__ import annotations

from collections.abc import Callable

from blueprint.language import (
    Block,
    Constant,
    Expr,
    Op,
    Operand,
    Ref,
    constant,
    log,
    size,
)
from blueprint.language.nodes import wrap
from blueprint.misconceptions.names import Change, Names
from blueprint.misconceptions.parts import everywhere, left_out, moved, negative, summed_over


def _of(name: str, made: Callable[[Ref, Names], Expr]) -> Change:
    """Makes a change of every reference to a block."""

    def change(expr: Expr, names: Names) -> Expr:
        def each(node: Expr) -> Expr:
            return made(node, names) if isinstance(node, Ref) and names.means(node, name) else node

        return everywhere(expr, each)

    return change


def equation(made: Callable[[Names], Operand]) -> Change:
    """Writes another right-hand side, in the notation."""
    return lambda expr, names: wrap(made(names))


def counting(name: str, *, all_columns: bool) -> Change:
    """Divides a sum by how many columns it goes through, pads and all, or by how many rows; name: what is divided by."""

    def change(expr: Expr, names: Names) -> Expr:
        first, *others = summed_over(expr) or (None,)
        if first is None:
            return expr
        number: Expr = size(first)
        for axis in others if all_columns else ():
            number = number * size(axis)
        return becomes(name, lambda _: number)(expr, names)

    return change


def row(name: str) -> Change:
    """Takes another row for this one."""
    return lambda expr, names: names(name)


def turned(name: str = "") -> Change:
    """Turns the sign of a row that is read; without a name, of the whole."""
    return _of(name, lambda ref, names: -ref) if name else lambda expr, names: negative(expr)


def whole(made: Callable[[Expr], Operand]) -> Change:
    """Makes something else of the whole."""
    return lambda expr, names: wrap(made(expr))


def times(name: str, factor: str) -> Change:
    """Multiplies a row that is read by a number, once more if that is the row itself."""
    return _of(name, lambda ref, names: ref * names(factor))


def becomes(name: str, made: Callable[[Names], Operand]) -> Change:
    """Puts something else, in the notation, where a row is read."""
    return _of(name, lambda ref, names: wrap(made(names)))


def instead(name: str, other: str) -> Change:
    """Reads another row of the same axes."""
    return _of(name, lambda ref, names: _reading(names[other], ref))


def _reading(block: Block, ref: Ref) -> Expr:
    return Ref(block, ref.at) if len(block.axes) == len(ref.at) else ref


def swapped(one: str, other: str) -> Change:
    """Exchanges two that are read."""

    def change(expr: Expr, names: Names) -> Expr:
        def each(node: Expr) -> Expr:
            if not isinstance(node, Ref):
                return node
            into = other if names.means(node, one) else one if names.means(node, other) else None
            return node if into is None else _reading(names[into], node)

        return everywhere(expr, each)

    return change


def zero(name: str) -> Change:
    """Takes 0 for a row that is read: the term in which it is a factor is gone."""
    return becomes(name, lambda names: constant(0))


def at(name: str, by: int) -> Change:
    """Reads a row `by` columns from the cell's own."""
    return _of(name, lambda ref, names: moved(ref, by))


def crossed(name: str, by: int) -> Change:
    """Reads a row in the cell's own column where it is to be read `by` columns from it, and the other way round."""
    return _of(name, lambda ref, names: moved(ref, 0 if moved(ref, by) is ref else by))


def applied(name: str, made: Callable[[Op], Operand]) -> Change:
    """Puts something else where an operation is done."""

    def each(node: Expr) -> Expr:
        return wrap(made(node)) if isinstance(node, Op) and node.name == name else node

    return lambda expr, names: everywhere(expr, each)


def operation(name: str, other: str) -> Change:
    """Does another operation with the same operands."""
    return applied(name, lambda node: Op(other, node.args))


def operand(name: str, place: int = 0) -> Change:
    """Leaves out an operation: of its operands only one is left."""
    return applied(name, lambda node: node.args[place])


def _is(number: int, expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.value == number


upside_down = applied("div", lambda node: Op("div", (node.args[1], node.args[0])))
"""Exchanges what is divided and what it is divided by."""
base_2 = applied("log", lambda node: node / log(constant(2)))
"""Takes every logarithm to base 2."""
minus_one = applied("sub", lambda node: node.args[0] if _is(1, node.args[1]) else node)
"""Leaves out every − 1."""
halves = applied("div", lambda node: node.args[0] if _is(2, node.args[1]) else node)
"""Leaves out every division by 2."""


def without(*names: str) -> Change:
    """Leaves out rows that are read: a factor, a term, or an operand that is such a row."""

    def change(expr: Expr, known: Names) -> Expr:
        def hit(node: Expr) -> bool:
            return any(known.means(node, name) for name in names)

        rest = left_out(expr, hit)
        return Constant(0) if rest is None else rest

    return change
