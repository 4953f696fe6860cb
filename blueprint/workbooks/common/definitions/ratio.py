"""The importance ratio, and the clipped surrogate: so that no word is pushed far from where it was."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.language import Block, exp, maximum, minimum
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
)


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
class Ratio:
    """How the new policy compares with the old one on the word written, rows: log-ratio, free and clamped, and ratio.

    Without a clamp the free log-ratio is the one that counts.
    """

    free_log_ratio: Block
    log_ratio: Block
    ratio: Block


@dataclass(frozen=True)
class Clip(Surrogate, Ratio):
    """The ratio of every word, and its surrogate."""


def clip(logp_new: Block, logp_old: Block, A: Block, use: Choices, M: Row = EVERYWHERE) -> Clip:
    """Compares the policies, and clips the ratio. logp_new, logp_old: (n, t). A: a row. M: see `policy_ratio`."""
    made = policy_ratio(logp_new, logp_old, use, M)
    return Clip(**vars(made), **vars(surrogate(made.ratio, A, lowest_ratio(use), use)))


def policy_ratio(logp_new: Block, logp_old: Block, use: Choices, M: Row = EVERYWHERE) -> Ratio:
    """Compares the new policy with the old one on the word written; the ratio is 1 outside the response.

    M: where the response is, unless the log-probs are 0 elsewhere.
    """
    n, t, row, clamp = use.n, use.t, (*use.lead, use.n, use.t), use.used["loss.log_ratio_clamp"]
    free = use.step(not is_no_limit(clamp), "log_ratio.free", M[row] * (logp_new[n, t] - logp_old[n, t]))
    d, ratio = use.rows("log_ratio", "ratio")
    d[row] = clamped(free.cell, clamp)
    ratio[row] = exp(d[row])
    return Ratio(d if free.row is None else free.row, d, ratio)


def lowest_ratio(use: Choices, name: str = "ratio.lowest") -> Step:
    """Takes the lowest ratio that counts: 1 − ε; where that clip is off 0, below which there is no ratio."""
    below = use.used["clip_range"]
    return use.step(may_be_off(below), name, limited(below, 0, lambda reach: 1 - reach), use.lead)


def surrogate(ratio: Block, A: Block, lowest: Step, use: Choices) -> Surrogate:
    """Clips the ratio, on either side of 1, and takes the worse outcome; with a dual clip never less than c·A for A < 0.

    ratio, A: over any axes, the same for both.
    """
    at, above, dual = ratio.axes, use.used["loss.clip_range_high"], use.used["loss.dual_clip"]
    free, near, held = (use.along(name, at) for name in ("surrogate.unclipped", "ratio.clipped", "surrogate.clipped"))
    free[at] = ratio[at] * A[at]
    near[at] = limited(
        above, maximum(lowest.cell, ratio[at]), lambda up: maximum(lowest.cell, minimum(1 + up, ratio[at]))
    )
    held[at] = near[at] * A[at]
    worse = use.step(not is_no_limit(dual), "surrogate.pessimistic", minimum(free[at], held[at]), at)
    smaller = use.along("surrogate", at)
    if worse.row is None:
        smaller[at] = worse.cell
        return Surrogate(free, lowest, near, held, smaller, None, smaller)
    floor = use.along("surrogate.floor", at)
    floor[at] = limited(dual, worse.cell, lambda c: c * minimum(A[at], 0))
    smaller[at] = maximum(worse.cell, floor[at])
    return Surrogate(free, lowest, near, held, worse.row, floor, smaller)
