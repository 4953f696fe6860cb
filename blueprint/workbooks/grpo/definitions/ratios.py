"""How the policy in training compares with the one that wrote: log-ratio and ratio, of a token, of a response or of the batch.

Sources: GRPO, 2402.03300, eq. 3; GSPO, 2507.18071, eq. 7 and 14; RLOO, 2402.14740.
"""

from typing import NamedTuple

from blueprint.language import Sum, exp, maximum, minimum
from blueprint.workbooks.common import limited
from blueprint.workbooks.grpo.definitions.axes import n, t
from blueprint.workbooks.grpo.definitions.steps import Given, Steps


class Ratios(NamedTuple):
    """Over (n, t): new log-probs as numbers, those below, the log-ratio of each token, free and as it counts, that of its level,
    the ratio in use."""

    kept: Given
    old: Given
    free: Given
    log_ratio: Given
    level: Given
    used: Given


def ratios(logp: Given, logp_old: Given, logp_rollout: Given, m: Given, s: Steps) -> Ratios:
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
    return Ratios(kept, old, free, d, level, s.row("ratio", exp(m[n, t] * level[n, t])))
