"""Loss: ratio, clip, value loss, entropy and policy KL of every word, their means, and the total."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Section, Sheet, key
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
    parts = {
        "surrogate": clip.smaller,
        "value_loss": value.loss,
        "entropy": given.entropy,
        "policy_kl": given.policy_kl,
    }
    total = total_loss(parts, use, head.mask, words)
    share = word_shares(parts, use, head.mask, words)
    ratio_rows = (given.logp_new, given.logp_old, d, key(ratio))
    clip_rows = (given.advantages, clip.unclipped, clip.clipped_ratio, clip.clipped, key(clip.smaller))
    free = (given.V_new, given.V_old, given.returns, value.error, value.square)
    held = (value.held, value.held_error, value.held_square, key(value.loss))
    kl_rows = (given.policy_kl, estimates.k1, estimates.k3)
    sections = (
        Section("1  Ratio of new to old probability", ratio_rows),
        Section(
            "2  Clipped surrogate: the smaller of two, so that no word is pushed too far",
            (*clip_rows, key(total.policy_loss)),
        ),
        Section("3  Value loss: the larger of two squares", (*free, *held, key(total.value_loss))),
        Section("4  Entropy of the new policy", (given.entropy, key(total.entropy))),
        Section("5  Policy KL: how far the update moved the policy", (*kl_rows, key(total.policy_kl))),
        Section(
            "6  Total loss, which training makes smaller; and what each word adds to it", (key(total.total), share)
        ),
    )
    return Loss(Sheet("Loss", LEAD, sections, (n, t), head, head.mask), ratio, clip, value, estimates, total, share)
