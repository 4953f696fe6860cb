"""Every row from the inputs and the options, in the order of derivation."""

from __future__ import annotations

from torch import Tensor

from blueprint.witness.conventions import advantages, kl, losses, places, rewards, totals, watched, weights
from blueprint.witness.conventions.options import Options
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.models import Held, Named


def recompute(texts: Texts, options: Options, floor: Tensor) -> Named:
    """Returns every quantity of the conventions by the name of its block: [F], [F, N] or [F, N, T (and its edge)].

    `floor` [F] is the variance of the returns up to which the explained variance is 0. Several libraries on one file are
    several files: repeat its texts, and give each its options.
    """
    rows = update(texts, signal(texts, options), options)
    return rows | watched_rows(texts, rows, options, floor)


def signal(texts: Texts, options: Options) -> Named:
    """Returns what the loss learns from: places, KL, rewards, advantages and returns."""
    rows = places.place_rows(texts)
    rows |= places.response_rows(texts, rows, options)
    rows |= kl.kl_rows(texts, options)
    rows |= kl.price_rows(rows, options)
    rows |= kl.statistic_rows(rows, options)
    rows |= rewards.score_rows(texts, rows, options)
    rows |= rewards.reward_rows(rows)
    rows |= rewards.whitened_rows(texts, rows, options)
    rows |= advantages.gae_rows(texts, rows, options)
    return rows | advantages.whitened_rows(texts, rows, options)


def update(texts: Texts, before: Named, options: Options) -> Named:
    """Returns the rows before, and from them the losses of words, their weights, and the parts of the loss."""
    rows = before | losses.counted_rows(before, options) | weights.mode_rows(options)
    rows |= weights.all_weight_rows(rows, options)
    rows |= watched.watch_rows(texts, rows, options)
    rows |= losses.ratio_rows(texts, rows, options)
    rows |= losses.surrogate_rows(rows, options)
    rows |= losses.value_rows(texts, rows, options)
    rows |= totals.keep_rows(rows, options)
    rows |= totals.part_rows(texts, rows)
    rows |= totals.total_rows(rows, options)
    return rows | totals.share_rows(texts, rows, options)


def watched_rows(texts: Texts, rows: Held, options: Options, floor: Tensor) -> Named:
    """Returns what is watched, from the rows of `signal` and `update`."""
    found = watched.update_rows(texts, rows, options) | watched.clip_rows(rows, options)
    return found | watched.explained_rows(texts, rows, options, floor)
