"""The equation with its numbers, as a live text: pieces of print, and cells that hold numbers as text.

Numbers are rounded by ROUND and joined by &, which every program does alike in every language; the format codes of
TEXT would depend on the reader's decimal sign (a power of ten has none).
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import NamedTuple

from blueprint.language.nodes import Constant, Expr, Op, Reduce, Ref
from blueprint.language.spelling.rules import ANYTHING, ATOM, Spelled, spell
from blueprint.language.spelling.text import TEXT
from blueprint.page.steps import origin

SHOWN = 4
"""Decimals of a value; of a number in an equation they are the reader's choice."""
# Marks around a number, and around what needs brackets where it is no single positive number.
MARK, END, OPEN, CLOSE = "\1", "\2", "\3", "\4"
_NUMBER = re.compile(f"{OPEN}{MARK}(\\d+){END}{CLOSE}|{MARK}(\\d+){END}")


class Number(NamedTuple):
    """A number within a told equation: a cell, a sum, a choice of cells, or what holds for a limit that is off or on.

    factor: bracketed if it is negative.
    """

    shown: Expr
    factor: bool


def plain(value: float | str, decimals: int, is_tiny: bool) -> str:
    """Prints a number as `as_text` does it in the sheet."""
    if isinstance(value, str):
        return f"“{value}”"
    if is_tiny:
        return f"{value:.0E}"
    rounded = _rounded(value, decimals)
    return "−" * (rounded < 0) + f"{abs(rounded):f}"


def bracketed(value: float | str, decimals: int, is_tiny: bool) -> str:
    """Prints a number as `as_factor` does it in the sheet."""
    printed = plain(value, decimals, is_tiny)
    return f"({printed})" if printed.startswith("−") else printed


def as_limit(cell: str, formula: str) -> str:
    """Spells the formula that prints what may be off, the word as it is; `formula` prints the number."""
    return f'=IF({cell}="off","off",{formula.removeprefix("=")})'


def as_text(cell: str, is_word: bool, decimals: str, is_tiny: bool) -> str:
    """Spells the formula that prints the number, or the word, of a cell; a tiny number as a power of ten."""
    if is_word:
        return f'="“"&{cell}&"”"'
    if is_tiny:
        return f'=TEXT({cell},"0E+00")'
    return f'=IF(ROUND({cell},{decimals})<0,"−","")&ROUND(ABS({cell}),{decimals})'


def as_factor(cell: str, printed: str, decimals: str) -> str:
    """Spells the formula that puts a printed negative number into brackets."""
    return f'=IF(ROUND({cell},{decimals})<0,"("&{printed}&")",{printed})'


def _rounded(value: float, decimals: int) -> Decimal:
    """Rounds as a sheet does: its numbers have 15 digits, and what is farther right is not there."""
    with localcontext(prec=400):
        shown = Decimal(f"{value:.15g}")
        rounded = shown.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
        return rounded.normalize() if rounded else Decimal(0)


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
                return spell(inner, TEXT, render, OPEN + "{}" + CLOSE)
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
