"""The value loss of each word: how far the new value is from the return, free and held near the old value."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.language import Block, at_most, less, maximum, minimum, where
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, Row, Step, limited, scaled

L2, SMOOTH_L1 = "l2", "smooth_l1"
"""Norms of the distance: the square; half of it up to 1, and beyond the size less ½."""


@dataclass(frozen=True)
class ValueLoss:
    """How far the new value, free and held near the old one, is from the return, in the norm; the larger; the loss; rows.

    ways: every row that leads to the loss, in order.
    """

    error: Block
    square: Block
    held: Block
    held_error: Block
    held_square: Block
    larger: Step
    loss: Block
    ways: tuple[Block, ...]


def counted_values(M: Block, first_past: Block, use: Choices) -> Block:
    """Chooses which slots the value loss counts: the response, or one slot more. first_past: (n, t), 1 in that slot."""
    counts = use.row("value.counted")
    counts[counts.axes] = maximum(M[counts.axes], at_most(1, use.used["value.tail"]) * first_past[use.n, use.t])
    return counts


def value_loss(
    V_new: Block, V_old: Block, R: Block, use: Choices, counts: Row = EVERYWHERE, m: Row = EVERYWHERE, norm: str = L2
) -> ValueLoss:
    """Measures how far the new value is from the return, free and held near the old value.

    V_new: (n, t); V_old, R: rows. Held by its ends, a value within the range stays itself to the last bit, so that no
    distance is larger by rounding. counts: where values count, unless they are 0 elsewhere. m: where the loss does.
    """
    n, t, row = use.n, use.t, (*use.lead, use.n, use.t)
    error, held, held_error = use.rows("value.error", "value.clipped", "value.error_clipped")
    error[row] = counts[row] * (V_new[n, t] - R[row])
    free = _distance("value.square", "value.size", error, norm, use)
    held[row] = limited(
        use.used["value_clip_range"],
        V_new[n, t],
        lambda reach: maximum(V_old[row] - reach, minimum(V_old[row] + reach, V_new[n, t])),
    )
    held_error[row] = counts[row] * (held[row] - R[row])
    near = _distance("value.square_clipped", "value.size_clipped", held_error, norm, use)
    square, held_square = free[-1], near[-1]
    larger = use.step(not use.is_fixed("value.combine"), "value.larger", maximum(square[row], held_square[row]))
    loss = use.row("value.word_loss")
    either = use.switch["value.combine"].choose(max=larger.cell, clipped_only=held_square[row])
    loss[row] = scaled(use.used["value.factor"], m[row] * either)
    chosen = () if larger.row is None else (larger.row,)
    ways = (error, *free, held, held_error, *near, *chosen)
    return ValueLoss(error, square, held, held_error, held_square, larger, loss, ways)


def _distance(name: str, of_size: str, error: Block, norm: str, use: Choices) -> tuple[Block, ...]:
    """Takes an error in the norm; returns the steps, the distance last."""
    at, distance = error.axes, use.row(name)
    square = error[at] * error[at]
    if norm == L2:
        distance[at] = square
        return (distance,)
    size = use.row(of_size)
    size[at] = abs(error[at])
    distance[at] = where(less(size[at], 1), square / 2, (2 * size[at] - 1) / 2)
    return size, distance
