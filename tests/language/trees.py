"""Draws random expressions, each together with the same calculation as a Python string that was made independently."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from blueprint.language import Block, Expr, at_most, equal, exp, less, log, maximum, minimum, sqrt, tanh, typed, where

LEAVES: dict[Block, float] = {typed("A"): 0.5, typed("B"): -1.25, typed("C"): 3.0, typed("D"): -0.75, typed("F"): 7.0}


class Tree(NamedTuple):
    """An expression, the same as fully bracketed Python, and what must hold for it to be well behaved.

    parts:    Python strings whose values must be finite and moderate.
    divisors: Python strings whose values must not be nearly 0.
    """

    expr: Expr
    python: str
    parts: tuple[str, ...]
    divisors: tuple[str, ...] = ()


BINARY: list[tuple[Callable[[Any, Any], Expr], str]] = [
    (lambda a, b: a + b, "({} + {})"),
    (lambda a, b: a - b, "({} - {})"),
    (lambda a, b: a * b, "({} * {})"),
    (lambda a, b: a / b, "({} / {})"),
]
UNARY: list[tuple[Callable[[Any], Expr], str]] = [
    (lambda a: -a, "(-{})"),
    (lambda a: 1 - a, "(1 - {})"),
    (lambda a: 2 * a, "(2 * {})"),
]
FUNCTIONS: list[tuple[Callable[..., Expr], str]] = [
    (abs, "abs({})"),
    (exp, "math.exp({})"),
    (log, "math.log({})"),
    (tanh, "math.tanh({})"),
    (sqrt, "math.sqrt({})"),
]
PAIRS: list[tuple[Callable[..., Expr], str]] = [(maximum, "max({}, {})"), (minimum, "min({}, {})")]
COMPARISONS: list[tuple[Callable[..., Expr], str]] = [
    (less, "({} < {})"),
    (at_most, "({} <= {})"),
    (equal, "({} == {})"),
]


def arithmetic() -> st.SearchStrategy[Tree]:
    """Draws trees of + − · / and signs alone."""
    return st.recursive(
        _leaves(), lambda inner: st.one_of(_drawn(BINARY, inner, 2), _drawn(UNARY, inner, 1)), max_leaves=8
    )


def trees() -> st.SearchStrategy[Tree]:
    """Draws trees of every operation that takes numbers; an IF holds no other IF."""
    plain = st.recursive(_leaves(), _larger, max_leaves=3)
    conditions = _drawn(COMPARISONS, plain, 2)
    as_numbers = conditions.map(lambda tree: tree._replace(python=f"float{tree.python}"))
    choices = st.tuples(conditions, plain, plain).map(_choice)
    return st.recursive(st.one_of(_leaves(), as_numbers, choices), _larger, max_leaves=5)


def _leaves() -> st.SearchStrategy[Tree]:
    return st.sampled_from([*LEAVES]).map(lambda leaf: Tree(leaf.expression(), leaf.name, ()))


def _larger(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        _drawn(BINARY, inner, 2), _drawn(UNARY, inner, 1), _drawn(FUNCTIONS, inner, 1), _drawn(PAIRS, inner, 2)
    )


def _drawn(table: list[Any], inner: st.SearchStrategy[Tree], count: int) -> st.SearchStrategy[Tree]:
    return st.tuples(st.sampled_from(table), *[inner] * count).map(lambda drawn: _node(drawn[0], drawn[1:]))


def _node(row: tuple[Callable[..., Expr], str], inner: tuple[Tree, ...]) -> Tree:
    make, template = row
    python = template.format(*(tree.python for tree in inner))
    divisors = tuple(divisor for tree in inner for divisor in tree.divisors)
    match template:
        case "({} / {})" | "math.log({})" | "math.sqrt({})":
            divisors += (inner[-1].python,)
        case "({} < {})" | "({} <= {})" | "({} == {})" if inner[0].python != inner[1].python:
            # Two honest computations may part in the last bit: a comparison of nearly equal numbers decides nothing.
            divisors += (f"({inner[0].python} - {inner[1].python})",)
    parts = (*(part for tree in inner for part in tree.parts), python)
    return Tree(make(*(tree.expr for tree in inner)), python, parts, divisors)


def _choice(drawn: tuple[Tree, Tree, Tree]) -> Tree:
    test, then, otherwise = drawn
    return Tree(
        where(test.expr, then.expr, otherwise.expr),
        f"({then.python} if {test.python} else {otherwise.python})",
        test.parts + then.parts + otherwise.parts,
        test.divisors + then.divisors + otherwise.divisors,
    )


def python_value(python: str, leaves: Mapping[str, float]) -> float:
    """Returns what Python computes for a string."""
    return float(eval(python, {"math": math}, dict(leaves)))


def well_behaved(tree: Tree, leaves: Mapping[str, float]) -> bool:
    """Tells whether every step stays between 1e-2 and 1e4 where it must, so that rounding is not blown up."""
    try:
        steps = [abs(python_value(part, leaves)) for part in tree.parts]
        divisors = [abs(python_value(divisor, leaves)) for divisor in tree.divisors]
    except (ArithmeticError, ValueError):
        return False
    return all(step < 1e4 for step in steps) and all(divisor > 1e-2 for divisor in divisors)
