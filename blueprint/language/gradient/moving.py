"""Moving expressions to other letters: what stands at [n, t] seen from the cell that it reads."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.language.axes import Axis, Position
from blueprint.language.gradient.algebra import Product
from blueprint.language.nodes import Count, Expr, Find, Index, Lookup, Op, Reduce, Ref

Moves = Mapping[Axis, Axis]


def moved(expr: Expr, moves: Moves) -> Expr:
    """Returns an expression with its letters replaced. A Sum's own letter that comes to be taken gets a second name."""
    match expr:
        case Ref(block, at):
            return Ref(block, tuple(_index(index, moves) for index in at))
        case Op(name, args, labels):
            return Op(name, tuple(moved(arg, moves) for arg in args), labels)
        case Reduce(name, axes, body):
            taken = set(moves.values())
            fresh = {axis: axis.alias(f"{axis.letter}′") for axis in axes if axis in taken}
            inside = {axis: to for axis, to in moves.items() if axis not in axes} | fresh
            return Reduce(name, tuple(fresh.get(axis, axis) for axis in axes), moved(body, inside))
        case Find(name, axis, among, value):
            there = moved(among, moves)
            assert isinstance(there, Ref)
            return Find(name, axis, there, moved(value, moves))
        case Count("number", axis):
            return Count("number", moves.get(axis, axis))
    return expr


def moved_product(product: Product, moves: Moves) -> Product:
    """Returns a product with its letters replaced."""
    factors, divisors = (tuple(moved(each, moves) for each in part) for part in (product.factors, product.divisors))
    return Product(product.sign, factors, divisors)


def _index(index: Index, moves: Moves) -> Index:
    match index:
        case Position(axis, by):
            return Position(moves.get(axis, axis), by)
        case Lookup(axis, id):
            return Lookup(axis, moved(id, moves))
    return index
