"""Every row from the inputs and the options, in the order of derivation."""

from __future__ import annotations

from torch import Tensor

from blueprint.witness.conventions import advantages, kl, losses, places, rewards, totals, watched, weights
from blueprint.witness.conventions.options import Options
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.models import Named


def recompute(texts: Texts, options: Options, floor: Tensor) -> Named:
    """Returns every quantity of the conventions by the name of its block: [F], [F, N] or [F, N, T (and its edge)].

    `floor` [F] is the variance of the returns up to which the explained variance is 0. Several libraries on one file are
    several files: repeat its texts, and give each its options.
    """
    rows: Named = {}
    rows |= places.place_rows(texts)
    rows |= places.response_rows(texts, rows, options)
    rows |= _signal(texts, rows, options)
    rows |= _words_of_losses(texts, rows, options)
    rows |= totals.part_rows(texts, rows)
    rows |= totals.total_rows(rows, options)
    rows |= totals.share_rows(texts, rows, options)
    rows |= watched.update_rows(texts, rows, options)
    rows |= watched.clip_rows(rows, options)
    return rows | watched.explained_rows(texts, rows, options, floor)


def _signal(texts: Texts, before: Named, options: Options) -> Named:
    """Returns KL, rewards, advantages and returns."""
    rows = before | kl.kl_rows(texts, options)
    rows |= kl.price_rows(rows, options)
    rows |= kl.statistic_rows(rows, options)
    rows |= rewards.score_rows(texts, rows, options)
    rows |= rewards.reward_rows(texts, rows, options)
    rows |= rewards.whitened_rows(texts, rows, options)
    rows |= advantages.gae_rows(texts, rows, options)
    return rows | advantages.whitened_rows(texts, rows, options)


def _words_of_losses(texts: Texts, before: Named, options: Options) -> Named:
    """Returns the losses of words and their weights."""
    rows = before | losses.counted_rows(before, options) | weights.mode_rows(options)
    rows |= weights.all_weight_rows(rows, options)
    rows |= watched.watch_rows(texts, rows, options)
    rows |= losses.ratio_rows(texts, rows, options)
    rows |= losses.surrogate_rows(rows, options)
    rows |= losses.value_rows(texts, rows, options)
    return rows | totals.keep_rows(rows, options)
