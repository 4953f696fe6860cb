"""The mathematics as plain text: a pair of expression and text for every row of its table, and for its brackets."""

import pytest

from blueprint.language import (
    Expr,
    Max,
    Sum,
    at_most,
    choose,
    equal,
    exp,
    filled,
    find,
    is_off,
    less,
    log,
    match,
    maximum,
    minimum,
    number,
    rounded,
    size,
    sqrt,
    tanh,
    weighed,
    where,
)
from blueprint.language.nodes import Constant
from blueprint.language.spelling.text import SEARCHES, SIGNS, TEXT, text
from tests.language.common import k, n, t, v
from tests.language.expressions import Pair, W, a, b, c, e, gamma, most, ratio, rows_without_a_pair, small, w, words, x

ROWS: list[Pair] = [
    (a + b, "a + b"),
    (a - b, "a − b"),
    (a * b, "a·b"),
    (-weighed(a, b * c), "−a·b·c"),
    (a / b, "a / b"),
    (-a, "−a"),
    (abs(a - b), "|a − b|"),
    (exp(a + b), "exp(a + b)"),
    (log(a), "ln(a)"),
    (tanh(a * b), "tanh(a·b)"),
    (sqrt(a), "√(a)"),
    (maximum(a, b + 1), "max(a, b + 1)"),
    (minimum(a - 1, b), "min(a − 1, b)"),
    (rounded(a - 1, b), "round(a − 1, b)"),
    (less(a + 1, b), "[a + 1 < b]"),
    (at_most(a, b), "[a ≤ b]"),
    (equal(a, b), "[a = b]"),
    (filled(a), "[a is given]"),
    (is_off(most), "[most is off]"),
    (where(small, a, b + c), "a if [a < b] else b + c"),
    (choose(a, k1=b, k2=c), "(k1: b | k2: c) by a"),
]

BRACKETS: list[Pair] = [
    (a + (b + c), "a + b + c"),
    (a + b + c, "a + b + c"),
    (a + (b - c), "a + b − c"),
    (a - (b + c), "a − (b + c)"),
    (a - (b - c), "a − (b − c)"),
    (a - b - c, "a − b − c"),
    (a - b * c, "a − b·c"),
    (a - b / c, "a − b / c"),
    (a * b * c, "a·b·c"),
    (a * (b + c), "a·(b + c)"),
    ((a - b) * c, "(a − b)·c"),
    (a / (b * c), "a / (b·c)"),
    (a / (b / c), "a / (b / c)"),
    (a / b / c, "a / b / c"),
    (a * b / c, "a·b / c"),
    ((a + b) / c, "(a + b) / c"),
    (a / -b, "a / (−b)"),
    (-(a + b), "−(a + b)"),
    (-(a * b), "−a·b"),
    (-a + b, "−a + b"),
    (1 - a, "1 − a"),
    (2 * a, "2·a"),
    (exp(-(a - b)), "exp(−(a − b))"),
    (where(small, a, b) + c, "(a if [a < b] else b) + c"),
    (where(small, a, b) * c, "(a if [a < b] else b)·c"),
    (small * (a - b), "[a < b]·(a − b)"),
    (find(v, w[v], a) + 1, "(last v with w[v] ≤ a) + 1"),
    (a / Sum(v, w[v]), "a / (Σ_v w[v])"),
    (a - Sum(v, w[v]), "a − Σ_v w[v]"),
]

OTHERS: list[Pair] = [
    (a + 2, "a + 2"),
    (where(small, "OK", ""), "“OK” if [a < b] else “”"),
    (gamma * ratio[n, t], "γ·ρ_old[n, t]"),
    (e[n, t + 1] - e[n, t - 1], "e[n, t + 1] − e[n, t − 1]"),
    (e[n, t.first - 1] + e[n, t.last + 1], "e[n, t.first − 1] + e[n, t.last + 1]"),
    (w[x[n, t]] * 2, "w[x[n, t]]·2"),
    (w[x[n, t] - 1] * 2, "w[x[n, t] − 1]·2"),
    (Sum(t, x[n, t]), "Σ_t x[n, t]"),
    (Sum((n, t), x[n, t] * ratio[n, t]), "Σ_n,t x[n, t]·ρ_old[n, t]"),
    (-Sum(v, w[v] * w[v]), "−Σ_v w[v]·w[v]"),
    (Max(v, W[k, v]), "max_v W[k, v]"),
    (find(v, w[v], a), "last v with w[v] ≤ a"),
    (match(v, words[v], a), "the v whose words[v] = a"),
    (number(t) - 1, "t − 1"),
    (size(t) + 1, "how many t + 1"),
]


@pytest.mark.parametrize(("expr", "expected"), ROWS + BRACKETS + OTHERS)
def test_spells(expr: Expr, expected: str) -> None:
    assert text(expr) == expected
    assert str(expr) == expected


def test_every_row_has_a_pair() -> None:
    assert rows_without_a_pair(TEXT, ROWS) == set()
    assert (set(SIGNS), set(SEARCHES)) == ({"sum", "max"}, {"find", "match"})  # all four stand in OTHERS


def test_indices_that_are_understood_are_left_out() -> None:
    understood = frozenset((n, t))
    assert text(ratio[n, t] * e[n, t + 1] - x[n, t], understood) == "ρ_old·e[t + 1] − x"
    assert text(w[x[n, t]], understood) == "w[x]"
    assert text(W[k, v], understood) == "W[k, v]"


def test_a_constant_stands_for_itself() -> None:
    assert (str(Constant(2)), str(Constant("OK"))) == ("2", "“OK”")
