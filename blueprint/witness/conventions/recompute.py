"""Every row from the inputs and the options, in the order of derivation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from blueprint.witness.conventions import advantages, kl, losses, places, rewards, totals, watched, weights
from blueprint.witness.conventions.options import Options
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.models import Held, Named

NOTHING: Mapping[str, Tensor] = MappingProxyType({})


def recompute(texts: Texts, options: Options, floor: Tensor, given: Mapping[str, Tensor] = NOTHING) -> Named:
    """Returns every quantity of the conventions by the name of its block: [F], [F, N] or [F, N, T (and its edge)].

    `floor` [F] is the variance of the returns up to which the explained variance is 0. Several libraries on one file are
    several files: repeat its texts, and give each its options. `given` is used instead of what is computed: see `instead`.
    """
    rows = update(texts, signal(texts, options, given), options, given)
    return rows | watched_rows(texts, rows, options, floor)


def signal(texts: Texts, options: Options, given: Mapping[str, Tensor] = NOTHING) -> Named:
    """Returns what the loss learns from: places, KL, rewards, advantages and returns."""
    rows = places.place_rows(texts)
    rows |= places.response_rows(texts, rows, options)
    rows |= kl.kl_rows(texts, options)
    rows |= kl.price_rows(rows, options)
    rows |= kl.statistic_rows(rows, options)
    rows |= instead({"score.place": rewards.score_place(rows, options)}, given)
    rows |= instead(rewards.score_rows(texts, rows, options), given)
    rows |= instead(rewards.reward_rows(rows), given)
    rows |= instead(rewards.whitened_rows(texts, rows, options), given)
    rows |= instead(advantages.gae_rows(texts, rows, options), given)
    return rows | instead(advantages.whitened_rows(texts, rows, options), given)


def instead(found: Named, given: Mapping[str, Tensor]) -> Named:
    """Returns the rows with those that are given put in their place, and as `computed.NAME` what stood there.

    A number that is not a number is not given: what was computed stands there.
    """
    both = {name: (found[name], given[name]) for name in given if name in found}
    used = {name: torch.where(theirs.isnan(), ours, theirs) for name, (ours, theirs) in both.items()}
    return found | used | {f"computed.{name}": ours for name, (ours, _) in both.items()}


def counts(texts: Texts, before: Named, options: Options) -> Named:
    """Returns the rows before, and from them which words count and what each weighs in the losses and in what is watched."""
    rows = before | losses.counted_rows(before, options) | weights.mode_rows(options)
    rows |= weights.all_weight_rows(rows, options)
    return rows | watched.watch_rows(texts, rows, options)


def update(texts: Texts, before: Named, options: Options, given: Mapping[str, Tensor] = NOTHING) -> Named:
    """Returns the rows before, and from them the losses of words, their weights, and the parts of the loss."""
    rows = counts(texts, before, options)
    rows |= losses.ratio_rows(texts, rows, options)
    rows |= losses.surrogate_rows(rows, options)
    rows |= losses.value_rows(texts, rows, options)
    rows |= totals.keep_rows(rows, options)
    rows |= instead(totals.part_rows(texts, rows, options), given)
    rows |= totals.total_rows(rows, options)
    return rows | totals.share_rows(texts, rows, options)


def watched_rows(texts: Texts, rows: Held, options: Options, floor: Tensor) -> Named:
    """Returns what is watched, from the rows of `signal` and `update`."""
    found = watched.update_rows(texts, rows, options) | watched.clip_rows(rows, options)
    return found | watched.explained_rows(texts, rows, options, floor)
