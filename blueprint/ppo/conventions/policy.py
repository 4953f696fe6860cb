"""The policy loss per word: ratio, clip on either side, dual clip, and which words count."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, at_most, exp, maximum, minimum, where
from blueprint.ppo import sources as papers
from blueprint.ppo.axes import n, t
from blueprint.ppo.conventions import sources
from blueprint.ppo.conventions.choices import Choices
from blueprint.ppo.conventions.reward import clamped

FAR_BELOW = '[<=-100000]"off";0.0000'
"""How a floor is shown that no surrogate reaches: off."""


class Clip(NamedTuple):
    """Ratio and surrogate, all rows (n, t)."""

    log_ratio: Block
    ratio: Block
    unclipped: Block
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
    """The mean ratio, and 1 while it is below the threshold."""

    mean_ratio: Block
    keep: Block


def clip(logp_new: Block, logp_old: Block, M: Block, A: Block, use: Choices) -> Clip:
    """Clips the ratio on either side of 1; for A < 0 no surrogate falls below c·A. All rows (n, t)."""
    at, row = use.used, (*use.lead, n, t)
    d = use.row("log_ratio", "d", "log-ratio log π_θ − log π_old, clamped", source=sources.LOG_RATIO)
    ratio = use.row("ratio", "ρ", "importance ratio π_θ / π_old", unit="> 0", source=papers.RATIO)
    free = use.row("surrogate.unclipped", "U", "unclipped surrogate: ratio · advantage")
    near = use.row("ratio.clipped", "ρ_c", "ratio clipped to 1 − ε … 1 + ε_up")
    held = use.row("surrogate.clipped", "U_c", "clipped ratio · advantage")
    pessimistic = use.row("surrogate.pessimistic", "U_pess", "the smaller of U, U_c", source=papers.CLIP)
    floor = use.row("surrogate.floor", "U_floor", "dual clip: c · Â where Â < 0", source=sources.DUAL, reads=FAR_BELOW)
    smaller = use.row("surrogate", "U_min", "clipped surrogate, not below its floor", source=papers.CLIP)
    d[row] = M[row] * clamped(logp_new[n, t] - logp_old[n, t], at["loss.log_ratio_clamp"])
    ratio[row] = exp(d[row])
    free[row] = ratio[row] * A[row]
    near[row] = maximum(1 - at["clip_range"], minimum(1 + at["loss.clip_range_high"], ratio[row]))
    held[row] = near[row] * A[row]
    pessimistic[row] = minimum(free[row], held[row])
    floor[row] = at["loss.dual_clip"] * minimum(A[row], 0)
    smaller[row] = maximum(pessimistic[row], floor[row])
    return Clip(d, ratio, free, near, held, pessimistic, floor, smaller)


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
    """Switches the losses off when the mean ratio is above a threshold."""
    L, told = use.lead, "1 while the mean ratio is within ρ_max"
    keep = use.one("loss.keep", "g", told, decimals=0, source=sources.GUARD)
    keep[L] = where(at_most(mean[L], use.used["loss.ratio_threshold"]), 1, 0)
    return Guard(mean, keep)
