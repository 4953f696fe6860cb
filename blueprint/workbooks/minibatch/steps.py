"""The steps from scores to the loss: those of every workbook, by the statistics, counts and sums of the whole batch.

What the dump gives itself is not made; a part of the loss for which it has no tensor is left out.
"""

from typing import NamedTuple

from blueprint.page.outline import Section, Sheet
from blueprint.workbooks.common import (
    Choices,
    InView,
    Loss,
    Signal,
    clip_flags,
    loss,
    loss_sheet,
    n,
    named,
    places,
    repeated,
    rows,
    rows_on,
    signal,
    signal_sheet,
    t,
)
from blueprint.workbooks.minibatch.given import Blocks

REPEATED = {
    "slots": "S", "score.placed": "placed", "score.given": "score", "response.ended": "ended", "response.padded": "padded",
    "old.logprobs": "logp_old", "reference.logprobs": "logp_ref", "old_critic.values": "V_old",
}  # fmt: skip
"""What is repeated on the sheet of rewards and advantages, and what it is called there."""


class Steps(NamedTuple):
    """The steps, their sheets, and every block by its name, what is typed among them."""

    signal: Signal
    loss: Loss
    sheets: tuple[Sheet, Sheet]
    named: Blocks


def steps_of(given: Blocks, head: InView, use: Choices) -> Steps:
    """Defines and outlines what the dump does not give itself."""
    made = signal(_signal_given(given), use)
    known = {**given, **named(*rows(made.at and made.at.first_past)), **made.rows}
    out = loss(loss_sheet.linked(known), use)
    outline = tuple(loss_sheet.sections(out, flags=rows(*clip_flags(out.clip, use))))
    sheets = (
        _sheet(signal_sheet.TITLE, signal_sheet.LEAD, tuple(signal_sheet.sections(made)), head.on("signal")),
        _sheet("Loss", f"{loss_sheet.LEAD} of the batch", outline, head.on("loss")),
    )
    return Steps(made, out, sheets, {**rows_on(*sheets), **given})


def _sheet(title: str, lead: str, outline: tuple[Section, ...], head: InView) -> Sheet:
    return Sheet(title, lead, outline, (n, t), head.rows, head.mask)


def _signal_given(given: Blocks) -> Blocks:
    """Collects what the signal is made of: what there is up to the row in which the file begins.

    With given advantages the old values are read only where there are given returns for the value loss.
    """
    begins_late = "advantages_used" in given and "returns" not in given
    there = {name: row for name, row in given.items() if not (name == "old_critic.values" and begins_late)}
    again = repeated(there, "signal", REPEATED)
    return {**again, **named(*places(again["slots"], given["mask"], given["after.words"]))}
