"""The tokens of most entropy, which alone TRL's policy loss counts where `top_entropy_quantile` is less than 1: the least entropy
among them, and what it may have been by mistake.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from blueprint.dumps import Array, key_of
from blueprint.inputs.catalogue import OFF
from blueprint.verifying import Settings, Try
from blueprint.workbooks.grpo.dumps import GroupedStep

SETTING = "loss.entropy_least"


def with_least(batch: GroupedStep, settings: Settings, steps: Sequence[GroupedStep]) -> tuple[GroupedStep, Settings]:
    """Returns a file and its settings, with the least entropy that counts: the quantile over the microbatch of all ranks, in
    float32, as TRL 1.16.0 takes it (get_high_entropy_mask). steps: all files of the step.
    """
    if batch.unsure >= 1 or settings[SETTING] != OFF:
        return batch, settings
    mates = [each for each in steps if each is batch or (each.place and key_of(each)[1:] == key_of(batch)[1:])]
    entropies = [
        np.asarray(each.tensors["entropy"], np.float32)[each.mask] for each in mates if "entropy" in each.tensors
    ]
    ranks = (batch.place.world_size if batch.place else None) or 1
    unknown = "the entropies of the other ranks" if len(mates) < ranks else ""
    return replace(batch, unknown=unknown), {**settings, SETTING: _least(entropies, 1 - batch.unsure)}


MISTAKEN: Mapping[str, Callable[[Array, Array, float], float]] = {
    "a quantile of the entropies at all places, with 0 at the pads": lambda H, mask, left_out: _least(
        [H * mask], left_out
    ),
    "a quantile of the entropies at all places, pads too": lambda H, mask, left_out: _least([H], left_out),
    "a quantile of this file's entropies alone": lambda H, mask, left_out: _least([H[mask]], left_out),
    "the quantile below which are as many as should count": lambda H, mask, left_out: _least([H[mask]], 1 - left_out),
    "the mean of the quantiles of each response": lambda H, mask, left_out: float(
        np.mean([_least([row[here]], left_out) for row, here in zip(H, mask, strict=True)])
    ),
}
"""What the least entropy may be by mistake, of a file's entropies and its mask, and the share of the tokens that is left out."""


def of_least(settings: Settings) -> Iterator[Try]:
    """Yields what the least entropy may be by mistake, which each file has of its own; nothing where all tokens count."""
    for says in MISTAKEN if settings[SETTING] != OFF else ():
        yield Try(f"{SETTING} is {says}", settings, {"least": partial(_mistaken, says)})


def _mistaken(says: str, batch: GroupedStep, settings: Settings) -> Settings:
    """Returns the settings with another least entropy; as they are where all tokens count."""
    if batch.unsure >= 1 or "entropy" not in batch.tensors:
        return settings
    entropy = np.asarray(batch.tensors["entropy"], np.float32)
    return {**settings, SETTING: MISTAKEN[says](entropy, batch.mask, 1 - batch.unsure)}


def _least(entropies: Sequence[Array], share: float) -> float:
    """Returns an entropy between those of the tokens that count and of those that do not, so that no rounding moves one of them."""
    found = np.concatenate([each.ravel() for each in entropies]) if entropies else np.empty(0, np.float32)
    if not found.size:
        return 0.0
    quantile = float(torch.quantile(torch.from_numpy(found), share))
    below, above = found[found < quantile].astype(float), found[found >= quantile].astype(float)
    return float((below.max() + above.min()) / 2) if below.size and above.size else quantile


def said_of(batch: GroupedStep, settings: Settings) -> str:
    """Says which tokens count, "" where all do."""
    if batch.unsure >= 1 or "entropy" not in batch.tensors or batch.unknown:
        return ""
    least, found = float(settings[SETTING]), np.asarray(batch.tensors["entropy"])[batch.mask]
    return (
        f"top_entropy_quantile = {batch.unsure:g}: the policy loss counts {int((found >= least).sum())} of {found.size} tokens, "
        f"those with an entropy of {least:.6g} or more"
    )
