"""The mathematics with the numbers put in, the line that one checks by hand: `0.15 + 0.9·4 − 3.5 = 0.25`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from blueprint.language.blocks import Block
from blueprint.language.cells import Members, filled_by, places_of
from blueprint.language.errors import NotationError
from blueprint.language.nodes import Changes, Constant, Count, Expr, Find, Op, Reduce, Ref
from blueprint.language.spelling.rules import ANYTHING, ATOM, PRODUCT, SUM, Spelled, Table, bracketed, spell
from blueprint.language.spelling.text import TEXT
from blueprint.language.trees import OFF_WORD
from blueprint.language.values import Values

LONGEST_SUM = 12
LARGEST_PLAIN = 1e9


class Writing(NamedTuple):
    """How numbers, words and sums are written; as plain text unless it says otherwise."""

    table: Table = TEXT
    brackets: str = "({})"
    minus: str = "−"
    times: str = "·"
    word: str = "“{}”"
    blank: str = "blank"
    largest: str = "max({})"
    search: str = "place of {} in ({})"
    rest: str = "…"
    letters: Callable[[str], str] = str


PLAIN = Writing()


def explained(block: Block, places: tuple[int, ...], values: Values, writing: Writing = PLAIN) -> str:
    """Prints a cell as its equation with the numbers put in, and the result; a typed cell is its number."""
    result = number(values.cell(block, *places), writing).text
    filled = filled_by(block, places, values)
    return f"{_render(filled.definition.expr, filled.members, values, writing).text} = {result}" if filled else result


def with_numbers(expr: Expr, members: Members, values: Values) -> str:
    """Prints an expression with every quantity replaced by its number for the members at hand.

    A sum is written out; terms with a factor 0 are left out, and beyond twelve terms the middle is an ellipsis.
    """
    return _render(expr, members, values, PLAIN).text


def printed(value: float | str) -> str:
    """Prints a number to four decimals without empty zeros, a word in quotes."""
    return number(value).text


def number(value: float | str, writing: Writing = PLAIN) -> Spelled:
    """Prints a number to four decimals without empty zeros; a negative one goes into brackets beside an operator."""
    if isinstance(value, str):
        return Spelled(writing.word.format(writing.letters(value)))
    if value != value:
        return Spelled(writing.blank)
    text = f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < LARGEST_PLAIN else f"{value:.6g}"
    if text in ("0", "-0") and value:
        text = f"{value:.2g}"
    text = "0" if text == "-0" else text
    return Spelled(text.replace("-", writing.minus), ANYTHING if text.startswith("-") else ATOM)


def _render(expr: Expr, members: Members, values: Values, writing: Writing) -> Spelled:
    def render(inner: Expr) -> Spelled:
        return _render(inner, members, values, writing)

    match expr:
        case Op("choose", (Ref() as which, *rows)):
            chosen = values.cell(which.block, *places_of(which, members, values))
            return render(rows[int(chosen)]) if chosen in range(len(rows)) else Spelled(writing.blank)
        case Op("where", (Op("is_off", (Ref() as limit,)), then, otherwise)):
            return render(
                then if values.cell(limit.block, *places_of(limit, members, values)) == OFF_WORD else otherwise
            )
        case Op():
            return spell(expr, writing.table, render, writing.brackets)
        case Constant(value):
            return number(value, writing)
        case Ref():
            return number(values.cell(expr.block, *places_of(expr, members, values)), writing)
        case Reduce():
            return _sum(expr, members, values, writing)
        case Find(_, axis, among, value):
            cells = [_render(among, {**members, axis: i}, values, writing).text for i in range(values.size(axis))]
            return Spelled(writing.search.format(render(value).text, ", ".join(cells)), ANYTHING)
        case Count("number", axis):
            return number(members[axis] + axis.start, writing)
        case Changes():
            return number(0.0)
        case Count("size", axis):
            return number(values.size(axis), writing)
    raise NotationError(f"the numbers have no spelling for {expr!r}")


def _sum(expr: Reduce, members: Members, values: Values, writing: Writing) -> Spelled:
    factors = expr.body.args if isinstance(expr.body, Op) else (expr.body,)
    terms = []
    for chosen in product(*(range(values.size(axis)) for axis in expr.axes)):
        here = {**members, **dict(zip(expr.axes, chosen, strict=True))}
        parts = [_render(factor, here, values, writing) for factor in factors]
        if expr.name == "max" or all(part.text != "0" for part in parts):
            need = PRODUCT if expr.name == "sum" else ANYTHING
            terms.append(writing.times.join(bracketed(part, need, writing.brackets) for part in parts))
    if len(terms) > LONGEST_SUM:
        terms = [*terms[: LONGEST_SUM - 2], writing.rest, terms[-1]]
    if expr.name == "max":
        return Spelled(writing.largest.format(", ".join(terms)))
    return Spelled(" + ".join(terms) or "0", SUM)
