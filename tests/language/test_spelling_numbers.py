"""The mathematics with the numbers put in: a pair for every row of the table, brackets, and what one checks by hand."""

import pytest

from blueprint.language import (
    Expr,
    Max,
    Operand,
    Sum,
    at_most,
    block,
    choose,
    compute,
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
    typed,
    where,
)
from blueprint.language.spelling.numbers import explained, with_numbers
from blueprint.language.spelling.numbers import number as spelled
from blueprint.language.spelling.text import TEXT
from tests.language.common import SIZES, n, t, v
from tests.language.expressions import Pair, a, b, c, e, most, rows_without_a_pair, small, w, words, x

word = typed("word", (), text=True)
GIVEN = {
    a: 0.5,
    b: -1.25,
    c: 1,
    most: 3,
    w: [0, 0.25, -2, 3],
    words: ["<eos>", "the", "dog", "is"],
    word: "dog",
    x: [[1, 2, 3], [4, 5, -6]],
    e: [[9, 1, 2, 3, 8], [0, 4, 5, 6, 0]],
}
VALUES = compute(GIVEN, SIZES, GIVEN)
LAST = {n: 1, t: 2}

ROWS: list[Pair] = [
    (a + b, "0.5 + (−1.25)"),
    (a - b, "0.5 − (−1.25)"),
    (a * b, "0.5·(−1.25)"),
    (a / b, "0.5 / (−1.25)"),
    (-a, "−0.5"),
    (abs(b), "|−1.25|"),
    (exp(b), "exp(−1.25)"),
    (log(a), "ln(0.5)"),
    (tanh(b), "tanh(−1.25)"),
    (sqrt(a), "√(0.5)"),
    (maximum(a, b), "max(0.5, −1.25)"),
    (minimum(a, b), "min(0.5, −1.25)"),
    (rounded(a, b), "round(0.5, −1.25)"),
    (less(a, b), "[0.5 < −1.25]"),
    (at_most(a, b), "[0.5 ≤ −1.25]"),
    (equal(a, b), "[0.5 = −1.25]"),
    (filled(a), "[0.5 is given]"),
    (is_off(most), "[3 is off]"),
    (where(small, a, b), "0.5 if [0.5 < −1.25] else −1.25"),
]

BRACKETS: list[Pair] = [
    (-b, "−(−1.25)"),
    (a - (b - c), "0.5 − ((−1.25) − 1)"),
    (b * (a + c), "(−1.25)·(0.5 + 1)"),
    (2 * (a - 1), "2·(0.5 − 1)"),
    (b / (a * c), "(−1.25) / (0.5·1)"),
    (-(a + b), "−(0.5 + (−1.25))"),
    (Sum(v, w[v]) * 2, "(0.25 + (−2) + 3)·2"),
    (a - Sum(v, w[v]), "0.5 − (0.25 + (−2) + 3)"),
    (where(small, a, b) + c, "(0.5 if [0.5 < −1.25] else −1.25) + 1"),
]

OTHERS: list[Pair] = [
    (x[n, t] + 2, "(−6) + 2"),
    (e[n, t + 1] - e[n, t - 1], "0 − 5"),
    (e[n, t.first - 1] + e[n, t.last + 1], "0 + 0"),
    (w[c], "0.25"),
    (choose(c, p=a, q=b) * 2, "(−1.25)·2"),
    (where(small, word, "OK"), "“dog” if [0.5 < −1.25] else “OK”"),
    (Sum(t, x[n, t]), "4 + 5 + (−6)"),
    (Sum(v, w[v] * w[v]), "0.25·0.25 + (−2)·(−2) + 3·3"),
    (Sum((n, t), x[n, t]), "1 + 2 + 3 + 4 + 5 + (−6)"),
    (Max(v, w[v]), "max(0, 0.25, −2, 3)"),
    (find(v, w[v], a), "place of 0.5 in (0, 0.25, −2, 3)"),
    (match(v, words[v], word), "place of “dog” in (“<eos>”, “the”, “dog”, “is”)"),
    (size(t) + 1, "3 + 1"),
]


@pytest.mark.parametrize(("expr", "expected"), ROWS + BRACKETS + OTHERS)
def test_puts_the_numbers_in(expr: Expr, expected: str) -> None:
    assert with_numbers(expr, LAST, VALUES) == expected


def test_every_row_has_a_pair() -> None:
    assert rows_without_a_pair(TEXT, ROWS) == set()


@pytest.mark.parametrize(
    ("value", "expected"),
    [(4.0, "4"), (0.15, "0.15"), (-3.5, "−3.5"), (1 / 3, "0.3333"), (0.00001, "1e−05"), (-0.0, "0"), (1e6, "1000000"),
     (0.99996, "1"), (12345.678912, "12345.6789"), ("dog", "“dog”")],
)  # fmt: skip
def test_prints_numbers(value: float | str, expected: str) -> None:
    assert spelled(value).text == expected


def explain(expr: Operand, *places: int) -> str:
    """Returns the line under a cell of a block over (n, t)."""
    y = block("y", (n, t))
    y[n, t.last + 1] = 0
    y[n, t] = expr
    return explained(y, places, compute([*GIVEN, y], SIZES, GIVEN))


def test_a_cell_is_its_equation_with_numbers_and_its_result() -> None:
    assert explain(x[n, t] + a * e[n, t + 1] - e[n, t], 0, 2) == "3 + 0.5·8 − 3 = 4"
    assert explain(x[n, t] * number(t), 1, 2) == "(−6)·3 = −18"
    assert explain(x[n, t], 0, 3) == "0 = 0"


def test_a_typed_cell_is_its_number() -> None:
    assert explained(w, (2,), VALUES) == "−2"
    assert explained(e, (0, -1), VALUES) == "9"
    assert explained(words, (0,), VALUES) == "“<eos>”"


def test_a_sum_of_nothing_but_zeros_is_0() -> None:
    values = compute([w], SIZES, {w: [0, 0, 0, 0]})
    assert with_numbers(Sum(v, w[v]), {}, values) == "0"
    assert with_numbers(Sum(v, w[v] * w[v]), {}, values) == "0"


def test_a_long_sum_has_an_ellipsis() -> None:
    values = compute([w], {v: 13}, {w: range(1, 14)})
    assert with_numbers(Sum(v, w[v]), {}, values) == "1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + … + 13"
    values = compute([w], {v: 12}, {w: range(1, 13)})
    assert with_numbers(Sum(v, w[v]), {}, values).endswith("10 + 11 + 12")
