"""GAE as loops over time: the plain recursion, and the loops of two libraries, read in their source and written again.

TRL 0.11.4, trl/trainer/ppo_trainer.py:1166, compute_advantages; verl 0.9.1, verl/trainer/ppo/core_algos.py:216,
compute_gae_advantage_return.
"""

from __future__ import annotations

import torch
from torch import Tensor


def plain(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, gae_lambda: float, holes: str) -> list[Tensor]:
    """Returns advantages and returns, word by word from the last to the first, 0 outside the mask.

    What a word sees behind it is kept in two variables, V and A. In a hole they stay as they are ("carry") or become 0.
    """
    advantages = torch.zeros_like(rewards)
    for row in range(len(rewards)):
        next_value = next_advantage = torch.zeros((), dtype=rewards.dtype)
        for t in reversed(range(rewards.shape[1])):
            if mask[row, t]:
                delta = rewards[row, t] + gamma * next_value - values[row, t]
                next_advantage = delta + gamma * gae_lambda * next_advantage
                next_value = values[row, t]
                advantages[row, t] = next_advantage
            elif holes == "zero":
                next_value = next_advantage = torch.zeros((), dtype=rewards.dtype)
    return [advantages, mask * (advantages + values)]


def trl(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, gae_lambda: float) -> list[Tensor]:
    """Returns advantages and returns as TRL does: one list of columns, values and rewards masked before."""
    last, reversed_columns = torch.zeros((), dtype=rewards.dtype), []
    steps, values, rewards = rewards.shape[-1], values * mask, rewards * mask
    for t in reversed(range(steps)):
        following = values[:, t + 1] if t < steps - 1 else 0.0
        delta = rewards[:, t] + gamma * following - values[:, t]
        last = delta + gamma * gae_lambda * last
        reversed_columns.append(last)
    advantages = torch.stack(reversed_columns[::-1]).transpose(0, 1)
    return [advantages, advantages + values]


def verl(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, gae_lambda: float) -> list[Tensor]:
    """Returns advantages and returns as verl does: V and A are carried over what is masked out."""
    following = last = torch.zeros((), dtype=rewards.dtype)
    reversed_columns = []
    for t in reversed(range(rewards.shape[-1])):
        delta = rewards[:, t] + gamma * following - values[:, t]
        new = delta + gamma * gae_lambda * last
        following = values[:, t] * mask[:, t] + (1 - mask[:, t]) * following
        last = new * mask[:, t] + (1 - mask[:, t]) * last
        reversed_columns.append(last)
    advantages = torch.stack(reversed_columns[::-1], dim=1)
    return [advantages, advantages + values]
