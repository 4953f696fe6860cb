"""Importance ratios: how the policy in training compares with the one that wrote, by log-ratio and ratio, of a token, of a response
or of the batch; and what corrects for a generation engine that gives other probabilities than the trainer.

Sources: GRPO, 2402.03300, eq. 3; GSPO, 2507.18071, eq. 7 and 14; RLOO, 2402.14740.

Two engines, one policy: how much a token counts whose probability differs between the trainer and the engine that wrote it.
Sources: verl 0.9.1, core_algos and rollout_corr_helper; TRL 1.16.0, GRPOTrainer; NeMo-RL, loss functions; IcePop as in slime.
Nothing flows back through the weight.
"""

from blueprint.language import (
    Arithmetic,
    Sum,
    at_most,
    exp,
    less,
    log,
    maximum,
    minimum,
    where,
)
from blueprint.workbooks.common import limited
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import (
    Given,
    Row,
    Steps,
    n,
    t,
)


def ratios(logp: Given, logp_old: Given, logp_rollout: Given, m: Given, s: Steps) -> Row:
    """Takes the ratio of each token. logp: in training; logp_old: at the step's start; logp_rollout: of the generation engine."""
    s.under("The ratio")
    kept = s.held("ratio.kept", logp)
    old = s.pick(
        "ratio.old_logprobs", (n, t), "ratio.old", old=logp_old[n, t], new=kept[n, t], rollout=logp_rollout[n, t]
    )
    free = s.row("log_ratio.free", m[n, t] * (logp[n, t] - old[n, t]))
    # verl, OpenRLHF and SkyRL clamp the log-ratio of a token whose own ratio counts; of a whole response no library does.
    held = s.clamped("log_ratio.held", free, "ratio.clamp")
    whole = dict.fromkeys(("response", "own_token", "product", "rollout", "batch"), free[n, t])
    d = s.pick("log_ratio", (n, t), "ratio.level", token=held[n, t], **whole)
    length = s.each("ratio.length", maximum(Sum(t, m[n, t]), 1) + s.use.used["ratio.length_eps"])
    total = s.each("ratio.sum", Sum(t, d[n, t]))
    mean = s.each("ratio.mean_of_response", total[n] / length[n])
    rollout = s.row("ratio.rollout", m[n, t] * (logp[n, t] - logp_rollout[n, t]))
    rollout_mean = s.each("ratio.rollout_mean", Sum(t, rollout[n, t]) / length[n])
    mean_kept = s.held("ratio.mean_kept", mean)
    own = s.row("ratio.own", logp[n, t] - kept[n, t] + mean_kept[n])
    most = s.row(
        "ratio.own_held", limited(s.use.used["ratio.sequence_most"], own[n, t], lambda by: minimum(by, own[n, t]))
    )
    batch = s.one("ratio.batch", Sum(n, total[n]))
    level = s.pick(
        "ratio.level_of", (n, t), "ratio.level", token=d[n, t], response=mean[n], own_token=most[n, t], product=total[n],
        rollout=rollout_mean[n], batch=batch,
    )  # fmt: skip
    return s.row("ratio", exp(m[n, t] * level[n, t]))


def rollout(logp_old: Given, logp_rollout: Given, m: Given, s: Steps) -> None:
    """Weighs each token with π_old/π_rollout, cut off or set to 0 outside of bounds: `rollout.counts`.

    `rollout.kept` is 1 on what is not rejected.
    """
    s.under("Rollout correction")
    kept = s.known("ratio.kept")[n, t]
    top = s.pick("rollout.old_logprobs", (n, t), "ratio.old", old=logp_old[n, t], new=kept, rollout=kept)
    free = s.row("rollout.log_free", m[n, t] * (top[n, t] - logp_rollout[n, t]))
    each = s.clamped("rollout.log_token", free, "rollout.clamp")
    token = s.row("rollout.token", exp(each[n, t]))
    summed = s.each("rollout.log_sum", Sum(t, free[n, t]))
    total = s.clamped("rollout.log_product", summed, "rollout.clamp")
    length = s.each("rollout.length", maximum(Sum(t, m[n, t]), 1))
    mean = s.each("rollout.log_mean", summed[n] / length[n])
    ratios: dict[str, Arithmetic | int] = {"token": token[n, t], "product": exp(total[n]), "mean": exp(mean[n])}
    w = s.pick("rollout.ratio", (n, t), "rollout.level", none=1, **ratios)
    judged = _judged(top, logp_rollout, w, length, m, s)
    inside = _between("rollout.inside", judged, "rollout.low", "rollout.high", s)
    held = s.within("rollout.held", w, "rollout.low", "rollout.high", (lambda low: low, lambda high: high))
    chosen = s.pick(
        "rollout.chosen", (n, t), "rollout.mode", truncate=held[n, t], mask=inside[n, t] * w[n, t],
        filter=inside[n, t] * token[n, t],
    )  # fmt: skip
    average = _average(chosen, m, s)
    divided = where(less(0, average), chosen[n, t] / average, chosen[n, t])
    normed = s.pick("rollout.normed", (n, t), "rollout.normalise", off=chosen[n, t], on=divided)
    x = normed[n, t]
    used = s.pick("rollout.picked", (n, t), "rollout.level", none=1, token=x, product=x, mean=x)
    s.held("rollout.counts", used)
    _accepted(free, mean, m, s)


