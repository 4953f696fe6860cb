"""The losses of each word: the importance ratio and the clipped surrogate, so that no word is pushed far from where it was;
and how far the new value is from the return, free and held near the old value."""

from dataclasses import dataclass

from blueprint.language import Block, at_most, exp, less, maximum, minimum, where
from blueprint.workbooks.common.definitions.choices import (
    EVERYWHERE,
    Choices,
    Row,
    Step,
    clamped,
    is_no_limit,
    limited,
    may_be_off,
    rows,
    scaled,
)

L2, SMOOTH_L1 = "l2", "smooth_l1"
"""Norms of the value loss: the square; half of it up to 1, and beyond the size less ½."""


@dataclass(frozen=True)
class Surrogate:
    """Ratio times advantage, free and with the ratio clipped, and the worse of the two, all over the ratio's axes.

    lowest: the lowest ratio that counts, where that is a number of its own. pessimistic, floor: the worse of the two, and
    below what no bad word falls; without a dual clip there is no floor, and the worse of the two is what counts.
    """

    unclipped: Block
    lowest: Step
    clipped_ratio: Block
    clipped: Block
    pessimistic: Block
    floor: Block | None
    smaller: Block

    @property
    def steps(self) -> tuple[Block, ...]:
        """The steps that there are to the surrogate that counts, in order."""
        worse = (self.pessimistic, self.floor) if self.floor is not None else ()
        return rows(self.unclipped, self.lowest, self.clipped_ratio, self.clipped, *worse)


@dataclass(frozen=True)
class Clip(Surrogate):
    """The surrogate, and how the new policy compares with the old one on the word written, rows: log-ratio and ratio.

    Without a clamp the free log-ratio is the one that counts.
    """

    free_log_ratio: Block
    log_ratio: Block
    ratio: Block


def clip(logp_new: Block, logp_old: Block, A: Block, use: Choices, M: Row = EVERYWHERE) -> Clip:
    """Compares the policies on the word written, and clips the ratio, which is 1 outside the response.

    logp_new, logp_old: (n, t). A: a row. M: where the response is, unless the log-probs are 0 elsewhere.
    """
    n, t, row, clamp = use.n, use.t, use.at, use.used["loss.log_ratio_clamp"]
    free = use.step(not is_no_limit(clamp), "log_ratio.free", M[row] * (logp_new[n, t] - logp_old[n, t]))
    d = use.row("log_ratio", clamped(free.cell, clamp))
    ratio = use.row("ratio", exp(d[row]))
    clipped = surrogate(ratio, A, lowest_ratio(use), use)
    return Clip(**vars(clipped), free_log_ratio=d if free.row is None else free.row, log_ratio=d, ratio=ratio)


def lowest_ratio(use: Choices, name: str = "ratio.lowest") -> Step:
    """Takes the lowest ratio that counts: 1 − ε; where that clip is off 0, below which there is no ratio."""
    below = use.used["clip_range"]
    return use.step(may_be_off(below), name, limited(below, 0, lambda reach: 1 - reach), use.lead)


def surrogate(ratio: Block, A: Block, lowest: Step, use: Choices) -> Surrogate:
    """Clips the ratio, on either side of 1, and takes the worse outcome; with a dual clip never less than c·A for A < 0.

    ratio, A: over any axes, the same for both.
    """
    at, least, dual = ratio.axes, maximum(lowest.cell, ratio[ratio.axes]), use.used["loss.dual_clip"]
    near = limited(use.used["loss.clip_range_high"], least, lambda up: maximum(lowest.cell, minimum(1 + up, ratio[at])))
    free = use.along("surrogate.unclipped", at, ratio[at] * A[at])
    held_ratio = use.along("ratio.clipped", at, near)
    held = use.along("surrogate.clipped", at, held_ratio[at] * A[at])
    worse = use.step(not is_no_limit(dual), "surrogate.pessimistic", minimum(free[at], held[at]), at)
    if worse.row is None:
        smaller = use.along("surrogate", at, worse.cell)
        return Surrogate(free, lowest, held_ratio, held, smaller, None, smaller)
    floor = use.along("surrogate.floor", at, limited(dual, worse.cell, lambda c: c * minimum(A[at], 0)))
    smaller = use.along("surrogate", at, maximum(worse.cell, floor[at]))
    return Surrogate(free, lowest, held_ratio, held, worse.row, floor, smaller)


@dataclass(frozen=True)
class ValueLoss:
    """How far the new value is from the return, in the norm; the value held near the old one, and how far that is; the larger
    of the two; and the loss; rows.

    ways: every row that leads to the loss, in order.
    """

    square: Block
    held: Block
    held_square: Block
    larger: Step
    loss: Block
    ways: tuple[Block, ...]


def counted_values(M: Block, first_past: Block, use: Choices) -> Block:
    """Chooses which slots the value loss counts: the response, or one slot more. first_past: (n, t), 1 in that slot."""
    return use.row("value.counted", maximum(M[M.axes], at_most(1, use.used["value.tail"]) * first_past[use.n, use.t]))


def value_loss(
    V_new: Block, V_old: Block, R: Block, use: Choices, counts: Row = EVERYWHERE, m: Row = EVERYWHERE, norm: str = L2
) -> ValueLoss:
    """Measures how far the new value is from the return, free and held near the old value.

    V_new: (n, t); V_old, R: rows. Held by its ends, a value within the range stays itself to the last bit, so that no
    distance is larger by rounding. counts: where values count, unless they are 0 elsewhere. m: where the loss does.
    """
    row, V = use.at, V_new[use.n, use.t]
    near = limited(
        use.used["value_clip_range"], V, lambda reach: maximum(V_old[row] - reach, minimum(V_old[row] + reach, V))
    )
    error = use.row("value.error", counts[row] * (V - R[row]))
    free = _distance("value.square", "value.size", error, norm, use)
    held = use.row("value.clipped", near)
    held_error = use.row("value.error_clipped", counts[row] * (held[row] - R[row]))
    clipped = _distance("value.square_clipped", "value.size_clipped", held_error, norm, use)
    square, held_square = free[-1], clipped[-1]
    larger = use.step(not use.is_fixed("value.combine"), "value.larger", maximum(square[row], held_square[row]))
    either = use.switch["value.combine"].choose(max=larger.cell, clipped_only=held_square[row])
    loss = use.row("value.word_loss", scaled(use.used["value.factor"], m[row] * either))
    return ValueLoss(square, held, held_square, larger, loss, rows(error, *free, held, held_error, *clipped, larger))


def _distance(name: str, of_size: str, error: Block, norm: str, use: Choices) -> tuple[Block, ...]:
    """Takes an error in the norm; returns the steps, the distance last."""
    at, square = error.axes, error[error.axes] * error[error.axes]
    if norm == L2:
        return (use.row(name, square),)
    size = use.row(of_size, abs(error[at]))
    return size, use.row(name, where(less(size[at], 1), square / 2, (2 * size[at] - 1) / 2))
