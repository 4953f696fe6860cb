"""The numbers behind the charts: the clipped surrogate as a curve, the words on it, and GAE for several λ."""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.batch import Batch
from blueprint.witness.gae import masked_sums
from blueprint.witness.loss import surrogate_rows
from blueprint.witness.models import Named
from blueprint.witness.signal import with_end

CURVES = ("1", "2", "3", "4")


def curve_rows(batch: Batch, clip_range: Tensor) -> Named:
    """Returns the corners of the clipped surrogate for advantage 1 and −1, each [F, C]; `clip_range` [F, 1]."""
    ratio = batch.typed("curve.from") + batch.typed("curve.by") * clip_range
    found = {"curve.ratio": ratio}
    for name, advantage in (("curve.good", 1.0), ("curve.bad", -1.0)):
        advantages = torch.full_like(ratio, advantage)
        curve = surrogate_rows(ratio, advantages, clip_range)
        found |= {name: advantages} | {f"{name}.{row}": each for row, each in curve.items()}
    return found


def dot_rows(batch: Batch, ratio: Tensor, advantages: Tensor, surrogate: Tensor, shown: Tensor) -> Named:
    """Returns where each word stands on that curve: its ratio within the picture, and U for each |Â|.

    A word that is not shown stands at −1, off the picture. Tensors are [F, N, T] or [F, C].
    """
    low, high = (batch.typed(f"dot.{end}").view(-1, *[1] * (ratio.dim() - 1)) for end in ("low", "high"))
    size = advantages.abs()
    height = surrogate / torch.where(size > 0, size, 1.0)
    return {
        "dot.ratio": torch.where(shown > 0, torch.minimum(torch.maximum(ratio, low), high), -1.0),
        "dot.size": size,
        "dot.surrogate": torch.where(size > 0, height, 0.0),
    }


def gae_at_rows(batch: Batch, deltas: Tensor, mask: Tensor, gamma: Tensor) -> Named:
    """Returns the advantages for the λ of each curve, [F, N, T + 1]."""
    found = {}
    for number in CURVES:
        gae_lambda = batch.typed(f"gae_at.lambda{number}").view(-1, 1, 1)
        found[f"gae_at.{number}"] = with_end(masked_sums(deltas, gamma * gae_lambda, mask))
    return found
