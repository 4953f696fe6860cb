"""What is multiplied with ∇log π, on one page of plain torch: five weights, the gradient by each, and bias and variance by λ.

Schulman et al. 2016, arXiv:1506.02438: sec. 2 (the weights), eq. 16 (GAE as a sum), sec. 3 (λ = 1). N traces of T steps, [N, T];
values have one more, of what comes after the last step. Sums over later steps are products with a triangle of powers.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits


@dataclass(frozen=True)
class Spread:
    """Mean and variance of a number over traces, with n − 1."""

    mean: Tensor
    variance: Tensor


def powers(by: float, steps: int, like: Tensor) -> Tensor:
    """Returns how much step k counts at step t, [k, t]: by^(k − t), and nothing for what was before."""
    away = torch.arange(steps, device=like.device)
    ahead = away[:, None] - away
    return torch.where(ahead >= 0, torch.as_tensor(by, dtype=like.dtype) ** ahead.clamp(min=0), 0)


def returns(rewards: Tensor, gamma: float) -> Tensor:
    """Returns the discounted rewards from each step on."""
    return rewards @ powers(gamma, rewards.shape[-1], rewards)


def td_errors(rewards: Tensor, values: Tensor, gamma: float) -> Tensor:
    """Returns how much better each step was than its value. values: [..., T + 1]."""
    return rewards + gamma * values[..., 1:] - values[..., :-1]


def gae(rewards: Tensor, values: Tensor, gamma: float, lam: float) -> Tensor:
    """Returns GAE as a sum: Σ (γλ)^k·δ_{t+k}."""
    return td_errors(rewards, values, gamma) @ powers(gamma * lam, rewards.shape[-1], rewards)


def weights(rewards: Tensor, values: Tensor, gamma: float, lam: float) -> Tensor:
    """Returns whole return, return to go, that less the mean of all traces, that less the value, and GAE, [5, N, T]."""
    G = returns(rewards, gamma)
    return torch.stack([G[:, :1].expand_as(G), G, G - G.mean(0), G - values[:, :-1], gae(rewards, values, gamma, lam)])


def gradients(theta: float, actions: Tensor, by: Tensor) -> Tensor:
    """Returns the gradient of each trace by θ, [..., N], by autograd. by: [..., N, T]. Action 1 has σ(θ)."""
    own = torch.full(by.shape[:-1], theta, dtype=by.dtype, device=by.device, requires_grad=True)  # a θ for each trace
    logp = -binary_cross_entropy_with_logits(own[..., None].expand_as(by), actions.expand_as(by), reduction="none")
    (found,) = torch.autograd.grad((logp * by.detach()).sum(), own)
    return found


def spread(each: Tensor) -> Spread:
    """Returns mean and variance over traces. each: [..., N]."""
    return Spread(each.mean(-1), each.var(-1, correction=1))


def first_exactly(values: Tensor, gamma: float, lam: float, mean: float, sd: float) -> tuple[Tensor, Tensor]:
    """Returns mean and standard deviation of the first step's GAE over all rewards mean ± sd, values as they are: [T + 1]."""
    fade = powers(gamma * lam, len(values) - 1, values)[:, 0]
    return td_errors(torch.full_like(values[:-1], mean), values, gamma) @ fade, sd * fade.norm()


def first_measured(values: Tensor, gamma: float, lam: float, rewards: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the same two over traces that were drawn: [N, T]."""
    A = gae(rewards, values.expand(len(rewards), -1), gamma, lam)[:, 0]
    return A.mean(), A.std()
