"""The mathematics with the numbers put in, the line that one checks by hand: `0.15 + 0.9·4 − 3.5 = 0.25`.

Each line has as many decimals as it takes: with the numbers that it prints a pocket calculator comes to the result that it
prints. Where no number of decimals is enough, as for all that is left of two large numbers, it says ≈.
"""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from math import isfinite, prod

import numpy as np

from blueprint.language import blocks, cells, trees, vectorise
from blueprint.language.nodes import Constant, Expr, Find, Op, Reduce, Ref
from blueprint.language.spelling.text import ANYTHING, ATOM, PLAIN, PRODUCT, SUM, Spelled, Style, bracketed, spell
from blueprint.language.values import Ended, Values

LONGEST_SUM = 12
LARGEST_PLAIN = 1e9
SHOWN, MOST = 4, 12
"""Decimals of a result, and those that the numbers of a line have at most; a pocket calculator has twelve digits."""


def explained(block: blocks.Block, places: tuple[int, ...], values: Values, style: Style = PLAIN) -> str:
    """Prints a cell as its equation with the numbers put in, and the result; a typed cell is its number."""
    value = values.cell(block, *places)
    filled = cells.filled_by(block, places, values)
    result = number(value, style).text
    if filled is None:
        return result
    line = filled.definition.expr, filled.members, values
    decimals = SHOWN if _unchecked(value, *line) else _enough(value, *line)
    sign = style.roughly if decimals is None else style.equals
    return f"{_render(*line, style, decimals or (SHOWN if value == 0 or is_tiny(value) else MOST)).text}{sign}{result}"


def _unchecked(value: float | str, expr: Expr, members: cells.Members, values: Values) -> bool:
    """Tells whether a line is nothing to calculate: it is a word or no number, or its sum is too long to be printed."""
    if isinstance(value, str) or not isfinite(value):
        return True
    sums = (node for node in trees.walk(expr) if isinstance(node, Reduce))
    return any(len([*_terms(node, members, values)]) > LONGEST_SUM for node in sums)


def is_tiny(value: float | str) -> bool:
    """Tells whether a number is no 0, but one on a calculator: it is what rounding has left."""
    return not isinstance(value, str) and 0 < abs(value) < 10.0**-MOST


def _enough(value: float | str, expr: Expr, members: cells.Members, values: Values) -> int | None:
    """Returns the fewest decimals with which the numbers of a line lead to its result, if any do."""
    due = number(value).text
    for decimals in range(SHOWN, MOST + 1):
        with np.errstate(all="ignore"):
            found = _calculated(expr, members, values, decimals)
        if not isinstance(found, str) and number(0.0 if is_tiny(found) else float(f"{found:.{MOST}g}")).text == due:
            return decimals
    return None


def _calculated(expr: Expr, members: cells.Members, values: Values, decimals: int) -> float | str:
    """Calculates an expression with its numbers as they are printed with so many decimals."""

    def calculated(inner: Expr) -> float | str:
        return _calculated(inner, members, values, decimals)

    match expr:
        case Op("choose") | Op("where", (Op("is_off"), _, _)):
            alternative = cells.alternative_of(expr, members, values)
            return float("nan") if alternative is None else calculated(alternative)
        case Op(_, args):
            numbers = [calculated(arg) for arg in args]
            words = any(isinstance(each, str) for each in numbers)
            return _held(expr, members, values) if words else float(vectorise.calculation(expr)(*numbers))
        case Ref():
            return _typed(values.cell(expr.block, *cells.places_of(expr, members, values)), decimals)
        case Reduce("sum"):
            terms = _terms(expr, members, values)
            return float(
                sum(prod(float(_calculated(each, here, values, decimals)) for each in of) for of, here in terms)
            )
        case Reduce():
            terms = _terms(expr, members, values)
            return max(float(_calculated(each, here, values, decimals)) for of, here in terms for each in of)
        case Constant(value):
            return value
    return _typed(_held(expr, members, values), decimals)


def _typed(value: float | str, decimals: int) -> float | str:
    """Returns the number that a reader types into a calculator."""
    return value if isinstance(value, str) or not isfinite(value) else float(_decimals(value, decimals))


