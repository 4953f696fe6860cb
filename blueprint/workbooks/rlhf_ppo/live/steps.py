"""The steps of a workbook whose conventions are live: the same sheets as the plain one, with every convention's rows."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Max, Sum, block, link, maximum
from blueprint.page.outline import Sheet
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.distribution import exact_kl
from blueprint.workbooks.common.definitions.metrics import variance_floor
from blueprint.workbooks.common.definitions.places import places
from blueprint.workbooks.common.definitions.reward import ends
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.settings import Settings
from blueprint.workbooks.common.signal import Signal, signal
from blueprint.workbooks.rlhf_ppo.live import pages, pipeline
from blueprint.workbooks.rlhf_ppo.sheets import loss as loss_sheet
from blueprint.workbooks.rlhf_ppo.sheets import signal as signal_sheet
from blueprint.workbooks.rlhf_ppo.steps import Models, Steps


class Live(NamedTuple):
    """The steps in the form that every workbook has, and all that conventions add.

    batch: what every set of conventions starts from, by the blocks of the models' own sheets.
    """

    steps: Steps
    batch: pipeline.Batch
    signal: Signal
    loss: pipeline.LossPart


def live_steps(models: Models, chosen: Settings) -> Live:
    """Runs the conventions in use over what the models say."""
    use = Choices(chosen.used, chosen.switch, labels=labels(live=True))
    batch, cross = batch_of(models)
    made = signal(signal_sheet.linked(pipeline.signal_given(batch)), use)
    there = linked("loss", batch, ("logp_new", "logp_old", "logp_ref", "entropy", "policy_kl", "V_new"))
    there = there._replace(at=batch.at._replace(first_past=link("loss.first_past", batch.at.first_past)))
    again = _again(made)
    out = pipeline.loss(there, again, use)
    sheet = signal_sheet.signal_sheet(made, models.head.on("signal"))
    steps = Steps(models, batch.entropy, made.whole, sheet, _loss(models, there, again, out, cross))
    return Live(steps, batch, made, out)


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


def linked(sheet: str, batch: pipeline.Batch, names: tuple[str, ...]) -> pipeline.Batch:
    """Repeats rows of the batch on another sheet."""
    return batch._replace(**{name: link(f"{sheet}.{name}", getattr(batch, name)) for name in names})  # type: ignore[arg-type]


def _again(made: Signal) -> Signal:
    """Repeats what the loss reads of the signal on its own sheet."""
    found = made.whole.gae
    rows = {"response": made.counted.response, "advantages": made.used, "V_old": found.V, "returns": found.returns}
    M, A, V, R = (link(f"loss.{name}", row) for name, row in rows.items())
    return made._replace(counted=made.counted._replace(response=M), used=A, gae=found._replace(V=V, returns=R))


def _loss(models: Models, given: pipeline.Batch, made: Signal, out: pipeline.LossPart, cross: Block) -> loss_sheet.Loss:
    """Outlines the sheet of the loss, in the form that the rest of the workbook reads."""
    head = models.head.on("loss")
    sections = pages.loss_sections(given, made, out, cross)
    sheet = Sheet("Loss", loss_sheet.LEAD, sections, (n, t), head.rows, head.mask)
    clip = out.clip
    return loss_sheet.Loss(
        sheet, clip.log_ratio, clip.ratio, clip, out.metrics.flags, out.value, out.metrics.policy_kl, out.sums.total,
        out.sums.adds, out.sums.share,
    )  # fmt: skip
