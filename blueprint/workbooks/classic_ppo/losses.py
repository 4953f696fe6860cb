"""Loss: ratio, clip, value loss and entropy of every step, their means, and the total."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Item, Note, Section, Sheet, key
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.classic_ppo.loss import Total, ValueLoss, total, value_loss
from blueprint.workbooks.classic_ppo.rollout import Rollout
from blueprint.workbooks.classic_ppo.signal import Signal
from blueprint.workbooks.classic_ppo.use import SHOWN, use_of
from blueprint.workbooks.common.definitions.distribution import entropy
from blueprint.workbooks.common.definitions.ratio import Clip, clip
from blueprint.workbooks.common.settings import Settings

LEAD = "how much better the new policy does, held near the old one; how far the new critic is off; and the total"
NORMS = {
    "l2": "The distance is the square. Smooth L1 (TorchRL's default) has other rows: they are laid out when a file is built.",
    "smooth_l1": "The distance is smooth L1, as TorchRL has it. The square has other rows: they are laid out when a file is built.",
}


class Loss(NamedTuple):
    """The sheet and what others read from it."""

    sheet: Sheet
    clip: Clip
    value: ValueLoss
    entropy: Block
    total: Total


def loss(run: Rollout, made: Signal, norm: str, chosen: Settings) -> Loss:
    """Defines and outlines the loss; norm: see `value_loss`."""
    head = run.head.on("loss")
    logp_new, logp_old = link("loss.logp_new", run.new.logprobs), link("loss.logp_old", run.old.logprobs)
    A, p_log_p = link("loss.advantages", made.white.used), link("loss.p_log_p", run.new.over.p_log_p)
    V_new, V_old = link("loss.V_new", run.V_new), link("loss.V_old", run.V_old)
    R = link("loss.returns", made.gae.returns)
    held = clip(logp_new, logp_old, A, use_of(chosen))
    value = value_loss(V_new, V_old, R, norm, chosen)
    H = entropy("policy", p_log_p, use=SHOWN)
    added = total(held.smaller, value.loss, H, run.counts.N, chosen)
    surrogate: tuple[Item, ...] = (A, *held.steps, key(held.smaller), key(added.policy_loss))
    free, near = value.free.rows(), value.held_distance.rows()
    kept: tuple[Item, ...] = (value.held, *near, value.larger, key(value.loss), key(added.value_loss))
    sections = (
        Section("Importance ratio of new to old probability", (logp_new, logp_old, held.log_ratio, key(held.ratio))),
        Section("Clipped surrogate: the smaller of two, so that no action is pushed too far", surrogate),
        Section(
            "Value loss: how far the new value is from the return",
            (Note(NORMS[norm]), V_new, V_old, R, *free, *kept),
        ),
        Section("Entropy bonus", (p_log_p, H, key(added.entropy))),
        Section("Total loss: the policy loss and what the others add to it", (*added.parts()[1:], key(added.total))),
    )
    return Loss(Sheet("Loss", LEAD, sections, (n, t), head), held, value, H, added)
