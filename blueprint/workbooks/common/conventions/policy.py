"""The policy loss per word: ratio, clip on either side, dual clip, and which words count."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, at_most, exp, is_off, maximum, minimum, where
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices, clamped
from blueprint.workbooks.common.definitions.loss import between, lowest_ratio


class Clip(NamedTuple):
    """Ratio and surrogate, all rows (n, t), but for the lowest ratio that counts, which is one number."""

    free_log_ratio: Block
    log_ratio: Block
    ratio: Block
    unclipped: Block
    lowest: Block
    clipped_ratio: Block
    clipped: Block
    pessimistic: Block
    floor: Block
    smaller: Block


class Filter(NamedTuple):
    """1 for each response that the policy loss counts (n), and on each of its words (a row)."""

    kept: Block
    counted: Block


class Guard(NamedTuple):
    """The mean ratio, the largest one that is let pass, and 1 while it is not above that."""

    mean_ratio: Block
    largest: Block
    keep: Block


def clip(logp_new: Block, logp_old: Block, M: Block, A: Block, use: Choices) -> Clip:
    """Clips the ratio on either side of 1; for A < 0 no surrogate falls below c·A. All rows (n, t)."""
    at, row = use.used, (*use.lead, n, t)
    free_d = use.row("log_ratio.free")
    d = use.row("log_ratio")
    ratio = use.row("ratio")
    free = use.row("surrogate.unclipped")
    lowest = lowest_ratio(use.one("ratio.lowest"), at["clip_range"])
    near = use.row("ratio.clipped")
    held = use.row("surrogate.clipped")
    pessimistic = use.row("surrogate.pessimistic")
    floor = use.row("surrogate.floor")
    smaller = use.row("surrogate")
    free_d[row] = M[row] * (logp_new[n, t] - logp_old[n, t])
    d[row] = clamped(free_d[row], at["loss.log_ratio_clamp"])
    ratio[row] = exp(d[row])
    free[row] = ratio[row] * A[row]
    near[row] = between(ratio[row], lowest[use.lead], at["loss.clip_range_high"])
    held[row] = near[row] * A[row]
    pessimistic[row] = minimum(free[row], held[row])
    c = at["loss.dual_clip"]
    floor[row] = where(is_off(c), pessimistic[row], c * minimum(A[row], 0))
    smaller[row] = maximum(pessimistic[row], floor[row])
    return Clip(free_d, d, ratio, free, lowest, near, held, pessimistic, floor, smaller)


def filtered(M: Block, by_word: Block, use: Choices) -> Filter:
    """Drops responses without an end word from the policy loss, where the conventions say so."""
    L = use.lead
    keep = use.each("loss.kept")
    counts = use.row("loss.counted")
    keep[*L, n] = where(use.switch["loss.sample_filter"].says("none"), 1, by_word[n])
    counts[*L, n, t] = M[*L, n, t] * keep[*L, n]
    return Filter(keep, counts)


def mean_ratio(ratio: Block, M: Block, use: Choices) -> Block:
    """Averages the ratio over what counts as response."""
    row = (*use.lead, n, t)
    mean = use.one("loss.mean_ratio")
    mean[use.lead] = Sum((n, t), M[row] * ratio[row]) / maximum(Sum((n, t), M[row]), 1)
    return mean


def guard(mean: Block, use: Choices) -> Guard:
    """Switches the losses off when the mean ratio is above a threshold; without one, every mean ratio passes."""
    L, most = use.lead, use.used["loss.ratio_threshold"]
    largest = use.one("loss.mean_ratio.largest")
    largest[L] = where(is_off(most), mean[L], most)
    keep = use.one("loss.keep")
    keep[L] = where(at_most(mean[L], largest[L]), 1, 0)
    return Guard(mean, largest, keep)
