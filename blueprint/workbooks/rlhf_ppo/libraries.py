"""Libraries: the same batch by the conventions of several libraries; and what the page "Which PPO is it?" says."""

from dataclasses import replace

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
from blueprint.workbooks.common.conventions import LIVE, Comparison, Values
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


INTRODUCTION = """\
They are all called PPO, and each computes another loss from the same batch: the same tokens, log-probs, values and scores
(the temperature belongs to the batch, too). Every row below shows what one library does by default, as its source says at the
version named; `blueprint presets` says where. The total is the loss that the policy's optimiser minimises: where the critic has
an optimiser of its own, the value loss is not part of it. No row is the only correct one, but if you compare two runs you should
know which row each of them follows."""
GRADIENTS = """\
The loss is one number. An optimiser does not use this number; it uses the gradient. The policy's gradient is that of the total
loss with respect to what the policy's optimiser changes. The critic's gradient is that of what the critic's optimiser
minimises: the value loss, times vf_coef where one optimiser trains both. The angle is the one between a gradient and the
default's on the same batch. At 0° both have the same direction, at 90° they are perpendicular, and above 90° they partly
oppose each other. Adam cancels a constant factor of a gradient; an optimiser does not correct its direction.

- *A factor* of a whole loss, such as vf_coef or a missing ½, changes the length of its gradient and not the direction; so does
  a variance by N instead of N − 1, and so would a mean over tokens instead of their sum. A mean over each response first gives
  short responses more weight, and turns the gradient: `--set loss.aggregation=seq-mean-token-mean` adds such a row.
- *A number subtracted from all advantages*, by whitening, or by whitening over pads, changes the loss; the gradient changes
  by a multiple of Σ∇ρ, which is 0 on average over the responses that the old policy writes (a baseline: Williams 1992,
  REINFORCE, theorem 1), but not on one small batch.
- *A clip* makes a token's loss a constant: the loss still counts the token, but its gradient is 0.
- *Another reward, γ or λ* gives each token another weight, and turns the gradient. So does a KL in the loss instead of the
  reward, which hardly changes the loss (`--set reward.kl_in=loss`)."""
OVER = {
    "weights": "the policy's weights alone, and over the critic's",
    "logits": "the policy's logits and the critic's values, with which this batch begins",
}
SOURCES = """\
Every convention is a switch that recalculates in the finished workbook:

    blueprint presets                                          # what each library does, version, source, what differs
    blueprint build --preset verl                              # its conventions on the default batch, every one live
    blueprint build --preset trl_1.12 --set loss.aggregation=seq-mean-token-mean
    blueprint build --numbers ten-libraries --compare trl_1.12,openrlhf,verl

`ten-libraries` is the batch on which the libraries' own code was run. The definitions, torch and the recalculated workbook
reproduce every number of those runs, pads aside; `tests/data/golden_runs.json` says how they were recorded. Known defects of a
library are reproduced, and named as defects. The puzzles of PPO (`docs/puzzles.md`) explain what surprises people: a negative
KL, the score after `<eos>`, token mean or sequence mean, n or n − 1, the max of the value clip, entropy over pads, a ratio that
is not 1, a loss of 0.

Classic PPO (rewards given, `done`, V(next)) has a workbook of its own with the conventions of CleanRL, Stable-Baselines3,
TorchRL and rlax; so has the adaptive KL controller. `check` compares both with torch, and `verify` and `import` read rollouts of
CleanRL and Stable-Baselines3:

    blueprint build --numbers classic --preset sb3
    blueprint build --numbers kl-controller"""
COLUMNS = {
    "policy loss": "library.policy_loss",
    "value loss": "library.value_loss",
    "total loss": "library.total_loss",
    "approximate KL": "library.approx_kl.used",
    "clip fraction": "library.clip_fraction.used",
}
OF_THE_BATCH = ("update_step", "batch.temperature", "batch.temperature_eps")
KL_LOSS = tuple(key for key in LIVE if key.startswith("loss.kl_"))


def silent(values: Values) -> tuple[str, ...]:
    """Lists the conventions that say nothing: those of the KL in the loss, where none is paid there."""
    return () if values["reward.kl_in"] in ("loss", "both") else KL_LOSS


COMPARISON = Comparison(
    "Which PPO is it?", INTRODUCTION, COLUMNS, OVER, GRADIENTS, OF_THE_BATCH, silent, sources=SOURCES,
)  # fmt: skip