def _average(w: Row, m: Given, s: Steps) -> Row:
    """Averages the weights over all tokens, or, of weights that are of responses, over the responses that have a token."""
    eps = s.use.used["rollout.mean_eps"]
    tokens = s.one("rollout.mean_of_tokens", Sum((n, t), m[n, t] * w[n, t]) / (Sum((n, t), m[n, t]) + eps))
    each = s.each("rollout.of_response", Sum(t, m[n, t] * w[n, t]) / (maximum(Sum(t, m[n, t]), 1) + eps))
    wrote = s.each("rollout.wrote", minimum(Sum(t, m[n, t]), 1))
    responses = s.one("rollout.mean_of_responses", Sum(n, each[n]) / maximum(Sum(n, wrote[n]), 1))
    return s.pick("rollout.mean", (), "rollout.level", none=tokens, token=tokens, product=responses, mean=responses)


def _judged(top: Given, logp_rollout: Given, w: Given, length: Given, m: Given, s: Steps) -> Row:
    """Makes what is compared with the bounds: the ratio, the KL of writing this token or another, the difference of both p."""
    p, r = s.row("rollout.p_old", exp(top[n, t])), s.row("rollout.p", exp(logp_rollout[n, t]))
    # A token with p = 1 in the trainer alone makes it infinite: it is computed only where it is asked for.
    asked = s.row("rollout.judges", m[n, t] * s.use.switch["rollout.statistic"].says("binary_kl"))
    rest = s.row("rollout.rest", asked[n, t] * (1 - r[n, t]))
    other = s.row("rollout.other", where(less(0, rest[n, t]), rest[n, t] * (log(1 - r[n, t]) - log(1 - p[n, t])), 0))
    written = asked[n, t] * r[n, t] * (logp_rollout[n, t] - top[n, t])
    kl = s.row("rollout.binary_kl", written + other[n, t])
    mean = s.each("rollout.binary_kl_mean", Sum(t, kl[n, t]) / length[n])
    of_level = s.pick("rollout.kl", (n, t), "rollout.level", none=0, token=kl[n, t], product=mean[n], mean=mean[n])
    far = abs(p[n, t] - r[n, t])
    return s.pick(
        "rollout.judged", (n, t), "rollout.statistic", ratio=w[n, t], binary_kl=of_level[n, t], difference=far
    )


def _accepted(free: Given, mean: Given, m: Given, s: Steps) -> None:
    """Takes tokens, or whole responses, out of the loss whose ratio is outside of bounds of its own."""
    x = s.pick("rollout.tried", (n, t), "rollout.reject", off=1, token=exp(free[n, t]), mean=exp(mean[n]))
    inside = _between("rollout.accepted", x, "rollout.reject_low", "rollout.reject_high", s)
    y = inside[n, t]
    accepted = s.pick("rollout.passes", (n, t), "rollout.reject", off=1, token=y, mean=y)
    s.row("rollout.kept", m[n, t] * accepted[n, t])


def _between(name: str, x: Row, low: str, high: str, s: Steps) -> Row:
    """Is 1 where a number is within bounds, either of which may be off; then the bound is the number itself."""
    at = x.axes
    least = s.along(f"{name}.least", at, limited(s.use.used[low], x[at], lambda by: by))
    most = s.along(f"{name}.most", at, limited(s.use.used[high], x[at], lambda by: by))
    return s.along(name, at, minimum(at_most(least[at], x[at]), at_most(x[at], most[at])))
