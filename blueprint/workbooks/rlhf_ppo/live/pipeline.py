"""Everything from two log-probs, a score and values to the losses, for one set of conventions, in order."""

from __future__ import annotations

from typing import NamedTuple, cast

from blueprint.language import Block
from blueprint.workbooks.common import loss as losses
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.places import Places
from blueprint.workbooks.common.metrics import MetricInputs, Metrics
from blueprint.workbooks.common.metrics import metrics as metrics_of
from blueprint.workbooks.common.signal import Given, Scored, Signal, Slots
from blueprint.workbooks.common.signal import signal as of_words


class Batch(NamedTuple):
    """What every set of conventions starts from. Rows (n, t) but for score, number of slots and ends (n), and two numbers.

    S: slots. m: response words. at: places in the response. Log-probs, entropy and exact KLs over all slots.
    V_old, V_new: values in every slot, not yet masked. most: slots of the longest response. floor: see `MetricInputs`.
    """

    S: Block
    m: Block
    at: Places
    logp_old: Block
    logp_ref: Block
    logp_new: Block
    kl_old_ref: Block
    kl_new_ref: Block
    policy_kl: Block
    entropy: Block
    V_old: Block
    V_new: Block
    score: Block
    slots: Block
    by_word: Block
    by_pad: Block
    most: Block
    floor: Block


def signal(given: Batch, use: Choices) -> Signal:
    """Runs the conventions from the score to the advantage."""
    return of_words(signal_given(given), use)


def signal_given(given: Batch) -> Given:
    """Takes from the batch what the signal is made of."""
    return Given(
        m=given.m, logp_old=given.logp_old, logp_ref=given.logp_ref, values=given.V_old, exact=given.kl_old_ref,
        slots=Slots(given.S, given.at, (given.slots, given.most)), scored=Scored(given.score, given.by_word, given.by_pad),
    )  # fmt: skip


def loss_given(given: Batch, made: Signal) -> losses.Given:
    """Takes from the batch and the signal what the loss is made of."""
    found = made.whole.gae
    return losses.Given(
        logp_new=given.logp_new, logp_old=given.logp_old, advantages=made.used, V_new=given.V_new, V_old=found.V,
        returns=found.returns, entropy=given.entropy, policy_kl=given.policy_kl, logp_ref=given.logp_ref,
        exact=given.kl_new_ref,
        counting=losses.Counts(made.counted.response, given.at.first_past, given.by_word, given.most),
    )  # fmt: skip


def metrics(given: Batch, made: Signal, out: losses.Loss, use: Choices) -> Metrics:
    """Makes what a library logs of it."""
    read = out.given
    assert read.counting is not None
    assert isinstance(out.value_counted, Block)
    rows = {name: cast(Block, getattr(read, name)) for name in ("V_old", "V_new", "returns", "entropy")}
    see = MetricInputs(
        S=given.S, M=read.counting.response, value_counted=out.value_counted, clip=out.clip, value=out.critic,
        kl=made.whole.kl.used, floor=given.floor, **rows,
    )  # fmt: skip
    return metrics_of(see, use)
