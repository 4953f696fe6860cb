"""Rows that a gradient shares or leaves out, what is constant, and the gradients of several totals."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from blueprint.language import Axis, NotationError, Sum, block, compute, link, tanh, typed
from blueprint.language.gradient import gradient
from tests.language.gradient.days import SIZES, drawn, equations, i, j, k, n, squares, t


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


def test_a_link_that_is_constant_holds_what_is_read_through_it_alone() -> None:
    x, y, z = typed("x", (n,)), block("y", (n,)), block("z", (n,))
    y[n] = x[n] * 2
    held = link("held", y)
    z[n] = y[n] - held[n]
    loss, both = squares(z), block("both", ())
    both[()] = Sum(n, y[n] * held[n])
    for total, slopes in ((loss, [0, 0]), (both, [2 * 6, 2 * -2])):
        made = gradient(total, [x], constant=[held])
        values = compute([x, y, z, held, total, *made.blocks], SIZES, {x: [3.0, -1.0]})
        assert values[made[x]].tolist() == slopes


def test_what_the_loss_does_not_hang_on_has_a_gradient_of_0() -> None:
    x, other = typed("x", (n,)), typed("other", (t,))
    loss = squares(x)
    made = gradient(loss, [x, other])
    assert compute([x, other, loss, *made.blocks], SIZES, drawn(x, other))[made[other]].tolist() == [0, 0, 0]


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
