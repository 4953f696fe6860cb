"""Libraries: the same batch by the conventions of several libraries; and what the page "Which PPO is it?" says."""

from dataclasses import replace
from pathlib import Path

from blueprint.language import Block, link
from blueprint.page.outline import Item, Note, Section, Sheet, key, minor
from blueprint.workbooks.common import (
    PREFIX,
    Chosen,
    InView,
    Loss,
    Places,
    Preferred,
    Rows,
    by_name,
    folded,
    loss,
    loss_sheet,
    metrics_of,
    preferred,
    sheet_of,
    signal,
    signal_sheet,
    turned,
    which_sheet,
)
from blueprint.workbooks.common.conventions import LIVE, Values, comparison_in
from blueprint.workbooks.rlhf_ppo.steps import Steps

Sections = tuple[Section, ...]
LEAD = "the same tokens, log-probs, values and scores by the conventions of several libraries: find the row where they part"
FIXED = "Tokens and log-probs are those of this workbook, the temperature included: what a library samples anew is not shown."
WHERE = "Rows of steps on the way are folded; the sign at the left of a row opens them."
WHICH = "one batch, several answers: what each library computes, what it does differently, and why"
START = {
    **{f"place.{place}": place for place in Places._fields},
    "slots": "S",
    "old.logprobs": "logp_old",
    "reference.logprobs": "logp_ref",
    "policy.logprobs": "logp_new",
    "kl.exact": "kl_old_ref",
    "kl_new.exact": "kl_new_ref",
    "policy_kl.exact": "policy_kl",
    "policy.entropy": "entropy",
    "old_critic.values": "V_old",
    "critic.values": "V_new",
    "score.given": "score",
    "response.slots": "slots",
    "response.length": "length",
    "response.ended": "by_word",
    "response.padded": "by_pad",
    "response.most": "most",
}
"""What every library starts from, and what it is called where it is repeated."""
SHOWN = ("approx_kl.used", "clip_fraction.used", "clip_fraction.value", "ratio.mean", "kl.statistic", "ev.used")
"""Metrics that are listed with the losses."""


def compared(steps: Steps, chosen: Chosen) -> tuple[Sheet, Sheet, Preferred]:
    """Runs every library's conventions over the batch, and sets them side by side; with what each library does."""
    like = preferred(chosen)
    use = like.choices(chosen.settings.switch)
    start = {name: link(f"libraries.{again}", steps.rows[name]) for name, again in START.items()}
    given = {**start, **{name: steps.rows[name] for name in ("mask", "explained_variance.floor")}}
    made = signal(given, use)
    out = loss({**given, **made.rows}, use)
    metrics = metrics_of(out, use)
    outline = (*signal_sheet.sections(made), *loss_sheet.sections(out))
    libraries = _libraries(start, given["mask"], outline, metrics, steps.head.on("libraries"))
    results = _results(out, metrics)
    return libraries, which_sheet("Which PPO", WHICH, like, results, chosen, "the losses and what is watched"), like


def _libraries(start: Rows, mask: Block, outline: tuple[Section, ...], metrics: Sections, head: InView) -> Sheet:
    """Outlines the rows: what all start from, then every step, of which only the results are unfolded."""
    sections = [Section("What all start from", (Note(FIXED), Note(WHERE), *map(minor, start.values())))]
    placed = {*start.values(), mask}
    for section in outline:
        items = tuple(item for item in map(folded, section.items) if item.block not in placed)
        placed |= {item.block for item in items}
        sections.append(Section(section.title, items))
    logged = tuple(item for section in metrics for item in map(folded, section.items))
    sections.append(Section("What is watched", logged))
    return replace(sheet_of("Libraries", LEAD, sections, head, first=0), closed=True)


def _results(out: Loss, metrics: Sections) -> tuple[Item, ...]:
    """Repeats the numbers of every library, with links to their rows."""
    means, logged = out.total.means, by_name(metrics, PREFIX)
    key_rows = (means["policy_loss"], means["value_loss"], out.total.total)
    others = (
        out.coefficients[0], means["kl_loss"], means["entropy"], *(logged[name] for name in SHOWN),
    )  # fmt: skip
    named = {row: turned(row) for row in (*key_rows, *others)}
    return (*(key(named[row]) for row in key_rows), *(named[row] for row in others))


OF_THE_BATCH = ("update_step", "batch.temperature", "batch.temperature_eps")
KL_LOSS = tuple(key for key in LIVE if key.startswith("loss.kl_"))


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: those of the KL in the loss, where none is paid there."""
    return () if values["reward.kl_in"] in ("loss", "both") else KL_LOSS


COMPARISON = comparison_in(Path(__file__).parent, of_the_batch=OF_THE_BATCH, silent=silent)
