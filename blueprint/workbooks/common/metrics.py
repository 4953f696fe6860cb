"""What one watches while training, as the conventions count it: the numbers that a library logs, and their outline."""

from dataclasses import dataclass
from typing import NamedTuple

from blueprint.language import Block, Sum, maximum
from blueprint.page.outline import Section, key
from blueprint.workbooks.common.definitions import (
    EVERYWHERE,
    Choices,
    Clip,
    Counting,
    Flags,
    PolicyKL,
    ValueLoss,
    any_of,
    below,
    clip_flags,
    count,
    explained_variance,
    mean,
    per_response,
    policy_kl,
    residual,
    rows,
    spread,
)
from blueprint.workbooks.common.sheets.signal import minors


class MetricInputs(NamedTuple):
    """What is watched. S, V_new, entropy: (n, t); all others rows. floor: a smaller variance of returns is mere rounding."""

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
    floor: Block


@dataclass(frozen=True)
class Metrics:
    """The flags and estimates of which numbers are made, the outline, and every row of it by the name of its block."""

    flags: Flags
    policy_kl: PolicyKL
    sections: tuple[Section, ...]
    named: dict[str, Block]


def metrics(see: MetricInputs, use: Choices) -> Metrics:
    """Defines and outlines what a library logs."""
    estimates = policy_kl(see.clip.log_ratio, see.clip.free_log_ratio, use)
    flags = clip_flags(see.clip, use)
    slots, words, values, weights = _weights(see, use)
    sections = (
        weights,
        _moved(see, estimates, slots, use),
        _clipped(see, flags, words, values, use),
        _drifted(see, use),
        _foreseen(see, use),
    )
    return Metrics(flags, estimates, sections, by_name(sections, use.prefix))


def by_name(sections: tuple[Section, ...], prefix: str = "") -> dict[str, Block]:
    """Returns the blocks of an outline by their names, without the prefix."""
    blocks = (item if isinstance(item, Block) else getattr(item, "block", None) for s in sections for item in s.items)
    return {each.name.removeprefix(prefix): each for each in blocks if each is not None}


def _weights(see: MetricInputs, use: Choices) -> tuple[Counting, Counting, Counting, Section]:
    """Weighs every slot that is counted alike: what is watched, the response words, and those of the value loss."""
    over_what, more = use.switch["metrics.over"], use.used["advantage.mean_eps"]
    over = use.row("watch.over", over_what.choose(mask=see.M[see.M.axes], all=see.S[see.S.axes]))
    eps = use.one("watch.eps", over_what.says("mask") * more)
    counted = {"slots": (over, eps[use.lead]), "words": (see.M, more), "values": (see.value_counted, more)}
    steps = []
    for name, (x, by) in counted.items():
        number = count(f"watch.{name}.count", x, use, by)
        steps += [number, use.row(f"watch.{name}.weight", x[x.axes] / number[use.lead])]
    slots, words, values = (Counting(weight, 1, 1) for weight in steps[1::2])
    title = "As the preset counts: what is averaged over what"
    return slots, words, values, Section(title, minors(over, eps, *steps))


def _moved(see: MetricInputs, kl: PolicyKL, slots: Counting, use: Choices) -> Section:
    """Asks how far the update moved the policy."""
    numbers = {"approx_kl.used": kl.used, "ratio.mean": see.clip.ratio, "entropy.watched": see.entropy}
    means = (key(mean(name, x, slots, use)) for name, x in numbers.items())
    return Section("As the preset counts: approximate KL, ratio, entropy", (*kl.steps, *means))


def _clipped(see: MetricInputs, flags: Flags, words: Counting, values: Counting, use: Choices) -> Section:
    """Counts the words that a clip holds."""
    assert see.clip.floor is not None
    floored = below("clip_fraction.floored", see.clip.pessimistic, see.clip.floor, use)
    held = below("value.held_counts", see.value.square, see.value.held_square, use)
    share = key(mean("clip_fraction.used", flags.used, words, use))
    dual = key(mean("clip_fraction.dual", floored, words, use))
    of_values = key(mean("clip_fraction.value", held, values, use))
    return Section("As the preset counts: clip fractions", (*rows(*flags), share, floored, dual, held, of_values))


def _drifted(see: MetricInputs, use: Choices) -> Section:
    """Averages over responses their KL to the reference, or its mean per word: what an adaptive controller is fed."""
    each, words = (*use.lead, use.n), Sum(use.t, see.M[see.M.axes])
    total = per_response("kl.response_sum", see.kl, use, see.M)
    number = maximum(words, 1) + use.used["advantage.mean_eps"]
    per_word = use.each("kl.response_mean", total[each] / number)
    wrote = any_of("kl.wrote", words, use)
    fed = use.switch["metrics.kl_stat"].choose(seq_sum=total[each], token_mean=per_word[each])
    chosen = use.each("kl.response_used", fed)
    responses = maximum(Sum(use.n, wrote[each]), 1)
    statistic = mean("kl.statistic", chosen, Counting(EVERYWHERE, responses, responses), use)
    return Section("As the preset counts: KL to the reference", (total, per_word, chosen, wrote, key(statistic)))


def _foreseen(see: MetricInputs, use: Choices) -> Section:
    """Asks how much of the returns' variance a critic foresaw, in the three forms that are in use."""
    L, N = use.lead, count("ev.count", see.M, use)
    free = use.one("ev.free", maximum(N[L] - use.used["advantage.ddof"], 1))
    over = Counting(see.M, N[L], free[L])
    of_returns = spread("ev.returns", see.returns, over, use)
    old = residual("ev.residual_old", see.returns, see.V_old, over, use, see.M)
    new = residual("ev.residual_new", see.returns, see.V_new, over, use, see.M)
    mse = use.one("ev.mse", Sum((use.n, use.t), new.row[use.at] * new.row[use.at]) / N[L])
    forms = {"var_old": old.variance[L], "var_new": new.variance[L], "mse_new": mse[L]}
    error = use.one("ev.error", use.switch["metrics.explained"].choose(**forms))
    used = explained_variance("ev.used", error[L], of_returns.variance, see.floor, use, use.used["metrics.ev_eps"])
    steps = minors(N, free, *of_returns, *old, *new)
    return Section("As the preset counts: explained variance", (*steps, mse, error, key(used)))
