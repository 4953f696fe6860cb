"""Products and sums of slopes, written as a person would: no factor 1, no term 0, signs in front; and moved to other letters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard

from blueprint.language.axes import Axis, Position
from blueprint.language.blocks import Block
from blueprint.language.functions import CONDITIONS
from blueprint.language.nodes import Constant, Count, Expr, Find, Index, Lookup, Op, Reduce, Ref, wrap
from blueprint.language.trees import rebuilt, walk

ENDING = frozenset({"exp", "log", "sqrt", "div"})
"""Operations that have no number of some numbers."""
Term = Expr | int
"""An expression, or Python's own −1, 0 or 1, which never comes to stand in an equation as a factor."""


def same(a: Expr, b: Expr) -> bool:
    """Tells whether two expressions say the same: the same operations on the same cells."""
    match a, b:
        case Constant(), Constant():
            return a.value == b.value
        case Ref(), Ref():
            return a.block is b.block and all(map(_same_index, a.at, b.at))
        case Op(), Op():
            return a.name == b.name and len(a.args) == len(b.args) and all(map(same, a.args, b.args))
        case Reduce(), Reduce():
            return a.name == b.name and a.axes == b.axes and same(a.body, b.body)
        case Find(), Find():
            return (a.name, a.axis) == (b.name, b.axis) and same(a.among, b.among) and same(a.value, b.value)
        case Count(), Count():
            return (a.what, a.axis) == (b.what, b.axis)
    return a is b


def _same_index(a: object, b: object) -> bool:
    if isinstance(a, Lookup) and isinstance(b, Lookup):
        return same(a.id, b.id)
    return type(a) is type(b) and a == b


def negative(a: Term) -> Term:
    """Returns −a."""
    if isinstance(a, int):
        return -a
    return a.args[0] if _negated(a) else Op("neg", (a,))


def times(a: Term, b: Term) -> Term:
    """Returns a·b, with the sign in front."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, int):
            return 0 if one == 0 else other if one == 1 else negative(other)
        if _negated(one):
            return negative(times(*(each if each is not one else one.args[0] for each in (a, b))))
    return Op("mul", (expression(a), expression(b)))


def plus(a: Term, b: Term) -> Term:
    """Returns a + b; a − b where b is negative, and 2·a for a + a."""
    if isinstance(a, int) and isinstance(b, int) and abs(a + b) <= 1:
        return a + b
    if _is_zero(a) or _is_zero(b):
        return b if _is_zero(a) else a
    positive, taken = expression(a), expression(negative(b))
    if (isinstance(b, int) and b < 0) or (not isinstance(b, int) and _negated(b)):
        return Op("sub", (positive, taken))
    return times(wrap(2), positive) if same(positive, expression(b)) else Op("add", (positive, expression(b)))


def over(a: Term, b: Expr) -> Term:
    """Returns a / b, with the sign in front."""
    if _is_zero(a):
        return 0
    top = expression(a)
    if _negated(top):
        return negative(over(top.args[0], b))
    match top, b:
        case Op("mul", (Constant(2), x)), Constant(2):
            return x
        case Constant(x), Constant(y) if x == y:
            return 1
    return Op("div", (top, b))


def choice(made_as: Op, branches: list[Term]) -> Term:
    """Returns the choice of `made_as` among other branches; the condition itself where they are 1 and 0."""
    if all(isinstance(each, int) and each == branches[0] for each in branches):
        return branches[0]
    if made_as.name == "where" and isinstance(branches[0], int) and isinstance(branches[1], int):
        test = made_as.args[0]
        return (
            times(branches[0], test) if branches[1] == 0 else plus(branches[1], times(branches[0] - branches[1], test))
        )
    if all(_is_zero(each) or _is_negative(each) for each in branches):
        return negative(choice(made_as, [negative(each) for each in branches]))
    return Op(made_as.name, (made_as.args[0], *map(expression, branches)), made_as.labels)


def _is_zero(a: Term) -> bool:
    return isinstance(a, int) and a == 0


def _is_negative(a: Term) -> bool:
    return a < 0 if isinstance(a, int) else _negated(a)


def _negated(a: Expr) -> TypeGuard[Op]:
    return isinstance(a, Op) and a.name == "neg"


def expression(a: Term) -> Expr:
    """Returns a term as it stands in an equation."""
    return Op("neg", (wrap(1),)) if isinstance(a, int) and a < 0 else wrap(a)


@dataclass(frozen=True)
class Product:
    """± factors / divisors, kept apart, so that those within a sum can be told from those before it."""

    sign: int = 1
    factors: tuple[Expr, ...] = ()
    divisors: tuple[Expr, ...] = ()

    @classmethod
    def of(cls, term: Term) -> Product:
        """Takes an expression apart at its multiplications, divisions and signs."""
        match term:
            case int():
                return cls(term)
            case Op("neg", (a,)):
                inner = cls.of(a)
                return cls(-inner.sign, inner.factors, inner.divisors)
            case Op("mul", (a, b)):
                return cls.of(a) * cls.of(b)
            case Op("div", (a, b)):
                return cls.of(a) * cls(1, (), (b,))
            case Constant(1):
                return cls()
        return cls(1, (term,))

    def __mul__(self, other: Product) -> Product:
        return Product(self.sign * other.sign, self.factors + other.factors, self.divisors + other.divisors)

    @property
    def term(self) -> Term:
        """The product as an expression."""
        made: Term = 1
        for factor in self.factors:
            made = times(made, factor)
        for divisor in self.divisors:
            made = over(made, divisor)
        return times(self.sign, made)

    @property
    def bare(self) -> Ref | None:
        """The one reference of which it consists, whatever its sign."""
        only = self.factors[0] if len(self.factors) == 1 and not self.divisors else None
        return only if isinstance(only, Ref) else None


def may_end(product: Product) -> bool:
    """Tells whether a product may have no number where all that it reads has one, and is not itself a choice already.

    So it is with a row that is picked among alternatives, one of which may have none: k3 of a large log-ratio.
    """
    nodes = [node for each in (*product.factors, *product.divisors) for node in walk(each)]
    counts = any(isinstance(node, Reduce) for each in product.divisors for node in walk(each))
    named = {node.name for node in nodes if isinstance(node, Op)}
    picked = any(_picks_what_may_end(node.block) for node in nodes if isinstance(node, Ref))
    return (counts or picked or bool(named & ENDING)) and not named & {*CONDITIONS, "where"}


def _picks_what_may_end(block: Block) -> bool:
    """Tells whether a block is picked among alternatives of which one takes e to a power, a logarithm, a root or a quotient."""
    alternatives = (
        branch.block
        for each in block.definitions
        if isinstance(each.expr, Op) and each.expr.name == "choose"
        for branch in each.expr.args[1:]
        if isinstance(branch, Ref)
    )
    return any(
        isinstance(node, Op) and node.name in ENDING
        for block in alternatives
        for each in block.definitions
        for node in walk(each.expr)
    )


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
