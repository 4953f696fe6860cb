"""What one watches while training, as each library counts it; none of it enters the loss."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, exp, less, maximum
from blueprint.language.nodes import Arithmetic
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions.explained import Explained, explained
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.loss import PolicyKL, ValueLoss
from blueprint.workbooks.common.definitions.ratio import Clip


class Seen(NamedTuple):
    """What is watched. S, V_new, entropy: (n, t); all others: rows."""

    S: Block
    M: Block
    value_counted: Block
    clip: Clip
    value: ValueLoss
    V_old: Block
    V_new: Block
    returns: Block
    kl: Block
    entropy: Block


class Weighing(NamedTuple):
    """What is divided by, and the weight of every slot (a row)."""

    divisor: Block
    row: Block


class Drift(NamedTuple):
    """KL to the reference: per response (n), in two ways, the one in use, and its mean over the responses."""

    total: Block
    per_word: Block
    chosen: Block
    wrote: Block
    mean: Block


class Estimated(NamedTuple):
    """The log-ratio that is read; beside k1 and k3 the estimate k2 of the policy KL, and the estimate in use; rows."""

    read: Block
    k2: Block
    used: Block


class Flags(NamedTuple):
    """1 where a word counts as clipped: by the loss, by the ratio, and as is asked; rows."""

    by_loss: Block
    by_ratio: Block
    used: Block


class Watched(NamedTuple):
    """Diagnostics of a batch: weights, the rows of which they are made, and the numbers, the last of each group."""

    over: Block
    eps: Block
    slots: Weighing
    words: Weighing
    values: Weighing
    estimates: PolicyKL
    kl_rows: Estimated
    flags: Flags
    at_floor: Block
    value_held: Block
    approx_kl: Block
    entropy: Block
    mean_ratio: Block
    clip_fraction: Block
    dual_fraction: Block
    value_fraction: Block
    drift: Drift
    explained: Explained


def watched(see: Seen, floor: Block, use: Choices) -> Watched:
    """Defines the diagnostics. floor: a smaller variance of returns is mere rounding."""
    L, row = use.lead, (*use.lead, n, t)
    over = use.row("watch.over")
    over[row] = use.switch["metrics.over"].choose(mask=see.M[row], all=see.S[n, t])
    eps = use.one("watch.eps")
    eps[L] = use.switch["metrics.over"].says("mask") * use.used["advantage.mean_eps"]
    slots = _weighing("watch.slots", "watch", "what is watched", over, eps[L], use)
    words = _weighing("watch.words", "word", "response words", see.M, use.used["advantage.mean_eps"], use)
    values = _weighing(
        "watch.values", "critic", "value-loss words", see.value_counted, use.used["advantage.mean_eps"], use
    )
    estimates, more = _policy_kl(see.clip, use)
    flags = clip_flags(see.clip, use)
    assert see.clip.floor is not None
    floored = use.row("clip_fraction.floored")
    floored[row] = less(see.clip.pessimistic[row], see.clip.floor[row])
    held = use.row("value.held_counts")
    held[row] = less(see.value.square[row], see.value.held_square[row])
    entropy = use.one("entropy.watched")
    entropy[L] = Sum((n, t), slots.row[row] * see.entropy[n, t])
    return Watched(
        over, eps, slots, words, values, estimates, more, flags, floored, held,
        _mean("approx_kl.used", "aKL", "approximate KL of the update", slots, more.used, use),
        entropy,
        _mean("ratio.mean", "ρ_watch", "mean ratio, over what is watched", slots, see.clip.ratio, use),
        _mean("clip_fraction.used", "cf", "clip fraction", words, flags.used, use),
        _mean("clip_fraction.dual", "cf_dual", "share of words at the dual clip's floor", words, floored, use),
        _mean("clip_fraction.value", "cf_V", "share of words whose clipped value counts", values, held, use),
        _drift(see, use),
        explained(see.M, see.returns, see.V_old, see.V_new, floor, use),
    )  # fmt: skip


def _weighing(name: str, of: str, told: str, counts: Block, eps: Arithmetic, use: Choices) -> Weighing:
    """Weighs every slot that is counted alike."""
    row = (*use.lead, n, t)
    count = use.one(f"{name}.count")
    share = use.row(f"{name}.weight")
    count[use.lead] = maximum(Sum((n, t), counts[row]), 1) + eps
    share[row] = counts[row] / count[use.lead]
    return Weighing(count, share)


def _mean(name: str, symbol: str, meaning: str, by: Weighing, x: Block, use: Choices) -> Block:
    row = (*use.lead, n, t)
    mean = use.one(name)
    mean[use.lead] = Sum((n, t), by.row[row] * x[row])
    return mean


def _policy_kl(clip: Clip, use: Choices) -> tuple[PolicyKL, Estimated]:
    """Estimates KL(π_old ‖ π_θ) from the log-ratio, clamped or raw: k1 and k3, k2, and the one in use.

    k3 is made of the ratio, and so of the log-ratio that the ratio has: a raw one could lead beyond the largest number.
    """
    row, d = (*use.lead, n, t), clip.log_ratio
    read = use.row("policy_kl.log_ratio")
    k1 = use.row("policy_kl.k1")
    k2 = use.row("policy_kl.k2")
    k3 = use.row("policy_kl.k3")
    used = use.row("policy_kl.used")
    read[row] = use.switch["metrics.log_ratio"].choose(clamped=d[row], raw=clip.free_log_ratio[row])
    k1[row] = -read[row]
    k2[row] = read[row] * read[row] / 2
    k3[row] = exp(d[row]) - 1 - d[row]
    used[row] = use.switch["metrics.kl"].choose(k1=k1[row], k2=k2[row], k3=k3[row])
    return PolicyKL(k1, k3), Estimated(read, k2, used)


def clip_flags(clip: Clip, use: Choices) -> Flags:
    """Flags the words that count as clipped: by the loss, by the ratio, and the flag in use."""
    row = (*use.lead, n, t)
    changed = use.row("clip_fraction.changed")
    outside = use.row("clip_fraction.outside")
    flag = use.row("clip_fraction.flag")
    changed[row] = less(clip.clipped[row], clip.unclipped[row])
    outside[row] = less(0, abs(clip.ratio[row] - clip.clipped_ratio[row]))
    flag[row] = use.switch["metrics.clip_fraction"].choose(loss=changed[row], ratio=outside[row])
    return Flags(changed, outside, flag)


def _drift(see: Seen, use: Choices) -> Drift:
    """Averages over responses their KL to the reference, or its mean per word: what an adaptive controller is fed."""
    each, row = (*use.lead, n), (*use.lead, n, t)
    total = use.each("kl.response_sum")
    per_word = use.each("kl.response_mean")
    chosen = use.each("kl.response_used")
    wrote = use.each("kl.wrote")
    mean = use.one("kl.statistic")
    total[each] = Sum(t, see.M[row] * see.kl[row])
    wrote[each] = less(0, Sum(t, see.M[row]))
    per_word[each] = total[each] / (maximum(Sum(t, see.M[row]), 1) + use.used["advantage.mean_eps"])
    chosen[each] = use.switch["metrics.kl_stat"].choose(seq_sum=total[each], token_mean=per_word[each])
    mean[use.lead] = Sum(n, chosen[each]) / maximum(Sum(n, wrote[each]), 1)
    return Drift(total, per_word, chosen, wrote, mean)
