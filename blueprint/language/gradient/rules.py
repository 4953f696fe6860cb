"""The rules of differentiation: how an expression grows with one of the cells that it reads, operation by operation.

Where two numbers tie, one of them has the whole slope: of a moving and a still one the moving one (as torch.clamp, whose
slope is 1 at its ends), of two moving ones the first. torch.minimum and torch.maximum give half to each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from blueprint.language.axes import NotationError
from blueprint.language.functions import CONDITIONS
from blueprint.language.gradient.algebra import Term, choice, negative, over, plus, same, times
from blueprint.language.nodes import Expr, Op, Reduce, Ref, wrap

Atom = Ref | Reduce
"""What a slope is taken by: a cell that is read, or a whole sum of such cells."""
Moving = Callable[[Expr], bool]
"""Tells whether an expression hangs on what the total is differentiated by."""


def atoms(expr: Expr) -> Iterator[Atom]:
    """Yields the cells and sums through which a slope may pass: none in conditions, ids and the number of a choice."""
    match expr:
        case Ref() | Reduce():
            yield expr
        case Op(name, args):
            for arg in () if name in CONDITIONS else args[1:] if name in ("where", "choose") else args:
                yield from atoms(arg)


def slope(expr: Expr, by: Atom, moving: Moving, value: Expr | None = None) -> Term:
    """Returns how much an expression grows with one more of an atom.

    value: a cell that holds the expression's own number, where there is one: exp(a) grows by it.
    Raises NotationError for an operation without a rule.
    """
    if same(expr, by):
        return 1
    if isinstance(expr, Ref | Reduce) or not any(same(atom, by) for atom in atoms(expr)):
        return 0
    assert isinstance(expr, Op)
    return _of_operation(expr, expr if value is None else value, lambda inner: slope(inner, by, moving), moving)


def _of_operation(expr: Op, value: Expr, d: Callable[[Expr], Term], moving: Moving) -> Term:
    match expr.name, expr.args:
        case "neg", (a,):
            return negative(d(a))
        case "add", (a, b):
            return plus(d(a), d(b))
        case "sub", (a, b):
            return plus(d(a), negative(d(b)))
        case "mul", (a, b):
            return plus(times(d(a), b), times(d(b), a))
        case "div", (a, b):
            return plus(over(d(a), b), negative(over(times(d(b), value), b)))
        case "exp", (a,):
            return times(d(a), value)
        case "log", (a,):
            return over(d(a), a)
        case "tanh", (a,):
            return times(d(a), 1 - value * value)
        case "sqrt", (a,):
            return over(d(a), 2 * value)
        case "abs", (a,):
            return times(d(a), Op("less", (wrap(0), a)) - Op("less", (a, wrap(0))))
        case "maximum" | "minimum", (a, b):
            return plus(times(d(a), _taken(expr, 0, moving)), times(d(b), _taken(expr, 1, moving)))
        case "where" | "choose", (_, *branches):
            return choice(expr, [d(branch) for branch in branches])
    raise NotationError(f"no derivative is known of {expr}: declare one, or hold what it reads constant")


def _taken(expr: Op, place: int, moving: Moving) -> Expr:
    """Returns the condition on which the larger (or smaller) of two is the one at this place."""
    mine, other = expr.args[place], expr.args[1 - place]
    loses_ties = place == 1 and moving(other)
    mine = _inside(mine, moving)
    pair = (mine, other) if expr.name == "minimum" else (other, mine)
    return Op("less" if loses_ties else "at_most", pair)


def _inside(expr: Expr, moving: Moving) -> Expr:
    """Returns what moves inside of a limit: where x is let through by min(high, x), max(low, min(high, x)) asks for low ≤ x."""
    if isinstance(expr, Op) and expr.name in ("maximum", "minimum"):
        movers = [arg for arg in expr.args if moving(arg)]
        if len(movers) == 1:
            return _inside(movers[0], moving)
    return expr
