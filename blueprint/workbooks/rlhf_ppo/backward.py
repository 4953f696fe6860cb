"""The gradient of the total loss: to every weight of policy and critic, or to what the numbers begin with in their place."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.language import Block
from blueprint.language.gradient import Declared, Gradient, gradient
from blueprint.workbooks.common.definitions import Distribution, derivatives
from blueprint.workbooks.kind import KindError

WEIGHTS = ("policy.E", "policy.W", "policy.Y", "critic.E", "critic.W", "critic.head.w", "critic.head.b")
GIVEN = ("policy.logits", "policy.logprobs", "critic.out", "critic.values")
"""Where the numbers begin with what models say."""
CONSTANT = ("loss.advantages", "returns", "loss.logp_old", "loss.V_old", "loss.returns")
"""Through which no gradient flows: they are numbers of the rollout, whatever made them."""


def backward(rows: Mapping[str, Block]) -> Gradient:
    """Differentiates the total loss. rows: the blocks of a workbook by their names. Raises KindError where there is no loss."""
    if "total_loss" not in rows:
        raise KindError(
            "gradients: these numbers end before a loss, and only a loss has gradients; leave gradients out."
        )
    weights = [rows[name] for name in WEIGHTS if name in rows]
    given = [rows[name] for name in GIVEN if name in rows and rows[name].typed]
    constant = [rows[name] for name in CONSTANT if name in rows]
    return gradient(rows["total_loss"], weights or given, constant, _declared(rows), keep=[rows["policy.logprobs"]])


def _declared(rows: Mapping[str, Block]) -> list[Declared]:
    """Lists the derivatives that a textbook writes in one line."""
    found = []
    if "policy.logits" in rows:
        found += _of_policy(rows)
    if "value.word_loss" in rows and not {"value.larger", "value.size"} & rows.keys():
        names = ("value.word_loss", "value.error", "value.square", "value.square_clipped", "critic.values", "loss.mask")
        found.append(derivatives.of_value_loss(*(rows[name] for name in names)))
    worse = rows.get("surrogate.pessimistic", rows["surrogate"])
    steps = ("surrogate.unclipped", "surrogate.clipped", "ratio", "loss.advantages")
    return [*found, derivatives.of_surrogate(worse, *(rows[step] for step in steps))]


def _of_policy(rows: Mapping[str, Block]) -> list[Declared]:
    z = rows.get("policy.tempered", rows["policy.logits"])
    policy = Distribution(
        z, *(rows[f"policy.{step}"] for step in ("top", "exponentials", "logsumexp", "log_p", "p", "p_log_p"))
    )
    m = rows.get("policy.slots", rows["policy.mask"])
    found = [
        derivatives.of_chosen_logprobs(rows["policy.logprobs"], policy, rows["policy.written"], m),
        derivatives.of_entropy(rows["policy.entropy"], policy, m),
        derivatives.of_exact_kl(rows["policy_kl.exact"], rows["policy.p_old"], policy, m),
    ]
    if "kl_new.exact" in rows:
        steps = (rows[name] for name in ("reference.log_p", "kl_new.cross", "slots"))
        found.append(derivatives.of_exact_kl_of_new(rows["kl_new.exact"], policy, *steps))
    return found
