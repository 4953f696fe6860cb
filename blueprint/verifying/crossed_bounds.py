"""Equations that hold something between two bounds, in the other order: where the bounds cross, the other one holds."""

from blueprint.language import Expr, Op, rebuilt
from blueprint.misconceptions.rewriting import Change, Names

BOUNDS = {"maximum": "minimum", "minimum": "maximum"}


def then_crossed(made: Change) -> Change:
    """Makes a change of an equation after which, where bounds cross, the other one holds."""

    def change(expr: Expr, names: Names) -> Expr:
        return _everywhere(made(expr, names))

    return change


def _everywhere(expr: Expr) -> Expr:
    return crossed(rebuilt(expr, _everywhere))


def crossed(expr: Expr) -> Expr:
    """Returns max(a, min(b, x)) as min(b, max(a, x)), and the other way round; all else as it is."""
    if not isinstance(expr, Op) or expr.name not in BOUNDS:
        return expr
    bound, inner = expr.args
    if not isinstance(inner, Op) or inner.name != BOUNDS[expr.name]:
        return expr
    return Op(inner.name, (inner.args[0], Op(expr.name, (bound, inner.args[1]))))
