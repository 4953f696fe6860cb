"""Two engines, one policy: how much a token counts whose probability differs between the trainer and the engine that wrote it.

Sources: verl 0.9.1, core_algos and rollout_corr_helper; TRL 1.16.0, GRPOTrainer; NeMo-RL, loss functions; IcePop as in slime.
Nothing flows back through the weight.
"""

from typing import NamedTuple

from blueprint.language import Arithmetic, Sum, at_most, exp, less, log, maximum, minimum, where
from blueprint.workbooks.common import limited
from blueprint.workbooks.grpo.definitions.axes import n, t
from blueprint.workbooks.grpo.definitions.ratios import Ratios
from blueprint.workbooks.grpo.definitions.steps import Given, Row, Steps


class Rollout(NamedTuple):
    """The weight of each token, and 1 on what is not rejected, (n, t)."""

    weight: Given
    kept: Given


def rollout(of: Ratios, logp_old: Given, logp_rollout: Given, m: Given, s: Steps) -> Rollout:
    """Weighs each token with π_old/π_rollout, cut off or set to 0 outside of bounds."""
    s.under("Rollout correction")
    kept = of.kept[n, t]
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
    return Rollout(s.held("rollout.counts", used), _accepted(free, mean, m, s))


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


def _accepted(free: Given, mean: Given, m: Given, s: Steps) -> Row:
    """Takes tokens, or whole responses, out of the loss whose ratio is outside of bounds of its own."""
    x = s.pick("rollout.tried", (n, t), "rollout.reject", off=1, token=exp(free[n, t]), mean=exp(mean[n]))
    inside = _between("rollout.accepted", x, "rollout.reject_low", "rollout.reject_high", s)
    y = inside[n, t]
    accepted = s.pick("rollout.passes", (n, t), "rollout.reject", off=1, token=y, mean=y)
    return s.row("rollout.kept", m[n, t] * accepted[n, t])


def _between(name: str, x: Row, low: str, high: str, s: Steps) -> Row:
    """Is 1 where a number is within bounds, either of which may be off; then the bound is the number itself."""
    at = x.axes
    least = s.along(f"{name}.least", at, limited(s.use.used[low], x[at], lambda by: by))
    most = s.along(f"{name}.most", at, limited(s.use.used[high], x[at], lambda by: by))
    return s.along(name, at, minimum(at_most(least[at], x[at]), at_most(x[at], most[at])))
