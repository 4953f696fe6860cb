"""From the ratio and advantage of each token to the loss of the batch: objective, KL to the reference, averages, and the total.

The policy's loss on each token: ratio times advantage, held in one of several ways.
Sources: GRPO, 2402.03300, eq. 3; DAPO, 2503.14476, eq. 10 (a higher upper end); dual clip, 1912.09729, eq. 5; CISPO, 2506.13585,
eq. 4; SAPO, 2511.20347; GMPO, 2507.20673; VESPO, TRL 1.16.0, get_gamma_weights.

From the loss of each token to that of the batch: what counts, the KL to the reference, how tokens are averaged, the total.
Sources: GRPO, 2402.03300, eq. 3 (mean of means); DAPO, 2503.14476, eq. 12 (mean over tokens); Dr. GRPO, 2503.20783 (a constant).
"""

from collections.abc import Mapping

from blueprint.language import (
    Max,
    Operand,
    Sum,
    at_most,
    equal,
    exp,
    less,
    log,
    maximum,
    minimum,
    where,
)
from blueprint.workbooks.common import Switch, limited, with_weight
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import (
    Given,
    Row,
    Steps,
    i,
    kl_estimate,
    n,
    paid_where,
    q,
    t,
)

ENDS = (lambda low: 1 - low, lambda high: 1 + high)
"""Between what the ratio counts, from the settings."""


def objective(logp: Given, ratio: Given, A: Given, m: Given, s: Steps) -> Row:
    """Makes the loss of each token, by the objective in use; log-probs, advantages and mask are (n, t)."""
    s.under("Ratio times advantage, clipped")
    near = s.within("ratio.clipped", ratio, "loss.clip_low", "loss.clip_high", ENDS)
    clipped, free = _clipped(ratio, near, A, s), s.known("log_ratio.free")
    s.under("Other objectives")
    made = {
        "clip": clipped[n, t],
        "cispo": -(s.held("cispo.weight", near)[n, t] * A[n, t] * logp[n, t]),
        "reinforce": -(A[n, t] * logp[n, t]),
        "ratio": -(ratio[n, t] * A[n, t]),
        "sapo": _sapo(ratio, A, s)[n, t],
        "gmpo": _geometric(free, A, m, s)[n, t],
        "vespo": _gamma_weighted(free, A, logp, s)[n, t],
    }
    picked = s.pick("policy.objective", (n, t), "loss.objective", **made)
    return s.row("policy.token_loss", m[n, t] * picked[n, t])


def _clipped(ratio: Given, near: Given, A: Given, s: Steps) -> Row:
    """Takes the worse of the free and the clipped outcome, and holds that for A < 0 where a dual clip is set."""
    number = s.use.used
    free = s.row("ratio.free", limited(number["loss.delta"], ratio[n, t], lambda most: minimum(most, ratio[n, t])))
    unclipped, clipped = (
        s.row("surrogate.unclipped", free[n, t] * A[n, t]),
        s.row("surrogate.clipped", near[n, t] * A[n, t]),
    )
    worse = s.row("surrogate.pessimistic", minimum(unclipped[n, t], clipped[n, t]))
    dual = limited(number["loss.dual_clip"], worse[n, t], lambda c: maximum(worse[n, t], c * minimum(A[n, t], 0)))
    surrogate = s.row("surrogate", dual)
    return s.row("clip.token_loss", -surrogate[n, t])


def _sapo(ratio: Given, A: Given, s: Steps) -> Row:
    """Lets the ratio count through a sigmoid of a temperature τ, one for good tokens and one for the others."""
    tau = s.row("sapo.tau", where(less(0, A[n, t]), s.use.used["loss.sapo_good"], s.use.used["loss.sapo_bad"]))
    gate = s.row("sapo.gate", 1 / (1 + exp(-(tau[n, t] * (ratio[n, t] - 1)))))
    return s.row("sapo.token_loss", -(2 * (2 * A[n, t]) / tau[n, t] * gate[n, t]))


def _geometric(d: Given, A: Given, m: Given, s: Steps) -> Row:
    """Takes the geometric mean of the clipped ratios of a response, and its mean advantage."""
    held = s.within("gmpo.held", d, "loss.clip_low", "loss.clip_high", (lambda low: -low, lambda high: high))
    worse = s.row("gmpo.worse", where(less(A[n, t], 0), maximum(d[n, t], held[n, t]), minimum(d[n, t], held[n, t])))
    counts = s.row("gmpo.counts", where(equal(A[n, t], 0), 0, m[n, t] * worse[n, t]))
    length = s.each("gmpo.length", maximum(Sum(t, m[n, t]), 1) + s.use.used["ratio.length_eps"])
    ratio = s.each("gmpo.ratio", exp(Sum(t, counts[n, t]) / length[n]))
    mean = s.each("gmpo.advantage", Sum(t, m[n, t] * A[n, t]) / length[n])
    return s.row("gmpo.token_loss", -(ratio[n] * mean[n]))


