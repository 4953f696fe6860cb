"""The loss of PPO for language models, from log-probs, values, advantages and returns.

Sources: Schulman et al. 2017 (Proximal Policy Optimization), eq. 7 and 9, with the signs of a loss that is made smaller;
value clipping as in openai/baselines and TRL 0.11.4. Tensors are [F, N, T] and masked, settings [F, 1, 1]. Every function
is differentiable.
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.models import Named
from blueprint.witness.signal import Number, masked_mean


def surrogate_rows(ratio: Tensor, advantages: Tensor, clip_range: Number) -> Named:
    """Returns ρ·A, clip(ρ, 1 ± ε)·A and the smaller of the two, of any shape (Schulman et al. 2017, eq. 7)."""
    clipped = torch.minimum(torch.maximum(ratio, 1 - as_tensor(clip_range, ratio)), 1 + as_tensor(clip_range, ratio))
    unclipped_surrogate, clipped_surrogate = ratio * advantages, clipped * advantages
    return {
        "surrogate.unclipped": unclipped_surrogate,
        "ratio.clipped": clipped,
        "surrogate.clipped": clipped_surrogate,
        "surrogate": torch.minimum(unclipped_surrogate, clipped_surrogate),
    }


def as_tensor(number: Number, like: Tensor) -> Tensor:
    """Returns a setting as a tensor of the same kind as another."""
    return torch.as_tensor(number, dtype=like.dtype, device=like.device)


def policy_rows(logprobs: Tensor, old: Tensor, advantages: Tensor, mask: Tensor, clip_range: Number) -> Named:
    """Returns log-ratio, ratio π_θ/π_old, the surrogates, and flags of words whose loss or ratio the clip touches."""
    log_ratio = logprobs - old
    ratio = log_ratio.exp()
    rows = surrogate_rows(ratio, advantages, clip_range)
    changed = rows["surrogate.clipped"] < rows["surrogate.unclipped"]
    outside = (ratio > 1 + clip_range) | (ratio < 1 - clip_range)
    flags = {"clip_fraction.changed": mask * changed, "clip_fraction.outside": mask * outside}
    return {"log_ratio": log_ratio, "ratio": ratio} | rows | flags


def value_rows(values: Tensor, old: Tensor, returns: Tensor, mask: Tensor, value_clip_range: Number) -> Named:
    """Returns ½·max((V − R)², (V_c − R)²) and the steps to it, V_c = V_old + clip(V − V_old, ±ε_V)."""
    limit = as_tensor(value_clip_range, values)
    clipped = old + torch.minimum(torch.maximum(values - old, -limit), limit)
    error, error_clipped = values - returns, clipped - returns
    return {
        "value.error": error,
        "value.square": error.square(),
        "value.clipped": clipped,
        "value.error_clipped": error_clipped,
        "value.square_clipped": error_clipped.square(),
        "value.word_loss": mask * torch.maximum(error.square(), error_clipped.square()) / 2,
    }


def policy_kl_rows(log_ratio: Tensor) -> Named:
    """Returns the estimates of KL(π_old‖π_θ) on the word written: −d and e^d − 1 − d, d = log π_θ − log π_old."""
    return {"policy_kl.k1": -log_ratio, "policy_kl.k3": log_ratio.exp() - 1 - log_ratio}


def total_rows(of_words: Named, coefficients: Named, mask: Tensor, words: Tensor) -> Named:
    """Returns every part of the loss as a mean over the response words, the total, and each word's share of it.

    `of_words` has surrogate, value.word_loss, policy.entropy and policy_kl.exact [F, N, T]; `coefficients` has vf_coef,
    ent_coef and policy_kl_coef [F, 1, 1]. L = L_π + vf_coef·L_V − ent_coef·H + policy_kl_coef·KL.
    """
    surrogate, word_loss, entropy, kl = (
        of_words[name] for name in ("surrogate", "value.word_loss", "policy.entropy", "policy_kl.exact")
    )
    c1, c2, c3 = (coefficients[name] for name in ("vf_coef", "ent_coef", "policy_kl_coef"))
    means = [masked_mean(each, mask, words) for each in (surrogate, word_loss, entropy, kl)]
    adds = [means[1] * c1.flatten(), -means[2] * c2.flatten(), means[3] * c3.flatten()]
    return {
        "policy_loss": -means[0],
        "value_loss": means[1],
        "entropy": means[2],
        "policy_kl": means[3],
        "adds.value_loss": adds[0],
        "adds.entropy": adds[1],
        "adds.policy_kl": adds[2],
        "total_loss": -means[0] + adds[0] + adds[1] + adds[2],
        "share": mask * (-surrogate + c1 * word_loss - c2 * entropy + c3 * kl) / words[:, None, None],
    }
