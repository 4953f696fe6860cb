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


def test_what_it_came_to_is_remembered_for_the_same_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[object] = []
    computed = of_members.Recurrence._compute
    monkeypatch.setattr(
        of_members.Recurrence, "_compute", lambda self, edge: (runs.append(self), computed(self, edge))[1]
    )
    (row,) = ahead()
    of_any = Computation([x, w, c, gamma, row], SIZES)
    given = {x: np.full((2, 3), 1.0), w: np.zeros((3, 2)), c: 1.0, gamma: 0.95}
    first = of_any.values(given)[row]
    first[:] = 7  # whoever asked may do with it what they like
    for moved in ({}, {x: np.full((2, 3), np.nextafter(1.0, 2))}, {w: -given[w]}, {c: 1 + 2**-52}, {gamma: 0.9}, {}):
        again = of_any.values(given | moved)[row]
        (fresh,) = ahead()
        assert again.tobytes() == compute([x, w, c, gamma, fresh], SIZES, given | moved)[fresh].tobytes()
    assert runs.count(runs[0]) == 5, "once for each set of numbers: the first is asked for three times"


def test_it_remembers_so_much_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_members, "REMEMBERED", 3 * 2 * 4)
    (row,) = ahead()
    made: list[of_members.Recurrence] = []
    start = of_members.Recurrence.__init__
    monkeypatch.setattr(of_members.Recurrence, "__init__", lambda self, *of: (start(self, *of), made.append(self))[0])
    of_any = Computation([x, w, c, gamma, row], SIZES)
    for by in range(8):
        of_any.values({x: np.full((2, 3), float(by)), w: np.zeros((3, 2)), c: 1.0, gamma: 0.95})
        assert 0 < len(made[0]._came_to) <= 3
    monkeypatch.setattr(of_members, "LARGEST", 2 * 4 - 1)
    made[0]._came_to.clear()
    of_any.values({x: np.ones((2, 3)), w: np.zeros((3, 2)), c: 1.0, gamma: 0.95})
    assert not made[0]._came_to, "of large rows nothing is"
