"""A recursion whose other parts are computed before its first member has the numbers of one computed cell by cell, bit by bit."""

from collections.abc import Callable

import numpy as np
import pytest

from blueprint.language import Block, Sum, block, compute, equal, exp, less, log, maximum, minimum, number, typed, where
from blueprint.language import recurrence as of_members
from blueprint.language.evaluate import Computation
from tests.language.common import SIZES, k, n, t

HARD = (0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, 0.1, 700.0, -700.0, 3.0, 0.3)
x, w, c, gamma = typed("x", (n, t)), typed("w", (t, n)), typed("c", ()), typed("gamma", ())
other = k.alias("l")
m = typed("m", (k, other))


def ahead() -> list[Block]:
    """δ + γλ·Â of the next member, and a flag of where it is kept."""
    y = block("y", (n, t))
    y[n, t.last + 1] = 0
    y[n, t] = (x[n, t] - w[t, n]) + (c * gamma) * y[n, t + 1] * less(0, x[n, t])
    return [y]


def behind() -> list[Block]:
    """Of the member before, in a row whose members come first, by branches, logs and exponentials."""
    y = block("y", (t, n))
    y[t.first - 1, n] = c
    y[t, n] = where(
        less(x[n, t], y[t - 1, n]), log(maximum(x[n, t], 1)) + w[t, n], minimum(exp(w[t, n]), y[t - 1, n] / c)
    )
    return [y]


def both() -> list[Block]:
    """Two rows that need each other."""
    y, z = block("y", (n, t)), block("z", (t,))
    y[n, t.first - 1], z[t.first - 1] = 1, 2
    y[n, t] = z[t - 1] * x[n, t] + y[n, t - 1]
    z[t] = Sum(n, y[n, t] * w[t, n]) - equal(number(t), 2) * z[t - 1]
    return [y, z]


def hidden() -> list[Block]:
    """A state that is multiplied by a matrix: what is added up stays with its member."""
    h = block("h", (n, t, k))
    h[n, t.first - 1, k] = 1
    h[n, t, k] = x[n, t] - Sum(other, m[k, other] * h[n, t - 1, other])
    return [h]


@pytest.mark.parametrize("made", [ahead, behind, both, hidden])
@pytest.mark.parametrize("beyond", [False, True])
def test_its_numbers_are_those_of_one_member_after_the_other(
    made: Callable[[], list[Block]], beyond: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = np.random.default_rng(0)
    for size in (1, 2, 9):
        for turn in range(20):
            sizes = {**SIZES, n: 3, t: size}
            draw = (lambda shape: drawn.choice(HARD, shape)) if turn % 2 and beyond else drawn.standard_normal
            given = {x: draw((3, size)), w: draw((size, 3)), c: np.abs(draw(())) + 0.5, gamma: 0.95, m: draw((2, 2))}
            rows = made()
            plain, found = of_members.is_plain, compute([*given, *rows], sizes, given, beyond)
            monkeypatch.setattr(of_members, "is_plain", lambda loop, values: False)
            slow = compute([*given, *rows], sizes, given, beyond)
            monkeypatch.setattr(of_members, "is_plain", plain)
            for row in rows:
                assert found.arrays[row].tobytes() == slow.arrays[row].tobytes()


def test_a_number_that_stands_in_a_cell_stands_there() -> None:
    given = {x: np.ones((2, 3)), w: np.zeros((3, 2)), c: 1.0, gamma: 0.95}
    (row,) = ahead()
    found = compute([*given, row], SIZES, given, held={row: {(0, 1): 7.0}})
    assert found[row][0].tolist() == [1 + 0.95 * 7, 7, 1]
    assert found.own[row][0, 1] == 1.95


def test_what_was_compiled_computes_other_numbers() -> None:
    (row,) = ahead()
    of_any = Computation([x, w, c, gamma, row], SIZES)
    one, two = (of_any.values({x: np.full((2, 3), by), w: np.zeros((3, 2)), c: 1.0, gamma: 0.95}) for by in (1.0, 2.0))
    assert two[row].tolist() == (2 * one[row]).tolist()
    assert one[row][0].tolist() == [1 + 0.95 * 1.95, 1.95, 1]