def _terms(expr: Reduce, members: cells.Members, values: Values) -> Iterator[tuple[tuple[Expr, ...], cells.Members]]:
    """Yields the factors of each term of a sum or a maximum, and the members at hand; a sum goes without terms that are 0."""
    factors = expr.body.args if isinstance(expr.body, Op) else (expr.body,)
    for here in cells.along(expr.axes, members, values):
        if expr.name == "max" or all(_held(each, here, values) != 0 for each in factors):
            yield factors, here


def _held(expr: Expr, members: cells.Members, values: Values) -> float | str:
    """Returns the number of a factor, which is mostly that of a cell."""
    if isinstance(expr, Ref):
        return values.cell(expr.block, *cells.places_of(expr, members, values))
    found: float | str = cells.value_of(expr, members, values)
    return found


def with_numbers(expr: Expr, members: cells.Members, values: Values) -> str:
    """Prints an expression with every quantity replaced by its number for the members at hand.

    A sum is written out; terms with a factor 0 are left out, and beyond twelve terms the middle is an ellipsis.
    """
    return _render(expr, members, values, PLAIN, SHOWN).text


def printed(value: float | str) -> str:
    """Prints a number to four decimals without empty zeros, a word in quotes."""
    return number(value).text


def number(value: float | str, style: Style = PLAIN, decimals: int = SHOWN) -> Spelled:
    """Prints a number without empty zeros; a negative one goes into brackets beside an operator."""
    if isinstance(value, str):
        return Spelled(style.word.format(style.letters(value)))
    if isinstance(value, Ended):
        return Spelled(style.letters(value.error))
    if value != value:
        return Spelled(style.blank)
    text = _decimals(value, decimals)
    sign, size = (style.minus, text[1:]) if text.startswith("-") else ("", text)
    size = size.replace("-", style.minus if len(style.minus) == 1 else "−")  # of a power of ten
    return Spelled(
        sign + style.digits.format(size),
        ANYTHING if sign else ATOM,
    )


def _decimals(value: float, decimals: int) -> str:
    """Writes a number with so many decimals; very small and very large ones with two digits less or more, and a power of ten."""
    if abs(value) >= LARGEST_PLAIN:
        return f"{value:.{decimals + 2}g}"
    rounded = Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)  # as a sheet rounds
    text = f"{rounded:f}".rstrip("0").rstrip(".")
    return text if text not in ("0", "-0") else f"{value:.{decimals - 2}g}" if value else "0"


def _render(expr: Expr, members: cells.Members, values: Values, style: Style, decimals: int) -> Spelled:
    def render(inner: Expr) -> Spelled:
        return _render(inner, members, values, style, decimals)

    match expr:
        case Op("choose") | Op("where", (Op("is_off"), _, _)):
            alternative = cells.alternative_of(expr, members, values)
            return Spelled(style.blank) if alternative is None else render(alternative)
        case Op():
            return spell(expr, style.table, render, style.brackets)
        case Ref():
            return number(values.cell(expr.block, *cells.places_of(expr, members, values)), style, decimals)
        case Reduce():
            return _sum(expr, members, values, style, decimals)
        case Find(_, _, among, value):
            listed = (
                _render(among, here, values, style, decimals).text
                for here in cells.along(trees.bound_axes(expr), members, values)
            )
            return Spelled(style.place.format(render(value).text, style.comma.join(listed)), ANYTHING)
    return number(cells.value_of(expr, members, values), style, decimals)


def _sum(expr: Reduce, members: cells.Members, values: Values, style: Style, decimals: int) -> Spelled:
    need = PRODUCT if expr.name == "sum" else ANYTHING
    terms = []
    for factors, here in _terms(expr, members, values):
        parts = [_render(factor, here, values, style, decimals) for factor in factors]
        terms.append(style.times.join(bracketed(part, need, style.brackets) for part in parts))
    if len(terms) > LONGEST_SUM:
        terms = [*terms[: LONGEST_SUM - 2], style.rest, terms[-1]]
    largest = Spelled(style.largest.format(style.comma.join(terms)))
    return largest if expr.name == "max" else Spelled(style.plus.join(terms) or style.digits.format("0"), SUM)
