"""What is watched while training: rewards as libraries log them, margins, accuracy, and log-probs of either side.

Sources: TRL 1.16.0, dpo_trainer.py, `_compute_loss`, and TRL 0.24.0, `get_batch_loss_metrics`; NeMo-RL 7ea279a, DPOLossFn, whose
means have 1e-8 below as its loss has; `watch.rewards` in `conventions.toml` names the others.
"""

from blueprint.language import Sum, less, where
from blueprint.workbooks.dpo.definitions.axes import n, p
from blueprint.workbooks.dpo.definitions.margins import Margins
from blueprint.workbooks.dpo.definitions.sequences import Sequences
from blueprint.workbooks.dpo.definitions.steps import Given, Row, Sides, Steps

UNDER = "What one watches"


def watched(of: Margins, seen: Sequences, sums: tuple[Given, Given], s: Steps) -> None:
    """Adds what one watches. sums: log-probs of responses, weighed sums, of policy and reference, (n)."""
    s.under(UNDER)
    beta, over = s.use.used["beta"], s.known("loss.over")
    mine, theirs = s.sides("sum", sums[0]), s.sides("sum_ref", sums[1])
    logged = Sides(*(_logged(side, of, seen, mine, theirs, beta, s) for side in Sides._fields))
    margin = s.pair("watch.margin", logged.chosen[p] - logged.rejected[p])
    right = s.pair("watch.right", less(logged.rejected[p], logged.chosen[p]))
    for side, each in zip(Sides._fields, logged, strict=True):
        s.one(f"rewards.{side}", Sum(p, each[p]) / over)
    s.one("rewards.margins", Sum(p, margin[p]) / over)
    s.one("rewards.accuracies", Sum(p, right[p]) / over)
    _logprobs(sums[0], s)
    s.pair("odds.certain", s.known("chosen.certain")[p] + s.known("rejected.certain")[p])


def _logprobs(total: Given, s: Steps) -> None:
    """Takes the mean log-prob of either side: sums where rewards are logged of sums, else what the loss takes (unbent)."""
    sums = s.use.switch["watch.rewards"].says("sum")
    each = s.sides("logps", s.each("watch.logps", where(sums, total[n], s.known("policy.logp")[n])))
    for side, row in zip(Sides._fields, each, strict=True):
        s.one(f"logps.{side}", Sum(p, row[p]) / s.known("loss.over"))


def _logged(side: str, of: Margins, seen: Sequences, mine: Sides, theirs: Sides, beta: object, s: Steps) -> Row:
    """Takes the reward that a library logs: as in the loss, of sums, with the reference though the loss has none, without β."""
    ratio, policy, reference, own, their = (
        getattr(each, side) for each in (of.ratio, seen.policy, seen.reference, mine, theirs)
    )
    return s.pick(
        f"{side}.logged", (p,), "watch.rewards", same=beta * ratio[p], sum=beta * (own[p] - their[p]),
        with_reference=beta * (policy[p] - reference[p]), no_beta=1 * ratio[p],
    )  # fmt: skip
