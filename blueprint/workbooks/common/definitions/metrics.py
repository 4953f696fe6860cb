"""Metrics, none of which enters the loss: the KL of the update, clip fractions, sums of each response, the largest of a row, the
effective sample size, explained variance, and means over all tokens.
"""

from typing import NamedTuple

from blueprint.language import (
    Block,
    Max,
    Operand,
    Ref,
    Sum,
    block,
    exp,
    less,
    typed,
    where,
)
from blueprint.workbooks.common.definitions.losses import Clip
from blueprint.workbooks.common.definitions.rewards_and_gae import Counting, Spread, averaged, spread
from blueprint.workbooks.common.definitions.writing_rows import EVERYWHERE, Choices, Row, Step, rows

EQUAL_RETURNS = 1e-12
"""Returns that are all equal have a mean that may be rounded, and then a variance of about 1e-32 instead of 0."""


class PolicyKL(NamedTuple):
    """Estimates of how far the update moved the policy, rows: k1 and k3, the one in use, and all there are, in order."""

    k1: Block
    k3: Block
    used: Block
    steps: tuple[Block, ...]


def policy_kl(d: Block, free: Block, use: Choices) -> PolicyKL:
    """Estimates KL(π_old ‖ π_θ) from the log-ratio d of what was chosen; free: the same before its clamp.

    k3 is made of the ratio, and so of the log-ratio that the ratio has: a raw one could lead beyond the largest number.
    """
    row, chosen = d.axes, not use.is_fixed("metrics.kl", "metrics.log_ratio")
    log_ratio = use.switch["metrics.log_ratio"].choose(clamped=d[row], raw=free[row])
    read = use.step(chosen, "policy_kl.log_ratio", log_ratio)
    k1 = use.row("policy_kl.k1", -read.cell)
    k2 = use.step(chosen, "policy_kl.k2", read.cell * read.cell / 2)
    k3 = use.row("policy_kl.k3", exp(d[row]) - 1 - d[row])
    picked = use.step(chosen, "policy_kl.used", use.switch["metrics.kl"].choose(k1=k1[row], k2=k2.cell, k3=k3[row]))
    return PolicyKL(k1, k3, _row(picked), rows(read, k1, k2, k3, picked))


def clip_flags(clip: Clip, use: Choices) -> tuple[Block, Block, Block]:
    """Flags the words whose loss the clip changed, as RLHF libraries count them; those whose ratio it changed; and those that are
    asked for, which is one of these, or a row of its own."""
    changed = below("clip_fraction.changed", clip.clipped, clip.unclipped, use)
    moved = outside("clip_fraction.outside", clip.ratio, clip.clipped_ratio, use)
    flag = use.switch["metrics.clip_fraction"].choose(loss=changed[changed.axes], ratio=moved[moved.axes])
    return changed, moved, _row(use.step(not use.is_fixed("metrics.clip_fraction"), "clip_fraction.flag", flag))


def _row(step: Step) -> Block:
    """Returns the row of a step, or the one that it repeats."""
    assert isinstance(step.cell, Ref)
    return step.cell.block


def outside(name: str, x: Block, held: Block, use: Choices, tiny: Operand = 0) -> Block:
    """Flags what a clip has moved. held: x, clipped. tiny: a smaller distance is mere rounding."""
    return use.row(name, less(tiny, abs(x[x.axes] - held[held.axes])))


def below(name: str, x: Block, y: Block, use: Choices) -> Block:
    """Flags where x is smaller than y."""
    return use.row(name, less(x[x.axes], y[y.axes]))


def per_response(name: str, x: Block, use: Choices, M: Row = EVERYWHERE) -> Block:
    """Sums a row over each response."""
    return use.each(name, Sum(use.t, M[M.axes] * x[x.axes]))


def any_of(name: str, length: Operand, use: Choices) -> Block:
    """Tells of each response whether it has a word."""
    return use.each(name, less(0, length))


def size(name: str, x: Block, use: Choices) -> Block:
    """Takes a row without its signs."""
    return use.row(name, abs(x[x.axes]))


def largest(name: str, x: Block, use: Choices) -> Block:
    """Takes the largest number of the batch."""
    return use.one(name, Max(x.axes[len(use.lead) :], x[x.axes]))


def effective_sample_size(name: str, ratio: Block, over: Counting, use: Choices) -> Block:
    """Looks at the ratios as weights of the steps; all alike, every step counts in full."""
    total, squares = Sum(ratio.axes, ratio[ratio.axes]), Sum(ratio.axes, ratio[ratio.axes] * ratio[ratio.axes])
    return use.one(name, total * total / (over.number * squares))


def residual(name: str, R: Block, V: Block, over: Counting, use: Choices, M: Row = EVERYWHERE) -> tuple[Block, Spread]:
    """Compares the returns with what a critic expected: R − V, 0 where M is 0, and its mean and variance."""
    off = use.row(name, M[M.axes] * (R[R.axes] - V[V.axes]))
    return off, spread(name, off, over, use)


def explained_variance(
    name: str, error: Operand, variance: Block, floor: Block, use: Choices, eps: Operand = 0
) -> Block:
    """Asks how much of the returns' variance a critic foresaw: 1 − error / variance, 0 if the returns agree.

    error: the variance of the residuals, or their mean square. floor: a smaller variance is mere rounding. eps: what is
    added to the variance that is divided by.
    """
    of_returns = variance[use.lead]
    return use.one(name, where(less(floor, of_returns), 1 - error / (of_returns + eps), 0))


def variance_floor() -> Block:
    """Makes the typed number below which a variance is mere rounding."""
    return typed("explained_variance.floor", (), "var_min", "a smaller variance is mere rounding", decimals=12)


def means_of(rows: list[Block], over: Counting) -> dict[str, Block]:
    """Averages rows over the response words, by the names of the rows."""
    return {
        row.name: averaged(block(f"mean.{row.name}", (), f"mean {row.symbol}", row.about.meaning), row, over)
        for row in rows
    }
