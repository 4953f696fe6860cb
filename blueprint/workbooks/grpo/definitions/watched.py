"""What one watches while training; none of it enters the loss. What libraries call it stands in the notes of the rows.

Sources: TRL 1.16.0, grpo_trainer.py; verl 0.9.1, core_algos.py; OpenRLHF 0.11.2, loss.py; NeMo-RL, loss functions.
"""

from blueprint.language import Arithmetic, Sum, less, maximum, minimum
from blueprint.workbooks.grpo.definitions.axes import i, n, q, t
from blueprint.workbooks.grpo.definitions.groups import Group
from blueprint.workbooks.grpo.definitions.ratios import Ratios
from blueprint.workbooks.grpo.definitions.steps import Given, Row, Steps


def watched(of: Group, score: Given, length: Given, A: Row, ratio: Ratios, kl: Row, m: Given, s: Steps) -> None:
    """Adds means over responses, (n), and over tokens, (n, t), clip fractions, and which groups have equal rewards."""
    s.under("What one watches")
    N = s.one("response.tokens_in_all", maximum(Sum((n, t), m[n, t]), 1))
    s.one("mean.score", Sum(n, score[n]) / s.count.responses)
    s.one("mean.reward", Sum((q, i), of.rewards[q, i]) / s.count.responses)
    s.one("response.mean_length", Sum(n, length[n]) / s.count.responses)
    near = s.known("ratio.clipped")

    def mean(x: Given) -> Arithmetic:
        return Sum((n, t), m[n, t] * x[n, t]) / N

    s.one("mean.advantage", mean(A))
    s.one("mean.ratio", mean(ratio.used))
    s.one("mean.ratio_clipped", mean(near))
    s.one("approx_kl.k1", -mean(ratio.log_ratio))
    s.one("kl.mean_new", mean(kl))
    s.one("rollout.mean_token", mean(s.known("rollout.token")))
    s.one("rollout.mean_kl", -mean(s.known("rollout.log_free")))
    s.one("rollout.share_inside", mean(s.known("rollout.inside")))
    _clipped(ratio.used, near, length, A, N, m, s)


def _clipped(ratio: Given, near: Row, length: Given, A: Row, N: Row, m: Given, s: Steps) -> None:
    """Counts the tokens at which the clip bites: below where A < 0, above where A > 0; and where the dual clip does."""
    low = s.row("clip.low", minimum(m[n, t] * less(ratio[n, t], near[n, t]), less(A[n, t], 0)))
    high = s.row("clip.high", minimum(m[n, t] * less(near[n, t], ratio[n, t]), less(0, A[n, t])))
    below, above = (
        s.one(f"clip.fraction_{name}", Sum((n, t), each[n, t]) / N) for name, each in (("low", low), ("high", high))
    )
    s.one("clip.fraction", below + above)
    share = s.each("clip.of_response", (Sum(t, low[n, t]) + Sum(t, high[n, t])) / maximum(length[n], 1))
    s.one("clip.mean_of_responses", Sum(n, share[n]) / s.count.responses)
    worse, kept = s.known("surrogate.pessimistic"), s.known("surrogate")
    dual = s.row("clip.dual", m[n, t] * less(worse[n, t], kept[n, t]))
    s.one("clip.fraction_dual", Sum((n, t), dual[n, t]) / N)
