"""From log-probs, advantages and values to the total loss: every step in order, for one set of conventions; and what one watches
while training, as these conventions count it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.language import Arithmetic, Block, Sum, maximum
from blueprint.page.outline import Section, key
from blueprint.workbooks.common.definitions.logprobs_and_kl import NEW, Estimates, kl_estimates
from blueprint.workbooks.common.definitions.losses import (
    L2,
    Average,
    Clip,
    Part,
    Total,
    Totals,
    ValueLoss,
    clip,
    counted_values,
    filtered,
    guard,
    total,
    value_loss,
    weights,
)
from blueprint.workbooks.common.definitions.metrics import (
    any_of,
    below,
    clip_flags,
    explained_variance,
    per_response,
    policy_kl,
    residual,
)
from blueprint.workbooks.common.definitions.rewards_and_gae import Counting, count, mean, price, spread
from blueprint.workbooks.common.definitions.writing_rows import EVERYWHERE, Choices, Row, rows
from blueprint.workbooks.common.sheets.signal import minors
from blueprint.workbooks.common.sheets.walk import Rows, several

WEIGHED = {
    "policy_loss": "policy",
    "value_loss": "value",
    "entropy": "entropy",
    "policy_kl": "entropy",
    "kl_loss": "policy",
}
"""By whose weights each part is averaged, by the name of its mean."""
GUARDED = ("policy_loss", "value_loss")
"""The parts that the guard of the mean ratio switches off."""
REST = {"policy_loss": "rest.policy", "value_loss": "rest.value", "entropy": "rest.entropy", "kl_loss": "rest.kl"}
"""What words add that are not shown, where only a part of the batch is, by the name of the mean of which it is a part."""


Steps = tuple[Block, ...]


@dataclass(frozen=True)
class Loss:
    """From the ratio to the total; None for what there is nothing to make of.

    value_counted: where the value loss counts; value_weighed: where its mean does. filtered, guarded, weights (by loss): where
    conventions choose, the steps to the words kept, to the guard and to the weights of words, the result last. coefficients:
    those that are made for the total.
    """

    given: Rows
    clip: Clip
    value_counted: Row
    value_weighed: Row
    value: ValueLoss | None
    kl: Estimates | None
    filtered: Steps
    guarded: Steps
    weights: Mapping[str, Steps]
    coefficients: tuple[Block, ...]
    total: Total

    @property
    def critic(self) -> ValueLoss:
        """The value loss, in a workbook that has one."""
        assert self.value is not None
        return self.value


def loss(given: Rows, use: Choices, *, norm: str = L2, shared: bool = True) -> Loss:
    """Runs the definitions from the ratio to the total. norm: of the value loss. shared: whether words have shares of it.

    given: by the names of blocks, log-probs of the new policy and the old one, and the advantages; and of values, returns,
    entropy, and the exact KL of the policies what there is: the others are no part of the total. With `response`,
    conventions choose what counts, and the KL to the reference may be paid here; of a larger batch there is more (`REST`).
    Else `mask` is 1 on what counts (without one: everything), which is `response.words` in number, and elsewhere log-probs
    and values are 0. With `minibatch`, 1 on some responses (n), the means are over these.
    """
    M, logp_new = given.get("response", EVERYWHERE), given["policy.logprobs"]
    counted: Row = EVERYWHERE
    value, kl = None, None
    held = clip(logp_new, given["old.logprobs"], given["advantages_used"], use, M)
    if {"critic.values", "old_critic.values", "returns"} <= set(given):
        V_new, V_old, R = (given[name] for name in ("critic.values", "old_critic.values", "returns"))
        counted = counted_values(M, given["place.first_past"], use) if isinstance(M, Block) else M
        value = value_loss(V_new, V_old, R, use, counted, _mask(given), norm)
    if "response" in given:
        kl = kl_estimates(NEW, logp_new, given["reference.logprobs"], given.get("kl_new.exact"), use)
    in_mean = _of_minibatch(counted, given, use)
    averages, kept, guarded, weighed = _averages(given, held, in_mean, use)
    parts, coefs = _parts(given, held, value, kl, averages, use)
    whole = total(parts, use, shared=shared)
    return Loss(given, held, counted, in_mean, value, kl, kept, guarded, weighed, coefs, whole)


def _mask(given: Rows) -> Row:
    """Returns what is 1 where something counts, unless conventions choose that."""
    return EVERYWHERE if "response" in given else given.get("mask", EVERYWHERE)


def _of_minibatch(counted: Row, given: Rows, use: Choices) -> Row:
    """Returns of the cells that are counted those of the minibatch, if there are minibatches."""
    if not isinstance(counted, Block) or "minibatch" not in given:
        return counted
    return use.row("minibatch.values", counted[use.at] * given["minibatch"][use.n])


def _averages(
    given: Rows, held: Clip, of_value: Row, use: Choices
) -> tuple[dict[str, Average], Steps, Steps, dict[str, Steps]]:
    """Weighs the words: all alike, or as the conventions say. Returns how each part is averaged, and what is chosen for it."""
    if "response" not in given:
        mask, number = given.get("minibatch.mask", _mask(given)), given.get("minibatch.words", given["response.words"])
        return dict.fromkeys(WEIGHED, Average(mask, number)), (), (), {}
    M, part = given.get("minibatch.response", given["response"]), "rest.policy" in given
    words = maximum(Sum((use.n, use.t), M[use.at]), 1)
    ratio = given["loss.mean_ratio"] if part else mean("loss.mean_ratio", held.ratio, Counting(M, words, words), use)
    kept, guarded = filtered(M, given["response.ended"], use), guard(ratio, use)
    counted = {
        "policy": kept[-1],
        "value": of_value,
        "entropy": kept[-1] if "policy.entropy" in given else None,
    }
    found = {
        of: weights(of, row, given["response.most"], use, _totals(given, of) if part else None)
        for of, row in counted.items()
        if isinstance(row, Block)
    }
    keep, others = guarded[-1][use.lead], {name: given[rest] for name, rest in REST.items() if part}
    averages = {
        name: Average(found[of][-1], 1, others.get(name, 0), keep if name in GUARDED else 1)
        for name, of in WEIGHED.items()
        if of in found
    }
    return averages, kept, guarded, found


def _totals(given: Rows, of: str) -> Totals:
    """Returns how many words and responses of the whole batch a loss counts, and how many words of each response."""
    name = "value" if of == "value" else "policy"
    return Totals(*(given[f"{name}.{each}"] for each in ("words", "responses", "weight.length")))


def _parts(
    given: Rows,
    held: Clip,
    value: ValueLoss | None,
    kl: Estimates | None,
    averages: Mapping[str, Average],
    use: Choices,
) -> tuple[list[Part], tuple[Block, ...]]:
    """Lists the parts that there are, and the coefficients made for them. A critic trained apart is in no total."""
    joint, vf_coef = use.switch["loss.joint"].says("on"), use.used["vf_coef"]
    vf = use.step(value is not None and not use.is_fixed("loss.joint"), "vf_coef.used", joint * vf_coef, use.lead)
    beta = use.step(True, "kl_coef.loss", price(use, "loss"), use.lead) if kl else None
    listed: dict[str, tuple[Block | None, Arithmetic | int]] = {
        "policy_loss": (held.smaller, 1),
        "value_loss": (value.loss if value else None, vf.cell),
        "entropy": (given.get("policy.entropy"), use.used["ent_coef"]),
        "policy_kl": (given.get("policy_kl.exact"), use.used.get("policy_kl_coef", 0)),
        "kl_loss": (kl.used if kl else None, beta.cell if beta else 0),
    }
    parts = [Part(name, x, averages[name], coef) for name, (x, coef) in listed.items() if x is not None]
    return parts, rows(vf, beta)


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
    flags = clip_flags(clip, use)
    floor = clip.pessimistic if clip.floor is None else clip.floor  # without a floor none is below it
    floored = below("clip_fraction.floored", clip.pessimistic, floor, use)
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
