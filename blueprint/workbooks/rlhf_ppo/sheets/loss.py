"""Loss: ratio, clip, value loss, entropy and policy KL of every word, their means, and the total."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Item, Section, Sheet, key
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions.data import LIVE
from blueprint.workbooks.common.definitions.choices import fixed
from blueprint.workbooks.common.definitions.loss import (
    LossParts,
    Total,
    ValueLoss,
    total_loss,
    value_loss,
    weighted_parts,
    word_shares,
)
from blueprint.workbooks.common.definitions.metrics import Flags, PolicyKL, clip_flags, policy_kl
from blueprint.workbooks.common.definitions.ratio import Clip
from blueprint.workbooks.common.definitions.ratio import clip as clipped
from blueprint.workbooks.common.settings import Settings
from blueprint.workbooks.common.sheets.head import InView

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
    """The sheet and what others read from it; `adds` are the weighted parts that add up to the total."""

    sheet: Sheet
    log_ratio: Block
    ratio: Block
    clip: Clip
    flags: Flags
    value: ValueLoss
    policy_kl: PolicyKL
    total: Total
    adds: tuple[Block, ...]
    share: Block


def loss(head: InView, given: Given, words: Block, chosen: Settings) -> Loss:
    """Defines and outlines the loss."""
    use, m = chosen.used, head.mask
    choices = fixed(chosen, LIVE)
    clip = clipped(given.logp_new, given.logp_old, given.advantages, choices)
    d, ratio = clip.log_ratio, clip.ratio
    flags = clip_flags(clip, choices)
    value = value_loss(given.V_new, given.V_old, given.returns, m, use["value_clip_range"])
    estimates = policy_kl(d, clip.free_log_ratio, choices)
    parts = LossParts(clip.smaller, value.loss, given.entropy, given.policy_kl)
    total, share = total_loss(parts, use, m, words), word_shares(parts, use, m, words)
    adds = weighted_parts(total, use)
    sections = (
        Section("Importance ratio of new to old probability", (given.logp_new, given.logp_old, d, key(ratio))),
        _clip_section(given, clip, (flags.by_loss, flags.by_ratio), total),
        _value_section(given, value, total),
        Section("Entropy bonus", (given.entropy, key(total.entropy))),
        Section(
            "Policy KL: how far the update moved the policy",
            (given.policy_kl, *estimates.steps, key(total.policy_kl)),
        ),
        Section("Total loss: the policy loss and what the others add to it", (*adds, key(total.total))),
        Section("What each word adds to the total", (share,)),
    )
    sheet = Sheet("Loss", LEAD, sections, (n, t), head.rows, m)
    return Loss(sheet, d, ratio, clip, flags, value, estimates, total, adds, share)


def _clip_section(given: Given, clip: Clip, flags: tuple[Block, Block], total: Total) -> Section:
    steps: tuple[Item, ...] = (given.advantages, *clip.steps, key(clip.smaller), *flags)
    title = "Clipped surrogate: the smaller of two, so that no word is pushed too far"
    return Section(title, (*steps, key(total.policy_loss)))


def _value_section(given: Given, value: ValueLoss, total: Total) -> Section:
    free = (given.V_new, given.V_old, given.returns, value.error, value.square)
    held = (value.held, value.held_error, value.held_square, key(value.loss))
    return Section("Value loss: the larger of two squares", (*free, *held, key(total.value_loss)))
