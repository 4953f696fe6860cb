"""REINFORCE with and without a baseline, for a policy whose response is one token, on one page of plain torch.

Williams 1992, Simple Statistical Gradient-Following Algorithms, eq. 11; Sutton & Barto 2018, Reinforcement Learning (SB), eq. 13.8,
13.10 and 13.11, sec. 5.5; Greensmith, Bartlett & Baxter 2004, Variance Reduction Techniques (the constant of least variance);
Ahmadian et al. 2024, Back to Basics, eq. 4 (leave-one-out). V tokens have logits z and rewards r; N are drawn. What is exact is
an average over all tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot


@dataclass(frozen=True)
class Exact:
    """What all tokens together say: the expected reward J, ∇J by the logits, [V], and the baseline of least variance."""

    expected: Tensor
    gradient: Tensor
    best_baseline: Tensor


@dataclass(frozen=True)
class Estimates:
    """What draws say of ∇J: each of them, and their mean so far, [N, V]; the mean of all; and how far one lies from it, squared."""

    baseline: Tensor  # [N]
    each: Tensor
    running: Tensor
    mean: Tensor
    variance: Tensor


def scores(logits: Tensor) -> Tensor:
    """Returns ∇ log π of every token by the logits, [..., V, V]: one-hot less π."""
    p = logits.softmax(-1)
    return torch.eye(p.shape[-1], dtype=p.dtype, device=p.device) - p[..., None, :]


def exact(logits: Tensor, rewards: Tensor) -> Exact:
    """Returns what enumeration gives; the gradient is autograd's."""
    z = logits.detach().requires_grad_()
    expected = z.softmax(-1) @ rewards
    (gradient,) = torch.autograd.grad(expected, z)
    weights = z.detach().softmax(-1) * (scores(logits) ** 2).sum(-1)  # how far each token's ∇ log π moves things
    mass = weights.sum()
    best = (weights @ rewards) / mass if mass > 0 else expected.detach()
    return Exact(expected.detach(), gradient, best)


def variance(logits: Tensor, by: Tensor, of: Tensor | None = None) -> Tensor:
    """Returns how far by·∇ log π of one draw lies from its mean, squared, on average.

    by: [V], the reward less a baseline, perhaps times a ratio. of: [V], how likely a draw is; the policy's own probabilities.
    """
    likely = logits.softmax(-1) if of is None else of
    each = by[..., None] * scores(logits)
    mean = (likely[..., None] * each).sum(-2, keepdim=True)
    return (likely * ((each - mean) ** 2).sum(-1)).sum(-1)


def drawn(logits: Tensor, u: Tensor) -> Tensor:
    """Returns the token on which each u falls: the first whose cumulative probability is above it."""
    return (logits.softmax(-1).cumsum(-1)[:-1] <= u[:, None]).sum(-1)


def baselines(rewards: Tensor, kind: str) -> Tensor:
    """Returns a baseline for each draw from the rewards of the draws: of the others, of all, or none."""
    match kind:
        case "leave_one_out":
            return (rewards.sum() - rewards) / (len(rewards) - 1)
        case "batch":
            return rewards.mean().expand_as(rewards)
    return torch.zeros_like(rewards)


def reinforce(logits: Tensor, tokens: Tensor, rewards: Tensor, baseline: Tensor) -> Estimates:
    """Returns the estimates (r − b)·∇ log π of draws; tokens, rewards and baselines are [N]."""
    log_p = logits.log_softmax(-1)
    slope = one_hot(tokens, len(logits)).to(log_p.dtype) - log_p.exp()
    each = (rewards - baseline)[:, None] * slope
    count = torch.arange(1, len(each) + 1, dtype=each.dtype, device=each.device)
    spread = ((each - each.mean(0)) ** 2).sum(1).mean()
    return Estimates(baseline, each, each.cumsum(0) / count[:, None], each.mean(0), spread)


def reused(logits: Tensor, old_logits: Tensor, advantages: Tensor) -> Tensor:
    """Returns ∇ of E_π_old[ρ·A] at another policy, ρ = π/π_old: old draws, weighted (SB, sec. 5.5), say what fresh ones would."""
    z = logits.detach().requires_grad_()
    ratio = (z.log_softmax(-1) - old_logits.log_softmax(-1)).exp()
    earned = (old_logits.softmax(-1) * ratio * advantages).sum()
    (gradient,) = torch.autograd.grad(earned, z)
    return gradient
