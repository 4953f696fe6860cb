"""The settings that were used, as rows: numbers, words, and by how much they leave their ranges."""

from __future__ import annotations

import numpy as np
import torch

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.settings import NUMBERS, switches


def add_settings(batch: Batch, rows: Rows) -> None:
    """Adds every setting that the files have, with the running sum of what is outside the ranges."""
    for name in NUMBERS:
        if name in batch.settings[0]:
            outside = torch.tensor([each[name] for each in batch.outside], dtype=batch.dtype, device=batch.device)
            rows.add({name: batch.setting(name).flatten(), f"{name}.outside": outside})
    for name in switches(batch.files[0]):
        rows.add_words(name, [np.array(settings[name], dtype=object) for settings in batch.settings])
        rows.add({f"{name}.number": batch.setting(name).flatten()})


def outside_all(batch: Batch) -> torch.Tensor:
    """Returns by how much all settings together leave their ranges, [F]."""
    sums = [list(each.values())[-1] for each in batch.outside]
    return torch.tensor(sums, dtype=batch.dtype, device=batch.device)
