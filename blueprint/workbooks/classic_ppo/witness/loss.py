"""The loss of every step, what is watched, and the total.

Sources: Schulman et al. 2017 (Proximal Policy Optimization), eq. 7 and 9; for the value loss CleanRL ppo.py (clip_vloss),
Stable-Baselines3 ppo/ppo.py (clip_range_vf) and torch's smooth_l1_loss; Schulman 2020 (Approximating KL Divergence);
for the effective sample size Kish: (Σρ)² / (N·Σρ²). Tensors are [F, N, T], numbers of a batch [F].
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import smooth_l1_loss

from blueprint.witness.models import Named
from blueprint.witness.signal import Number


def surrogate_rows(log_ratio: Tensor, advantages: Tensor, low: Number, high: Number) -> Named:
    """Returns ratio, ratio clipped to low … high, both times the advantage, and the smaller of these."""
    ratio = log_ratio.exp()
    clipped = torch.clamp(ratio, *(torch.as_tensor(end, dtype=ratio.dtype) for end in (low, high)))
    both = {"surrogate.unclipped": ratio * advantages, "surrogate.clipped": clipped * advantages}
    ratios = {"log_ratio": log_ratio, "ratio": ratio, "ratio.clipped": clipped}
    return ratios | both | {"surrogate": torch.minimum(*both.values())}


def clipped_values(values: Tensor, old: Tensor, reach: Tensor) -> Tensor:
    """Returns values held within `reach` of the old ones; an infinite reach holds nothing."""
    held = torch.minimum(torch.maximum(values, old - reach), old + reach)
    return torch.where(torch.isinf(reach), values, held)


def value_rows(values: Tensor, held: Tensor, returns: Tensor, norm: str) -> Named:
    """Returns error and distance of the values and of the held ones, and the larger distance; norm: "l2" or "smooth_l1"."""
    found: Named = {}
    for name, each in (("value", values), ("value.clipped", held)):
        error = each - returns
        found[f"{name}.error"] = error
        if norm == "smooth_l1":
            found[f"{name}.size"] = error.abs()
            found[f"{name}.distance"] = smooth_l1_loss(each, returns, reduction="none")
        else:
            found[f"{name}.distance"] = error.square()
    return found | {"value.larger": torch.maximum(found["value.distance"], found["value.clipped.distance"])}


def kl_rows(log_ratio: Tensor) -> Named:
    """Returns the estimates k1 = −d and k3 = e^d − 1 − d of KL(π_old‖π_θ)."""
    return {"policy_kl.k1": -log_ratio, "policy_kl.k3": log_ratio.exp() - 1 - log_ratio}


def weight_rows(ratio: Tensor) -> Named:
    """Returns mean and largest ratio, and the effective sample size as a share."""
    each = ratio.flatten(1)
    effective = each.sum(dim=1).square() / (each.shape[1] * each.square().sum(dim=1))
    return {"ratio.mean": each.mean(dim=1), "ratio.largest": each.amax(dim=1), "ratio.effective": effective}


def spread_rows(name: str, row: Tensor) -> Named:
    """Returns mean, distances from it, and variance over N."""
    mean = row.mean(dim=(-2, -1))
    centred = row - mean[:, None, None]
    return {f"{name}.mean": mean, f"{name}.centred": centred, f"{name}.variance": centred.square().mean(dim=(-2, -1))}


def explained(residual_variance: Tensor, variance: Tensor, floor: Number) -> Tensor:
    """Returns 1 − var(R − V) / var(R), and 0 where var(R) is at most the floor."""
    some = variance > floor
    return torch.where(some, 1 - residual_variance / torch.where(some, variance, 1.0), 0.0)