def _gamma_weighted(d: Given, A: Given, logp: Given, s: Steps) -> Row:
    """Weighs the log-prob with φ(w) = e^λ·w^k·e^(−λ·w), w the ratio of the whole response."""
    number = s.use.used
    log_w = s.each("vespo.log_w", maximum(number["vespo.least"], minimum(number["vespo.most"], Sum(t, d[n, t]))))
    k, rate = (
        s.row(f"vespo.{name}", where(less(A[n, t], 0), number[f"vespo.{name}_bad"], number[f"vespo.{name}_good"]))
        for name in ("power", "rate")
    )
    phi = s.row("vespo.phi", exp(rate[n, t] + k[n, t] * log_w[n] - rate[n, t] * exp(log_w[n])))
    return s.row("vespo.token_loss", -(s.held("vespo.weight", phi)[n, t] * A[n, t] * logp[n, t]))


AGGREGATED = {"policy": "loss.aggregation", "kl": "kl.aggregation", "entropy": "loss.entropy_aggregation"}
"""The setting that says how tokens are averaged, for each part of the loss."""
SAME = "as_policy"
AVERAGED, BY_PROMPT = "How tokens are averaged", "Tokens that count, by prompt"
"""Titles; what is of a prompt stands where the groups do."""


def counted(truncated: Given, s: Steps) -> Row:
    """Takes responses that were cut off, or whose group is filtered, out of the loss, where that is asked for."""
    s.under("What counts")
    whole = s.pick("loss.whole", (n,), "loss.mask", response=1, drop_truncated=1 - truncated[n])
    stays = s.of_response("loss.left", s.known("group.left"))
    return s.row("loss.counted", s.known("rollout.kept")[n, t] * (whole[n] * stays[n]))


def averages(M: Row, s: Steps) -> dict[str, Row]:
    """Makes the weights of every average, by its word: Σ weight·x over what counts is the average of x.

    M: (n, t), 1 on what counts; of responses those are counted that a filter leaves. Returns a number, or one of each response.
    """
    s.under(AVERAGED)
    used, left = s.use.used, s.known("group.left")
    # Of a mean that is not asked for nothing may be lost: it divides by 1 where nothing counts.
    ends: dict[str, Operand] = dict.fromkeys(s.use.switch["loss.aggregation"].words, 1)
    least = s.pick("average.least", (), "loss.aggregation", **{**ends, "token_mean": used["loss.at_least"]})
    length = s.each("average.length", Sum(t, M[n, t]))
    words = s.each("average.tokens", where(less(0, length[n]), length[n] + used["loss.length_eps"], 1))
    rows = s.one("average.rows", maximum(Sum((q, i), left[q, i]), 1) + used["loss.rows_eps"])
    s.under(BY_PROMPT)
    some = s.prompt("average.prompt_left", Max(i, left[q, i]))
    prompts = s.one("average.prompts", maximum(Sum(q, some[q]), 1))
    each = s.in_groups("average.group_length", length)
    group = s.prompt("average.of_prompt", prompts * maximum(Sum(i, each[q, i]), 1))
    share = s.table("average.of_place", 1 / group[q])
    s.under(AVERAGED)
    return {
        "token_mean": s.one("average.token_mean", 1 / (maximum(Sum(n, length[n]), least) + used["loss.agg_eps"])),
        "seq_mean_token_mean": s.each("average.seq_mean", 1 / (rows * words[n])),
        "seq_mean_token_sum": s.one("average.seq_sum", 1 / (rows * used["loss.constant"])),
        "token_sum": s.one("average.token_sum", 1 / used["loss.constant"]),
        "prompt_mean": s.of_response("average.prompt_mean", share),
    }


def weight(of: str, ways: Mapping[str, Row], s: Steps) -> Row:
    """Takes the weights by which a part of the loss is averaged, (n, t). of: policy, kl or entropy."""
    used = s.each(f"weight.{of}", _mode(of, s).choose(**{word: way[way.axes] for word, way in ways.items()}))
    return s.row(f"weight.{of}.row", s.known("loss.counted")[n, t] * used[n])


def _mode(of: str, s: Steps) -> Switch:
    """Returns what picks the average of a part: one that is as that of the policy picks the same."""
    own, policy = s.use.switch[AGGREGATED[of]], s.use.switch[AGGREGATED["policy"]]
    if SAME not in own.words:
        return own  # type: ignore[return-value]
    if own.words == (SAME,) or not isinstance(policy, Switch):
        return policy  # type: ignore[return-value]
    same = s.one(f"weight.{of}.mode", where(own.says(SAME), policy.number, policy.words.index("token_mean")))
    return Switch(policy.words, same)


