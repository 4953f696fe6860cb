"""The losses of the batch, their sum, and what each word adds to it."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions.policy import Guard
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.loss import Total
from blueprint.workbooks.common.definitions.reward import price


class Weighed(NamedTuple):
    """What the losses are sums of: the weights of words (rows), and the rows that they weigh.

    surrogate, value, kl_loss: rows; entropy, policy_kl: (n, t).
    """

    for_policy: Block
    for_value: Block
    for_entropy: Block
    surrogate: Block
    value: Block
    kl_loss: Block
    entropy: Block
    policy_kl: Block


class Sums(NamedTuple):
    """The total with its parts, the KL loss, the coefficients in use, the weighted parts, and the words' shares of them."""

    total: Total
    kl_loss: Block
    vf: Block
    beta: Block
    adds: tuple[Block, Block, Block, Block]
    parts: tuple[Block, Block, Block]
    share: Block


def sums(words: Weighed, held: Guard, use: Choices) -> Sums:
    """Weighs and adds up. Where the critic has an optimiser of its own, its loss is not part of the total."""
    L, row, keep = use.lead, (*use.lead, n, t), held.keep
    policy = use.one("policy_loss")
    value = use.one("value_loss")
    entropy = use.one("entropy")
    kl = use.one("policy_kl")
    drift = use.one("kl_loss")
    policy[L] = -(keep[L] * Sum((n, t), words.for_policy[row] * words.surrogate[row]))
    value[L] = keep[L] * Sum((n, t), words.for_value[row] * words.value[row])
    entropy[L] = Sum((n, t), words.for_entropy[row] * words.entropy[n, t])
    kl[L] = Sum((n, t), words.for_entropy[row] * words.policy_kl[n, t])
    drift[L] = Sum((n, t), words.for_policy[row] * words.kl_loss[row])
    vf = use.one("vf_coef.used")
    beta = use.one("kl_coef.loss")
    vf[L] = use.switch["loss.joint"].says("on") * use.used["vf_coef"]
    beta[L] = price(use, "loss")
    total = use.one("total_loss")
    made = Total(policy, value, entropy, kl, total)
    adds = _adds(made, drift, vf, beta, use)
    bonus = use.used["ent_coef"] * entropy[L]
    total[L] = policy[L] + vf[L] * value[L] - bonus + use.used["policy_kl_coef"] * kl[L] + beta[L] * drift[L]
    return Sums(made, drift, vf, beta, adds, *_share(words, keep, vf, beta, use))


def _adds(made: Total, drift: Block, vf: Block, beta: Block, use: Choices) -> tuple[Block, Block, Block, Block]:
    """Shows what each part adds to the total, after the policy loss."""
    L = use.lead
    value = use.one("adds.value_loss")
    entropy = use.one("adds.entropy")
    kl = use.one("adds.policy_kl")
    reference = use.one("adds.kl_loss")
    value[L] = vf[L] * made.value_loss[L]
    entropy[L] = -(use.used["ent_coef"] * made.entropy[L])
    kl[L] = use.used["policy_kl_coef"] * made.policy_kl[L]
    reference[L] = beta[L] * drift[L]
    return value, entropy, kl, reference


def _share(
    words: Weighed, keep: Block, vf: Block, beta: Block, use: Choices
) -> tuple[tuple[Block, Block, Block], Block]:
    """Splits the total over the words, by the same weights: in three parts, and their sum."""
    L, row = use.lead, (*use.lead, n, t)
    of_policy = use.row("share.policy")
    of_critic = use.row("share.value")
    of_spread = use.row("share.entropy")
    share = use.row("share")
    of_policy[row] = words.for_policy[row] * (beta[L] * words.kl_loss[row] - keep[L] * words.surrogate[row])
    of_critic[row] = vf[L] * keep[L] * words.for_value[row] * words.value[row]
    spread = use.used["policy_kl_coef"] * words.policy_kl[n, t] - use.used["ent_coef"] * words.entropy[n, t]
    of_spread[row] = words.for_entropy[row] * spread
    share[row] = of_policy[row] + of_critic[row] + of_spread[row]
    return (of_policy, of_critic, of_spread), share
