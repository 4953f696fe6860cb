"""The policy to which PPO and DPO both lead, on one page of plain torch: every response is listed, and nothing is drawn.

Korbak et al. 2022, arXiv:2205.11275; Rafailov et al. 2023, Direct Preference Optimization, arXiv:2305.18290, eq. 1, 3, 4, 6 and 7.
Log-probs and rewards of all responses are [Y], pairs [Q, 2]; gradients are those of autograd, by the logits of the policy.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


@dataclass(frozen=True)
class Reached:
    """What PPO makes larger, eq. 3: E[r] − β·KL(π‖π_ref), its parts, and its slopes by the logits."""

    mean_reward: Tensor
    kl: Tensor
    objective: Tensor
    gradient: Tensor


@dataclass(frozen=True)
class Asked:
    """The DPO loss of pairs, eq. 7, when each answer comes as often as Bradley and Terry say, eq. 1; and its slopes."""

    preferred: Tensor  # [Q], how often the left one is
    margin: Tensor  # [Q], β·log(π/π_ref) of the left less that of the right
    losses: Tensor
    loss: Tensor
    gradient: Tensor


def response_logps(first: Tensor, second: Tensor, tokens: Tensor) -> Tensor:
    """Returns log π of responses of two tokens, [Y, 2], from the logits of the first, [V], and of the second after each, [V, V]."""
    one, two = tokens.unbind(-1)
    return first.log_softmax(-1)[one] + second.log_softmax(-1)[one, two]


def best(reference: Tensor, rewards: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """Returns log π* = log π_ref + r/β − log Z, eq. 4, and what the objective comes to there: β·log Z."""
    tilted = reference + rewards / beta
    return tilted.log_softmax(-1), beta * tilted.logsumexp(-1)


def divergence(logits: Tensor, other: Tensor) -> Tensor:
    """Returns KL(π‖other)."""
    here = logits.log_softmax(-1)  # not torch's kl_divergence, which is infinite where a probability underflows
    return (here.exp() * (here - other.log_softmax(-1))).sum(-1)


def reached(logits: Tensor, reference: Tensor, rewards: Tensor, beta: float) -> Reached:
    """Returns the objective of a policy."""

    def objective(z: Tensor) -> Tensor:
        return z.softmax(-1) @ rewards - beta * divergence(z, reference)

    kl, mean = divergence(logits, reference), logits.softmax(-1) @ rewards
    return Reached(mean, kl, objective(logits), _slope(objective, logits))


def asked(logits: Tensor, reference: Tensor, rewards: Tensor, pairs: Tensor, beta: float) -> Asked:
    """Returns the loss of a policy on pairs of responses."""
    left, right = pairs.unbind(-1)
    preferred = (rewards[left] - rewards[right]).sigmoid()

    def margins(z: Tensor) -> Tensor:
        implicit = beta * (z.log_softmax(-1) - reference)
        return implicit[left] - implicit[right]

    def losses(z: Tensor) -> Tensor:
        h = margins(z)
        return -preferred * logsigmoid(h) - (1 - preferred) * logsigmoid(-h)

    slope = _slope(lambda z: losses(z).mean(), logits)
    return Asked(preferred, margins(logits), losses(logits), losses(logits).mean(), slope)


def _slope(of: Callable[[Tensor], Tensor], at: Tensor) -> Tensor:
    z = at.detach().requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(of(z), z)
    return slope
