"""The policy's loss on each token: ratio times advantage, held in one of several ways.

Sources: GRPO, 2402.03300, eq. 3; DAPO, 2503.14476, eq. 10 (a higher upper end); dual clip, 1912.09729, eq. 5; CISPO, 2506.13585,
eq. 4; SAPO, 2511.20347; GMPO, 2507.20673; VESPO, TRL 1.16.0, get_gamma_weights.
"""

from blueprint.language import Sum, equal, exp, less, maximum, minimum, where
from blueprint.workbooks.common import limited
from blueprint.workbooks.grpo.definitions.axes import n, t
from blueprint.workbooks.grpo.definitions.ratios import Ratios
from blueprint.workbooks.grpo.definitions.steps import Given, Row, Steps

ENDS = (lambda low: 1 - low, lambda high: 1 + high)
"""Between what the ratio counts, from the settings."""


def objective(logp: Given, of: Ratios, A: Given, m: Given, s: Steps) -> Row:
    """Makes the loss of each token, by the objective in use; log-probs, advantages and mask are (n, t)."""
    s.under("Ratio times advantage, clipped")
    near = s.within("ratio.clipped", of.used, "loss.clip_low", "loss.clip_high", ENDS)
    clipped = _clipped(of.used, near, A, s)
    s.under("Other objectives")
    made = {
        "clip": clipped[n, t],
        "cispo": -(s.held("cispo.weight", near)[n, t] * A[n, t] * logp[n, t]),
        "reinforce": -(A[n, t] * logp[n, t]),
        "ratio": -(of.used[n, t] * A[n, t]),
        "sapo": _sapo(of.used, A, s)[n, t],
        "gmpo": _geometric(of.free, A, m, s)[n, t],
        "vespo": _gamma_weighted(of.free, A, logp, s)[n, t],
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
