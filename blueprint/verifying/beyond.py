"""Sums of a batch that is larger than the file: known beforehand, so that the file is computed as the part of it that it is."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from blueprint.dumps import Minibatch
from blueprint.dumps.batch import Moments
from blueprint.witness.sums import Spread, Tiled

WHITENED = ("reward", "advantage")
"""What is whitened, by the names of `Minibatch.moments`."""

LOSSES = ("policy", "value", "entropy")
"""Parts of the loss that are means, by the beginnings of the names of their counts."""


def sums_beyond(batch: Minibatch, device: str) -> Tiled:
    """Returns the sums that a file does not have of its own rows: moments of what was whitened, denominators of its losses.

    A mean over words Σ z / tokens · ranks is one over tokens / ranks words.
    """
    found, spreads = dict[str, float](), dict[str, Spread]()
    for name, each in batch.moments.items():
        found |= {f"{name}.count": each.count, f"{name}.sum": each.count * each.mean}
        numbers = (_number(value, device) for value in (each.count, each.mean, each.squares))
        spreads[f"{name}.squares"] = Spread(*numbers)
    share = batch.share
    if share is not None:
        by_words = {} if share.tokens is None else {"words": share.tokens / share.ranks}
        by_rows = {} if share.responses is None else {"wrote": share.responses / share.ranks}
        found |= {f"{part}.{row}": each for part in LOSSES for row, each in (by_words | by_rows).items()}
        found |= {} if share.slots is None else {"most": share.slots}
    return Tiled({name: _number(each, device) for name, each in found.items()}, spreads)


def moments_in(sums: Tiled) -> Mapping[str, Moments]:
    """Returns the moments that a pass over a batch has found."""
    known = {name: sums.spreads[f"{name}.squares"] for name in WHITENED if f"{name}.squares" in sums.spreads}
    return {name: Moments(float(each.count), float(each.mean), float(each.squares)) for name, each in known.items()}


def _number(value: float, device: str) -> Tensor:
    return torch.full((1,), value, dtype=torch.float64, device=device)
