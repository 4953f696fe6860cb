"""Whitening: shifting and scaling, by the statistics and in the form that the conventions say."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, maximum, sqrt
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions import sources
from blueprint.workbooks.common.conventions.choices import Choices


class Statistics(NamedTuple):
    """What is counted, mean and variance of it, and the numbers by which libraries divide."""

    counted: Block
    number: Block
    mean: Block
    centred: Block
    bessel: Block | None
    variance: Block
    roots: tuple[Block, ...]
    divisor: Block


class Moments(NamedTuple):
    """Count, mean and variance of a batch of which only a part stands here; typed."""

    number: Block
    mean: Block
    variance: Block


class Whitened(NamedTuple):
    """Statistics, the whitened row, the same with its mean put back, and the row in use; all rows (n, t)."""

    of: Statistics
    whitened: Block
    shifted: Block
    used: Block


def statistics(
    name: str, of: str, x: Block, mask: Block, S: Block, use: Choices, whole: Moments | None = None
) -> Statistics:
    """Takes mean and variance of a row (n, t), over its mask or over all slots. name, of: what the blocks and symbols say.

    whole: the moments, where they are those of a larger batch.
    """
    L, row = use.lead, (*use.lead, n, t)
    counts = use.row(f"{name}.counted", f"m_{of}", f"1 on {name}s that are counted", decimals=0)
    counts[row] = use.switch["advantage.stats"].choose(mask=mask[row], all=S[n, t])
    centred = use.row(f"{name}.centred", f"{of}_c", f"{name} less the mean")
    N, mean, var, bessel = (*whole, None) if whole else _moments(name, of, x, counts, centred, use)
    centred[row] = counts[row] * (x[row] - mean[L])
    roots, divisor = _divisors(name, of, var, use)
    return Statistics(counts, N, mean, centred, bessel, var, roots, divisor)


def _moments(
    name: str, of: str, x: Block, counts: Block, centred: Block, use: Choices
) -> tuple[Block, Block, Block, Block]:
    """Counts, and takes mean, variance and the factor n/(n − ddof) in it; `centred` is read, and filled by the mean."""
    L, eps, row = use.lead, use.used["advantage.mean_eps"], (*use.lead, n, t)
    N = use.one(f"{name}.count", f"N_{of}", f"{name}s counted", decimals=0)
    mean = use.one(f"{name}.mean", f"μ_{of}", f"mean of the {name}s")
    bessel = use.one(f"{name}.bessel", f"bessel_{of}", f"N/(N − ddof), of the {name}s", unit="≥ 1")
    var = use.one(f"{name}.variance", f"σ²_{of}", f"variance of the {name}s", unit="≥ 0", source=sources.WHITEN)
    N[L] = Sum((n, t), counts[row])
    mean[L] = Sum((n, t), counts[row] * x[row]) / (maximum(N[L], 1) + eps)
    enough = N[L] + use.used["advantage.ddof_eps"]
    bessel[L] = maximum(enough, 1) / maximum(enough - use.used["advantage.ddof"], 1)
    var[L] = Sum((n, t), centred[row] * centred[row]) / (maximum(N[L], 1) + eps) * bessel[L]
    return N, mean, var, bessel


def _divisors(name: str, of: str, var: Block, use: Choices) -> tuple[tuple[Block, ...], Block]:
    """Makes the four numbers by which libraries divide, and takes the chosen one."""
    L, eps = use.lead, use.used["whiten_eps"]
    forms = {
        "rsqrt_var_plus": ("rsqrt", "√(σ² + ε_w)", sqrt(var[L] + eps)),
        "clamp": ("clamp", "√max(σ², ε_w)", sqrt(maximum(var[L], eps))),
        "std_plus": ("plus", "√σ² + ε_w", sqrt(var[L]) + eps),
        "std_max": ("max", "max(√σ², ε_w)", maximum(sqrt(var[L]), eps)),
    }
    roots = {}
    for word, (symbol, how, form) in forms.items():
        roots[word] = use.one(f"{name}.{word}", f"σ_{symbol}_{of}", f"divisor of {name}s: {how}")
        roots[word][L] = form
    divisor = use.one(f"{name}.divisor", f"σ_{of}", f"divisor of {name}s, the one in use", source=sources.WHITEN)
    divisor[L] = use.switch["advantage.eps_form"].choose(**{word: root[L] for word, root in roots.items()})
    return tuple(roots.values()), divisor


def whitened_rewards(raw: Block, kept: Block, S: Block, use: Choices, whole: Moments | None = None) -> Whitened:
    """Scales the rewards and puts their mean back; what lies behind the response is set to 0, or left as it comes out."""
    of, L, row = statistics("reward", "r", raw, kept, S, use, whole), use.lead, (*use.lead, n, t)
    white = use.row("reward.whitened", "r_w", "whitened reward, mean 0")
    shifted = use.row("reward.shifted", "r_s", "whitened reward, mean put back", source=sources.REWARD_WHITEN)
    rewards = use.row("rewards", "r", "reward used")
    white[row] = (raw[row] - of.mean[L]) / of.divisor[L]
    zeroed = use.switch["reward.whiten_rezero"].says("on")
    shifted[row] = S[n, t] * maximum(kept[row], 1 - zeroed) * (white[row] + of.mean[L])
    rewards[row] = use.switch["reward.whiten"].choose(off=raw[row], on=shifted[row])
    return Whitened(of, white, shifted, rewards)


def whitened_advantages(A: Block, M: Block, S: Block, use: Choices, whole: Moments | None = None) -> Whitened:
    """Shifts and scales the advantages; or only scales them, or leaves them."""
    of, L, row = statistics("advantage", "A", A, M, S, use, whole), use.lead, (*use.lead, n, t)
    white = use.row("advantage.whitened", "Â", "whitened advantage", source=sources.WHITEN)
    shifted = use.row("advantage.shifted", "Â_s", "whitened advantage, mean put back", source=sources.WHITEN)
    used = use.row("advantages_used", "Â_used", "advantage used by the loss")
    white[row] = of.centred[row] / of.divisor[L]
    shifted[row] = white[row] + of.counted[row] * of.mean[L]
    rows = {"on": white[row], "off": A[row], "keep_mean": shifted[row]}
    used[row] = M[row] * use.switch["whiten_advantages"].choose(**rows)
    return Whitened(of, white, shifted, used)
