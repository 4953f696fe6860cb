"""The order of computation: what goes in a loop along which axis, and what the loops compute."""

import time

import pytest

from blueprint.language import Axis, Block, Sum, block, compute, typed
from blueprint.language.schedule import Loop, Step, schedule
from tests.language.common import SIZES, defined, i, j, k, n, one, refusal, t, v

x = typed("x", (n, t))
X = [[1, 2, 3], [4, 5, 6]]


def shape(steps: tuple[Step, ...]) -> list[object]:
    """Returns steps as names, and loops as (letter and way, what is inside)."""
    return [(f"{step.axis}{step.way:+d}", shape(step.steps)) if isinstance(step, Loop) else step.name for step in steps]


def running(way: int) -> Block:
    """Returns the running sum of x along t, upwards (+1) or downwards (−1)."""
    y = block("y", (n, t))
    y[(n, t.first - 1) if way > 0 else (n, t.last + 1)] = 0
    y[n, t] = x[n, t] + y[n, t - 1 if way > 0 else t + 1]
    return y


def test_runs_upwards_and_downwards() -> None:
    up, down = running(+1), running(-1)
    assert shape(schedule([up])) == [("t+1", ["y"])]
    assert shape(schedule([down])) == [("t-1", ["y"])]
    assert compute([x, up], SIZES, {x: X})[up].tolist() == [[1, 3, 6], [4, 9, 15]]
    assert compute([x, down], SIZES, {x: X})[down].tolist() == [[6, 5, 3], [15, 11, 6]]


def test_what_does_not_go_in_a_circle_is_computed_at_once() -> None:
    a = defined("a", (n, t), x[n, t] + 1)
    y = running(+1)
    last = defined("last", (n, t), y[n, t] * a[n, t])
    assert sorted(map(str, shape(schedule([last, y, a])))) == ["('t+1', ['y'])", "a", "last"]
    assert shape(schedule([last, y, a]))[-1] == "last"
    assert compute([last, y, a, x], SIZES, {x: X})[last].tolist() == [[2, 9, 24], [20, 54, 105]]


def test_a_recursion_along_words_inside_one_along_time() -> None:
    """F runs along v within a decision; the next decision begins with the last one's total."""
    w = typed("w", (v,))
    F, total = block("F", (n, t, v)), block("total", (n, t))
    total[n, t.first - 1] = 1
    F[n, t, v.first - 1] = 0
    F[n, t, v] = F[n, t, v - 1] + w[v] * total[n, t - 1]
    total[n, t] = Sum(v, F[n, t, v])
    assert shape(schedule([F, total])) == [("t+1", [("v+1", ["F"]), "total"])]
    # With w = 1 1 0 0 the running sums are 1 2 2 2 times the total before: it grows sevenfold.
    values = compute([w, F, total], SIZES, {w: [1, 1, 0, 0]})
    assert values[total].tolist() == [[7, 49, 343]] * 2
    assert values[F][0, 1].tolist() == [7, 14, 14, 14]


def test_several_blocks_that_need_each_other() -> None:
    a, b, c = block("a", (n, t)), block("b", (n, t)), block("c", (n, t))
    a[n, t.first - 1] = 1
    b[n, t] = a[n, t - 1] + x[n, t]
    c[n, t] = 2 * b[n, t]
    a[n, t] = c[n, t] - b[n, t]
    assert shape(schedule([a, c, b])) == [("t+1", ["b", "c", "a"])]
    values = compute([a, b, c, x], SIZES, {x: X})
    assert values[c].tolist() == [[4, 8, 14], [10, 20, 32]]
    assert values.arrays[a].tolist() == [[1, 2, 4, 7], [1, 5, 10, 16]]


