"""From which entropy on tokens count in the policy loss, where a file says how many of them do: TRL's `top_entropy_quantile`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from blueprint.dumps import Array, key_of
from blueprint.inputs.setting import OFF
from blueprint.verifying import Settings
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


def _least(entropies: Sequence[Array], share: float) -> float:
    """Returns an entropy between those of the tokens that count and of those that do not, so that no rounding moves one of them."""
    found = np.concatenate(entropies) if entropies else np.empty(0, np.float32)
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
