"""Everything from two log-probs, a score and values to the losses, for one set of conventions, in order."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block
from blueprint.workbooks.common.conventions import policy, value
from blueprint.workbooks.common.conventions.weights import Weights, same_or_first, weights
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.kl import NEW, Estimates, kl_estimates
from blueprint.workbooks.common.definitions.loss import ValueLoss
from blueprint.workbooks.common.definitions.places import Places
from blueprint.workbooks.common.definitions.ratio import Clip
from blueprint.workbooks.common.definitions.ratio import clip as clipped
from blueprint.workbooks.common.metrics import MetricInputs, Metrics, metrics
from blueprint.workbooks.common.signal import Given, Scored, Signal, Slots
from blueprint.workbooks.common.signal import signal as of_words
from blueprint.workbooks.rlhf_ppo.live.total import Sums, Weighed, sums


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


class LossPart(NamedTuple):
    """From the advantage to the total loss, and what is watched."""

    clip: Clip
    filter: policy.Filter
    guard: policy.Guard
    policy_weights: Weights
    value_counted: Block
    value: ValueLoss
    larger: Block
    value_weights: Weights
    entropy_weights: Weights
    value_mode: Block
    entropy_mode: Block
    kl: Estimates
    sums: Sums
    metrics: Metrics


def signal(given: Batch, use: Choices) -> Signal:
    """Runs the conventions from the score to the advantage."""
    return of_words(signal_given(given), use)


def signal_given(given: Batch) -> Given:
    """Takes from the batch what the signal is made of."""
    return Given(
        m=given.m, logp_old=given.logp_old, logp_ref=given.logp_ref, values=given.V_old, exact=given.kl_old_ref,
        slots=Slots(given.S, given.at, (given.slots, given.most)), scored=Scored(given.score, given.by_word, given.by_pad),
    )  # fmt: skip


def loss(given: Batch, made: Signal, use: Choices) -> LossPart:
    """Runs the conventions from the advantage to the total loss."""
    whole = made.whole
    M, mode = made.counted.response, use.switch["loss.aggregation"]
    clip = clipped(given.logp_new, given.logp_old, made.used, use, M)
    counted_words = policy.filtered(M, given.by_word, use)
    held = policy.guard(policy.mean_ratio(clip.ratio, M, use), use)
    of_value, value_mode = same_or_first("value", "mode_V", "value loss", use.switch["value.aggregation"], mode, use)
    own = use.switch["loss.entropy_aggregation"]
    of_entropy, entropy_mode = same_or_first("entropy", "mode_H", "entropy", own, mode, use)
    value_counts = value.counted_values(M, given.at, use)
    squares, larger = value.value_loss(given.V_new, whole.gae.V, whole.gae.returns, value_counts, use)
    w_policy = weights("policy.weight", "π", "policy loss", counted_words.counted, given.most, use, mode)
    w_value = weights("value.weight", "V", "value loss", value_counts, given.most, use, of_value)
    w_entropy = weights("entropy.weight", "H", "entropy", counted_words.counted, given.most, use, of_entropy)
    kl = kl_estimates(NEW, given.logp_new, given.logp_ref, given.kl_new_ref, use)
    words = Weighed(
        w_policy.row, w_value.row, w_entropy.row, clip.smaller, squares.loss, kl.used, given.entropy, given.policy_kl
    )
    see = MetricInputs(
        given.S,
        M,
        value_counts,
        clip,
        squares,
        whole.gae.V,
        given.V_new,
        whole.gae.returns,
        whole.kl.used,
        given.entropy,
        given.floor,
    )
    return LossPart(
        clip=clip, filter=counted_words, guard=held, policy_weights=w_policy, value_counted=value_counts, value=squares,
        larger=larger, value_weights=w_value, entropy_weights=w_entropy, value_mode=value_mode,
        entropy_mode=entropy_mode, kl=kl, sums=sums(words, held, use), metrics=metrics(see, use),
    )  # fmt: skip
