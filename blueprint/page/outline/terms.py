"""Terms: the small expressions in the lines of One page, `-rate * paid`; each is read once, then spelled, computed or packed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import cache, cached_property
from math import exp, inf, log, nan, sqrt
from typing import TypeVar

from blueprint.language import NotationError

OPERATIONS: dict[type | str, tuple[str, Callable[..., float]]] = {
    ast.Add: ("({0}+{1})", operator.add),
    ast.Sub: ("({0}-{1})", operator.sub),
    ast.Mult: ("({0}*{1})", operator.mul),
    ast.Div: ("({0}/{1})", operator.truediv),
    ast.USub: ("(-{0})", operator.neg),
    ast.LtE: ("{0}<={1}", operator.le),
    ast.GtE: ("{0}>={1}", operator.ge),
    ast.Lt: ("{0}<{1}", operator.lt),
    ast.Gt: ("{0}>{1}", operator.gt),
    "exp": ("EXP({0})", exp),
    "ln": ("LN({0})", log),
    "sqrt": ("SQRT({0})", sqrt),
    "abs": ("ABS({0})", abs),
    "min": ("MIN({0},{1})", min),
    "max": ("MAX({0},{1})", max),
    "clip": ("MIN(MAX({0},{1}),{2})", lambda x, low, high: min(max(x, low), high)),
    "sigmoid": ("EXP(MIN({0},0))/(1+EXP(-ABS({0})))", lambda x: exp(min(x, 0.0)) / (1 + exp(-abs(x)))),  # of any x
}
"""By sign or name, how a formula spells an operation, and how it is computed."""
Leaf = tuple[str, str]
"""What an expression reads: "" or `next` or `before` or `sum`, and a name."""
Computed = Callable[[Callable[[Leaf], float]], float]
"""How an expression is computed from the numbers of what it reads."""
Made = TypeVar("Made")


class Term:
    """An expression; `leaves`: what it reads, from left to right.

    Raises NotationError for anything but numbers, names, + − * /, comparisons and the known functions.
    """

    def __init__(self, text: str):
        self.text = text
        self.leaves: list[Leaf] = []
        try:
            self._tree = self._read(ast.parse(text, mode="eval").body)
        except SyntaxError as error:
            raise NotationError(f"one page: “{text}” is no expression; write one such as -rate * paid") from error

    def _read(self, node: ast.AST) -> tuple[object, ...]:
        """Takes a part apart: a number, a way and a name, or an operation and its parts."""
        name: type | str | None
        match node:
            case ast.Call(ast.Name("next" | "before" | "sum" as way), [ast.Name() | ast.Attribute() as inner]):
                self.leaves.append((way, ast.unparse(inner)))
                return self.leaves[-1]
            case ast.Name() | ast.Attribute():
                self.leaves.append(("", ast.unparse(node)))
                return self.leaves[-1]
            case ast.Constant(int() | float() as number):
                return (number,)
            case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]):
                name, parts = type(op), [left, right]
            case ast.UnaryOp(op, operand):
                name, parts = type(op), [operand]
            case ast.Call(ast.Name(name), parts):
                pass
            case _:
                name, parts = None, []
        if name not in OPERATIONS:
            raise NotationError(f"one page: “{self.text}” holds {ast.unparse(node)}, which no line of a page can say")
        return name, [self._read(part) for part in parts]

    def folded(
        self,
        leaf: Callable[[Leaf], Made],
        number: Callable[[float], Made],
        operation: Callable[[type | str, list[Made]], Made],
    ) -> Made:
        """Returns what is made of the expression, from what is made of its leaves and numbers, operation by operation."""

        def fold(part: tuple[object, ...]) -> Made:
            match part:
                case (name, [*parts]):
                    return operation(name, [fold(each) for each in parts])  # type: ignore[arg-type]
                case (int() | float() as value,):
                    return number(value)
            return leaf(part)  # type: ignore[arg-type]

        return fold(self._tree)

    def formula(self, spelled: Callable[[Leaf], str]) -> str:
        """Spells it as a formula, each name as it is told."""
        return self.folded(spelled, repr, lambda name, parts: OPERATIONS[name][0].format(*parts))

    def value(self, known: Callable[[Leaf], float]) -> float:
        """Computes it; NaN where there is no such number, infinity where it is too large."""
        try:
            return float(self._computed(known))
        except (ValueError, ZeroDivisionError):
            return nan
        except OverflowError:
            return inf

    @cached_property
    def _computed(self) -> Computed:
        """How it is computed, made once: a claim is computed for each number of decimals that its lines may have."""

        def applied(name: type | str, parts: list[Computed]) -> Computed:
            function = OPERATIONS[name][1]
            return lambda known: function(*[part(known) for part in parts])

        return self.folded(lambda leaf: lambda known: known(leaf), lambda number: lambda known: number, applied)


@cache
def term_of(text: str) -> Term:
    """Returns an expression; each is read once, since claims are judged many times over."""
    return Term(text)


def pieces_of(words: str) -> list[str]:
    """Returns texts and the {expressions} in words by turns, a text first."""
    return words.replace("}", "{").split("{")


def said_in(words: str) -> list[str]:
    """Returns the names that the {expressions} in words read."""
    return [name for part in pieces_of(words)[1::2] for _, name in term_of(part).leaves]
