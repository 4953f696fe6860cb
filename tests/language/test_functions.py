"""The words of the notation, and Python's own words that would silently mean something else."""

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blueprint.language import Max, Sum, choose, equal, exp, filled, find, less, match, typed, weighed, where
from tests.language.common import n, refusal, t, v

a, b = typed("a"), typed("b")
x = typed("x", (n, t))
w = typed("w", (v,))
c = less(a, b)
words = typed("words", (v,), text=True)

HIDDEN = "would be hidden inside a formula, which may hold only 0, 1 and 2: give it a name with typed(…)"
CONDITION = "asks for a condition: write less(a, b), at_most(a, b), equal(a, b), filled(a) or is_off(a)"
NESTED = "would nest two IFs: make the inner one a step of its own"
STEP = "it takes one reference or a product of two"

NOTATION: list[tuple[Callable[[], object], str]] = [
    (lambda: where(a, b, a), f"where(a, …) {CONDITION}"),
    (lambda: where(1, b, a), f"where(1, …) {CONDITION}"),
    (lambda: where(c * c, b, a), f"where([a < b]·[a < b], …) {CONDITION}"),
    (lambda: where(c, where(c, a, b), b), f"where(…) inside where(…) {NESTED}"),
    (lambda: where(c, b, exp(where(c, a, b))), f"where(…) inside where(…) {NESTED}"),
    (lambda: where(c, c, b), f"less(…) inside where(…) {NESTED}"),
    (lambda: where(equal(c, 1), a, b), f"less(…) inside equal(…) {NESTED}"),
    (lambda: less(equal(a, b), 1), f"equal(…) inside less(…) {NESTED}"),
    (lambda: filled(where(c, a, b)), f"where(…) inside filled(…) {NESTED}"),
    (lambda: where(c, w[where(c, a, b)], b), f"where(…) inside where(…) {NESTED}"),
    (
        lambda: choose(a, k1=b, k2=a + b),
        "choose(… k2=a + b): each alternative is a step of its own, so that one sees its numbers",
    ),
    (lambda: choose(a, k1=1), "choose(… k1=1): each alternative is a step of its own, so that one sees its numbers"),
    (
        lambda: Sum(t, x[n, t] + x[n, t]),
        f"Sum over x[n, t] + x[n, t]: {STEP}; make x[n, t] + x[n, t] a step of its own",
    ),
    (lambda: Sum(v, exp(w[v])), f"Sum over exp(w[v]): {STEP}; make exp(w[v]) a step of its own"),
    (lambda: Sum(v, 2 * w[v]), f"Sum over 2·w[v]: {STEP}; make 2 a step of its own"),
    (lambda: Sum(v, w[v] * w[v] * w[v]), f"Sum over w[v]·w[v]·w[v]: {STEP}; make w[v]·w[v] a step of its own"),
    (
        lambda: Sum(v, weighed(w[v], w[v])),
        "Sum over w[v]·w[v]: within a sum both factors are read; make w[v]·w[v] a step of its own",
    ),
    (lambda: Sum(v, 1), f"Sum over 1: {STEP}; make 1 a step of its own"),
    (lambda: Sum(v, w), "w has one number for each v: write w[v]"),
    (lambda: Sum(v, a), "a does not run along v (word): it cannot be gone through over v"),
    (lambda: Sum(t, x[n, t] * a), "a does not run along t (decision): it cannot be gone through over t"),
    (lambda: Sum((n, v), x[n, t]), "x[n, t] does not run along v (word): it cannot be gone through over v"),
    (lambda: Sum(v, w[a]), "w[a] does not run along v (word): it cannot be gone through over v"),
    (lambda: Max(v, w[v] * w[v]), "Max over w[v]·w[v]: make it a step of its own and take the Max of that"),
    (lambda: Max(t, a), "a does not run along t (decision): it cannot be gone through over t"),
    (lambda: find(v, w[v] + 1, a), "a lookup searches the cells of one block, not w[v] + 1: make it a step of its own"),
    (lambda: find(v, a, b), "a does not run along v (word): it cannot be gone through over v"),
    (lambda: match(v, "cat", a), "a lookup searches the cells of one block, not “cat”: make it a step of its own"),
    (lambda: match(t, words[v], a), "words[v] does not run along t (decision): it cannot be gone through over t"),
]

