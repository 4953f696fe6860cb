"""Loss: ratio, clip, value loss, entropy and policy KL of every word, their means, and the total."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Row, Section, Sheet
from blueprint.ppo.axes import n, t
from blueprint.ppo.loss import (
    PolicyKL,
    Surrogate,
    Total,
    ValueLoss,
    policy_kl_estimates,
    policy_ratio,
    surrogate,
    total_loss,
    value_loss,
    word_shares,
)
from blueprint.ppo.settings import Settings
from blueprint.ppo.sheets.head import Head

LEAD = "how much better the new policy does, held near the old one; how far the new critic is off; and the total"


class Given(NamedTuple):
    """What the loss is made of, all (n, t): log-probs, used advantage, values, returns, entropy, exact policy KL."""

    logp_new: Block
    logp_old: Block
    advantages: Block
    V_new: Block
    V_old: Block
    returns: Block
    entropy: Block
    policy_kl: Block


class Loss(NamedTuple):
    """The sheet and what others read from it."""

    sheet: Sheet
    ratio: Block
    clip: Surrogate
    value: ValueLoss
    policy_kl: PolicyKL
    total: Total
    share: Block


def loss(head: Head, given: Given, words: Block, chosen: Settings) -> Loss:
    """Defines and outlines the loss."""
    use = chosen.used
    d, ratio = policy_ratio(given.logp_new, given.logp_old)
    clip = surrogate(ratio, given.advantages, use["clip_range"])
    value = value_loss(given.V_new, given.V_old, given.returns, head.mask, use["value_clip_range"])
    estimates = policy_kl_estimates(d)
    parts = {"surrogate": clip.smaller, "value_loss": value.loss, "entropy": given.entropy, "policy_kl": given.policy_kl}
    total = total_loss(parts, use, head.mask, words)
    share = word_shares(parts, use, head.mask, words)
    sections = (
        Section("1  Ratio of new to old probability", (Row(given.logp_new), Row(given.logp_old), Row(d), Row(ratio, "key"))),
        Section(
            "2  Clipped surrogate: the smaller of two, so that no word is pushed too far",
            (Row(given.advantages), Row(clip.unclipped), Row(clip.clipped_ratio), Row(clip.clipped), Row(clip.smaller, "key"))
            + (Row(total.policy_loss, "key"),),
        ),
        Section(
            "3  Value loss: the larger of two squares",
            (Row(given.V_new), Row(given.V_old), Row(given.returns), Row(value.error), Row(value.square), Row(value.held))
            + (Row(value.held_error), Row(value.held_square), Row(value.loss, "key"), Row(total.value_loss, "key")),
        ),
        Section("4  Entropy of the new policy", (Row(given.entropy), Row(total.entropy, "key"))),
        Section(
            "5  Policy KL: how far the update moved the policy",
            (Row(given.policy_kl), Row(estimates.k1), Row(estimates.k3), Row(total.policy_kl, "key")),
        ),
        Section("6  Total loss, which training makes smaller; and what each word adds to it", (Row(total.total, "key"), Row(share))),
    )
    return Loss(Sheet("Loss", LEAD, sections, (n, t), head, head.mask), ratio, clip, value, estimates, total, share)
