"""What was recorded of preferences, as tensors, and how far a page is from it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

LOSS, GRADIENT = 1e-12, 1e-11
"""How far a loss may be, relative to its size, and a gradient, of which 12 digits are recorded."""


def numbers(found: Any) -> Tensor:
    """Returns what was recorded as a tensor; nan and infinities are recorded as words."""
    if isinstance(found, list):
        return torch.stack([numbers(each) for each in found])
    return torch.tensor(float(found), dtype=torch.float64)


def far(found: Tensor, meant: Any) -> float:
    """Returns how far numbers are from those recorded, relative to their size where that is above 1."""
    wanted = numbers(meant)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return float((found.detach() - wanted).abs().max() / wanted.abs().max().clamp(min=1))


def taken(slope: Tensor, ids: Tensor) -> Tensor:
    """Returns the gradient by the logit of the token that follows, [N, T], of that by all logits, [N, T, V]."""
    return slope.gather(-1, ids[..., None])[..., 0]
