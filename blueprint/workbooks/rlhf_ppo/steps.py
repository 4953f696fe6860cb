"""The steps: every definition of RLHF PPO, in the order in which the numbers come about, sheet by sheet.

Where log-probs and values are taken in every slot of a response, used or not, conventions choose among the slots.
"""

from typing import NamedTuple

from blueprint.language import Block, Max, Sum, block, maximum
from blueprint.page.outline import Section, Sheet
from blueprint.workbooks.common import (
    Choices,
    InView,
    Loss,
    Rows,
    Signal,
    by_name,
    clip_flags,
    defined,
    ends,
    exact_kl,
    loss,
    loss_sheet,
    metrics_of,
    n,
    named,
    places,
    policy_kl,
    repeated,
    rows_on,
    sheet_of,
    signal,
    signal_sheet,
    t,
    variance_floor,
)
from blueprint.workbooks.rlhf_ppo.minibatches import Minibatch, of_step

LINKED = {
    "old.logprobs": "logp_old", "reference.logprobs": "logp_ref", "score.placed": "score", "old_critic.values": "values",
    "kl.exact": "exact_kl", "slots": "S",
}  # fmt: skip
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
    loss: Loss
    metrics: tuple[Section, ...]
    sheets: tuple[Sheet, ...]
    rows: Rows


def steps_of(models: Models, use: Choices, minibatch: Minibatch | None = None) -> Steps:
    """Runs the definitions from the reward to the loss, and outlines their sheets. minibatch: what the loss looks at."""
    head, below, live = models.head.on("signal"), models.head.on("loss"), "slots" in models.rows
    rows = {**models.rows, **named(variance_floor()), **(slot_rows(models.rows) if live else {})}
    scored = {} if live else {"mask": head.mask, "score.placed": rows["reward.score"]}
    made = signal(repeated({**rows, **scored}, "signal", LINKED), use)
    seen = {**rows, "mask": below.mask, **made.rows}
    own, counts = of_step(seen, made, minibatch, use)
    made = made if "advantages_used" not in own else made._replace(white=None, used=own["advantages_used"])
    out = loss(loss_sheet.linked({**seen, **own}), use)
    metrics: tuple[Section, ...] = ()
    if live:
        metrics = metrics_of(out, use)
        outline, logged = loss_sheet.sections(out, cross=rows["kl_new.cross"]), by_name(metrics)
    else:
        flags = clip_flags(out.clip, use)
        moved = policy_kl(out.clip.log_ratio, out.clip.free_log_ratio, use).steps
        outline, logged = loss_sheet.sections(out, flags=flags[:2], moved=moved), named(*flags)
    sheets = (
        *models.before,
        sheet_of(signal_sheet.TITLE, signal_sheet.LEAD, signal_sheet.sections(made), head),
        *models.between,
        sheet_of("Loss", loss_sheet.LEAD, (*counts, *outline), below),
    )
    assert made.placed is not None
    rows |= rows_on(*sheets) | logged | {"score": made.placed, "values": made.estimates.V} | own
    return Steps(models.head, made, out, metrics, sheets, rows)


def slot_rows(models: Rows) -> dict[str, Block]:
    """Defines what conventions start from besides the models: places in the response, score, and KL of the new policy."""
    S, new = models["slots"], models["policy.p"]
    at = places(S, models["mask"])
    slots, *ended = ends(S, at.until, models["rollout.ends"])
    most = defined(
        block("response.most", (), "T_most", "positions of the longest response", decimals=0),
        maximum(Max(n, slots[n]), 1),
    )
    kl = exact_kl("kl_new", new, models["policy.p_log_p"], models["reference.log_p"], S)
    placed = models.get("reward.score")
    score = defined(
        block("score.given", (n,), "s_n", "score of the response, as given"),
        models["reward_model.score"][n] if placed is None else Sum(t, placed[n, t]),
    )
    return named(*at, slots, *ended, most, *kl, score)
