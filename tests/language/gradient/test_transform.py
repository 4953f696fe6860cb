"""The transform: sums, tables, lookups, neighbours and loops; which rows it makes, and how they read."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.language import (
    Axis,
    NotationError,
    Sum,
    block,
    compute,
    exp,
    join,
    less,
    log,
    tanh,
    typed,
    where,
)
from blueprint.language.gradient import Declared, gradient
from tests.language.gradient.days import SIZES, drawn, equations, i, j, k, n, one, squares, t
from tests.language.gradient.slopes import check


def test_a_table_times_a_row() -> None:
    x, W, y = typed("x", (n, i)), typed("W", (i, j)), block("y", (n, j))
    y[n, j] = tanh(Sum(i, W[i, j] * x[n, i]))
    loss = squares(y)
    made = gradient(loss, [x, W])
    check(made, [x, W, y, loss], SIZES, drawn(x, W))
    assert equations(made) == [
        "∂L/∂y[n, j] = 2·y[n, j]",
        "∂L/∂y_in[n, j] = ∂L/∂y[n, j]·(1 − y[n, j]·y[n, j])",
        "Wᵀ[j, i] = W[i, j]",
        "∂L/∂x[n, i] = Σ_j ∂L/∂y_in[n, j]·Wᵀ[j, i]",
        "∂L/∂W[i, j] = Σ_n ∂L/∂y_in[n, j]·x[n, i]",
    ]


def test_a_recurrent_network_over_a_joined_input() -> None:
    a, u = join("a", "part", k, j, one), Axis("u", "word")
    sizes = {**SIZES, u: 6}
    reads, E = typed("reads", (n, t), "s"), typed("E", (u, k))
    W, x, h = typed("W", (a, j)), block("x", (n, t, a)), block("h", (n, t, j))
    h[n, t.first - 1, j] = 0
    x[n, t, k] = E[reads[n, t], k]
    x[n, t, j] = h[n, t - 1, j]
    x[n, t, one] = 1
    h[n, t, j] = tanh(Sum(a, W[a, j] * x[n, t, a]))
    loss = squares(h)
    made = gradient(loss, [E, W])
    random = np.random.default_rng(3)
    numbers = {reads: [[0, 1, 2], [1, 1, 5]], E: random.normal(size=(6, 5)), W: random.normal(size=(8, 2))}
    values = compute([reads, E, W, x, h, loss, *made.blocks], sizes, numbers)
    assert not values[made[E]][3:5].any(), "nobody reads the words 3 and 4"
    check(made, [reads, E, W, x, h, loss], sizes, numbers)
    assert "∂L/∂E[u, k] = Σ_n,t ∂L/∂x[n, t, k]·is_s[n, t, u]" in equations(made)
    assert "∂L/∂h[n, t, j] = 2·h[n, t, j] + ∂L/∂x[n, t + 1, j]" in equations(made)


def test_a_recursion_backwards_in_time() -> None:
    x, A, fading = typed("x", (n, t)), block("A", (n, t)), typed("fading", (), "γ")
    A[n, t.last + 1] = 0
    A[n, t] = x[n, t] + fading * A[n, t + 1]
    loss = squares(A)
    made = gradient(loss, [x, fading])
    check(made, [x, fading, A, loss], SIZES, {**drawn(x), fading: 0.9})
    assert "∂L/∂A_next[n, t] = ∂L/∂A[n, t]·γ" in equations(made)


def test_a_neighbour_in_a_sum() -> None:
    x, W, h = typed("x", (n, t, i)), typed("W", (i, j)), block("h", (n, t, j))
    late = block("late", (n, t, i))
    late[n, t.first - 1, i] = 0
    late[n, t, i] = x[n, t, i] * 2
    h[n, t, j] = Sum(i, W[i, j] * late[n, t - 1, i])
    loss = squares(h)
    check(gradient(loss, [x, W]), [x, W, late, h, loss], SIZES, drawn(x, W))


def test_a_table_times_its_own_axis() -> None:
    other = i.alias("l")
    x, M, y = typed("x", (i,)), typed("M", (i, other)), block("y", (i,))
    y[i] = Sum(other, M[i, other] * x[other])
    loss = squares(y)
    numbers = {x: [1.0, -2.0, 0.5, 0.3], M: np.random.default_rng(1).normal(size=(4, 4))}
    check(gradient(loss, [x, M]), [x, M, y, loss], {i: 4, other: 4}, numbers)


def test_more_than_two_factors_in_a_sum_become_a_step() -> None:
    x, y, scale, loss = typed("x", (n, t)), typed("y", (n, t)), typed("c", (n,)), block("loss", (), "L")
    row = block("row", (n, t))
    row[n, t] = scale[n] * x[n, t] * y[n, t] / (1 + y[n, t] * y[n, t])
    loss[()] = Sum((n, t), row[n, t] * row[n, t])
    check(gradient(loss, [x, y, scale]), [x, y, scale, row, loss], SIZES, drawn(x, y, scale))


def test_soft_max_cross_entropy_and_its_declared_form() -> None:
    z, target, nll = typed("z", (n, j), "z"), typed("target", (n, j), "y"), block("nll", (n,))
    e, loss = block("e", (n, j)), block("loss", (), "L")
    e[n, j] = exp(z[n, j])
    total, log_p = block("total", (n,)), block("log_p", (n, j))
    total[n] = Sum(j, e[n, j])
    log_p[n, j] = log(e[n, j] / total[n])
    nll[n] = -Sum(j, target[n, j] * log_p[n, j])
    loss[()] = Sum(n, nll[n])
    blocks = [z, target, e, total, log_p, nll, loss]
    numbers = {z: [[1.0, 2.0], [0.5, -0.5]], target: [[1.0, 0.0], [0.0, 1.0]]}
    raw = gradient(loss, [z])
    check(raw, blocks, SIZES, numbers)
    short = gradient(loss, [z], declared=[Declared(nll, {z: lambda g, _: g[n] * (e[n, j] / total[n] - target[n, j])})])
    check(short, blocks, SIZES, numbers)
    assert len(short.blocks) == 2 < len(raw.blocks)


def test_an_edge_that_carries_a_derivative_is_refused() -> None:
    x, start, h = typed("x", (n, t)), typed("start", (n,), "h0"), block("h", (n, t))
    h[n, t.first - 1] = start[n]
    h[n, t] = h[n, t - 1] * x[n, t]
    with pytest.raises(NotationError, match=r"the edge h\[n, t.first − 1\] hangs on what is differentiated by"):
        gradient(squares(h), [x, start])
    made = gradient(squares(h), [x], constant=[start])
    assert made[x].axes == (n, t)


def test_a_condition_passes_no_derivative_on() -> None:
    x, flag, y = typed("x", (n,)), block("flag", (n,)), block("y", (n,))
    flag[n] = less(x[n], 1)
    y[n] = where(less(flag[n], 1), x[n] * 2, x[n])
    loss = squares(y)
    check(gradient(loss, [x]), [x, flag, y, loss], SIZES, {x: [0.5, 1.5]})


def test_a_joined_axis_that_is_read_part_by_part() -> None:
    a = join("a", "part", i, j)
    x, y, both, out = typed("x", (n, i)), typed("y", (n, j)), block("both", (n, a)), block("out", (n, j))
    both[n, i] = x[n, i] * 2
    both[n, j] = y[n, j]
    out[n, j] = both[n, j] * Sum(a, both[n, a] * both[n, a])
    loss = squares(out)
    made = gradient(loss, [x, y])
    check(made, [x, y, both, out, loss], SIZES, drawn(x, y))


def test_a_neighbour_along_two_axes_is_refused() -> None:
    x, late, out = typed("x", (n, t)), block("late", (n, t)), block("out", (n, t))
    late[n.first - 1, t] = 0
    late[n, t.first - 1] = 0
    late[n, t] = x[n, t]
    out[n, t] = late[n - 1, t - 1]
    with pytest.raises(NotationError, match="out reads a neighbour along two axes at once"):
        gradient(squares(out), [x])
