"""Diagnostics: what one watches while training, and the means that the first sheet shows."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link, typed
from blueprint.page.outline import Row, Section, Sheet, key
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.classic_ppo.loss import Loss
from blueprint.workbooks.classic_ppo.rollout import Rollout
from blueprint.workbooks.classic_ppo.signal import Signal
from blueprint.workbooks.common.definitions.averages import Counting, mean, spread
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices
from blueprint.workbooks.common.definitions.metrics import (
    effective_sample_size,
    explained_variance,
    largest,
    means_of,
    outside,
    policy_kl,
    residual,
)
from blueprint.workbooks.common.metrics import by_name

LEAD = "what one watches while training; none of it enters the loss"
CRITICS = {
    "old": "Explained variance: did the old critic foresee the returns?",
    "new": "The same of the new critic (TorchRL)",
}
"""The critics, and the title under which each is asked what it foresaw."""


class Metrics(NamedTuple):
    """The sheet, and every row and number of it by the name of its block."""

    sheet: Sheet
    named: dict[str, Block]


def metrics(run: Rollout, made: Signal, loss: Loss, use: Choices) -> Metrics:
    """Defines and outlines the diagnostics."""
    head, N = run.head.on("diagnostics"), run.counts.N
    over = Counting(EVERYWHERE, N, N)
    tiny = typed("rounding", (), "tiny", "what is smaller is mere rounding", decimals=12)
    values = link("diagnostics.V_old", run.V_old), link("diagnostics.V_new", run.V_new)
    means = means_of([run.rewards, made.gae.td_errors], over)
    sections = (
        _approximate_kl(link("diagnostics.log_ratio", loss.made.clip.log_ratio), over, use),
        *_clipped(loss, tiny, over, values, use),
        *_foreseen(link("diagnostics.returns", made.gae.returns), tiny, over, values, use),
        Section("Means shown on the first sheet", tuple(means.values())),
    )
    return Metrics(Sheet("Diagnostics", LEAD, sections, (n, t), head), by_name(sections))


def _approximate_kl(d: Block, over: Counting, use: Choices) -> Section:
    """Estimates how far the update moved the policy."""
    kl = policy_kl(d, d, use)
    means = (key(mean(f"approx_kl.{name}", x, over, use)) for name, x in (("k1", kl.k1), ("k3", kl.k3)))
    return Section("Approximate KL of the update", (d, *kl.steps, *means))


def _clipped(loss: Loss, tiny: Block, over: Counting, values: tuple[Block, Block], use: Choices) -> tuple[Section, ...]:
    """Counts the steps that a clip holds, and looks at the ratios as weights.

    tiny: programs do not round alike: 0.9 − 0.7 is more than 0.2 to one of them and not to another. values: V_old, V_new.
    """
    ratio, held = (
        link("diagnostics.ratio", loss.made.clip.ratio),
        link("diagnostics.value_clipped", loss.made.critic.held),
    )
    moved = outside("clip_fraction.outside", ratio, loss.made.clip.clipped_ratio, use, tiny)
    V_old, V_new = values
    shifted = outside("value_fraction.outside", V_new, held, use, tiny)
    weights = (mean("ratio.mean", ratio, over, use), largest("ratio.largest", ratio, use))
    effective = effective_sample_size("ratio.effective", ratio, over, use)
    value_share = mean("value_fraction", shifted, over, use)
    return (
        Section("Clip fraction", (Row(tiny, "fixed"), ratio, moved, key(mean("clip_fraction", moved, over, use)))),
        Section("Clip fraction of the values (TorchRL)", (V_new, V_old, held, shifted, key(value_share))),
        Section("The ratios as weights of the steps", (*weights, key(effective))),
    )


def _foreseen(R: Block, tiny: Block, over: Counting, values: tuple[Block, Block], use: Choices) -> tuple[Section, ...]:
    """Asks how much of the returns' variance each critic foresaw. values: V_old, V_new."""
    returns = spread("returns", R, over, use)
    sections = [Section("How much the returns vary", (R, *returns))]
    for (whose, title), V in zip(CRITICS.items(), values, strict=True):
        missed = residual(f"residual.{whose}", R, V, over, use)
        share = explained_variance(f"explained_variance.{whose}", missed.variance, returns.variance, tiny, use)
        sections.append(Section(title, (*missed, key(share))))
    return tuple(sections)
