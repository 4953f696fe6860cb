"""What one watches while training: none of it enters the loss."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Max, Sum, block, exp, less, typed, where
from blueprint.workbooks.classic_ppo import sources
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.classic_ppo.loss import mean


class ApproxKL(NamedTuple):
    """Estimates of how far the update moved the policy: rows (n, t) and their means."""

    k1: Block
    k3: Block
    mean_k1: Block
    mean_k3: Block


class Fraction(NamedTuple):
    """The steps counted (n, t) and their share."""

    flag: Block
    share: Block


class Weights(NamedTuple):
    """Mean and largest ratio, and for how many steps the batch still counts, as a share."""

    mean: Block
    largest: Block
    effective: Block


class Explained(NamedTuple):
    """How much of the returns' variance a critic foresaw, in steps."""

    error: Block
    mean_error: Block
    centred: Block
    variance: Block
    explained: Block


def approx_kl(d: Block, N: Block) -> ApproxKL:
    """Estimates KL(π_old ‖ π_θ) from the log-ratio d of the action taken."""
    k1 = block("policy_kl.k1", (n, t), "pk1", "policy KL estimate k1: −d")
    k3 = block("policy_kl.k3", (n, t), "pk3", "policy KL estimate k3: e^d − 1 − d", unit="≥ 0")
    k1[n, t] = -d[n, t]
    k3[n, t] = exp(d[n, t]) - 1 - d[n, t]
    return ApproxKL(
        k1,
        k3,
        mean("approx_kl.k1", "aKL_k1", "approximate KL: mean of −d", k1, N, sources.APPROX_K1),
        mean("approx_kl.k3", "aKL_k3", "approximate KL: mean of e^d − 1 − d", k3, N, sources.APPROX_K3),
    )


def rounding() -> Block:
    """Makes the typed number below which a difference, or a variance, is mere rounding.

    Programs do not round alike: 0.9 − 0.7 is more than 0.2 to one of them and not to another.
    """
    return typed("rounding", (), "tiny", "what is smaller is mere rounding", decimals=12)


def clip_fraction(ratio: Block, clipped_ratio: Block, tiny: Block, N: Block) -> Fraction:
    """Counts the steps whose ratio left the range of the clip."""
    flag = block("clip_fraction.outside", (n, t), "outside", "1 where the ratio left its range", decimals=0)
    flag[n, t] = less(tiny, abs(ratio[n, t] - clipped_ratio[n, t]))
    told = "share of steps whose ratio left its range"
    return Fraction(flag, mean("clip_fraction", "cf", told, flag, N, sources.CLIP_FRACTION))


def value_fraction(V_new: Block, held: Block, tiny: Block, N: Block) -> Fraction:
    """Counts the steps whose value moved farther than the clip lets it."""
    flag = block("value_fraction.outside", (n, t), "V_outside", "1 where the value left V_old ± ε_V", decimals=0)
    flag[n, t] = less(tiny, abs(V_new[n, t] - held[n, t]))
    told = "share of steps whose value left its range"
    return Fraction(flag, mean("value_fraction", "cf_V", told, flag, N, sources.VALUE_FRACTION))


def weights(ratio: Block, N: Block) -> Weights:
    """Looks at the ratios as weights of the steps; all alike, every step counts in full."""
    largest = block("ratio.largest", (), "ρ_top", "largest ratio")
    effective = block(
        "ratio.effective", (), "ESS", "effective sample size, as a share", unit="0 … 1", source=sources.ESS
    )
    largest[()] = Max((n, t), ratio[n, t])
    total = Sum((n, t), ratio[n, t])
    effective[()] = total * total / (N * Sum((n, t), ratio[n, t] * ratio[n, t]))
    return Weights(mean("ratio.mean", "ρ_mean", "mean ratio", ratio, N), largest, effective)


def variance(name: str, symbol: str, x: Block, N: Block) -> tuple[Block, Block, Block]:
    """Takes mean, distances from it and variance of a row (n, t), the variance by N."""
    centred = block(f"{name}.centred", (n, t), f"{symbol}_c", f"{symbol} less its mean")
    var = block(f"{name}.variance", (), f"var_{symbol}", f"variance of {symbol} (by N)", unit="≥ 0")
    average = mean(f"{name}.mean", f"{symbol}_mean", f"mean of {symbol}", x, N)
    centred[n, t] = x[n, t] - average
    var[()] = Sum((n, t), centred[n, t] * centred[n, t]) / N
    return average, centred, var


def explained(whose: str, V: Block, R: Block, var_R: Block, tiny: Block, N: Block) -> Explained:
    """Asks how much of the returns' variance a critic foresaw: 1 − var(R − V) / var(R), 0 if the returns agree."""
    error = block(f"residual.{whose}", (n, t), f"res_{whose}", f"residual R − V, {whose} critic")
    error[n, t] = R[n, t] - V[n, t]
    average, centred, var = variance(f"residual.{whose}", f"res_{whose}", error, N)
    source = sources.EXPLAINED_VARIANCE if whose == "old" else sources.EXPLAINED_NEW
    told = f"explained variance, {whose} critic"
    share = block(f"explained_variance.{whose}", (), f"EV_{whose}", told, unit="≤ 1", source=source)
    share[()] = where(less(tiny, var_R), 1 - var / var_R, 0)
    return Explained(error, average, centred, var, share)
