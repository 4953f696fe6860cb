"""Values: small arrays whose results were worked out by hand."""

import math

import pytest

from blueprint.language import (
    Max,
    NoNumber,
    Operand,
    Reduce,
    Sum,
    at_most,
    block,
    choose,
    compute,
    equal,
    exp,
    less,
    log,
    maximum,
    minimum,
    number,
    rounded,
    size,
    sqrt,
    tanh,
    typed,
    weighed,
    where,
)
from blueprint.language.vectorise import NUMPY, REDUCTIONS
from tests.language.common import SIZES, i, j, k, n, one, result, t, v

a, b = typed("a"), typed("b")
x, m = typed("x", (n, t)), typed("m", (n, t))
w = typed("w", (v,))
X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]

# (row, expression, a, b, result)
OPERATIONS: list[tuple[str, Operand, float, float, float]] = [
    ("add", a + b, 2, 3, 5),
    ("sub", a - b, 2, 3, -1),
    ("mul", a * b, 2, 3, 6),
    ("div", a / b, 3, 2, 1.5),
    ("neg", -a, 2, 0, -2),
    ("abs", abs(a), -2, 0, 2),
    ("exp", exp(a), 1, 0, math.e),
    ("log", log(a), math.e, 0, 1),
    ("tanh", tanh(a), 0.5, 0, 0.46211715726000975),
    ("sqrt", sqrt(a), 2.25, 0, 1.5),
    ("rounded", rounded(a, b), -0.25, 1, -0.3),
    ("rounded", rounded(a, b), 2.34549, 3, 2.345),
    ("maximum", maximum(a, b), 2, 3, 3),
    ("minimum", minimum(a, b), 2, 3, 2),
    ("less", less(a, b), 2, 3, 1),
    ("less", less(a, b), 2, 2, 0),
    ("at_most", at_most(a, b), 2, 2, 1),
    ("at_most", at_most(a, b), 3, 2, 0),
    ("equal", equal(a, b), 2, 2, 1),
    ("equal", equal(a, b), 2, 3, 0),
    ("choose", choose(a, p=a, q=b), 0, 7, 0),
    ("choose", choose(a, p=a, q=b), 1, 7, 7),
]
ELSEWHERE = {"filled", "where", "is_off"}  # test_values_words.py, test_limits.py


@pytest.mark.parametrize(("row", "expr", "first", "second", "expected"), OPERATIONS)
def test_operation(row: str, expr: Operand, first: float, second: float, expected: float) -> None:
    # exp, log and tanh may differ in the last bit from one processor to the next.
    assert result((), expr, {a: first, b: second}) == pytest.approx(expected, rel=1e-15)


def test_a_part_of_weight_0_is_not_read() -> None:
    """A spreadsheet has an error where exp(1000) is, and would have it where 0 times that is."""
    part, found = block("part", ()), block("found", ())
    part[()], found[()] = exp(a), -weighed(b, part)
    blocks = [a, b, part, found]
    values = compute(blocks, {}, {a: 1000.0, b: 0.0}, needed={found})
    assert (values.cell(found), {*values.ended}) == (0, {part})
    assert compute(blocks, {}, {a: 0.0, b: 3.0}).cell(found) == -3
    with pytest.raises(NoNumber, match="part has no number: exp\\(1000\\) is beyond"):
        compute(blocks, {}, {a: 1000.0, b: 3.0}, needed={found})


def test_what_a_part_of_weight_0_lacks_is_not_blamed_for_another_loss() -> None:
    part, other, found = block("part", ()), block("other", ()), block("found", ())
    part[()], other[()], found[()] = exp(a), log(b), weighed(b, part) + other
    with pytest.raises(NoNumber, match="other has no number: 0 has no logarithm"):
        compute([a, b, part, other, found], {}, {a: 1000.0, b: 0.0}, needed={found})


def test_every_operation_is_tested() -> None:
    assert {row for row, *_ in OPERATIONS} | ELSEWHERE == set(NUMPY)
    assert set(REDUCTIONS) == {"sum", "max"}


def test_the_tutorial_s_advantages() -> None:
    """S1, "very very sleepy": every number of its table, typed in here as the tutorial prints it."""
    names = ("old", "ref", "score", "V")
    old, ref, score, V = (typed(name, (t,), edges=(t.last + 1,) if name == "V" else ()) for name in names)
    beta, gamma, lam = typed("beta"), typed("gamma"), typed("lam")
    kl, r, delta, A = (block(name, (t,)) for name in ("kl", "r", "delta", "A"))
    kl[t] = old[t] - ref[t]
    r[t] = score[t] - beta * kl[t]
    delta[t] = r[t] + gamma * V[t + 1] - V[t]
    A[t.last + 1] = 0
    A[t] = delta[t] + gamma * lam * A[t + 1]
    given = {old: [-0.9, -2.5, -0.5], ref: [-1.5, -1.0, -0.5], score: [0, 0, 5], V: [3, 3.5, 4, 0]}
    values = compute([A, delta, r, kl, *given, beta, gamma, lam], {t: 3}, given | {beta: 0.1, gamma: 0.9, lam: 0.8})
    # A handful of operations on one-digit numbers: rounding leaves less than 1e-15 of 5.
    assert values[kl] == pytest.approx([0.6, -1.5, 0], abs=1e-14)
    assert values[r] == pytest.approx([-0.06, 0.15, 5], abs=1e-14)
    assert values[delta] == pytest.approx([0.09, 0.25, 1], abs=1e-14)
    assert values[A] == pytest.approx([0.7884, 0.97, 1], abs=1e-14)


