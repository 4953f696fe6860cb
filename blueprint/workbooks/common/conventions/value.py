"""The value loss per word: free or held near the old value."""

from __future__ import annotations

from blueprint.language import Block, at_most, is_off, maximum, minimum, where
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.loss import ValueLoss
from blueprint.workbooks.common.definitions.places import Places


def counted_values(M: Block, at: Places, use: Choices) -> Block:
    """Chooses which slots the value loss counts: the response, or one slot more."""
    row = (*use.lead, n, t)
    counts = use.row("value.counted")
    counts[row] = maximum(M[row], at_most(1, use.used["value.tail"]) * at.first_past[n, t])
    return counts


def value_loss(V_new: Block, V_old: Block, R: Block, counts: Block, use: Choices) -> tuple[ValueLoss, Block]:
    """Squares the distance of the new value from the return, free and held near the old value.

    V_new: (n, t); V_old, R, counts: rows. Returns the steps, and the larger of the two
    squares. Held by its ends, a value within the range stays itself to the last bit, so that no square is larger by rounding.
    """
    row, reach = (*use.lead, n, t), use.used["value_clip_range"]
    error = use.row("value.error")
    square = use.row("value.square")
    held = use.row("value.clipped")
    held_error = use.row("value.error_clipped")
    held_square = use.row("value.square_clipped")
    larger = use.row("value.larger")
    loss = use.row("value.word_loss")
    error[row] = counts[row] * (V_new[n, t] - R[row])
    square[row] = error[row] * error[row]
    near = maximum(V_old[row] - reach, minimum(V_old[row] + reach, V_new[n, t]))
    held[row] = where(is_off(reach), V_new[n, t], near)
    held_error[row] = counts[row] * (held[row] - R[row])
    held_square[row] = held_error[row] * held_error[row]
    larger[row] = maximum(square[row], held_square[row])
    either = {"max": larger[row], "clipped_only": held_square[row]}
    loss[row] = use.used["value.factor"] * use.switch["value.combine"].choose(**either)
    return ValueLoss(error, square, held, held_error, held_square, loss), larger
