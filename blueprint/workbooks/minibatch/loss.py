"""Loss of the words shown, and of the whole batch: what these words add, and what the others add (typed on Batch)."""

from typing import NamedTuple

from blueprint.page.outline import Sheet
from blueprint.workbooks.common import loss as losses
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices, rows
from blueprint.workbooks.common.definitions.metrics import Flags, clip_flags
from blueprint.workbooks.common.sheets.loss import LEAD, linked, sections
from blueprint.workbooks.minibatch.batch import Whole
from blueprint.workbooks.minibatch.dump import Dump
from blueprint.workbooks.minibatch.signal import Signal


class Loss(NamedTuple):
    """The sheet and what others read from it."""

    sheet: Sheet
    flags: Flags
    made: losses.Loss


def loss(given: Dump, made: Signal, whole: Whole, use: Choices) -> Loss:
    """Defines and outlines the loss; parts for which the dump has no tensor are left out."""
    gae = made.made.gae
    returns = gae.returns if gae else given.returns
    come_in = losses.Given(
        logp_new=given.logp_new, logp_old=given.logp_old, advantages=made.made.used, V_new=given.V_new,
        V_old=made.made.V, returns=returns, entropy=given.entropy, logp_ref=given.logp_ref,
        counting=losses.Counts(
            made.made.counted.response, made.at.first_past, given.ended, whole.most, whole.rest
        ),
    )  # fmt: skip
    out = losses.loss(linked(come_in), use)
    flags, head = clip_flags(out.clip, use), given.head.on("loss")
    outline = tuple(sections(out, flags=rows(*flags)))
    return Loss(Sheet("Loss", f"{LEAD} of the batch", outline, (n, t), head.rows, head.mask), flags, out)