def test_a_joined_axis_inside_a_recursion() -> None:
    """The recurrent network: the row X holds the input, the state before and 1; h = X · W, summed over all of X."""
    inputs, W = typed("inputs", (n, t, k)), typed("W", (i, j))
    h, joined = block("h", (n, t, j)), block("X", (n, t, i))
    h[n, t.first - 1, j] = 0
    joined[n, t, k] = inputs[n, t, k]
    joined[n, t, j] = h[n, t - 1, j]
    joined[n, t, one] = 1
    h[n, t, j] = Sum(i, joined[n, t, i] * W[i, j])
    assert shape(schedule([h, joined])) == [("t+1", ["X", "h"])]
    # Unit 0 counts steps (bias 1, itself 1); unit 1 adds both inputs; unit 2 repeats unit 0 of the step before.
    weights = [[0, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    given = {inputs: [[[1, 2], [3, 4], [5, 6]]] * 2, W: weights}
    values = compute([inputs, W, joined, h], SIZES, given)
    assert values[h][1].tolist() == [[1, 3, 0], [2, 7, 1], [3, 11, 2]]
    assert values[joined][0, 2].tolist() == [5, 6, 2, 7, 1, 1]


def test_a_running_sum_along_a_joined_axis() -> None:
    parts, total = block("parts", (i,)), block("total", (i,))
    for part, value in ((k, 1), (j, 2), (one, 0)):
        parts[part] = value
    total[i.first - 1] = 0
    total[i] = total[i - 1] + parts[i]
    assert compute([total, parts], SIZES, {})[total].tolist() == [1, 2, 4, 6, 8, 8]


def test_one_recursion_along_two_axes() -> None:
    grid = block("grid", (n, t))
    grid[n.first - 1, t] = 1
    grid[n, t.first - 1] = 1
    grid[n, t] = grid[n - 1, t] + grid[n, t - 1]
    assert compute([grid], SIZES, {})[grid].tolist() == [[2, 3, 4], [3, 6, 10]]


def test_edges_at_both_ends() -> None:
    y = block("y", (t,))
    y[t.first - 1] = 1
    y[t.last + 1] = 2
    y[t] = 0
    both = defined("both", (t,), y[t - 1] * 2 + y[t + 1])
    values = compute([both, y], SIZES, {})
    assert values[both].tolist() == [2, 0, 2]
    assert values.arrays[y].tolist() == [1, 0, 0, 0, 2]
    assert values[y].tolist() == [0, 0, 0]
    assert [values.cell(y, place) for place in (-1, 0, 3)] == [1, 0, 2]


def circle(first: object, second: object) -> str:
    """Returns the refusal of two blocks that read each other at two places along t."""
    a, b = block("a", (t,)), block("b", (t,))
    for made in (a, b):
        made[t.first - 1] = 0
        made[t.last + 1] = 0
    a[t] = b[first]  # type: ignore[index]
    b[t] = a[second]  # type: ignore[index]
    return refusal(lambda: schedule([a, b]))


@pytest.mark.parametrize(("first", "second"), [(t, t), (t - 1, t + 1), (t.first - 1, t + 1), (t, t.last + 1)])
def test_a_cell_that_needs_itself_is_named(first: object, second: object) -> None:
    sentence = "a cell that needs itself: a → b → a; let one of them read a neighbour (t - 1 or t + 1)"
    assert circle(first, second) == sentence


def test_a_block_that_sums_over_itself_needs_itself() -> None:
    y = block("y", (n, t))
    y[n, t.first - 1] = 0
    u = t.alias("u")
    y[n, t] = y[n, t - 1] + Sum(u, y[n, u])
    assert refusal(lambda: schedule([y])).startswith("a cell that needs itself: y → y;")


def test_500_decisions_and_1500_blocks_deep() -> None:
    """Neither a long recursion nor a long chain of blocks meets Python's own limit on recursion, and both are quick."""
    long = Axis("t", "decision", start=1)
    half, y = typed("half"), block("y", (n, long))
    y[n, long.last + 1] = 0
    y[n, long] = 1 + half * y[n, long + 1]
    chain = [defined("b0", (n, long), y[n, long])]
    for number in range(1, 1500):
        chain.append(defined(f"b{number}", (n, long), chain[-1][n, long] + 0))
    begin = time.perf_counter()
    values = compute([half, y, *chain], {n: 2, long: 500}, {half: 0.5})
    # Measured: 0.7 s with the chain. A computation on demand took minutes, so that the limit need not be close.
    assert time.perf_counter() - begin < 5
    # 1 + ½ + ¼ + … of 500, …, 2, 1 terms.
    assert values[chain[-1]][1, [0, -3, -2, -1]].tolist() == [2.0, 1.75, 1.5, 1.0]
