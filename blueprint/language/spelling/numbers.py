"""The mathematics with the numbers put in, the line that one checks by hand: `0.15 + 0.9·4 − 3.5 = 0.25`."""

from __future__ import annotations

from itertools import product

from blueprint.language.blocks import Block
from blueprint.language.cells import Members, filled_by, places_of
from blueprint.language.errors import NotationError
from blueprint.language.nodes import Constant, Count, Expr, Find, Op, Reduce, Ref
from blueprint.language.spelling.rules import ANYTHING, ATOM, PRODUCT, SUM, Spelled, bracketed, spell
from blueprint.language.spelling.text import TEXT
from blueprint.language.values import Values

LONGEST_SUM = 12
LARGEST_PLAIN = 1e9


def explained(block: Block, places: tuple[int, ...], values: Values) -> str:
    """Prints a cell as its equation with the numbers put in, and the result; a typed cell is its number."""
    result = number(values.cell(block, *places)).text
    filled = filled_by(block, places, values)
    return f"{with_numbers(filled.definition.expr, filled.members, values)} = {result}" if filled else result


def with_numbers(expr: Expr, members: Members, values: Values) -> str:
    """Prints an expression with every quantity replaced by its number for the members at hand.

    A sum is written out; terms with a factor 0 are left out, and beyond twelve terms the middle is an ellipsis.
    """
    return _render(expr, members, values).text


def number(value: float | str) -> Spelled:
    """Prints a number to four decimals without empty zeros; a negative one goes into brackets beside an operator."""
    if isinstance(value, str):
        return Spelled(f"“{value}”")
    if value != value:
        return Spelled("blank")
    text = f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < LARGEST_PLAIN else f"{value:.6g}"
    if text in ("0", "-0") and value:
        text = f"{value:.2g}"
    text = "0" if text == "-0" else text
    return Spelled(text.replace("-", "−"), ANYTHING if text.startswith("-") else ATOM)


def _render(expr: Expr, members: Members, values: Values) -> Spelled:
    def render(inner: Expr) -> Spelled:
        return _render(inner, members, values)

    match expr:
        case Op("choose", (Ref() as which, *rows)):
            return render(rows[int(values.cell(which.block, *places_of(which, members, values)))])
        case Op():
            return spell(expr, TEXT, render)
        case Constant(value):
            return number(value)
        case Ref():
            return number(values.cell(expr.block, *places_of(expr, members, values)))
        case Reduce():
            return _sum(expr, members, values)
        case Find(_, axis, among, value):
            cells = [_render(among, {**members, axis: i}, values).text for i in range(values.size(axis))]
            return Spelled(f"place of {render(value).text} in ({', '.join(cells)})", ANYTHING)
        case Count("number", axis):
            return number(members[axis] + axis.start)
        case Count("size", axis):
            return number(values.size(axis))
    raise NotationError(f"the numbers have no spelling for {expr!r}")


def _sum(expr: Reduce, members: Members, values: Values) -> Spelled:
    factors = expr.body.args if isinstance(expr.body, Op) else (expr.body,)
    terms = []
    for chosen in product(*(range(values.size(axis)) for axis in expr.axes)):
        here = {**members, **dict(zip(expr.axes, chosen, strict=True))}
        parts = [_render(factor, here, values) for factor in factors]
        if expr.name == "max" or all(part.text != "0" for part in parts):
            need = PRODUCT if expr.name == "sum" else ANYTHING
            terms.append("·".join(bracketed(part, need) for part in parts))
    if len(terms) > LONGEST_SUM:
        terms = [*terms[: LONGEST_SUM - 2], "…", terms[-1]]
    return Spelled(f"max({', '.join(terms)})") if expr.name == "max" else Spelled(" + ".join(terms) or "0", SUM)
