"""The mathematics with the numbers put in, the line that one checks by hand: `0.15 + 0.9·4 − 3.5 = 0.25`."""

from blueprint.language import blocks, cells, trees
from blueprint.language.nodes import Expr, Find, Op, Reduce, Ref
from blueprint.language.spelling.text import ANYTHING, ATOM, PLAIN, PRODUCT, SUM, Spelled, Style, bracketed, spell
from blueprint.language.values import Ended, Values

LONGEST_SUM = 12
LARGEST_PLAIN = 1e9


def explained(block: blocks.Block, places: tuple[int, ...], values: Values, style: Style = PLAIN) -> str:
    """Prints a cell as its equation with the numbers put in, and the result; a typed cell is its number."""
    result = number(values.cell(block, *places), style).text
    filled = cells.filled_by(block, places, values)
    return f"{_render(filled.definition.expr, filled.members, values, style).text} = {result}" if filled else result


def with_numbers(expr: Expr, members: cells.Members, values: Values) -> str:
    """Prints an expression with every quantity replaced by its number for the members at hand.

    A sum is written out; terms with a factor 0 are left out, and beyond twelve terms the middle is an ellipsis.
    """
    return _render(expr, members, values, PLAIN).text


def printed(value: float | str) -> str:
    """Prints a number to four decimals without empty zeros, a word in quotes."""
    return number(value).text


def number(value: float | str, style: Style = PLAIN) -> Spelled:
    """Prints a number to four decimals without empty zeros; a negative one goes into brackets beside an operator."""
    if isinstance(value, str):
        return Spelled(style.word.format(style.letters(value)))
    if isinstance(value, Ended):
        return Spelled(style.letters(value.error))
    if value != value:
        return Spelled(style.blank)
    text = f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < LARGEST_PLAIN else f"{value:.6g}"
    if text in ("0", "-0"):
        text = f"{value:.2g}" if value else "0"
    return Spelled(text.replace("-", style.minus), ANYTHING if text.startswith("-") else ATOM)


def _render(expr: Expr, members: cells.Members, values: Values, style: Style) -> Spelled:
    def render(inner: Expr) -> Spelled:
        return _render(inner, members, values, style)

    match expr:
        case Op("choose") | Op("where", (Op("is_off"), _, _)):
            alternative = cells.alternative_of(expr, members, values)
            return Spelled(style.blank) if alternative is None else render(alternative)
        case Op():
            return spell(expr, style.table, render, style.brackets)
        case Ref():
            return number(values.cell(expr.block, *cells.places_of(expr, members, values)), style)
        case Reduce():
            return _sum(expr, members, values, style)
        case Find(_, _, among, value):
            listed = (
                _render(among, here, values, style).text
                for here in cells.along(trees.bound_axes(expr), members, values)
            )
            return Spelled(style.place.format(render(value).text, ", ".join(listed)), ANYTHING)
    return number(cells.value_of(expr, members, values), style)


def _sum(expr: Reduce, members: cells.Members, values: Values, style: Style) -> Spelled:
    factors = expr.body.args if isinstance(expr.body, Op) else (expr.body,)
    need = PRODUCT if expr.name == "sum" else ANYTHING
    terms = []
    for here in cells.along(expr.axes, members, values):
        parts = [_render(factor, here, values, style) for factor in factors]
        if expr.name == "max" or all(part.text != "0" for part in parts):
            terms.append(style.times.join(bracketed(part, need, style.brackets) for part in parts))
    if len(terms) > LONGEST_SUM:
        terms = [*terms[: LONGEST_SUM - 2], style.rest, terms[-1]]
    largest = Spelled(style.largest.format(", ".join(terms)))
    return largest if expr.name == "max" else Spelled(" + ".join(terms) or "0", SUM)
