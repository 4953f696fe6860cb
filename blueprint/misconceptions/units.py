"""The same number in another unit: a logarithm to another base, or none at all, a root or a square."""

from collections.abc import Callable, Iterator
from math import log

import numpy as np

from blueprint.language import Array, Block, Expr, Op, Reduce, Ref
from blueprint.misconceptions.relatives import Relatives

Unit = tuple[str, str, Callable[[Array], Array]]
"""Name and sentence of a mistake, and what it makes of the numbers."""
DEEPEST = 12
"""Rows of which each reads the next, in which a logarithm is looked for."""


def in_other_units(block: Block, kin: Relatives) -> Iterator[Unit]:
    """Yields what a row shows in another unit."""
    if is_logarithm(block, kin):
        yield "log-2", "The logarithm is to base 2, not the natural one.", lambda array: array / log(2)
        yield "log-10", "The logarithm is to base 10, not the natural one.", lambda array: array / log(10)
        yield "not-the-logarithm", "The logarithm is not taken.", np.exp
        yield "not-the-logarithm", "The logarithm is not taken.", lambda array: np.exp(-array)
        yield (
            "not-the-logarithm",
            "The logarithm is not taken, and this is 1 minus it.",
            lambda array: 1 - np.exp(array),
        )
        yield (
            "not-the-logarithm",
            "The logarithm is not taken, and this is 1 minus it.",
            lambda array: 1 - np.exp(-array),
        )
    elif any(_is_square(each.expr) for each in block.definitions):
        yield "root", "The root of it is taken.", np.sqrt


def is_logarithm(block: Block, kin: Relatives, deep: int = 0) -> bool:
    """Tells whether a row is counted in units of a logarithm: one, a difference, sum or mean of such, or a mean by probability."""
    definitions = [each.expr for each in block.definitions]
    return deep < DEEPEST and bool(definitions) and _is_logarithm(definitions[-1], kin, deep)


def _is_logarithm(expr: Expr, kin: Relatives, deep: int) -> bool:
    match expr:
        case Op("log"):
            return True
        case Op("add" | "sub" | "maximum" | "minimum", args):
            return any(_is_logarithm(each, kin, deep) for each in args) and not any(map(_raises, args))
        case Op("mul", (left, right)):
            return _is_logarithm(left, kin, deep) is not _is_logarithm(right, kin, deep)
        case Op("div", (left, right)):
            return _is_logarithm(left, kin, deep) and not _is_logarithm(right, kin, deep)
        case Op("neg" | "abs", (inner,)) | Reduce(_, _, inner):
            return _is_logarithm(inner, kin, deep)
        case Op("choose" | "where", (_, *args)):
            return any(_is_logarithm(each, kin, deep) for each in args)
        case Ref(block):
            return is_logarithm(block, kin, deep + 1)
    return False


def _raises(expr: Expr) -> bool:
    """Tells whether an exponential is added: what it is added to is no logarithm any more, as in k3."""
    return isinstance(expr, Op) and expr.name != "log" and (expr.name == "exp" or any(map(_raises, expr.args)))


def _is_square(expr: Expr) -> bool:
    match expr:
        case Op("mul", (Ref(one, at), Ref(other, there))):
            return one is other and at == there
        case Op("div", (inner, _)) | Op("neg", (inner,)) | Reduce(_, _, inner):
            return _is_square(inner)
    return False
