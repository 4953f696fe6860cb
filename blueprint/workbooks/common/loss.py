"""From log-probs, advantages and values to the total loss: every step in order, for one set of conventions; what one watches while
training, as these conventions count it; and the outline of the sheet: ratio, clip, value loss, entropy and KL of every word, their
means, and the total.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from blueprint.language import Arithmetic, Block, Sum, maximum
from blueprint.page.outline import Item, Note, Section, key
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
from blueprint.workbooks.common.sheets.walk import Rows, Titled, repeated, several
from blueprint.workbooks.common.signal import minors

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


Items = tuple[Item, ...]

LOSS_LEAD = "how much better the new policy does, held near the old one; how far the new critic is off; and the total"


LINKED = {
    "policy.logprobs": "logp_new", "old.logprobs": "logp_old", "reference.logprobs": "logp_ref",
    "advantages_used": "advantages", "critic.values": "V_new", "old_critic.values": "V_old", "returns": "returns",
    "policy.entropy": "entropy", "policy_kl.exact": "policy_kl", "response": "response", "place.first_past": "first_past",
}  # fmt: skip
"""What the sheet of the loss repeats from others, and what it is called there."""


def links_of_loss(given: Rows) -> dict[str, Block]:
    """Repeats on the sheet of the loss what comes from others."""
    return repeated(given, "loss", LINKED)


def loss_sections(
    made: Loss,
    *,
    flags: Items = (),
    moved: Items = (),
    cross: Block | None = None,
    note: str = "",
    spread: Items = (),
) -> Iterator[Section]:
    """Outlines the way from the ratio to the total, as far as it is made; steps on the way are folded.

    flags: of what the clip changed. moved: estimates of the policy KL. cross: Σ p log q of the new policy and the reference.
    note: on the value loss. spread: of what the entropy is made here.
    """
    given, held, means = made.given, made.clip, made.total.means
    probs = several(given, "policy.logprobs", "old.logprobs")
    ratio = rows(given.get("response"), *probs, held.free_log_ratio, held.log_ratio)
    yield Section("Importance ratio of new to old probability", (*ratio, key(held.ratio)))
    yield from _policy_sections(made, flags)
    if made.value:
        yield from _value_sections(made, made.value, note)
    if "policy.entropy" in given:
        bonus = (*_to_weight(made, "entropy"), *spread, given["policy.entropy"], key(means["entropy"]))
        yield Section("Entropy bonus", bonus)
    if "policy_kl.exact" in given:
        far = (given["policy_kl.exact"], *moved, key(means["policy_kl"]))
        yield Section("Policy KL: how far the update moved the policy", far)
    if made.kl:
        there: Items = (given["reference.logprobs"], *minors(cross), *rows(given.get("kl_new.exact")))
        drift: Items = (*there, *made.kl.steps, made.kl.used, key(means["kl_loss"]))
        yield Section("KL to the reference as a loss (used if it is chosen)", drift)
    title = "Total loss: the policy loss and what the others add to it"
    if "rest.policy" in given:
        title = "Total loss of the whole batch: tokens shown and tokens not shown"
    yield Section(title, (*made.coefficients, *made.total.adds, key(made.total.total)))
    if made.total.share is not None:
        yield Section("What each token adds to the total", (*minors(*made.total.of_words), made.total.share))


def _policy_sections(made: Loss, flags: Items) -> Iterator[Section]:
    held, mean = made.clip, key(made.total.means["policy_loss"])
    surrogate: Items = (made.given["advantages_used"], *held.steps, key(held.smaller), *flags)
    if not made.filtered:
        yield Section("Clipped surrogate: no gain beyond 1 ± ε, hence zero gradient", (*surrogate, mean))
        return
    yield Section("Clipped surrogate: the smaller of two, and never below its floor", surrogate)
    guarded = (row for row in made.guarded if not row.typed)
    counted: Items = (*minors(*made.filtered), *_to_weight(made, "policy"), *guarded, mean)
    yield Section("Policy loss: which tokens count, and with which weight", counted)


def _value_sections(made: Loss, value: ValueLoss, note: str) -> Iterator[Section]:
    given, mean = made.given, key(made.total.means["value_loss"])
    counted = made.value_counted if isinstance(made.value_counted, Block) else None
    past = given["place.first_past"] if counted is not None else None
    weighed = made.value_weighed if isinstance(made.value_weighed, Block) else None
    there = rows(past, counted, weighed, *several(given, "critic.values", "old_critic.values", "returns"))
    steps: Items = (*([Note(note)] if note else []), *there, *value.ways, key(value.loss))
    title = "Value loss: how far the new value is from the return"
    if counted is None:
        yield Section(title, (*steps, mean))
        return
    yield Section(title, steps)
    yield Section("Value loss: weights and mean", (*_to_weight(made, "value"), mean))


def _to_weight(made: Loss, of: str) -> Items:
    """Lists the steps to the weight of a word, where it is chosen."""
    *steps, row = made.weights.get(of, (None,))
    return (*minors(*steps), *rows(row))


def loss_on_walk(made: Loss, values: tuple[Block, ...] = (), entropy: Block | None = None) -> Iterator[Titled]:
    """Outlines what the word chosen on Walk adds to the total. values, entropy: as they come about, on other sheets."""
    held, value = made.clip, made.value
    way = rows(held.free_log_ratio, held.log_ratio, held.ratio, *held.steps, held.smaller)
    yield "Ratio and clip", tuple(row for row in way if row.axes)
    if value:
        yield "Value loss", (*values, *value.ways, value.loss)
    if made.filtered:
        yield "The weight of the token", (made.filtered[-1], *(each[-1] for each in made.weights.values()))
    yield "What the token adds to the total", rows(entropy, *made.total.of_words, made.total.share, made.total.total)
