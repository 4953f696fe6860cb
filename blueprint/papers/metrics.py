"""What trainers log beside the losses. Tensors are [B, T], `counted` says which places count, results are one number.

Schulman 2020, Approximating KL Divergence: k1, k2, k3. Libraries agree on the words and not on the numbers: which estimate is the
approximate KL, whether a token is clipped when its ratio leaves the range or when its loss changes, and of what the explained
variance is one. Each form is a function here, and which library logs it is beside it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor


def mean(x: Tensor, counted: Tensor, eps: float = 0.0) -> Tensor:
    """Returns the mean of what counts; eps is added to its number (verl, NeMo-RL, torchtune: 1e-8)."""
    return x[counted].sum() / (counted.sum().to(x.dtype) + eps)


def kl_estimate(x: Tensor, estimator: str) -> Tensor:
    """Returns the estimate of KL(π ‖ π_ref) by token, from x = log π − log π_ref of the token written."""
    match estimator:
        case "k1":
            return x
        case "k2":
            return x**2 / 2
        case "k3":
            return (-x).exp() - 1 + x
        case "abs":
            return x.abs()
    raise ValueError(estimator)


@dataclass(frozen=True)
class Kls:
    """KL(π_old ‖ π_θ), estimated from log π_θ − log π_old of the tokens written, by token or averaged."""

    k1: Tensor  # OpenRLHF, verl, TorchRL
    k2: Tensor  # OpenAI, TRL, torchtune
    k3: Tensor  # CleanRL, Stable-Baselines3, trlX


def kls(log_ratio: Tensor) -> Kls:
    """Returns the estimates of each token."""
    return Kls(*(kl_estimate(-log_ratio, each) for each in ("k1", "k2", "k3")))


def approx_kls(log_ratio: Tensor, counted: Tensor, eps: float = 0.0) -> Kls:
    """Returns the means of the estimates over the tokens that count; TRL 1.12, trlX and torchtune count pads, at a ratio of 1."""
    found = kls(log_ratio)
    return Kls(*(mean(each, counted, eps) for each in (found.k1, found.k2, found.k3)))


def changed_fraction(free: Tensor, clipped: Tensor, counted: Tensor, eps: float = 0.0) -> Tensor:
    """Returns the share of tokens whose loss the clip made larger: OpenAI, TRL, OpenRLHF, verl, trlX, torchtune."""
    return mean((clipped > free).to(free.dtype), counted, eps)


def outside_fraction(ratio: Tensor, low: float, high: float, counted: Tensor, eps: float = 0.0) -> Tensor:
    """Returns the share of tokens whose ratio left its range: baselines, CleanRL, Stable-Baselines3."""
    return mean(((ratio < low) | (ratio > high)).to(ratio.dtype), counted, eps)


def effective_share(log_ratio: Tensor) -> Tensor:
    """Returns the effective sample size as a share, (Σρ)²/(N·Σρ²): TorchRL's ESS, exp(2·lse(d) − lse(2·d))/N."""
    d = log_ratio.flatten()
    return (2 * d.logsumexp(0) - (2 * d).logsumexp(0)).exp() / d.numel()


def explained_variance(values: Tensor, returns: Tensor, counted: Tensor, ddof: int = 0, eps: float = 0.0) -> Tensor:
    """Returns 1 − var(R − V)/(var(R) + eps): baselines, CleanRL, Stable-Baselines3; verl with ddof 1 and eps 1e-5.

    baselines has nan where all returns are equal (common/math_util.py); here it is what dividing by 0 gives.
    """
    residual, of = (returns - values)[counted], returns[counted]
    return 1 - variance(residual, ddof) / (variance(of, ddof) + eps)


def variance(x: Tensor, ddof: int) -> Tensor:
    """Returns the variance by n − ddof; of no more numbers than ddof it is nan, as in torch, which warns of it besides."""
    return x.var(correction=ddof) if x.numel() > ddof else x.new_tensor(torch.nan)


def explained_by_squares(values: Tensor, returns: Tensor, counted: Tensor, ddof: int = 0, eps: float = 0.0) -> Tensor:
    """Returns 1 − mean((R − V)²)/var(R), which also blames a critic that is off by a constant: OpenAI; TRL 0.11.4 with ddof 1."""
    return 1 - mean((returns - values) ** 2, counted) / (variance(returns[counted], ddof) + eps)


def of_responses(x: Tensor, counted: Tensor) -> Tensor:
    """Returns the sum of each response that has a token, averaged: the KL and the non-score reward of OpenAI and TRL."""
    return x.where(counted, 0).sum(1)[counted.any(1)].mean()


def means_of_responses(x: Tensor, counted: Tensor, eps: float = 0.0) -> Tensor:
    """Returns the mean of each response that has a token, averaged: the KL of OpenRLHF and verl."""
    wrote = counted.any(1)
    lengths = counted.sum(1).to(x.dtype)[wrote] + eps
    return (x.where(counted, 0).sum(1)[wrote] / lengths).mean()


def lengths(counted: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Returns the mean length of the responses that have a token, and the largest."""
    found = counted.sum(1).to(dtype)
    return found[found > 0].mean(), found.amax()


def grad_norm(gradients: Iterable[Tensor]) -> Tensor:
    """Returns the norm of all gradients together, as torch.nn.utils.clip_grad_norm_ returns it."""
    norm: Tensor = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(each) for each in gradients]))
    return norm
