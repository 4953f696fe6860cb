"""Diagnostics: what one watches while training, and the means that the first sheet shows."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Row, Section, Sheet, key
from blueprint.workbooks.classic_ppo import diagnostics
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.classic_ppo.loss import mean
from blueprint.workbooks.classic_ppo.losses import Loss
from blueprint.workbooks.classic_ppo.rollout import Rollout
from blueprint.workbooks.classic_ppo.signal import Signal
from blueprint.workbooks.common.settings import Settings

LEAD = "what one watches while training; none of it enters the loss"


class Watched(NamedTuple):
    """The sheet and what others read from it; `means` by the name of the row."""

    sheet: Sheet
    kl: diagnostics.ApproxKL
    clipped: diagnostics.Fraction
    weights: diagnostics.Weights
    mean_return: Block
    old: diagnostics.Explained
    new: diagnostics.Explained
    rounding: Block
    means: dict[str, Block]


def watched(run: Rollout, made: Signal, loss: Loss, chosen: Settings) -> Watched:
    """Defines and outlines the diagnostics."""
    head, N, tiny = run.head.on("diagnostics"), run.counts.N, diagnostics.rounding()
    d, ratio = link("diagnostics.log_ratio", loss.clip.log_ratio), link("diagnostics.ratio", loss.clip.ratio)
    kl, weights = diagnostics.approx_kl(d, N), diagnostics.weights(ratio, N)
    clipped = diagnostics.clip_fraction(ratio, loss.clip.clipped_ratio, tiny, N)
    R = link("diagnostics.returns", made.gae.returns)
    spread = diagnostics.variance("returns", "R", R, N)
    V_old, V_new = link("diagnostics.V_old", run.V_old), link("diagnostics.V_new", run.V_new)
    held = link("diagnostics.value_clipped", loss.value.held)
    values = diagnostics.value_fraction(V_new, held, tiny, N)
    old = diagnostics.explained("old", V_old, R, spread[2], tiny, N)
    new = diagnostics.explained("new", V_new, R, spread[2], tiny, N)
    means = {row.name: _mean(row, N) for row in (run.rewards, made.gae.td_errors)}
    sections = (
        Section("Approximate KL of the update", (d, kl.k1, kl.k3, key(kl.mean_k1), key(kl.mean_k3))),
        Section("Clip fraction", (Row(tiny, "fixed"), ratio, clipped.flag, key(clipped.share))),
        Section("Clip fraction of the values (TorchRL)", (V_new, V_old, held, values.flag, key(values.share))),
        Section("The ratios as weights of the steps", (weights.mean, weights.largest, key(weights.effective))),
        Section("How much the returns vary", (R, *spread)),
        _explained_section("Explained variance: did the old critic foresee the returns?", old),
        _explained_section("The same of the new critic (TorchRL)", new),
        Section("Means shown on the first sheet", tuple(means.values())),
    )
    sheet = Sheet("Diagnostics", LEAD, sections, (n, t), head)
    return Watched(sheet, kl, clipped, weights, spread[0], old, new, tiny, means)


def _mean(row: Block, N: Block) -> Block:
    return mean(f"mean.{row.name}", f"mean {row.symbol}", row.about.meaning, row, N)


def _explained_section(title: str, of: diagnostics.Explained) -> Section:
    return Section(title, (of.error, of.mean_error, of.centred, of.variance, key(of.explained)))