def kl_in_loss(logp: Given, logp_ref: Given, logp_rollout: Given, m: Given, s: Steps) -> Row:
    """Estimates the KL to the reference of each token in training, (n, t): first weighed, then clamped.

    With the gradient of k2 the value is the estimate's own: k2 less k2, through the second of which nothing flows back.
    """
    s.under("The KL to the reference, in the loss")
    chosen, kept = kl_estimate("kl_new", logp, logp_ref, m, s), s.known("ratio.kept")
    free, within, level = s.known("kl_new.free"), s.known("kl_new.k1"), s.known("ratio.level_of")
    # NeMo-RL, calculate_kl: the weight of a token has no gradient either where the clamp of the log-ratio holds.
    moving = s.row("kl_new.logp", where(equal(within[n, t], free[n, t]), logp[n, t], kept[n, t]))
    log_weight = s.pick(
        "kl_new.log_weight", (n, t), "kl.weight", none=0, ratio=level[n, t], own=moving[n, t] - kept[n, t],
        rollout=moving[n, t] - logp_rollout[n, t],
    )  # fmt: skip
    weight = s.row("kl_new.weight", exp(m[n, t] * log_weight[n, t]))
    weighed = s.row("kl_new.weighed", weight[n, t] * chosen[n, t])
    value = s.clamped("kl_new.used", weighed, "kl.clamp_out")
    k2 = s.row("kl_new.moving", weight[n, t] * free[n, t] * free[n, t] / 2)
    reach = s.held("kl_new.reach", _reaching(s))
    moves = s.pick("kl_new.moves", (n, t), "kl.gradient", own=value[n, t], k2=k2[n, t], k2_is=reach[n, t] * k2[n, t])
    back = moves[n, t] - s.held("kl_new.moves_held", moves)[n, t]
    return s.row("kl_new.counts", back + s.held("kl_new.used_held", value)[n, t])


def _reaching(s: Steps) -> Row:
    """Takes the ratio of each token before its clamp, at most as large as asked for: OpenRLHF 0.11.2, compute_approx_kl.

    e^x is taken of an x whose e^x is already more than that, so that it has a number however large the log-ratio is.
    """
    most = s.use.used["kl.reach"]
    return s.row("kl_new.reaching", minimum(most, exp(minimum(s.known("log_ratio.free")[n, t], log(1 + most)))))


def kept_tokens(A: Given, logp: Given, logp_old: Given, entropy: Given, m: Given, s: Steps) -> Row:
    """Takes out of the policy loss what TRL may take out: tokens of little entropy, bad responses that are far off policy."""
    s.under("What the policy loss leaves out")
    used = s.use.used
    length = s.each("keep.length", maximum(Sum(t, m[n, t]), 1))
    change = s.row("keep.change", m[n, t] * (logp_old[n, t] - logp[n, t]))
    far = s.each("keep.distance", Sum(t, change[n, t]) / length[n])
    near = s.each(
        "keep.near", at_most(far[n], s.each("keep.most", limited(used["loss.off_policy"], far[n], lambda by: by))[n])
    )
    least = s.row("keep.least", limited(used["loss.entropy_least"], entropy[n, t], lambda by: by))
    unsure = s.row("keep.unsure", at_most(least[n, t], entropy[n, t]))
    good = s.row("keep.good", where(less(A[n, t], 0), near[n], 1))
    return s.row("keep", unsure[n, t] * good[n, t])


def total(token_loss: Given, keep: Given, kl: Given, entropy: Given, by: Mapping[str, Row], s: Steps) -> None:
    """Averages the parts and adds them up: `PARTS`, then `total_loss`. token_loss, keep, kl, entropy: (n, t)."""
    s.under("The loss")
    used, weight = s.use.used, s.known("rollout.counts")
    counts = s.row("policy.counts", used["loss.factor"] * keep[n, t] * weight[n, t] * token_loss[n, t])
    policy = s.one("policy_loss", Sum((n, t), by["policy"][n, t] * counts[n, t]))
    beta = used["kl.coef"] * s.pick("kl_loss.counts", (), "kl.place", **paid_where(loss=1))
    kl_mean = s.one("kl_loss", Sum((n, t), by["kl"][n, t] * kl[n, t]))
    paid = s.one("adds.kl_loss", with_weight(beta, kl_mean))
    mean = s.one("entropy", Sum((n, t), by["entropy"][n, t] * entropy[n, t]))
    bonus = s.one("adds.entropy", -(used["loss.ent_coef"] * mean))
    s.one("total_loss", policy + paid + bonus)


PARTS = ("policy_loss", "adds.kl_loss", "adds.entropy")
"""The parts of the total, in the order in which they add up."""
