"""From the loss of each token to that of the batch: what counts, the KL to the reference, how tokens are averaged, the total.

Sources: GRPO, 2402.03300, eq. 3 (mean of means); DAPO, 2503.14476, eq. 12 (mean over tokens); Dr. GRPO, 2503.20783 (a constant).
"""

from typing import NamedTuple

from blueprint.language import Max, Operand, Sum, at_most, equal, exp, less, log, maximum, minimum, where
from blueprint.workbooks.common import Switch, limited, with_weight
from blueprint.workbooks.grpo.definitions.axes import i, n, q, t
from blueprint.workbooks.grpo.definitions.ratios import Ratios
from blueprint.workbooks.grpo.definitions.rewards import kl_estimate, paid_where
from blueprint.workbooks.grpo.definitions.steps import Given, Row, Steps

AGGREGATED = {"policy": "loss.aggregation", "kl": "kl.aggregation", "entropy": "loss.entropy_aggregation"}
"""The setting that says how tokens are averaged, for each part of the loss."""
SAME = "as_policy"
AVERAGED, BY_PROMPT = "How tokens are averaged", "Tokens that count, by prompt"
"""Titles; what is of a prompt stands where the groups do."""


class Total(NamedTuple):
    """The three parts in the order in which they add up, and the total."""

    parts: tuple[Row, Row, Row]
    total: Row


def counted(kept: Given, truncated: Given, left: Given, s: Steps) -> Row:
    """Takes responses that were cut off, or whose group is filtered, out of the loss, where that is asked for.

    kept: (n, t), 1 on what was not rejected; left: (q, i).
    """
    s.under("What counts")
    whole = s.pick("loss.whole", (n,), "loss.mask", response=1, drop_truncated=1 - truncated[n])
    stays = s.of_response("loss.left", left)
    return s.row("loss.counted", kept[n, t] * (whole[n] * stays[n]))


class Averages(NamedTuple):
    """1 on what counts, (n, t), and by the word of each average the weight of a token: a number, or one of its response."""

    counted: Row
    ways: dict[str, Row]


def averages(M: Row, left: Given, s: Steps) -> Averages:
    """Makes the weights of every average: Σ weight·x over what counts is the average of x.

    M: (n, t), 1 on what counts. left: (q, i), 1 on the responses that a filter leaves: only these are counted.
    """
    s.under(AVERAGED)
    used = s.use.used
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
    ways = {
        "token_mean": s.one("average.token_mean", 1 / (maximum(Sum(n, length[n]), least) + used["loss.agg_eps"])),
        "seq_mean_token_mean": s.each("average.seq_mean", 1 / (rows * words[n])),
        "seq_mean_token_sum": s.one("average.seq_sum", 1 / (rows * used["loss.constant"])),
        "token_sum": s.one("average.token_sum", 1 / used["loss.constant"]),
        "prompt_mean": s.of_response("average.prompt_mean", share),
    }
    return Averages(M, ways)


def weight(of: str, by: Averages, s: Steps) -> Row:
    """Takes the weights by which a part of the loss is averaged, (n, t). of: policy, kl or entropy."""
    used = s.each(f"weight.{of}", _mode(of, s).choose(**{word: way[way.axes] for word, way in by.ways.items()}))
    return s.row(f"weight.{of}.row", by.counted[n, t] * used[n])


def _mode(of: str, s: Steps) -> Switch:
    """Returns what picks the average of a part: one that is as that of the policy picks the same."""
    own, policy = s.use.switch[AGGREGATED[of]], s.use.switch[AGGREGATED["policy"]]
    if SAME not in own.words:
        return own  # type: ignore[return-value]
    if own.words == (SAME,) or not isinstance(policy, Switch):
        return policy  # type: ignore[return-value]
    same = s.one(f"weight.{of}.mode", where(own.says(SAME), policy.number, policy.words.index("token_mean")))
    return Switch(policy.words, same)


def kl_in_loss(logp: Given, logp_ref: Given, logp_rollout: Given, of: Ratios, m: Given, s: Steps) -> Row:
    """Estimates the KL to the reference of each token in training, (n, t): first weighed, then clamped.

    With the gradient of k2 the value is the estimate's own: k2 less k2, through the second of which nothing flows back.
    """
    s.under("The KL to the reference, in the loss")
    kl = kl_estimate("kl_new", logp, logp_ref, m, s)
    # NeMo-RL, calculate_kl: the weight of a token has no gradient either where the clamp of the log-ratio holds.
    moving = s.row("kl_new.logp", where(equal(kl.within[n, t], kl.free[n, t]), logp[n, t], of.kept[n, t]))
    log_weight = s.pick(
        "kl_new.log_weight", (n, t), "kl.weight", none=0, ratio=of.level[n, t], own=moving[n, t] - of.kept[n, t],
        rollout=moving[n, t] - logp_rollout[n, t],
    )  # fmt: skip
    weight = s.row("kl_new.weight", exp(m[n, t] * log_weight[n, t]))
    weighed = s.row("kl_new.weighed", weight[n, t] * kl.chosen[n, t])
    value = s.clamped("kl_new.used", weighed, "kl.clamp_out")
    k2 = s.row("kl_new.moving", weight[n, t] * kl.free[n, t] * kl.free[n, t] / 2)
    reach = s.held("kl_new.reach", _reaching(of, s))
    moves = s.pick("kl_new.moves", (n, t), "kl.gradient", own=value[n, t], k2=k2[n, t], k2_is=reach[n, t] * k2[n, t])
    back = moves[n, t] - s.held("kl_new.moves_held", moves)[n, t]
    return s.row("kl_new.counts", back + s.held("kl_new.used_held", value)[n, t])


def _reaching(of: Ratios, s: Steps) -> Row:
    """Takes the ratio of each token before its clamp, at most as large as asked for: OpenRLHF 0.11.2, compute_approx_kl.

    e^x is taken of an x whose e^x is already more than that, so that it has a number however large the log-ratio is.
    """
    most = s.use.used["kl.reach"]
    return s.row("kl_new.reaching", minimum(most, exp(minimum(of.free[n, t], log(1 + most)))))


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


def total(
    token_loss: Given, weight: Given, keep: Given, kl: Given, entropy: Given, by: dict[str, Row], s: Steps
) -> Total:
    """Averages the parts and adds them up. token_loss, weight (of the rollout), keep, kl, entropy: (n, t)."""
    s.under("The loss")
    used = s.use.used
    counts = s.row("policy.counts", used["loss.factor"] * keep[n, t] * weight[n, t] * token_loss[n, t])
    policy = s.one("policy_loss", Sum((n, t), by["policy"][n, t] * counts[n, t]))
    beta = used["kl.coef"] * s.pick("kl_loss.counts", (), "kl.place", **paid_where(loss=1))
    kl_mean = s.one("kl_loss", Sum((n, t), by["kl"][n, t] * kl[n, t]))
    paid = s.one("adds.kl_loss", with_weight(beta, kl_mean))
    mean = s.one("entropy", Sum((n, t), by["entropy"][n, t] * entropy[n, t]))
    bonus = s.one("adds.entropy", -(used["loss.ent_coef"] * mean))
    return Total((policy, paid, bonus), s.one("total_loss", policy + paid + bonus))
