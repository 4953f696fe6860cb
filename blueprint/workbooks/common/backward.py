"""The way back as data: what each optimiser makes smaller, what it moves, and through what no derivative goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.language import Block, block, where
from blueprint.language.gradient import Declared, Gradient, gradient
from blueprint.workbooks.common.conventions.data import LIVE
from blueprint.workbooks.common.definitions import Distribution, derivatives
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.settings import Switch

Rows = Mapping[str, Block]
Groups = tuple[tuple[str, ...], ...]
"""Names of blocks, by where numbers may begin; those of the first group of which a workbook has one are differentiated by."""
JOINT = "loss.joint.number"
"""Only where conventions are live can the critic have an optimiser of its own."""
CONSTANT = ("loss.advantages", "returns", "loss.logp_old", "loss.V_old", "loss.returns")
"""Through which no gradient flows: they are numbers of the rollout, whatever made them."""


@dataclass(frozen=True)
class Backward:
    """Differentiates the loss of a kind of workbook. Called with the blocks of a workbook by their names.

    policy, critic: what their optimisers move: weights, or in their place what the numbers begin with.
    constant: what passes no derivative on. called: the names of blocks that have another one in this kind of workbook.
    """

    policy: Groups
    critic: Groups
    constant: tuple[str, ...] = CONSTANT
    called: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, rows: Rows) -> Gradient:
        """Returns every adjoint of the total loss; the critic's are of its own loss where conventions may part the two."""
        known = {**rows, **{name: rows[own] for name, own in self.called.items() if own in rows}}
        policy, critic = _moved(known, self.policy), _moved(known, self.critic)
        constant = [known[name] for name in self.constant if name in known]
        declared, keep = _declared(known), [known["policy.logprobs"]]
        if not critic or JOINT not in known:
            return gradient(known["total_loss"], [*policy, *critic], constant, declared, keep)
        made = gradient(known["total_loss"], policy, constant, declared, keep)
        weight, loss = _critic_loss(known)
        for each in (weight, loss):
            made.rows.take(each, known["value_loss"])
        return gradient(loss, critic, constant, declared, after=made)


def _moved(rows: Rows, groups: Groups) -> list[Block]:
    """Lists what a workbook differentiates by."""
    found = ([rows[name] for name in group if name in rows] for group in groups)
    return next(filter(None, found), [])


def _critic_loss(rows: Rows) -> tuple[Block, Block]:
    """Defines what the critic's optimiser makes smaller: its part of the total, or the value loss where it trains apart."""
    named = labels("live")
    weight, loss = (block(name, (), *named.of(name)[:2]) for name in ("vf_coef.critic", "critic_loss"))
    weight[()] = where(Switch(LIVE["loss.joint"].words, rows[JOINT]).says("on"), rows["vf_coef"], 1)
    loss[()] = weight * rows["value_loss"]
    return weight, loss


def _declared(rows: Rows) -> list[Declared]:
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


def _of_policy(rows: Rows) -> list[Declared]:
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
