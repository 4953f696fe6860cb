"""KTO: each response by itself, good or bad, against how far the policy is from the reference elsewhere.

Source: KTO, 2402.01306, eq. 7 and 8; TRL 1.16.0, kto_trainer.py; NeMo-Aligner af2b3bd, megatron_gpt_kto_model.py; HALOs 4831988,
train/trainers.py. z is the KL on mismatched responses (the answer to another prompt), and nothing flows back through it.
"""

from blueprint.language import Sum, equal, maximum, where
from blueprint.workbooks.dpo.definitions.axes import n, t
from blueprint.workbooks.dpo.definitions.steps import Given, Row, Steps

UNDER = "Each response by itself: KTO"


def elsewhere(other: Given, other_ref: Given, m_other: Given, s: Steps) -> Row:
    """Makes the log-ratio of each mismatched response, (n), of log-probs of its tokens, (n, t)."""
    s.under(UNDER)
    away = s.row("kto.away", m_other[n, t] * (other[n, t] - other_ref[n, t]))
    return s.each("kto.elsewhere", Sum(t, away[n, t]))


def unpaired(logp: Given, logp_ref: Given, m: Given, other: Given, good: Given, s: Steps) -> tuple[Row, Row]:
    """Makes the loss of each response, (n). other: log-ratio of the mismatched responses. good: 1 on chosen ones.

    Returns that of KTO, and that of APO-zero, which takes 0 for z.
    """
    s.under(UNDER)
    ratio = s.each("kto.ratio", Sum(t, m[n, t] * s.row("kto.log_ratio", logp[n, t] - logp_ref[n, t])[n, t]))
    responses = 2 * s.pairs
    z = s.held("kto.held", s.one("kto.z", maximum(0, Sum(n, other[n]) / responses)))
    sign = s.each("kto.sign", 2 * good[n] - 1)
    beta, used = s.use.used["beta"], s.use.used
    weight = s.each("kto.weight", where(equal(good[n], 1), used["loss.desirable"], used["loss.undesirable"]))
    made = [
        s.each(f"kto.{name}.argument", beta * sign[n] * (ratio[n] - point))
        for name, point in (("against", z), ("zero", 0))
    ]
    against, zero = (
        s.sigmoid(f"kto.{name}.likely", each) for name, each in zip(("against", "zero"), made, strict=True)
    )
    return (
        s.each("loss.kto", weight[n] * (1 - against[n])),
        s.each("loss.apo_zero_unpaired", weight[n] * (1 - zero[n])),
    )
