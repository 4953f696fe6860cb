"""What one watches while training, as the conventions count it: the numbers that a library logs, and their outline."""

from blueprint.language import Block, Sum, maximum
from blueprint.page.outline import Section, key
from blueprint.workbooks.common.definitions import (
    EVERYWHERE,
    Choices,
    Counting,
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
from blueprint.workbooks.common.loss import Loss
from blueprint.workbooks.common.sheets import Rows, several
from blueprint.workbooks.common.sheets.signal import minors


def metrics_of(made: Loss, use: Choices) -> tuple[Section, ...]:
    """Defines and outlines what a library logs, where conventions choose what counts.

    The loss is made of what is watched; besides, its rows hold `slots`, `kl.used`, and below which variance of returns there
    is mere rounding.
    """
    slots, words, values, weights = _weights(made, use)
    return (
        weights,
        _moved(made, slots, use),
        _clipped(made, words, values, use),
        _drifted(made.given, use),
        _foreseen(made.given, use),
    )


def by_name(sections: tuple[Section, ...], prefix: str = "") -> dict[str, Block]:
    """Returns the blocks of an outline by their names, without the prefix."""
    blocks = (item if isinstance(item, Block) else getattr(item, "block", None) for s in sections for item in s.items)
    return {each.name.removeprefix(prefix): each for each in blocks if each is not None}


def _weights(made: Loss, use: Choices) -> tuple[Counting, Counting, Counting, Section]:
    """Weighs every slot that is counted alike: what is watched, the response words, and those of the value loss."""
    over_what, more = use.switch["metrics.over"], use.used["advantage.mean_eps"]
    S, M = (made.given.get(f"minibatch.{name}", made.given[name]) for name in ("slots", "response"))
    of_value = made.value_weighed
    assert isinstance(of_value, Block)
    over = use.row("watch.over", over_what.choose(mask=M[M.axes], all=S[S.axes]))
    eps = use.one("watch.eps", over_what.says("mask") * more)
    steps = []
    for name, (x, by) in {"slots": (over, eps[use.lead]), "words": (M, more), "values": (of_value, more)}.items():
        number = count(f"watch.{name}.count", x, use, by)
        steps += [number, use.row(f"watch.{name}.weight", x[x.axes] / number[use.lead])]
    slots, words, values = (Counting(weight, 1, 1) for weight in steps[1::2])
    return slots, words, values, Section("As the preset counts: what is averaged over what", minors(over, eps, *steps))


def _moved(made: Loss, slots: Counting, use: Choices) -> Section:
    """Asks how far the update moved the policy."""
    kl = policy_kl(made.clip.log_ratio, made.clip.free_log_ratio, use)
    numbers = {
        "approx_kl.used": kl.used,
        "ratio.mean": made.clip.ratio,
        "entropy.watched": made.given["policy.entropy"],
    }
    means = (key(mean(name, x, slots, use)) for name, x in numbers.items())
    return Section("As the preset counts: approximate KL, ratio, entropy", (*kl.steps, *means))


def _clipped(made: Loss, words: Counting, values: Counting, use: Choices) -> Section:
    """Counts the words that a clip holds."""
    clip, value = made.clip, made.critic
    assert clip.floor is not None
    flags = clip_flags(clip, use)
    floored = below("clip_fraction.floored", clip.pessimistic, clip.floor, use)
    held = below("value.held_counts", value.square, value.held_square, use)
    share = key(mean("clip_fraction.used", flags[-1], words, use))
    dual = key(mean("clip_fraction.dual", floored, words, use))
    of_values = key(mean("clip_fraction.value", held, values, use))
    return Section("As the preset counts: clip fractions", (*rows(*flags), share, floored, dual, held, of_values))


def _drifted(given: Rows, use: Choices) -> Section:
    """Averages over responses their KL to the reference, or its mean per word: what an adaptive controller is fed."""
    each, M = (*use.lead, use.n), given["response"]
    words, total = Sum(use.t, M[M.axes]), per_response("kl.response_sum", given["kl.used"], use, M)
    per_word = use.each("kl.response_mean", total[each] / (maximum(words, 1) + use.used["advantage.mean_eps"]))
    wrote = any_of("kl.wrote", words, use)
    fed = use.switch["metrics.kl_stat"].choose(seq_sum=total[each], token_mean=per_word[each])
    chosen = use.each("kl.response_used", fed)
    responses = maximum(Sum(use.n, wrote[each]), 1)
    statistic = mean("kl.statistic", chosen, Counting(EVERYWHERE, responses, responses), use)
    return Section("As the preset counts: KL to the reference", (total, per_word, chosen, wrote, key(statistic)))


def _foreseen(given: Rows, use: Choices) -> Section:
    """Asks how much of the returns' variance a critic foresaw, in the three forms that are in use."""
    M, R, floor = several(given, "response", "returns", "explained_variance.floor")
    L, N = use.lead, count("ev.count", M, use)
    free = use.one("ev.free", maximum(N[L] - use.used["advantage.ddof"], 1))
    over = Counting(M, N[L], free[L])
    of_returns = spread("ev.returns", R, over, use)
    old, of_old = residual("ev.residual_old", R, given["old_critic.values"], over, use, M)
    new, of_new = residual("ev.residual_new", R, given["critic.values"], over, use, M)
    mse = use.one("ev.mse", Sum((use.n, use.t), new[use.at] * new[use.at]) / N[L])
    forms = {"var_old": of_old.variance[L], "var_new": of_new.variance[L], "mse_new": mse[L]}
    error = use.one("ev.error", use.switch["metrics.explained"].choose(**forms))
    used = explained_variance("ev.used", error[L], of_returns.variance, floor, use, use.used["metrics.ev_eps"])
    steps = minors(N, free, *of_returns, old, *of_old, new, *of_new)
    return Section("As the preset counts: explained variance", (*steps, mse, error, key(used)))
