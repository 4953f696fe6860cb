"""The steps of a workbook whose conventions are live: the same sheets as the plain one, with every convention's rows."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Max, Sum, block, maximum
from blueprint.page.outline import Sheet
from blueprint.workbooks.common import loss as losses
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.distribution import exact_kl
from blueprint.workbooks.common.definitions.metrics import variance_floor
from blueprint.workbooks.common.definitions.places import places
from blueprint.workbooks.common.definitions.reward import ends
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.metrics import Metrics
from blueprint.workbooks.common.settings import Settings
from blueprint.workbooks.common.sheets.loss import LEAD, linked, sections
from blueprint.workbooks.common.signal import Signal, signal
from blueprint.workbooks.rlhf_ppo.live import pipeline
from blueprint.workbooks.rlhf_ppo.sheets import signal as signal_sheet
from blueprint.workbooks.rlhf_ppo.steps import Models, Steps


class Live(NamedTuple):
    """The steps in the form that every workbook has, and all that conventions add.

    batch: what every set of conventions starts from, by the blocks of the models' own sheets.
    """

    steps: Steps
    batch: pipeline.Batch
    signal: Signal
    loss: losses.Loss
    metrics: Metrics


def live_steps(models: Models, chosen: Settings) -> Live:
    """Runs the conventions in use over what the models say."""
    use = Choices(chosen.used, chosen.switch, labels=labels("live"))
    batch, cross = batch_of(models)
    made = signal(signal_sheet.linked(pipeline.signal_given(batch)), use)
    out = losses.loss(linked(pipeline.loss_given(batch, made)), use)
    metrics = pipeline.metrics(batch, made, out, use)
    head = models.head.on("loss")
    of_loss = Sheet("Loss", LEAD, tuple(sections(out, cross=cross)), (n, t), head.rows, head.mask)
    sheet = signal_sheet.signal_sheet(made, models.head.on("signal"))
    steps = Steps(models, batch.entropy, made.whole, sheet, out, of_loss, metrics.flags, metrics.policy_kl)
    return Live(steps, batch, made, out, metrics)


def batch_of(models: Models) -> tuple[pipeline.Batch, Block]:
    """Gathers what every set of conventions starts from; also returns Σ p log q of the new policy and the reference."""
    S, m, reference, policy = models.slots, models.texts.mask, models.reference, models.policy
    assert S is not None
    assert policy.entropy is not None
    at = places(S, m)
    slots, by_word, by_pad = ends(S, at.until, models.ends)
    most = block("response.most", (), "T_most", "slots of the longest response", decimals=0)
    most[()] = maximum(Max(n, slots[n]), 1)
    words = policy.policy.words
    cross, exact = exact_kl("kl_new", words.p, words.p_log_p, reference.policy.words.logp, S)
    floor = variance_floor()
    batch = pipeline.Batch(
        S, m, at, models.old.logprobs, reference.policy.logprobs, policy.policy.logprobs, reference.exact, exact,
        policy.exact, policy.entropy, models.V_old, models.V_new, _score(models.score), slots, by_word, by_pad, most, floor,
    )  # fmt: skip
    return batch, cross


def _score(score: Block) -> Block:
    """Returns the score of each response, from where it stands: on its last word, or typed for the response."""
    given = block("score.given", (n,), "s_n", "score of the response, as given")
    given[n] = Sum(t, score[n, t]) if t in score.axes else score[n]
    return given
