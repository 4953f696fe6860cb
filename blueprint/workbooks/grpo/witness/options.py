"""A batch of responses, and what is done with its rows."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Responses:
    """A batch of responses: [B] or [B, T], those to a prompt side by side; the new log-probs and logits may require gradients.

    size: how many responses each prompt has. greedy: [B / size]. sizes: how many each has, where prompts have different numbers.
    """

    score: Tensor
    truncated: Tensor
    greedy: Tensor
    mask: Tensor
    new: Tensor
    old: Tensor
    reference: Tensor
    rollout: Tensor
    entropy: Tensor
    size: int
    sizes: tuple[int, ...] = ()

    @property
    def lengths(self) -> Tensor:
        """Tokens of each response."""
        return self.mask.sum(1)

    def grouped(self, x: Tensor) -> Tensor:
        """Lays numbers [B] out by prompt and response."""
        return x.view(-1, self.size)

    def by_prompt(self, x: Tensor) -> tuple[Tensor, ...]:
        """Returns the numbers [B] of each prompt, also where prompts have different numbers of responses."""
        return torch.split(x, list(self.sizes) if self.sizes else self.size)


def mean_of_rows(x: Tensor, mask: Tensor, eps: float = 0.0) -> Tensor:
    """Averages each row over its mask; a row without tokens has 0."""
    return (x * mask).sum(1) / (mask.sum(1).clamp(min=1) + eps)


def wide(x: Tensor, like: Tensor) -> Tensor:
    """Repeats a number of each response on all of its positions."""
    return x[:, None].expand_as(like)


def either(where: Tensor, one: float, other: float, like: Tensor) -> Tensor:
    """Returns one of two numbers for each place, in the format of a tensor: of plain numbers torch would make its default one."""
    return torch.where(where, like.new_tensor(one), like.new_tensor(other))
