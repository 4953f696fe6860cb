"""The steps from scores to the loss: those of every workbook, by the statistics, counts and sums of the whole batch.

What the dump gives itself is not made; a part of the loss for which it has no tensor is left out.
"""

from typing import NamedTuple

from blueprint.language import link
from blueprint.page.outline import Section, Sheet, blocks_on
from blueprint.workbooks.common import loss as losses
from blueprint.workbooks.common import signal as signals
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions import After, Choices, clip_flags, places, rows
from blueprint.workbooks.common.sheets import InView
from blueprint.workbooks.common.sheets import loss as loss_sheet
from blueprint.workbooks.common.sheets import signal as signal_sheet
from blueprint.workbooks.minibatch.given import Blocks, moments, totals

REPEATED = {
    "S": "slots", "placed": "score.placed", "score": "score.given", "ended": "response.ended", "padded": "response.padded",
    "logp_old": "old.logprobs", "logp_ref": "reference.logprobs", "V_old": "old_critic.values",
}  # fmt: skip
"""What is repeated on the sheet of rewards and advantages."""
REST = {"policy_loss": "rest.policy", "value_loss": "rest.value", "entropy": "rest.entropy", "kl_loss": "rest.kl"}
"""What the words that are not shown add, by the name of the mean of which it is a part."""


class Steps(NamedTuple):
    """The steps, their sheets, and every block by its name, what is typed among them."""

    signal: signals.Signal
    loss: losses.Loss
    sheets: tuple[Sheet, Sheet]
    named: Blocks


def steps_of(given: Blocks, head: InView, use: Choices) -> Steps:
    """Defines and outlines what the dump does not give itself."""
    signal = signals.signal(_signal_given(given), use)
    out = losses.loss(loss_sheet.linked(_loss_given(given, signal)), use)
    outline = tuple(loss_sheet.sections(out, flags=rows(*clip_flags(out.clip, use))))
    sheets = (
        _sheet(signal_sheet.TITLE, signal_sheet.LEAD, tuple(signal_sheet.sections(signal)), head.on("signal")),
        _sheet("Loss", f"{loss_sheet.LEAD} of the batch", outline, head.on("loss")),
    )
    named = {block.name: block for sheet in sheets for block in blocks_on(sheet)}
    return Steps(signal, out, sheets, {**named, **given})


def _sheet(title: str, lead: str, outline: tuple[Section, ...], head: InView) -> Sheet:
    return Sheet(title, lead, outline, (n, t), head.rows, head.mask)


def _signal_given(given: Blocks) -> signals.Given:
    """Collects what the signal is made of: the row in which the file begins, and what stands before it.

    With given advantages the old values are read only where there are given returns for the value loss.
    """
    begins_late = "advantages_used" in given and "returns" not in given
    again = {
        name: link(f"signal.{name}", given[block])
        for name, block in REPEATED.items()
        if block in given and not (name == "V_old" and begins_late)
    }
    scored = signals.Scored(again["score"], again["ended"], again["padded"]) if "score" in again else None
    return signals.Given(
        m=given["mask"], logp_old=again["logp_old"], logp_ref=again["logp_ref"], values=again.get("V_old"),
        slots=signals.Slots(again["S"], places(again["S"], given["mask"], given["after.words"])), scored=scored,
        placed=again.get("placed"), rewards=given.get("rewards"), advantages=given.get("advantages_used"),
        batch=signals.Batch(
            moments(given, "reward"), moments(given, "advantage"), After(given["after.ahead"], given["after.advantages"])
        ),
    )  # fmt: skip


def _loss_given(given: Blocks, signal: signals.Signal) -> losses.Given:
    """Collects what the loss is made of; parts for which the dump has no tensor are left out."""
    assert signal.given.slots is not None
    sums = {name: given[block] for name, block in REST.items()}
    rest = losses.Rest(given["loss.mean_ratio"], totals(given, "policy"), totals(given, "value"), sums)
    return losses.Given(
        logp_new=given["policy.logprobs"], logp_old=given["old.logprobs"], advantages=signal.used,
        V_new=given.get("critic.values"), V_old=signal.V,
        returns=signal.gae.returns if signal.gae else given.get("returns"),
        entropy=given.get("policy.entropy"), logp_ref=given["reference.logprobs"],
        counting=losses.Counts(
            signal.counted.response, signal.given.slots.at.first_past, given["response.ended"],
            given["response.most"], rest,
        ),
    )  # fmt: skip
