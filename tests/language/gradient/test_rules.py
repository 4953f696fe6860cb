"""Every operation of the notation against central differences; ties; what has no derivative."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.language import (
    Axis,
    Block,
    Max,
    NotationError,
    Sum,
    at_most,
    block,
    choose,
    compute,
    exp,
    find,
    is_off,
    less,
    log,
    maximum,
    minimum,
    sqrt,
    tanh,
    typed,
    weighed,
    where,
)
from blueprint.language.gradient import gradient
from blueprint.language.nodes import Expr, Operand
from tests.language.gradient.slopes import check

t = Axis("t", "day", start=1)
x, y = typed("x", (t,), "x"), typed("y", (t,), "y")
a, b, limit = typed("a", (), "a"), typed("b", (), "b"), typed("limit", (), "c", limit=True)
X, Y = x[t], y[t]
NUMBERS = {x: [0.3, 1.7, 0.9], y: [1.1, 0.6, 2.3], a: 0.7, b: 1.3}

EXPRESSIONS: dict[str, Operand] = {
    "add": X + Y,
    "sub": X - Y,
    "mul": X * Y,
    "weighed": weighed(X, Y * Y),
    "square": X * X,
    "div": X / Y,
    "neg": -X * Y,
    "abs": abs(X - Y),
    "exp": exp(X * Y),
    "log": log(X + Y * Y),
    "tanh": tanh(X - Y),
    "sqrt": sqrt(X * Y),
    "inner exp": 1 / (1 + exp(-X * Y)),
    "exp minus": exp(X) - 1 - X,
    "maximum": maximum(X * X, Y),
    "minimum": minimum(X, Y * Y),
    "clip": maximum(a, minimum(X * Y, b)),
    "clip the other way": minimum(maximum(a, X * Y), b),
    "moving ends": maximum(a, minimum(X, a + b)) * Y,
    "where": where(less(X, Y), X * X, Y * X),
    "where one": where(at_most(X, 1), X, 2 - Y),
    "where other": where(at_most(X, 1), a, X) * Y,
    "half": (X - Y) * (X - Y) / 2,
    "quotient of quotients": X / (Y / (X + b)),
}


def total(expr: Operand, *more: Block) -> tuple[Block, list[Block]]:
    """Sums an expression over all days."""
    row, loss = block("row", (t,), "f"), block("loss", (), "L")
    row[t] = expr
    loss[()] = Sum(t, row[t])
    return loss, [x, y, a, b, *more, row, loss]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_operation_is_differentiated(name: str) -> None:
    loss, blocks = total(EXPRESSIONS[name])
    check(gradient(loss, [x]), blocks, {t: 3}, NUMBERS)
    made = gradient(loss, [x, y, a, b])
    values = compute([*blocks, *made.blocks], {t: 3}, NUMBERS)
    assert values[made[x]].shape == (3,)


@pytest.mark.parametrize("name", ["mul", "div", "clip", "moving ends", "where other", "quotient of quotients"])
def test_every_operand_is_differentiated(name: str) -> None:
    loss, blocks = total(EXPRESSIONS[name] * a + b * Y)
    check(gradient(loss, [x, y, a, b]), blocks, {t: 3}, NUMBERS)


def test_a_choice_gives_its_alternative_the_slope() -> None:
    kind = typed("kind", (), "kind")
    loss, blocks = total(choose(kind, first=X, second=Y, third=X), kind)
    for number in (0, 1, 2):
        made = gradient(loss, [x, y])
        values = compute([*blocks, *made.blocks], {t: 3}, {**NUMBERS, kind: number})
        assert values[made[x]].tolist() == [float(number != 1)] * 3
        assert values[made[y]].tolist() == [float(number == 1)] * 3


@pytest.mark.parametrize("held", [0.8, np.inf])
def test_a_limit_that_is_off_lets_everything_through(held: float) -> None:
    loss, blocks = total(where(is_off(limit), X * X, minimum(X * X, limit)), limit)
    made = gradient(loss, [x])
    values = compute([*blocks, *made.blocks], {t: 3}, {**NUMBERS, limit: held})
    through = [1, 0, 0] if np.isfinite(held) else [1, 1, 1]
    np.testing.assert_allclose(values[made[x]], [0.6 * through[0], 3.4 * through[1], 1.8 * through[2]])


def at_tie(expr: Expr) -> list[tuple[float, float]]:
    """Returns the slopes by x and y where both are 1."""
    loss, blocks = total(expr)
    made = gradient(loss, [x, y])
    values = compute([*blocks, *made.blocks], {t: 1}, {x: [1.0], y: [1.0], a: 1.0, b: 2.0})
    return [(float(values[made[x]][0]), float(values[made[y]][0]))]


def test_of_two_that_tie_the_first_has_the_slope() -> None:
    assert at_tie(minimum(X, Y)) == at_tie(maximum(X, Y)) == [(1, 0)]
    assert at_tie(minimum(Y, X)) == at_tie(maximum(Y, X)) == [(0, 1)]


def test_at_the_ends_of_a_clip_the_slope_is_1_as_torch_clamp_has_it() -> None:
    for clip in (maximum(a, minimum(X, b)), minimum(b, maximum(X, a)), maximum(minimum(b, X), a)):
        assert at_tie(clip + 0 * Y) == [(1, 0)]


def test_every_largest_member_has_the_whole_slope() -> None:
    top, loss = block("top", (), "top"), block("loss", (), "L")
    top[()] = Max(t, X)
    loss[()] = top * top
    made = gradient(loss, [x])
    values = compute([x, top, loss, *made.blocks], {t: 3}, {x: [2.0, 3.0, 3.0]})
    assert values[made[x]].tolist() == [0, 6, 6]


def test_what_jumps_has_no_slope() -> None:
    place = block("place", (), "place")
    place[()] = find(t, X, a)
    loss, blocks = total(Y * place, place)
    made = gradient(loss, [x, y])
    values = compute([*blocks, *made.blocks], {t: 3}, {**NUMBERS, x: [0.1, 0.5, 0.9]})
    assert values[made[x]].tolist() == [0, 0, 0]
    assert values[made[y]].tolist() == [1, 1, 1]


def test_a_loss_is_a_single_number() -> None:
    row = block("row", (t,), "f")
    row[t] = X * 2
    with pytest.raises(NotationError, match=r"row has one number for each day: only a single number has a gradient"):
        gradient(row, [x])


def test_what_is_constant_is_not_differentiated_by() -> None:
    loss, _ = total(X * Y)
    with pytest.raises(NotationError, match="x is held constant: it cannot be differentiated by as well"):
        gradient(loss, [x], constant=[x])