def test_broadcasts_by_letters() -> None:
    per_row = typed("per_row", (n,))
    assert result((n, t), x[n, t] * per_row[n] + a, {x: X, per_row: [1, 10], a: 1}) == [[2, 3, 4], [41, 51, 61]]
    assert result((t, n), x[n, t], {x: X}) == [[1, 4], [2, 5], [3, 6]]
    assert result((n, t), 1, {}) == [[1, 1, 1], [1, 1, 1]]


def test_sums() -> None:
    given = {x: X, m: [[1, 1, 0], [0, 0, 1]]}
    assert result((n,), Sum(t, x[n, t]), given) == [6, 15]
    assert result((t,), Sum(n, x[n, t]), given) == [5, 7, 9]
    assert result((), Sum((n, t), x[n, t] * m[n, t]), given) == 9
    assert result((), Sum((n, t), m[n, t]) + Sum((n, t), x[n, t]), given) == 24
    weights = typed("weights", (t, v))
    product = Sum(t, x[n, t] * weights[t, v])
    assert result((n, v), product, {x: X, weights: [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]}) == [
        [1, 2, 3, 6],
        [4, 5, 6, 15],
    ]


def test_the_largest() -> None:
    assert result((n,), Max(t, x[n, t]), {x: [[1, 3, 2], [-6, -5, -4]]}) == [3, -4]
    assert result((), Max((n, t), x[n, t]), {x: [[1, 3, 2], [-6, -5, -4]]}) == 3
    given = {x: [[1, 3, 2], [-6, -5, -4]], m: [[1, 1, 2], [0, 1, 0]]}
    assert result((n,), Reduce("max", (t,), x[n, t] * m[n, t]), given) == [
        4,
        0,
    ]  # as verify changes equations: no sum of products


def test_a_sum_over_neighbours_leaves_out_the_first_and_takes_in_the_edge() -> None:
    e = typed("e", (n, t), edges=(t.last + 1,))
    E = [[1, 2, 3, 10], [4, 5, 6, 20]]
    assert result((n,), Sum(t, e[n, t]), {e: E}) == [6, 15]
    assert result((n,), Sum(t, e[n, t + 1]), {e: E}) == [15, 31]
    assert result((n,), Sum(t, e[n, t + 1] * e[n, t]), {e: E}) == [2 + 6 + 30, 20 + 30 + 120]


def test_two_letters_over_one_axis() -> None:
    u = t.alias("u")
    per_step = typed("per_step", (t,))
    square = typed("square", (t, u))
    assert result((t,), Sum(u, per_step[u]) - per_step[t], {per_step: [1, 2, 4]}) == [6, 5, 3]
    assert result((t, u), per_step[t] * per_step[u], {per_step: [1, 2, 4]}) == [[1, 2, 4], [2, 4, 8], [4, 8, 16]]
    assert result((t, u), square[u, t], {square: [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}) == [
        [1, 4, 7],
        [2, 5, 8],
        [3, 6, 9],
    ]


def test_numbers_and_sizes_of_axes() -> None:
    assert result((t,), number(t), {}) == [1, 2, 3]
    assert result((v,), number(v) * 2, {}) == [0, 2, 4, 6]
    assert result((n, t), number(n) * number(t), {}) == [[1, 2, 3], [2, 4, 6]]
    assert result((), size(t) + size(v) + size(i), {}) == 3 + 4 + 6
    growing = block("growing", (t,))
    growing[t.first - 1] = 0
    growing[t] = growing[t - 1] + number(t)
    assert compute([growing], SIZES, {})[growing].tolist() == [1, 3, 6]


def test_a_joined_axis_is_filled_part_by_part_in_its_own_order() -> None:
    inputs, state = typed("inputs", (n, k)), typed("state", (n, j))
    X_ = block("X", (n, i))
    X_[n, one] = 1
    X_[n, j] = state[n, j]
    X_[n, k] = inputs[n, k] * 2
    given = {inputs: [[1, 2], [3, 4]], state: [[5, 6, 7], [8, 9, 10]]}
    assert compute([inputs, state, X_], SIZES, given)[X_].tolist() == [[2, 4, 5, 6, 7, 1], [6, 8, 8, 9, 10, 1]]


def test_a_part_of_a_joined_block_can_be_read() -> None:
    whole = typed("whole", (i,))
    assert result((j,), whole[j], {whole: [1, 2, 3, 4, 5, 6]}) == [3, 4, 5]
    assert result((), Sum(k, whole[k]), {whole: [1, 2, 3, 4, 5, 6]}) == 3


def test_a_typed_block_has_its_edges_in_its_array() -> None:
    e = typed("e", (t,), edges=(t.first - 1, t.last + 1))
    given = {e: [9, 1, 2, 3, 8]}
    values = compute([e], SIZES, given)
    assert values[e].tolist() == [1, 2, 3]
    assert [values.cell(e, place) for place in range(-1, 4)] == [9, 1, 2, 3, 8]
    assert result((t,), e[t + 1] - e[t - 1], given) == [2 - 9, 2, 8 - 2]


def test_only_the_branch_taken_needs_a_number() -> None:

    assert result((v,), where(equal(w[v], 0), 0, 1 / w[v]), {w: [0, 1, 2, 4]}) == [0, 1, 0.5, 0.25]
