"""Loss: ratio, clip, value loss and entropy of every step, their means, and the total."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Sheet
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.classic_ppo.rollout import Rollout
from blueprint.workbooks.classic_ppo.signal import Signal
from blueprint.workbooks.common import loss as losses
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.distribution import entropy
from blueprint.workbooks.common.sheets.loss import LEAD, linked, sections

NORMS = {
    "l2": "The distance is the square. Smooth L1 (TorchRL's default) has other rows: they are laid out when a file is built.",
    "smooth_l1": "The distance is smooth L1, as TorchRL has it. The square has other rows: they are laid out when a file is built.",
}


class Loss(NamedTuple):
    """The sheet and what others read from it."""

    sheet: Sheet
    made: losses.Loss
    entropy: Block


def loss(run: Rollout, made: Signal, norm: str, use: Choices) -> Loss:
    """Defines and outlines the loss; norm: see `value_loss`."""
    p_log_p = link("loss.p_log_p", run.new.over.p_log_p)
    given = linked(
        losses.Given(
            logp_new=run.new.logprobs, logp_old=run.old.logprobs, advantages=made.white.used, V_new=run.V_new,
            V_old=run.V_old, returns=made.gae.returns, words=run.counts.N,
        )
    )  # fmt: skip
    H = entropy("policy", p_log_p, use=use)
    out = losses.loss(given._replace(entropy=H), use, norm=norm, shared=False)
    outline = tuple(sections(out, note=NORMS[norm], spread=(p_log_p,)))
    return Loss(Sheet("Loss", LEAD, outline, (n, t), run.head.on("loss")), out, H)
