"""The equation with its numbers: pieces of print, and the numbers between them."""

from __future__ import annotations

import re
from typing import NamedTuple

from blueprint.language.nodes import Constant, Expr, Op, Reduce, Ref
from blueprint.language.spelling.rules import ANYTHING, ATOM, Rule, Spelled, spell
from blueprint.language.spelling.text import TEXT
from blueprint.page.byhand import WITHIN
from blueprint.page.steps import origin

PRINT: dict[str, Rule] = {**TEXT, WITHIN: Rule("{1} ≤ {2} < {3}", ANYTHING, (ANYTHING,) * 4)}
# Marks around a number, and around what needs brackets where it is no single positive number.
MARK, END, OPEN, CLOSE = "\1", "\2", "\3", "\4"
_NUMBER = re.compile(f"{OPEN}{MARK}(\\d+){END}{CLOSE}|{MARK}(\\d+){END}")


class Number(NamedTuple):
    """A number within a told equation: a cell, a sum, a choice of cells, or what holds for a limit that is off or on.

    factor: bracketed if it is negative.
    """

    shown: Expr
    factor: bool


def pieces(expr: Expr) -> list[str | Number]:
    """Takes an equation's right side apart into print and numbers, in the order of print."""
    numbers: list[Expr] = []

    def number(inner: Expr) -> Spelled:
        numbers.append(inner)
        return Spelled(f"{MARK}{len(numbers) - 1}{END}", ANYTHING)

    def render(inner: Expr) -> Spelled:
        match inner:
            case Ref():
                return number(origin(inner))
            case Reduce() | Op("choose") | Op("where", (Op("is_off"), *_)):
                return number(inner)
            case Op():
                return spell(inner, PRINT, render, OPEN + "{}" + CLOSE)
            case Constant(value):
                return Spelled(f"“{value}”" if isinstance(value, str) else str(value), ATOM)
        raise AssertionError(f"{inner} has no number of its own")

    return _split(render(expr).text, numbers)


def _split(marked: str, numbers: list[Expr]) -> list[str | Number]:
    """Cuts a marked text at its numbers; the marks that are left are brackets."""
    found: list[str | Number] = []
    end = 0
    for match in _NUMBER.finditer(marked):
        found += [marked[end : match.start()], Number(numbers[int(match[1] or match[2])], match[1] is not None)]
        end = match.end()
    found.append(marked[end:])
    brackets = str.maketrans({OPEN: "(", CLOSE: ")"})
    cut = (piece.translate(brackets) if isinstance(piece, str) else piece for piece in found)
    return [piece for piece in cut if piece != ""]
