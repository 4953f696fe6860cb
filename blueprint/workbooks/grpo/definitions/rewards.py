"""What a response is rewarded with: the score, less what its length costs, held within limits, less the KL to the reference."""

from typing import NamedTuple

from blueprint.language import Sum, exp, less, maximum, minimum, where
from blueprint.workbooks.common import limited, with_weight
from blueprint.workbooks.grpo.definitions.axes import n, t
from blueprint.workbooks.grpo.definitions.steps import Given, Row, Steps


class Rewards(NamedTuple):
    """The shaped reward and the one that the group sees, (n); the KL that is paid for each token, (n, t)."""

    shaped: Given
    paid: Given
    used: Given


def rewards(
    score: Given, length: Given, truncated: Given, logp_old: Given, logp_ref: Given, m: Given, s: Steps
) -> Rewards:
    """Shapes the score of each response, (n), and takes the KL of its tokens, (n, t), off where it is paid there."""
    s.under("The reward of a response")
    shaped = _shaped(score, length, truncated, s)
    s.under("The KL to the reference, paid as reward")
    estimate = s.clamped("kl_old.used", kl_estimate("kl_old", logp_old, logp_ref, m, s).chosen, "kl.clamp_out")
    paid = s.row("kl_old.paid", s.use.used["kl.coef"] * estimate[n, t])
    summed = s.each("kl_old.sum", Sum(t, paid[n, t]))
    in_reward = s.pick("kl_old.in_reward", (), "kl.place", **paid_where(reward=1, reward_token=1))
    return Rewards(shaped, paid, s.each("reward", shaped[n] - with_weight(in_reward, summed[n])))


def _shaped(score: Given, length: Given, truncated: Given, s: Steps) -> Row:
    """Takes off what length costs (DAPO, 2503.14476, eq. 13), and what it costs not to come to an end."""
    number = s.use.used
    beyond = s.each(
        "overlong.beyond",
        (length[n] - (number["reward.max_tokens"] - number["reward.buffer"])) / number["reward.buffer"],
    )
    counts = s.pick("overlong.counts", (n,), "reward.overlong", off=0, linear=beyond[n], capped=minimum(1, beyond[n]))
    penalty = s.each("overlong.penalty", number["reward.overlong_factor"] * maximum(0, counts[n]))
    kept = s.each("reward.kept", score[n] - penalty[n])
    cut = s.each(
        "reward.cut", limited(number["reward.truncated"], kept[n], lambda c: maximum(c, 0) * kept[n] + minimum(c, 0))
    )
    ended = s.each("reward.ended", where(less(0, truncated[n]), cut[n], kept[n]))
    held = s.within("reward.held", ended, "reward.clip_low", "reward.clip_high", (lambda low: low, lambda high: high))
    return s.pick("reward.shaped", (n,), "reward.clip_at", before=held[n], after=ended[n])


class Estimate(NamedTuple):
    """Over (n, t): the log-ratio to the reference, free and within its clamp, and the estimate of the KL, before any clamp."""

    free: Row
    within: Row
    chosen: Row


def kl_estimate(name: str, logp: Given, logp_ref: Given, m: Given, s: Steps) -> Estimate:
    """Estimates the KL to the reference on each token, (n, t): Schulman, Approximating KL Divergence, 2020."""
    free = s.row(f"{name}.free", m[n, t] * (logp[n, t] - logp_ref[n, t]))
    k1 = s.clamped(f"{name}.k1", free, "kl.clamp_in")
    k2, k3 = s.row(f"{name}.k2", k1[n, t] * k1[n, t] / 2), s.row(f"{name}.k3", exp(-k1[n, t]) - 1 + k1[n, t])
    chosen = s.pick(f"{name}.chosen", (n, t), "kl.estimator", k1=k1[n, t], k2=k2[n, t], k3=k3[n, t], abs=abs(k1[n, t]))
    return Estimate(free, k1, chosen)


def paid_where(**places: int) -> dict[str, int]:
    """Lists the places where a KL may be paid: 1 at those that are named, else 0."""
    return {"none": 0, "loss": 0, "reward": 0, "reward_token": 0, "after": 0, "advantage": 0, **places}
