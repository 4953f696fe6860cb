"""The steps: every definition of RLHF PPO, in the order in which the numbers come about, sheet by sheet.

Where log-probs and values are taken in every slot of a response, used or not, conventions choose among the slots.
"""

from typing import Any, NamedTuple, cast

from blueprint.language import Block, Max, Sum, block, link, maximum
from blueprint.page.outline import Sheet
from blueprint.workbooks.common import loss as losses
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions import (
    EVERYWHERE,
    Choices,
    Places,
    Row,
    clip_flags,
    ends,
    exact_kl,
    places,
    policy_kl,
    variance_floor,
)
from blueprint.workbooks.common.metrics import MetricInputs, Metrics
from blueprint.workbooks.common.metrics import metrics as metrics_of
from blueprint.workbooks.common.sheets import InView, Rows, named, rows_on, several
from blueprint.workbooks.common.sheets import loss as loss_sheet
from blueprint.workbooks.common.sheets.signal import LEAD, TITLE, sections
from blueprint.workbooks.common.signal import Given, Scored, Signal, Slots, signal
from blueprint.workbooks.rlhf_ppo.sheets import sheet_of

LINKED = {"logp_old": "logp_old", "logp_ref": "logp_ref", "placed": "score", "values": "values", "exact": "exact_kl"}
"""What the sheet of rewards repeats from other sheets, and what it is called there."""


class Models(NamedTuple):
    """The sheets of the models, before the reward and between the advantage and the loss, and every block up to them."""

    head: InView
    before: tuple[Sheet, ...]
    between: tuple[Sheet, ...]
    rows: Rows


class Steps(NamedTuple):
    """Everything between the inputs and the diagnostics.

    metrics: what a library logs, where there are slots. sheets: from the rollout to the loss, in reading order. rows: all
    blocks by their names; and `score` and `values`, as they stand on the sheet of rewards.
    """

    head: InView
    signal: Signal
    loss: losses.Loss
    metrics: Metrics | None
    sheets: tuple[Sheet, ...]
    rows: Rows


def steps_of(models: Models, use: Choices) -> Steps:
    """Runs the definitions from the reward to the loss, and outlines their sheets."""
    head, below, live = models.head.on("signal"), models.head.on("loss"), "slots" in models.rows
    rows = {**models.rows, **named(variance_floor()), **(slot_rows(models.rows) if live else {})}
    made = signal(linked(signal_given(rows, rows["mask"] if live else head.mask)), use)
    out = losses.loss(loss_sheet.linked(loss_given(rows, made, below.mask)), use)
    if live:
        metrics = metrics_of(metric_inputs(rows, made, out), use)
        outline, logged = loss_sheet.sections(out, cross=rows["kl_new.cross"]), metrics.named
    else:
        metrics, flags = None, clip_flags(out.clip, use)
        moved = policy_kl(out.clip.log_ratio, out.clip.free_log_ratio, use).steps
        outline, logged = loss_sheet.sections(out, flags=(flags.by_loss, flags.by_ratio), moved=moved), named(*flags)
    sheets = (
        *models.before,
        sheet_of(TITLE, LEAD, sections(made), head),
        *models.between,
        sheet_of("Loss", loss_sheet.LEAD, outline, below),
    )
    whole = made.whole
    rows |= rows_on(*sheets) | logged | {"score": whole.placed, "values": whole.gae.V}
    return Steps(models.head, made, out, metrics, sheets, rows)


def slot_rows(models: Rows) -> dict[str, Block]:
    """Defines what conventions start from besides the models: places in the response, score, and KL of the new policy."""
    S, new = models["slots"], models["policy.p"]
    at = places(S, models["mask"])
    slots, *ended = ends(S, at.until, models["rollout.ends"])
    most = block("response.most", (), "T_most", "slots of the longest response", decimals=0)
    most[()] = maximum(Max(n, slots[n]), 1)
    kl = exact_kl("kl_new", new, models["policy.p_log_p"], models["reference.log_p"], S)
    placed = models.get("reward.score")
    score = block("score.given", (n,), "s_n", "score of the response, as given")
    score[n] = models["reward_model.score"][n] if placed is None else Sum(t, placed[n, t])
    return named(*at, slots, *ended, most, *kl, score)


def signal_given(rows: Rows, m: Block) -> Given:
    """Takes what the reward and the advantage are made of. m: the mask."""
    given = Given(
        m, rows["old.logprobs"], rows["reference.logprobs"], values=rows["old_critic.values"], exact=rows["kl.exact"]
    )
    if "slots" not in rows:
        return given._replace(words=rows["response.words"], placed=rows["reward.score"])
    at = Places(*(rows[f"place.{place}"] for place in Places._fields))
    counts = (rows["response.slots"], rows["response.most"])
    scored = Scored(rows["score.given"], rows["response.ended"], rows["response.padded"])
    return given._replace(slots=Slots(rows["slots"], at, counts), scored=scored)


def linked(given: Given) -> Given:
    """Repeats on the sheet of rewards what comes from other sheets, as far as it is there."""
    found = {name: getattr(given, name) for name in LINKED}
    again: dict[str, Any] = {
        name: link(f"signal.{LINKED[name]}", row) for name, row in found.items() if row is not None
    }
    slots = given.slots and given.slots._replace(S=link("signal.S", given.slots.S))
    return given._replace(slots=slots, **again)


def loss_given(rows: Rows, made: Signal, m: Row = EVERYWHERE) -> losses.Given:
    """Takes what the loss is made of. m: the mask, which counts where there are no slots."""
    found = made.whole.gae
    given = losses.Given(
        logp_new=rows["policy.logprobs"], logp_old=rows["old.logprobs"], advantages=made.used, V_new=rows["critic.values"],
        V_old=rows["old_critic.values"], returns=found.returns, entropy=rows["policy.entropy"], policy_kl=rows["policy_kl.exact"],
    )  # fmt: skip
    if "slots" not in rows:
        return given._replace(m=m, words=rows["response.words"])
    first_past, ended, most = several(rows, "place.first_past", "response.ended", "response.most")
    return given._replace(
        V_old=found.V, logp_ref=rows["reference.logprobs"], exact=rows["kl_new.exact"],
        counting=losses.Counts(made.counted.response, first_past, ended, most),
    )  # fmt: skip


def metric_inputs(rows: Rows, made: Signal, out: losses.Loss) -> MetricInputs:
    """Takes what a library's metrics are made of."""
    given = out.given
    assert given.counting is not None
    there = {name: cast(Block, getattr(given, name)) for name in ("V_old", "V_new", "returns", "entropy")}
    return MetricInputs(
        S=rows["slots"], M=given.counting.response, clip=out.clip, value=out.critic,
        value_counted=cast(Block, out.value_counted), kl=made.whole.kl.used, floor=rows["explained_variance.floor"], **there,
    )  # fmt: skip
