"""The way back as data: what each optimiser makes smaller, what it moves, and through what no derivative goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from blueprint.language import Axis, Block, block, where
from blueprint.language.gradient import Declared, Gradient, gradient
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common.conventions import LIVE
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.definitions.logprobs_and_kl import Distribution
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import Switch
from blueprint.workbooks.common.definitions.writing_rows import EVERYWHERE, Row
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.sheets.backward import with_backward

Rows = Mapping[str, Block]
Groups = tuple[tuple[str, ...], ...]
"""Names of blocks, by where numbers may begin; those of the first group of which a workbook has one are differentiated by."""
JOINT = "loss.joint.number"
"""Only where conventions are live can the critic have an optimiser of its own."""
CONSTANT = ("loss.advantages", "returns", "loss.logp_old", "loss.V_old", "loss.returns")
"""Through which no gradient flows: they are numbers of the rollout, whatever made them."""


def of_actor_critic(rows: Rows) -> list[Declared]:
    """Lists the derivatives that a textbook writes in one line: of the policy, of the value loss and of the surrogate."""
    found = of_policy(rows)
    if "value.word_loss" in rows and not {"value.larger", "value.size"} & rows.keys():
        names = ("value.word_loss", "value.error", "value.square", "value.square_clipped", "critic.values", "loss.mask")
        found.append(gradients.of_value_loss(*(rows[name] for name in names)))
    worse = rows.get("surrogate.pessimistic", rows["surrogate"])
    steps = ("surrogate.unclipped", "surrogate.clipped", "ratio", "loss.advantages")
    return [*found, gradients.of_surrogate(worse, *(rows[step] for step in steps))]


def of_policy(rows: Rows) -> list[Declared]:
    """Lists those of a policy: of the log-prob of the token written, of the entropy, and of exact KLs where there are any.

    Where numbers begin at log-probs, there are none.
    """
    if "policy.logits" not in rows:
        return []
    policy = softmax_in(rows)
    m: Row = rows.get("policy.slots", rows.get("policy.mask", EVERYWHERE))
    found = [
        of_written(rows, m),
        gradients.of_entropy(rows["policy.entropy"], policy, m),
    ]
    if "policy_kl.exact" in rows:
        found.append(gradients.of_exact_kl(rows["policy_kl.exact"], rows["policy.p_old"], policy, m))
    if "kl_new.exact" in rows:
        steps = (rows[name] for name in ("reference.log_p", "kl_new.cross", "slots"))
        found.append(gradients.of_exact_kl_of_new(rows["kl_new.exact"], policy, *steps))
    return found


def of_written(rows: Rows, m: Row = EVERYWHERE) -> Declared:
    """Returns the derivative of the log-prob of the token written: 1 − p or −p. m: the positions that count."""
    return gradients.of_chosen_logprobs(rows["policy.logprobs"], softmax_in(rows), rows["policy.written"], m)


def softmax_in(rows: Rows) -> Distribution:
    """Returns the policy's soft-max, by the names of its rows."""
    z = rows.get("policy.tempered", rows["policy.logits"])
    steps = ("top", "exponentials", "logsumexp", "log_p", "p", "p_log_p")
    return Distribution(z, *(rows[f"policy.{step}"] for step in steps))


@dataclass(frozen=True)
class Backward:
    """What the loss of a kind of workbook is differentiated by. Called with a blueprint, it adds the gradients.

    policy, critic: what their optimisers move: weights, or in their place what the numbers begin with.
    constant: what passes no derivative on. called: the names of blocks that have another one in this kind of workbook.
    declared: from blocks by name, the derivatives that a textbook writes in one line. keep: rows that stand there in full, however
        short the way back through them is.
    """

    policy: Groups
    critic: Groups
    constant: tuple[str, ...] = CONSTANT
    called: Mapping[str, str] = field(default_factory=dict)
    declared: Callable[[Rows], list[Declared]] = of_actor_critic
    keep: tuple[str, ...] = ("policy.logprobs",)

    def __call__(self, outline: Blueprint) -> Blueprint:
        """Adds the gradients to a blueprint, each below what it is of; where steps of an optimiser have them, they are there."""
        if "gradients" in outline.facts:
            return replace(outline, facts={**outline.facts, "gradients": "on"})
        rows = {block.name: block for block in outline.blocks()}
        made = self.of(rows)
        asked = (made[each] for moved in self.moves(self.known(rows)) for each in moved)
        return replace(with_backward(outline, made), needed=(*outline.needed, *asked))

    def of(self, rows: Rows, along: tuple[Axis, ...] = (), prefix: str = "") -> Gradient:
        """Returns every adjoint of the total loss; the critic's are of its own loss where conventions may part the two.

        along, prefix: where totals stand side by side, see `gradient`.
        """
        known = self.known(rows)
        (policy, critic), declared = self.moves(known), self.declared(known)
        constant, keep = ([known[name] for name in names if name in known] for names in (self.constant, self.keep))
        differentiate = partial(gradient, constant=constant, declared=declared, along=along, prefix=prefix)
        if not critic or not {JOINT, "value_loss"} <= known.keys():
            return differentiate(known["total_loss"], [*policy, *critic], keep=keep)
        made = differentiate(known["total_loss"], policy, keep=keep)
        weight, loss = _critic_loss(known, along, prefix)
        for each in (weight, loss):
            made.rows.take(each, known["value_loss"], loss)
        return differentiate(loss, critic, after=made)

    def known(self, rows: Rows) -> Rows:
        """Returns blocks by the names that they have in RLHF PPO, too."""
        return {**rows, **{name: rows[own] for name, own in self.called.items() if own in rows}}

    def moves(self, rows: Rows) -> tuple[list[Block], list[Block]]:
        """Lists by what the loss is differentiated: what the policy's optimiser moves, and the critic's."""
        found = [[[rows[name] for name in group if name in rows] for group in of] for of in (self.policy, self.critic)]
        policy, critic = (next(filter(None, groups), []) for groups in found)
        return policy, critic


def _critic_loss(rows: Rows, along: tuple[Axis, ...], prefix: str) -> tuple[Block, Block]:
    """Defines what the critic's optimiser makes smaller: its part of the total, or the value loss where it trains apart."""
    named = labels("live")
    weight, loss = (block(prefix + name, along, *named.of(name)[:2]) for name in ("vf_coef.critic", "critic_loss"))
    joint = Switch(LIVE["loss.joint"].words, rows[JOINT][along])
    weight[along] = where(joint.says("on"), rows["vf_coef"][along], 1)
    loss[along] = weight[along] * rows["value_loss"][along]
    return weight, loss
