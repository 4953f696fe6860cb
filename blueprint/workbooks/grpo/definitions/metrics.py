"""Metrics, none of which enters the loss: means over responses and tokens, clip fractions, what each token adds to the loss, and
where a response stands in its group. What libraries call them stands in the notes of the rows.

Sources: TRL 1.16.0, grpo_trainer.py; verl 0.9.1, core_algos.py; OpenRLHF 0.11.2, loss.py; NeMo-RL, loss functions.
"""

from blueprint.language import (
    Arithmetic,
    Block,
    Sum,
    equal,
    less,
    maximum,
    minimum,
    where,
)
from blueprint.workbooks.common import Rows, with_weight
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import (
    Given,
    Row,
    Steps,
    i,
    n,
    q,
    t,
)


def watched(score: Given, length: Given, A: Row, ratio: Row, kl: Row, m: Given, s: Steps) -> None:
    """Adds means over responses, (n), and over tokens, (n, t), clip fractions, and which groups have equal rewards."""
    s.under("What one watches")
    N = s.one("response.tokens_in_all", maximum(Sum((n, t), m[n, t]), 1))
    s.one("mean.score", Sum(n, score[n]) / s.responses)
    s.one("mean.reward", Sum((q, i), s.known("group.reward")[q, i]) / s.responses)
    s.one("response.mean_length", Sum(n, length[n]) / s.responses)
    near = s.known("ratio.clipped")

    def mean(x: Given) -> Arithmetic:
        return Sum((n, t), m[n, t] * x[n, t]) / N

    s.one("mean.advantage", mean(A))
    s.one("mean.ratio", mean(ratio))
    s.one("mean.ratio_clipped", mean(near))
    s.one("approx_kl.k1", -mean(s.known("log_ratio")))
    s.one("kl.mean_new", mean(kl))
    s.one("rollout.mean_token", mean(s.known("rollout.token")))
    s.one("rollout.mean_kl", -mean(s.known("rollout.log_free")))
    s.one("rollout.share_inside", mean(s.known("rollout.inside")))
    _clip_fractions(ratio, near, length, A, N, m, s)


def _clip_fractions(ratio: Given, near: Row, length: Given, A: Row, N: Row, m: Given, s: Steps) -> None:
    """Counts the tokens at which the clip bites: below where A < 0, above where A > 0; and where the dual clip does."""
    low = s.row("clip.low", minimum(m[n, t] * less(ratio[n, t], near[n, t]), less(A[n, t], 0)))
    high = s.row("clip.high", minimum(m[n, t] * less(near[n, t], ratio[n, t]), less(0, A[n, t])))
    below, above = (
        s.one(f"clip.fraction_{name}", Sum((n, t), each[n, t]) / N) for name, each in (("low", low), ("high", high))
    )
    s.one("clip.fraction", below + above)
    share = s.each("clip.of_response", (Sum(t, low[n, t]) + Sum(t, high[n, t])) / maximum(length[n], 1))
    s.one("clip.mean_of_responses", Sum(n, share[n]) / s.responses)
    worse, kept = s.known("surrogate.pessimistic"), s.known("surrogate")
    dual = s.row("clip.dual", m[n, t] * less(worse[n, t], kept[n, t]))
    s.one("clip.fraction_dual", Sum((n, t), dual[n, t]) / N)


BACK, SHARE = "From the group back to the response", "What each token adds to the loss"
DOTS = "Where the group stands on Charts"
"""Titles of the sections."""
COUNTS, NOT = "counts", "does not count"


def seen(rows: Rows, s: Steps) -> dict[str, tuple[Block, ...]]:
    """Makes the rows, and returns them by the titles of their sections."""
    s.under(BACK)
    left = s.each("seen.left", rows["reward"][n] - rows["advantage.baseline"][n])
    over = s.of_response("seen.over", rows["group.divided_by"])
    plain = s.of_response("seen.plain", rows["group.plain"])
    s.each("seen.scaled", where(less(0, plain[n]), left[n], left[n] / over[n]))
    s.under(SHARE)
    policy = s.row("share.policy", rows["weight.policy.row"][n, t] * rows["policy.counts"][n, t])
    beta = s.use.used["kl.coef"] * rows["kl_loss.counts"]
    kl = s.row("share.kl", with_weight(beta, rows["weight.kl.row"][n, t] * rows["kl_new.counts"][n, t]))
    weighed = rows["weight.entropy.row"][n, t] * rows["policy.entropy"][n, t]
    entropy = s.row("share.entropy", -(s.use.used["loss.ent_coef"] * weighed))
    s.row("share", policy[n, t] + kl[n, t] + entropy[n, t])
    s.row("seen.counts", where(equal(rows["loss.counted"][n, t] * rows["keep"][n, t], 1), COUNTS, NOT))
    s.under(DOTS)
    s.table("seen.mean", rows["group.mean"][q])
    return {title: tuple(made) for title, made in s.sections.items()}
