"""What a reader adds to the adjoint of what it reads: its own adjoint times the slope, summed over letters of its own."""

from __future__ import annotations

from blueprint.language.axes import Axis, Position
from blueprint.language.functions import Sum, size
from blueprint.language.gradient.algebra import Product, Term, times
from blueprint.language.gradient.graph import Use
from blueprint.language.gradient.moving import Moves, moved
from blueprint.language.gradient.rows import Rows
from blueprint.language.nodes import Expr, Lookup, Ref
from blueprint.language.trees import free_axes

Ids = list[tuple[Axis, Expr]]


def share(product: Product, use: Use, moves: Moves, ids: Ids, rows: Rows) -> Product:
    """Returns the share of a reader over the letters of what it reads.

    product: adjoint times slope, in the reader's letters. moves: which of the reader's letters become which.
    ids: the axes along which the reader looks up, with the numbers that it looks up.
    """
    own = [index.axis for index in use.definition.target]
    summed = [axis for axis in dict.fromkeys((*own, *use.bound)) if axis not in moves]
    inner, outer = _split(product, set(summed))
    if summed and not (
        _plain(*inner.factors) and not inner.divisors and len(inner.factors) + len(use.inside) + len(ids) <= 2
    ):
        axes = tuple(axis for axis in dict.fromkeys((*rows.total.axes, *own)) if axis in _letters(inner))
        inner = Product(1, (rows.step(use, inner, axes, "in"),)) if len(inner.factors) + len(inner.divisors) else inner
    renamed = {**moves, **_fresh(summed, moves, ids)}
    over = [renamed.get(axis, axis) for axis in summed]
    hot = [rows.one_hot(axis, moved(id, renamed), use.ref.block) for axis, id in ids]
    inside = [moved(each, renamed) for each in (*inner.factors, *use.inside)] + hot
    outside = Product(
        outer.sign, tuple(moved(f, renamed) for f in outer.factors), tuple(moved(d, renamed) for d in outer.divisors)
    )
    return (
        outside * _total(inside, over, use, rows)
        if over
        else outside * Product(1, tuple(inside), _moved(inner, renamed))
    )


def _moved(inner: Product, moves: Moves) -> tuple[Expr, ...]:
    return tuple(moved(each, moves) for each in inner.divisors)


def _split(product: Product, summed: set[Axis]) -> tuple[Product, Product]:
    """Returns the factors with a letter that is summed, and the others with the sign."""

    def part(within: bool) -> Product:
        chosen = [
            tuple(e for e in each if bool(free_axes(e) & summed) is within)
            for each in (product.factors, product.divisors)
        ]
        return Product(1 if within else product.sign, *chosen)

    return part(True), part(False)


def _plain(*factors: Expr) -> bool:
    """Tells whether factors are cells that a sum can go through."""
    return all(isinstance(f, Ref) and not any(isinstance(index, Lookup) for index in f.at) for f in factors)


def _letters(product: Product) -> set[Axis]:
    return set().union(*map(free_axes, (*product.factors, *product.divisors)))


def _fresh(summed: list[Axis], moves: Moves, ids: Ids) -> dict[Axis, Axis]:
    """Returns another letter for each that is summed and stands in the result as well."""
    taken = {*moves.values(), *(axis for axis, _ in ids)}
    fresh: dict[Axis, Axis] = {}
    for axis in summed:
        if axis in taken:
            free = (each for each in moves if each not in taken and each.extent is axis.extent)
            fresh[axis] = next(free, None) or axis.alias(f"{axis.letter}′")
    return fresh


def _total(factors: list[Expr], over: list[Axis], use: Use, rows: Rows) -> Product:
    """Sums a product, of which those factors that stay the same are taken out of the sum."""
    letters = set(over)
    inside = [each for each in factors if free_axes(each) & letters]
    outside = tuple(each for each in factors if not free_axes(each) & letters)
    if len(inside) > 2 or not _plain(*inside):
        axes = tuple(dict.fromkeys(axis for each in inside for axis in _in_order(each)))
        inside = [rows.step(use, Product(1, tuple(inside)), axes, "in")]
    present = tuple(axis for axis in over if any(axis in free_axes(each) for each in inside))
    times_alike = tuple(size(axis) for axis in over if axis not in present)
    if not present:
        return Product(1, (*outside, *times_alike))
    body: Term = 1
    for each in inside:
        body = times(body, _upright(each, inside, present, rows))
    assert not isinstance(body, int)
    return Product(1, (*outside, *times_alike, Sum(present, body)))


def _in_order(expr: Expr) -> list[Axis]:
    if isinstance(expr, Ref):
        return [index.axis for index in expr.at if isinstance(index, Position)]
    return sorted(free_axes(expr), key=lambda axis: axis.letter)


def _upright(expr: Expr, both: list[Expr], over: tuple[Axis, ...], rows: Rows) -> Expr:
    """Returns a table so that the letter that is summed comes first, as in what it is multiplied by.

    A page lays the first letter of a table downwards and the second to the right; a spreadsheet multiplies two columns
    cell by cell, but no column with a row.
    """
    if not (
        isinstance(expr, Ref) and len(expr.at) == len(both) == 2 and expr.at[1] == Position(over[0]) and len(over) == 1
    ):
        return expr
    other = both[0] if both[1] is expr else both[1]
    if expr.block in rows.home or free_axes(expr) <= free_axes(other):
        return expr
    assert isinstance(other, Ref)
    return Ref(rows.transposed(expr.block, other.block), expr.at[::-1])
