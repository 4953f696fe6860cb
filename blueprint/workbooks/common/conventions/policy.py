"""The policy loss per word: ratio, clip on either side, dual clip, and which words count."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, at_most, exp, is_off, maximum, minimum, where
from blueprint.workbooks.common import sources as papers
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions import sources
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
    free_d = use.row("log_ratio.free", "d_free", "log-ratio log π_θ − log π_old")
    d = use.row("log_ratio", "d", "log-ratio, clamped", source=sources.LOG_RATIO)
    ratio = use.row("ratio", "ρ", "importance ratio π_θ / π_old", unit="> 0", source=papers.RATIO)
    free = use.row("surrogate.unclipped", "U", "unclipped surrogate: ratio · advantage")
    lowest = lowest_ratio(use.one("ratio.lowest", "ρ_low", "lowest ratio that counts: 1 − ε, or 0"), at["clip_range"])
    near = use.row("ratio.clipped", "ρ_c", "ratio clipped to 1 − ε … 1 + ε_up")
    held = use.row("surrogate.clipped", "U_c", "clipped ratio · advantage")
    pessimistic = use.row("surrogate.pessimistic", "U_pess", "the smaller of U, U_c", source=papers.CLIP)
    floor = use.row("surrogate.floor", "U_floor", "dual clip: c·min(Â, 0); U_pess if off", source=sources.DUAL)
    smaller = use.row("surrogate", "U_min", "clipped surrogate, not below its floor", source=papers.CLIP)
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
    keep = use.each("loss.kept", "kept_n", "1 if the policy loss counts it", decimals=0, source=sources.FILTER)
    counts = use.row("loss.counted", "m_π", "1 on words of the policy loss", decimals=0)
    keep[*L, n] = where(use.switch["loss.sample_filter"].says("none"), 1, by_word[n])
    counts[*L, n, t] = M[*L, n, t] * keep[*L, n]
    return Filter(keep, counts)


def mean_ratio(ratio: Block, M: Block, use: Choices) -> Block:
    """Averages the ratio over what counts as response."""
    row = (*use.lead, n, t)
    mean = use.one("loss.mean_ratio", "ρ_mean", "mean ratio over what counts as response")
    mean[use.lead] = Sum((n, t), M[row] * ratio[row]) / maximum(Sum((n, t), M[row]), 1)
    return mean


def guard(mean: Block, use: Choices) -> Guard:
    """Switches the losses off when the mean ratio is above a threshold; without one, every mean ratio passes."""
    L, told, most = use.lead, "1 while the mean ratio passes", use.used["loss.ratio_threshold"]
    largest = use.one("loss.mean_ratio.largest", "ρ_pass", "mean ratio up to which the losses count")
    largest[L] = where(is_off(most), mean[L], most)
    keep = use.one("loss.keep", "g", told, decimals=0, source=sources.GUARD)
    keep[L] = where(at_most(mean[L], largest[L]), 1, 0)
    return Guard(mean, largest, keep)
