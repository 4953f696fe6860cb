"""The workbook's models in torch: an Elman memory, with logits or with one number on top.

h_t = tanh([x_t; h_{t−1}; 1]·W) (Elman, Finding structure in time, 1990, eq. in §2), x_t the embedding of the word read.
Every parameter has a leading axis F of files, so that many files are one computation.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from blueprint.witness import Named


class Recurrent(nn.Module):
    """A memory that reads words: embedding E [F, V, K] and W [F, K + J + 1, J], rows ordered as [x; h; 1]."""

    def __init__(self, weights: Named) -> None:
        """Takes the weights E and W as parameters."""
        super().__init__()
        self.E = nn.Parameter(weights["E"])
        self.W = nn.Parameter(weights["W"])

    @property
    def hidden(self) -> int:
        """How many numbers the memory holds."""
        return int(self.W.shape[-1])

    def folded(self) -> Tensor:
        """Returns E·W_x + b, [F, V, J]: what a word adds, looked up instead of multiplied at every step."""
        width = self.E.shape[-1]
        return torch.baddbmm(self.W[:, -1:], self.E, self.W[:, :width])

    def recurrent(self) -> Tensor:
        """Returns the square part of W that the memory itself is multiplied by, [F, J, J]."""
        return self.W[:, self.E.shape[-1] : -1]

    def start(self, episodes: int) -> Tensor:
        """Returns the memory before anything is read: zeros, [F, N, J]."""
        return self.W.new_zeros(self.W.shape[0], episodes, self.hidden)

    def memory(self, read: Tensor) -> Tensor:
        """Returns the memory before and after every word of `read` [F, N, T], [F, N, T + 1, J].

        The loop over time is needed: each step waits for the one before. Time comes first inside it, so that every step
        is one product over all files and episodes in a row of memory.
        """
        steps, weights = lookup(self.folded(), read.permute(0, 2, 1)).transpose(0, 1), self.recurrent()
        memories = [self.start(read.shape[1])]
        for step in steps.contiguous():
            memories.append(torch.baddbmm(step, memories[-1], weights).tanh_())
        return torch.stack(memories).permute(1, 2, 0, 3)

    def inputs(self, read: Tensor, memory: Tensor) -> Tensor:
        """Returns [x; h; 1] of every decision, [F, N, T, K + J + 1]."""
        words, before = lookup(self.E, read), memory[:, :, :-1]
        return torch.cat([words, before, torch.ones_like(words[..., :1])], dim=-1)


class Policy(Recurrent):
    """A language model: logits h·Y over the next word, Y [F, J, V]."""

    def __init__(self, weights: Named) -> None:
        """Takes the weights E, W and Y."""
        super().__init__(weights)
        self.Y = nn.Parameter(weights["Y"])

    def logits(self, memory: Tensor) -> Tensor:
        """Returns the logits after every word read, [F, N, T, V], from the memory [F, N, T + 1, J]."""
        read = memory[:, :, 1:]
        flat = torch.bmm(read.flatten(1, 2), self.Y)
        return flat.view(*read.shape[:3], -1)


class Scored(Recurrent):
    """A critic or a reward model: one number h·w + b, with w [F, J] and b [F]."""

    def __init__(self, weights: Named) -> None:
        """Takes the weights E, W, head.w and head.b."""
        super().__init__(weights)
        self.w = nn.Parameter(weights["head.w"])
        self.b = nn.Parameter(weights["head.b"])

    def score(self, memory: Tensor) -> Tensor:
        """Returns the number after every word read, [F, N, T]."""
        return torch.einsum("fntj,fj->fnt", memory[:, :, 1:], self.w) + self.b[:, None, None]


def lookup(table: Tensor, ids: Tensor) -> Tensor:
    """Returns the rows of each file's table [F, V, K] at its ids [F, …], [F, …, K]."""
    first = torch.arange(len(table), device=ids.device).view(-1, *[1] * (ids.dim() - 1)) * table.shape[1]
    return embedding(ids + first, table.flatten(0, 1))
