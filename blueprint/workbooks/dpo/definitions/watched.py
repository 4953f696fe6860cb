"""What is watched while training: rewards as libraries log them, margins, accuracy, log-probs and logits."""

from blueprint.language import Sum, less
from blueprint.workbooks.dpo.definitions.axes import p
from blueprint.workbooks.dpo.definitions.margins import Margins
from blueprint.workbooks.dpo.definitions.sequences import Sequences
from blueprint.workbooks.dpo.definitions.steps import Given, Row, Sides, Steps

UNDER = "What one watches"


def watched(of: Margins, seen: Sequences, sums: tuple[Given, Given], s: Steps) -> None:
    """Adds what one watches. sums: log-probs of responses, weighed sums, of policy and reference, (n)."""
    s.under(UNDER)
    beta = s.use.used["beta"]
    mine, theirs = s.sides("sum", sums[0]), s.sides("sum_ref", sums[1])
    logged = Sides(*(_logged(side, of, seen, mine, theirs, beta, s) for side in Sides._fields))
    margin = s.pair("watch.margin", logged.chosen[p] - logged.rejected[p])
    right = s.pair("watch.right", less(logged.rejected[p], logged.chosen[p]))
    for side, each in zip(Sides._fields, logged, strict=True):
        s.one(f"rewards.{side}", Sum(p, each[p]) / s.pairs)
    s.one("rewards.margins", Sum(p, margin[p]) / s.pairs)
    s.one("rewards.accuracies", Sum(p, right[p]) / s.pairs)


def _logged(side: str, of: Margins, seen: Sequences, mine: Sides, theirs: Sides, beta: object, s: Steps) -> Row:
    """Takes the reward that a library logs: as in the loss, of sums, with the reference though the loss has none, without β."""
    ratio, policy, reference, own, their = (
        getattr(each, side) for each in (of.ratio, seen.policy, seen.reference, mine, theirs)
    )
    return s.pick(
        f"{side}.logged", (p,), "watch.rewards", same=beta * ratio[p], sum=beta * (own[p] - their[p]),
        with_reference=beta * (policy[p] - reference[p]), no_beta=1 * ratio[p],
    )  # fmt: skip
