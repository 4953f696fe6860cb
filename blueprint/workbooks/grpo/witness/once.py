"""The whole way from scores and log-probs to the loss, and back, for one set of conventions.

Rows that one looks for come from the core, `signal` and `losses`, which reproduces what the libraries computed; the steps to
them are written out in `groups`, `credit`, `ratios`, `rollouts` and `totals`.
"""

from torch import Tensor

from blueprint.witness import Asked, Batch, Named, weight_rows
from blueprint.workbooks.grpo.witness.advantages import Signal, signal
from blueprint.workbooks.grpo.witness.backward import gradient_rows, slope_rows
from blueprint.workbooks.grpo.witness.credit import credit_rows
from blueprint.workbooks.grpo.witness.groups import advantage_rows, baseline_rows, spread_rows
from blueprint.workbooks.grpo.witness.losses import Losses, losses
from blueprint.workbooks.grpo.witness.options import Responses
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.ratios import objective_rows, ratio_rows
from blueprint.workbooks.grpo.witness.rewards import kl_rows, reward_rows
from blueprint.workbooks.grpo.witness.rollouts import rollout_rows
from blueprint.workbooks.grpo.witness.start import Start
from blueprint.workbooks.grpo.witness.totals import average_rows, keep_rows, kl_loss_rows, total_rows, watched_rows


def once(batch: Batch, start: Start, places: Places, use: Asked, read: Tensor | None) -> Named:
    """Returns every row that follows from the conventions, with its slope where the file shows gradients.

    read: the tokens that the policy reads, [1, B, T], where it is run.
    """
    typed, known = start.given, start.rows
    of = responses(typed, known | typed, places)
    made = signal(of, use)
    found = steps(typed, known, places, use) | core_rows(made, losses(of, made, use), places)
    if "policy.logprobs.grad" in batch.files[0]:
        every = known | found | typed
        found |= gradient_rows(start, of, places, use)
        found |= slope_rows(batch, every | found, places, use)
        if start.policy and read is not None:
            found |= weight_rows(read, found["policy.logits.grad"], start.policy)
    return found


def responses(typed: Named, rows: Named, places: Places) -> Responses:
    """Returns the responses as the core takes them: those to a prompt side by side."""
    new, old, reference, rollout, entropy = (
        rows[name][places.order]
        for name in ("policy.logprobs", "old.logprobs", "reference.logprobs", "engine.logprobs", "policy.entropy")
    )
    score, truncated, mask = (typed[name][places.order] for name in ("score", "truncated", "mask"))
    return Responses(score, truncated, typed["greedy"], mask, new, old, reference, rollout, entropy, places.size)


def steps(typed: Named, given: Named, places: Places, use: Asked) -> Named:
    """Returns all steps in order, each of what was computed before."""
    rows = given | typed
    before = set(rows)
    rows |= {"fixed.0": typed["score"].new_zeros(()), "fixed.1": typed["score"].new_ones(())}
    rows |= reward_rows(rows, use)
    rows |= kl_rows("kl_old", rows["old.logprobs"], rows, use)
    for make in (
        baseline_rows, spread_rows, advantage_rows, credit_rows, ratio_rows, objective_rows, rollout_rows, keep_rows,
        average_rows, kl_loss_rows, total_rows, watched_rows,
    ):  # fmt: skip
        rows |= make(rows, places, use)
    return {name: row for name, row in rows.items() if name not in before}


def core_rows(made: Signal, lost: Losses, places: Places) -> Named:
    """Returns the rows that the core computes, in the order of the file."""
    apart = {
        "reward": made.rewards, "advantages": made.advantages, "ratio": lost.ratio, "policy.token_loss": lost.tokens,
        "rollout.picked": lost.weight, "kl_old.paid": made.paid, "kl_new.counts": lost.kl,
    }  # fmt: skip
    return {name: each[places.back] for name, each in apart.items()} | {
        "group.baseline_used": made.baseline,
        "group.spread_used": made.divisor,
        "group.advantage": made.of_response,
        "policy_loss": lost.policy_loss,
        "kl_loss": lost.kl_loss,
        "entropy": lost.entropy,
        "total_loss": lost.total,
    }
