"""What a line of the walk says: what it is called, how its value looks, and its equation as print with numbers between."""

import re
from typing import NamedTuple

from blueprint.language import (
    ANYTHING,
    ATOM,
    TEXT,
    Constant,
    Expr,
    Lookup,
    Op,
    Position,
    Reduce,
    Ref,
    Rule,
    Spelled,
    spell,
    text,
)
from blueprint.page import byhand, digits, picking, steps, styles


def meaning(leaf: steps.Leaf, whole: str) -> str:
    """Says what a line holds; `whole` is what all members together are called."""
    if isinstance(leaf, Reduce):
        return f"sum over the whole {whole}"
    if picking.shift(leaf):
        return f"{neighbour(leaf)}: {leaf.block.symbol}"
    ids = ((each.axis, each.id) for each in leaf.at if isinstance(each, Lookup) and not isinstance(each.id, Constant))
    for axis, id in ids:
        return f"{leaf.block.symbol} of {axis.meaning.removesuffix(' id')} {text(id, frozenset(leaf.block.axes))}"
    return leaf.block.about.meaning


def neighbour(leaf: Ref) -> str:
    """Names the member beside the chosen one that a leaf stands for: `the next day`."""
    index = next(index for index in leaf.at if isinstance(index, Position) and index.by)
    return f"the next {index.axis.meaning}" if index.by > 0 else f"the {index.axis.meaning} before"


def is_limit(leaf: steps.Leaf) -> bool:
    """Tells whether a line may hold the word off instead of a number."""
    return isinstance(leaf, Ref) and leaf.block.limit


def is_whole(leaf: steps.Leaf) -> bool:
    """Tells whether a quantity is printed as it stands: what is counted, and what may be the word off."""
    return is_limit(leaf) or not any(block.about.decimals for block in steps.blocks_of(leaf))


def decimals(leaf: steps.Leaf) -> int:
    """Returns how many decimals a value is shown with, if it is no whole number."""
    return max(digits.SHOWN, *(block.about.decimals for block in steps.blocks_of(leaf)))


def style_of(leaf: steps.Leaf, is_word: bool, derived: bool) -> str:
    """Returns the style of a value: whole numbers as such, others with the decimals by which one checks them."""
    shown = "0" if is_whole(leaf) and not is_limit(leaf) else str(decimals(leaf))
    reads = "" if isinstance(leaf, Reduce) else leaf.block.about.reads
    return f"live {'word' if is_word else shown}" + " key" * derived + styles.read_as(reads)


PRINT: dict[str, Rule] = {**TEXT, byhand.WITHIN: Rule("{1} ≤ {2} < {3}", ANYTHING, (ANYTHING,) * 4)}
# Marks around a number, and around what needs brackets where it is no single positive number.
MARK, END, OPEN, CLOSE = "\1", "\2", "\3", "\4"
_NUMBER = re.compile(f"{OPEN}{MARK}(\\d+){END}{CLOSE}|{MARK}(\\d+){END}")


class Number(NamedTuple):
    """A number within an equation: a cell, a sum, a choice of cells, or what holds for a limit that is off or on.

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
                return number(steps.origin(inner))
            case Reduce() | Op("choose") | Op("where", (Op("is_off"), *_)):
                return number(inner)
            case Op():
                return spell(inner, PRINT, render, OPEN + "{}" + CLOSE)
            case Constant(value):
                return Spelled(f"“{value}”" if isinstance(value, str) else str(value), ATOM)
        raise AssertionError(f"{inner} has no number of its own")

    # By turns a text, the place of a number in brackets, and that of one without; marks that are left are brackets.
    first, *parts = _NUMBER.split(render(expr).text)
    brackets = str.maketrans({OPEN: "(", CLOSE: ")"})
    found: list[str | Number] = [first.translate(brackets)]
    for bracketed, plain, following in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        found += [Number(numbers[int(bracketed or plain)], bracketed is not None), following.translate(brackets)]
    return [piece for piece in found if piece != ""]


def bracketed(factor: bool, formula: str, printed: str) -> tuple[str, str]:
    """Puts brackets around what is a factor, as formula and as text."""
    return (f'"("&{formula}&")"', f"({printed})") if factor else (formula, printed)
