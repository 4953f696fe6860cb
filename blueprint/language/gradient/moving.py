"""Moving expressions to other letters: what stands at [n, t] seen from the cell that it reads."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.language.axes import Axis, Position
from blueprint.language.gradient.algebra import Product
from blueprint.language.nodes import Count, Expr, Index, Reduce, Ref
from blueprint.language.trees import rebuilt

Moves = Mapping[Axis, Axis]


def moved(expr: Expr, moves: Moves) -> Expr:
    """Returns an expression with its letters replaced. A Sum's own letter that comes to be taken gets a second name."""
    match expr:
        case Reduce(name, axes, body):
            fresh = {axis: axis.alias(f"{axis.letter}′") for axis in axes if axis in set(moves.values())}
            inside = {axis: to for axis, to in moves.items() if axis not in axes} | fresh
            return Reduce(name, tuple(fresh.get(axis, axis) for axis in axes), moved(body, inside))
        case Count("number", axis):
            return Count("number", moves.get(axis, axis))
    found = rebuilt(expr, lambda inner: moved(inner, moves))
    return Ref(found.block, tuple(_index(index, moves) for index in found.at)) if isinstance(found, Ref) else found


def moved_product(product: Product, moves: Moves) -> Product:
    """Returns a product with its letters replaced."""
    factors, divisors = (tuple(moved(each, moves) for each in part) for part in (product.factors, product.divisors))
    return Product(product.sign, factors, divisors)


def _index(index: Index, moves: Moves) -> Index:
    return Position(moves.get(index.axis, index.axis), index.by) if isinstance(index, Position) else index