IF = "an expression is not true or false while it is being written: use where(less(a, b), x, y)"
LESS = "a < b compares now, not in the sheet: write less(a, b); max(a, b) is maximum(a, b)"
MORE = "a > b compares now, not in the sheet: write less(b, a); max(a, b) is maximum(a, b)"
EQUAL = "a == b compares now, not in the sheet: write equal(a, b)"
LOOPED = "an expression cannot be looped over: sum(x) is Sum(t, x[n, t]), max(x) is Max(t, x[n, t])"

PYTHON: list[tuple[Callable[[], object], str]] = [
    (lambda: sum(x), LOOPED),
    (lambda: sum(x[n, t]), LOOPED),
    (lambda: max(w), LOOPED),
    (lambda: list(a + b), LOOPED),
    (lambda: [*w], LOOPED),
    (lambda: max(a, b), MORE),
    (lambda: min(a + 1, b), LESS),
    (lambda: sorted([a, b]), LESS),
    (lambda: a < b, LESS),
    (lambda: a > 0, MORE),
    (lambda: a <= b, "a <= b compares now, not in the sheet: write at_most(a, b)"),
    (lambda: a >= b, "a >= b compares now, not in the sheet: write at_most(b, a)"),
    (lambda: 0 < a + b < 1, MORE),
    (lambda: a == b, EQUAL),
    (lambda: x[n, t] == 0, EQUAL),
    (lambda: a != b, EQUAL),
    (lambda: 1 if a else 2, IF),
    (lambda: not a, IF),
    (lambda: a and b, IF),
    (lambda: c or b, IF),
    (lambda: a**2, "powers are spelled differently from program to program: write x * x"),
    (lambda: (a + b) ** b, "powers are spelled differently from program to program: write x * x"),
]


@pytest.mark.parametrize(("attempt", "sentence"), NOTATION + PYTHON)
def test_refuses(attempt: Callable[[], object], sentence: str) -> None:
    assert refusal(attempt) == sentence


@pytest.mark.parametrize("value", [3, -1, 0.5, True, False, None, float("nan"), float("inf"), [1], 1e-8, (1, 2)])
@pytest.mark.parametrize("combine", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_a_number_deserves_a_name(value: Any, combine: Callable[[Any, Any], object]) -> None:
    assert refusal(lambda: combine(a, value)) == f"{value!r} {HIDDEN}"
    assert refusal(lambda: combine(value, a)) == f"{value!r} {HIDDEN}"
    assert refusal(lambda: exp(value)) == f"{value!r} {HIDDEN}"


@pytest.mark.parametrize("value", [0, 1, 2, 0.0, 1.0, 2.0])
def test_plain_constants_are_whole_numbers(value: float) -> None:
    assert str(a - value) == (f"a − {value:.0f}" if value else "a")
    assert str(value / a) == f"{value:.0f} / a"


def test_a_choice_between_two_words_is_no_nesting() -> None:
    assert str(c * where(c, a, b)) == "[a < b]·(a if [a < b] else b)"
    assert str(Sum(t, x[n, t] * x[n, t])) == "Σ_t x[n, t]·x[n, t]"


def test_python_adds_a_list_of_references() -> None:
    assert str(sum([a, b])) == "a + b"


ONLY_NUMBERS: list[Callable[[Any, Any], object]] = [
    lambda a, b: int(a + b),
    lambda a, b: 2**a,
    lambda a, b: a @ b,
    lambda a, b: +a,
    lambda a, b: len(a),
]


@pytest.mark.parametrize("attempt", [float, math.exp])
def test_python_s_numbers_are_told_of_ours(attempt: Callable[[Any], object]) -> None:
    assert "math.exp(x) is exp(x)" in refusal(lambda: attempt(a))


@pytest.mark.parametrize(
    "attempt", [np.exp, np.sum, lambda a: np.maximum(a, 1), lambda a: a // 2, lambda a: a % 2, round]
)
def test_functions_of_numbers_that_one_writes_out_of_habit_are_told_of_ours(attempt: Callable[[Any], object]) -> None:
    assert re.search("computes now|no formula that every program has|is not rounded", refusal(lambda: attempt(a)))


@pytest.mark.parametrize("attempt", ONLY_NUMBERS)
def test_functions_of_numbers_do_not_take_expressions(attempt: Callable[[Any, Any], object]) -> None:
    with pytest.raises(TypeError):
        attempt(a, b)
