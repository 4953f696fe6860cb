"""What one watches while training: none of it enters the loss."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Max, Sum, block, less, maximum, typed, where
from blueprint.workbooks.common import sources
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.loss import mean_over_words
from blueprint.workbooks.common.definitions.ratio import Surrogate

EQUAL_RETURNS = 1e-12
"""Returns that are all equal have a mean that may be rounded, and then a variance of about 1e-32 instead of 0."""


class ClipFraction(NamedTuple):
    """The words counted (n, t) and their share."""

    flag: Block
    fraction: Block


class Responses(NamedTuple):
    """Sums per response (n) and their means over the batch."""

    wrote: Block
    responses: Block
    kl: Block
    score: Block
    non_score: Block
    kl_mean: Block
    score_mean: Block
    non_score_mean: Block
    longest: Block
    mean_length: Block


class Explained(NamedTuple):
    """How much of the returns' variance the old critic foresaw, in steps."""

    mean_return: Block
    centred_return: Block
    return_variance: Block
    error: Block
    mean_error: Block
    centred_error: Block
    error_variance: Block
    floor: Block
    explained: Block


def clip_fraction_by_loss(clip: Surrogate, m: Block, words: Block) -> ClipFraction:
    """Counts the words whose loss the clip changed, as RLHF libraries do."""
    flag = block("clip_fraction.changed", (n, t), "clipped", "1 where the clip changed the surrogate", decimals=0)
    flag[n, t] = less(clip.clipped[n, t], clip.unclipped[n, t])
    share = mean_over_words(
        "clip_fraction.loss",
        "cf_loss",
        "share of words whose loss the clip changed",
        flag,
        m,
        words,
        sources.CLIP_FRACTION_LOSS,
    )
    return ClipFraction(flag, share)


def clip_fraction_by_ratio(ratio: Block, clip_range: Block, m: Block, words: Block) -> ClipFraction:
    """Counts the words whose ratio left 1 ± ε, as CleanRL and Stable-Baselines3 do: never fewer."""
    flag = block("clip_fraction.outside", (n, t), "outside", "1 where the ratio left 1 ± ε", decimals=0)
    flag[n, t] = less(clip_range, abs(ratio[n, t] - 1))
    share = mean_over_words(
        "clip_fraction.ratio",
        "cf_ratio",
        "share of words whose ratio left 1 ± ε",
        flag,
        m,
        words,
        sources.CLIP_FRACTION_RATIO,
    )
    return ClipFraction(flag, share)


def responses(m: Block, length: Block, kl: Block, score: Block, penalty: Block) -> Responses:
    """Sums over each response and averages over the responses of the batch."""
    wrote = block("response.wrote", (n,), "wrote", "1 if the policy wrote at least one word", decimals=0)
    count = block("response.count", (), "B", "responses of the batch (at least 1)", decimals=0)
    wrote[n] = less(0, length[n])
    count[()] = maximum(Sum(n, wrote[n]), 1)
    kl_sum = block("kl.response", (n,), "KL_sum", "KL to the reference of the response")
    kl_sum[n] = Sum(t, m[n, t] * kl[n, t])
    score_sum = _per_response("score.response", "score_n", "score of the response", score)
    price = _per_response("non_score.response", "pen_sum", "KL penalty of the response", penalty)
    longest = block("response.longest", (), "len_max", "longest response", decimals=0)
    longest[()] = Max(n, length[n])
    return Responses(
        wrote,
        count,
        kl_sum,
        score_sum,
        price,
        _mean_of_responses("kl.per_response", "KL_resp", "KL to the reference per response", kl_sum, count),
        _mean_of_responses("score.mean", "score_mean", "mean score", score_sum, count),
        _mean_of_responses("non_score_reward", "pen_mean", "non-score reward: mean KL penalty", price, count),
        longest,
        _mean_of_responses("response.mean_length", "len_mean", "mean length of the responses", length, count),
    )


def mean_abs(A: Block, m: Block, words: Block) -> tuple[Block, Block]:
    """Averages the size of the raw advantages."""
    size = block("advantage.abs", (n, t), "|A|", "size of the advantage", unit="≥ 0")
    size[n, t] = abs(A[n, t])
    return size, mean_over_words("advantage.mean_abs", "|A|_mean", "mean size of the raw advantages", size, m, words)


def variance_floor() -> Block:
    """Makes the typed number below which a variance is mere rounding."""
    return typed("explained_variance.floor", (), "var_min", "a smaller variance is mere rounding", decimals=12)


def explained_variance(V: Block, R: Block, m: Block, words: Block, floor: Block) -> Explained:
    """Asks how much of the returns' variance the old critic foresaw: 1 − var(R − V) / var(R), 0 if the returns agree.

    V, R, m: (n, t). floor: a smaller variance counts as 0.
    """
    mean_R = mean_over_words("returns.mean", "R_mean", "mean return", R, m, words)
    centred_R, var_R = _variance("returns", "R", R, mean_R, m, words)
    error = block("value.residual", (n, t), "res", "residual R − V_old")
    error[n, t] = R[n, t] - V[n, t]
    mean_e = mean_over_words("value.residual_mean", "res_mean", "mean residual", error, m, words)
    centred_e, var_e = _variance("value.residual", "res", error, mean_e, m, words)
    explained = block(
        "explained_variance",
        (),
        "EV",
        "explained variance of the old critic",
        unit="≤ 1",
        source=sources.EXPLAINED_VARIANCE,
    )
    explained[()] = where(less(floor, var_R), 1 - var_e / var_R, 0)
    return Explained(mean_R, centred_R, var_R, error, mean_e, centred_e, var_e, floor, explained)


def _per_response(name: str, symbol: str, meaning: str, x: Block) -> Block:
    total = block(name, (n,), symbol, meaning)
    total[n] = Sum(t, x[n, t])
    return total


def _mean_of_responses(name: str, symbol: str, meaning: str, x: Block, count: Block) -> Block:
    mean = block(name, (), symbol, meaning)
    mean[()] = Sum(n, x[n]) / count
    return mean


def _variance(name: str, symbol: str, x: Block, mean: Block, m: Block, words: Block) -> tuple[Block, Block]:
    centred = block(f"{name}.centred", (n, t), f"{symbol}_c", f"{symbol} less its mean")
    variance = block(f"{name}.variance", (), f"var_{symbol}", f"variance of {symbol}", unit="≥ 0")
    centred[n, t] = m[n, t] * (x[n, t] - mean)
    variance[()] = Sum((n, t), centred[n, t] * centred[n, t]) / words
    return centred, variance


def means_of(rows: list[Block], m: Block, words: Block) -> dict[str, Block]:
    """Averages rows over the response words, by the names of the rows."""
    return {
        row.name: mean_over_words(f"mean.{row.name}", f"mean {row.symbol}", row.about.meaning, row, m, words)
        for row in rows
    }
