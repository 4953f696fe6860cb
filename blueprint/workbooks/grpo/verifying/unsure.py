"""From which entropy on tokens count in the policy loss, where a file says how many of them do: TRL's `top_entropy_quantile`."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from blueprint.dumps import key_of
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
    found = np.concatenate(entropies) if entropies else np.empty(0, np.float32)
    least = float(torch.quantile(torch.from_numpy(found), 1 - batch.unsure)) if found.size else 0.0
    ranks = (batch.place.world_size if batch.place else None) or 1
    unknown = f"the entropies of {ranks - len(mates)} other ranks" if len(mates) < ranks else ""
    return replace(batch, unknown=unknown), {**settings, SETTING: least}


def said_of(batch: GroupedStep, settings: Settings) -> str:
    """Says which tokens count, "" where all do."""
    if batch.unsure >= 1 or "entropy" not in batch.tensors or batch.unknown:
        return ""
    return (
        f"top_entropy_quantile = {batch.unsure:g}: the policy loss counts tokens of an entropy of {float(settings[SETTING]):.6g} and "
        "more, the quantile of this microbatch"
    )
