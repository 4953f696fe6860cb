"""The transform: sums, tables, lookups, neighbours and loops; which rows it makes, and how they read."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from blueprint.language import (
    Axis,
    Block,
    NotationError,
    Sum,
    block,
    compute,
    exp,
    join,
    less,
    link,
    log,
    tanh,
    typed,
    where,
)
from blueprint.language.gradient import Declared, Gradient, gradient
from tests.language.gradient.slopes import check

n, t = Axis("n", "city"), Axis("t", "day", start=1)
i, j, k = Axis("i", "input"), Axis("j", "unit"), Axis("k", "row")
one = Axis("1", "bias", size=1)
SIZES = {n: 2, t: 3, i: 4, j: 2, k: 5}


def squares(row: Block) -> Block:
    """Returns a loss: the sum of the squares of a block."""
    loss = block("loss", (), "L")
    loss[()] = Sum(row.axes, row[row.axes] * row[row.axes]) if row.axes else row * row
    return loss


def drawn(*blocks: Block) -> dict[Block, object]:
    """Draws numbers for typed blocks."""
    random = np.random.default_rng(7)
    return {each: random.normal(size=tuple(SIZES[axis] for axis in each.axes)) for each in blocks}


def equations(made: Gradient) -> list[str]:
    """Prints every equation that was made."""
    return [line for each in made.blocks for line in str(each).split("\n")]


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


def test_an_adjoint_that_equals_another_has_no_row_unless_it_is_kept() -> None:
    x, y = typed("x", (n,)), block("y", (n,))
    y[n] = x[n] - 1
    shown = link("shown", y)
    row = block("row", (n,))
    row[n] = shown[n] + 2
    loss = squares(row)
    made = gradient(loss, [x])
    assert equations(made) == ["∂L/∂row[n] = 2·row[n]", "∂L/∂x[n] = ∂L/∂row[n]"]
    assert made[y] is made[shown] is made[row]
    kept = gradient(loss, [x], keep=[y])
    assert "∂L/∂y[n] = ∂L/∂row[n]" in equations(kept)


def test_a_weighted_sum_of_losses_has_no_rows_of_weights() -> None:
    x, weight, first, loss = typed("x", ()), typed("w", (), "w"), block("first", (), "L1"), block("loss", (), "L")
    first[()] = x * x
    loss[()] = x - weight * first
    made = gradient(loss, [x])
    assert equations(made) == ["∂L/∂x = 1 − w·2·x"]
    with pytest.raises(NotationError, match="∂L/∂L1 is −w and has no row: ask for it with keep="):
        made[first]


def test_nothing_goes_through_what_is_constant() -> None:
    x, y, z = typed("x", (n,)), block("y", (n,)), block("z", (n,))
    y[n] = x[n] * 2
    z[n] = y[n] * x[n]
    loss = squares(z)
    made = gradient(loss, [x], constant=[y])
    values = compute([x, y, z, loss, *made.blocks], SIZES, {x: [3.0, -1.0]})
    assert values[made[x]].tolist() == [2 * 18 * 6, 2 * 2 * -2]
    with pytest.raises(NotationError, match="∂L/∂y: no derivative goes through y"):
        made[y]


def test_what_the_loss_does_not_hang_on_has_a_gradient_of_0() -> None:
    x, other = typed("x", (n,)), typed("other", (t,))
    loss = squares(x)
    made = gradient(loss, [x, other])
    assert compute([x, other, loss, *made.blocks], SIZES, drawn(x, other))[made[other]].tolist() == [0, 0, 0]


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


def test_two_gradients_stand_side_by_side() -> None:
    x, a, b = typed("x", (n,)), block("a", (), "L_a"), block("b", (), "L_b")
    a[()] = Sum(n, x[n] * x[n])
    b[()] = Sum(n, x[n])
    both = [*gradient(a, [x]).blocks, *gradient(b, [x], suffix="grad_b").blocks]
    values = compute([x, a, b, *both], SIZES, {x: [3.0, 4.0]})
    assert [values[each].tolist() for each in both] == [[6, 8], [1, 1]]
    assert [each.name for each in both] == ["x.grad", "x.grad_b"]


def test_a_second_total_shares_the_rows_of_the_first() -> None:
    E, F, id = typed("E", (k, j)), typed("F", (k, j)), typed("id", (n,))
    a, b = block("a", (), "L_a"), block("b", (), "L_b")
    read, also = block("read", (n, j)), block("also", (n, j))
    read[n, j] = E[id[n], j]
    also[n, j] = F[id[n], j]
    a[()] = Sum((n, j), read[n, j] * read[n, j])
    b[()] = Sum((n, j), also[n, j])
    both = gradient(b, [F], after=gradient(a, [E]))
    values = compute([E, F, id, read, also, a, b, *both.blocks], SIZES, drawn(E, F) | {id: [4, 4]})
    assert values[both[F]].tolist() == [[0, 0]] * 4 + [[2, 2]]
    assert np.allclose(values[both[E]][4], 4 * values[E][4])
    names = [each.name for each in both.blocks]
    assert len(names) == len(set(names))
    assert "id.grad.is" in names
    assert {both.totals[both[E]], both.totals[both[F]]} == {a, b}
    with pytest.raises(NotationError, match="E leads to b and to another total: add them up"):
        gradient(b, [E], after=gradient(a, [E]))


def test_totals_side_by_side_have_a_gradient_each() -> None:
    """What the totals share, a recurrent network with a table that is looked up in, is gone through once for each."""
    q, h = Axis("q", "loss", start=1), block("h", (n, t, j))
    E, W, id, c = typed("E", (k, j)), typed("W", (i, j)), typed("id", (n, t)), typed("c", (q,))
    x, out, low, loss = block("x", (n, t, j)), block("out", (q, n, t)), block("low", (n, t)), block("loss", (q,), "L")
    x[n, t, j] = E[id[n, t], j]
    h[n, t.first - 1, j] = 0
    h[n, t, j] = tanh(x[n, t, j] + h[n, t - 1, j])
    low[n, t] = Sum(j, h[n, t, j] * h[n, t, j])
    out[q, n, t] = c[q] * low[n, t] * low[n, t]
    loss[q] = Sum((n, t), out[q, n, t])
    made = gradient(loss, [E], along=(q,), prefix="of.")
    typing = drawn(E, W) | {id: [[4, 4, 1], [0, 1, 4]], c: [1.0, 3.0]}
    values = compute([E, W, id, c, x, h, low, out, loss, *made.blocks], SIZES | {q: 2}, typing)
    one = block("one", (), "L")
    one[()] = Sum((n, t), low[n, t] * low[n, t])
    alone = gradient(one, [E])
    own = compute([E, W, id, c, x, h, low, out, loss, one, *alone.blocks], SIZES | {q: 2}, typing)
    assert made[E].axes == (q, k, j)
    assert made[E].name == "of.E.grad"
    np.testing.assert_allclose(values[made[E]][0], own[alone[E]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(values[made[E]][1], 3 * own[alone[E]], rtol=0, atol=1e-12)
    with pytest.raises(NotationError, match="has one number for each loss: only a single number"):
        gradient(loss, [E])
    with pytest.raises(NotationError, match="3 has no gradient: give a block with an equation"):
        gradient(cast(Any, 3), [E])


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
