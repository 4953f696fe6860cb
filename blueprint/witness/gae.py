"""Generalized advantage estimation without a loop over time, for large batches and for masks of any form.

A_t = δ_t + γλ·A_{t+1} (Schulman et al. 2016, eq. 16) is a sum of fading terms. Chunks of 16 steps are summed by one small
triangular product; what enters a chunk from behind is the same problem on 16 times fewer steps, and so on. Rows are taken
in tiles that fit into the cache. A loop over time, as in TRL 0.11.4 and verl 0.9.1, runs one kernel for each step instead.
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.errors import WitnessError

CHUNK = 16
TILE_BYTES = {"cpu": 1 << 20, "cuda": 1 << 28, "mps": 1 << 26}
HOLES = ("carry", "zero")


def gae(
    rewards: Tensor,
    values: Tensor,
    gamma: float,
    gae_lambda: float,
    mask: Tensor | None = None,
    gae_holes: str = "carry",
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns advantages and returns A + V, both [B, T] and 0 outside the mask, of rewards and values [B, T].

    After the last response word the value is 0 (no bootstrap). `mask` [B, T] is 1 on the response; what stands outside it
    must be finite. Where a mask has holes, "carry" passes V and A of the next response word over the hole, as verl 0.9.1
    and NeMo-RL do, so that a response counts as if the hole were not there; "zero" sets both to 0 in the hole, so that
    every run of words is a response of its own. `out` takes the results, which saves the time that fresh memory costs.
    Raises WitnessError for shapes that do not fit, or another word for the holes.
    """
    check_rows(gae_holes, rewards=rewards, values=values, **({} if mask is None else {"mask": mask}))
    advantages, returns = out or (torch.empty_like(rewards), torch.empty_like(rewards))
    tiles = Tiles(rewards, gamma, gae_lambda, gae_holes)
    for rows in tiles.slices(len(rewards)):
        here = None if mask is None else mask[rows].bool()
        tiles.advantages(rewards[rows], values[rows], here, advantages[rows], returns[rows])
    return advantages, returns


def check_rows(gae_holes: str, **rows: Tensor) -> None:
    """Raises WitnessError unless all tensors have one shape [B, T] and the word for holes is known."""
    if gae_holes not in HOLES:
        raise WitnessError(f"gae_holes is {gae_holes!r}: write one of {', '.join(HOLES)}")
    shapes = {name: tuple(tensor.shape) for name, tensor in rows.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 2:
        raise WitnessError(f"all tensors must have one shape [B, T], but their shapes are {shapes}")


class Tiles:
    """The work on one tile of rows: buffers, and the products of a decay."""

    def __init__(self, like: Tensor, gamma: float, gae_lambda: float, gae_holes: str) -> None:
        """Makes buffers for tiles of tensors such as `like` [B, T]."""
        self.gamma, self.decay, self.gae_holes = gamma, gamma * gae_lambda, gae_holes
        self.steps = like.shape[1]
        fitting = TILE_BYTES[like.device.type] // max(1, self.steps * like.element_size())
        self.rows = max(1, min(len(like), fitting))
        self.scan = Scan(self.rows, self.steps, self.decay, like)
        self.values, self.ones = like.new_empty(self.rows, self.steps), like.new_ones(self.rows, self.steps)

    def slices(self, rows: int) -> list[slice]:
        """Returns the tiles of so many rows."""
        return [slice(first, min(first + self.rows, rows)) for first in range(0, rows, self.rows)]

    def advantages(self, rewards: Tensor, values: Tensor, mask: Tensor | None, out: Tensor, returns: Tensor) -> None:
        """Writes the advantages and returns of one tile [R, T] to `out` and `returns`; the mask holds true and false."""
        if mask is None:
            self._sums(rewards, values, out)
            torch.add(out, values, out=returns)
            return
        holed = has_holes(mask)
        if holed and self.gae_holes == "carry":
            self._carry(rewards, values, mask, out)
        else:
            inside = torch.mul(values, mask, out=self.values[: len(values)])
            self._sums(rewards, inside, out, mask, holed)
        torch.addcmul(out, values, mask.to(out.dtype), out=returns)

    def _sums(
        self, rewards: Tensor, values: Tensor, out: Tensor, mask: Tensor | None = None, holed: bool = False
    ) -> None:
        deltas = self.scan.input(len(rewards))
        torch.sub(rewards, values, out=deltas)
        deltas[:, :-1].add_(values[:, 1:], alpha=self.gamma)
        if mask is not None:
            deltas.mul_(mask)
        if holed:
            out.copy_(masked_sums(deltas[None], self.decay, mask[None].to(out.dtype))[0])  # type: ignore[index]
            return
        self.scan.run(out)
        if mask is not None:
            out.mul_(mask)  # in front of a response the sum still fades

    def _carry(self, rewards: Tensor, values: Tensor, mask: Tensor, out: Tensor) -> None:
        """Moves the response words together, so that the holes are gone, and the advantages back."""
        lengths = mask.sum(dim=1, keepdim=True)
        together = torch.arange(self.steps, device=mask.device) < lengths
        source, target = mask.flatten().nonzero().squeeze(1), together.flatten().nonzero().squeeze(1)
        dense = []
        for each in (rewards, values):
            moved = torch.zeros_like(out).flatten()
            dense.append(moved.index_copy_(0, target, each.reshape(-1).index_select(0, source)).view_as(out))
        found = torch.empty_like(out)
        self._sums(*dense, found)
        out.zero_().view(-1).index_copy_(0, source, found.flatten().index_select(0, target))


def has_holes(mask: Tensor) -> bool:
    """Returns whether any row of a mask [R, T] of true and false has more than one run of ones."""
    rises = (mask[:, 1:] & ~mask[:, :-1]).sum(dim=1) + mask[:, 0]
    return bool((rises > 1).any())


class Scan:
    """Sums A_t = x_t + decay·A_{t+1} of rows [R, T] by products of chunks of 16 steps."""

    def __init__(self, rows: int, steps: int, decay: float, like: Tensor) -> None:
        """Makes the triangular product of one chunk, buffers, and the scan over the heads of the chunks."""
        self.steps, self.chunks, self.decay = steps, -(-steps // CHUNK), decay
        self._inputs = like.new_zeros(rows, self.chunks, CHUNK)  # steps behind the last stay 0
        self._sums = None if steps % CHUNK == 0 else like.new_empty(rows, self.chunks, CHUNK)
        self._within = fading(decay, CHUNK, like)
        self._heads = Scan(rows, self.chunks, decay**CHUNK, like) if self.chunks > 1 else None
        self._found = like.new_empty(rows, self.chunks)
        self._rows = rows

    def input(self, rows: int) -> Tensor:
        """Returns the buffer [rows, T] to write x to."""
        self._rows = rows
        return self._inputs[:rows].view(rows, -1)[:, : self.steps]

    def run(self, out: Tensor) -> None:
        """Writes the sums of what was written to the buffer to `out` [rows, T], which must be in a row of memory."""
        chunks = self._inputs[: self._rows]
        if self._heads is not None:
            # The sum of a chunk alone, then what enters each chunk from the next one, added to its last step.
            heads = self._heads.input(self._rows)
            heads.copy_((chunks.view(-1, CHUNK) @ self._within[:, 0]).view(self._rows, -1))
            found = self._found[: self._rows]
            self._heads.run(found)
            chunks[:, :-1, -1].add_(found[:, 1:], alpha=self.decay)
        if self._sums is None:
            torch.mm(chunks.view(-1, CHUNK), self._within, out=out.view(-1, CHUNK))
            return
        sums = self._sums[: self._rows]
        torch.mm(chunks.view(-1, CHUNK), self._within, out=sums.view(-1, CHUNK))
        chunks.view(self._rows, -1)[:, self.steps :].zero_()
        out.copy_(sums.view(self._rows, -1)[:, : self.steps])


def fading(decay: float, steps: int, like: Tensor) -> Tensor:
    """Returns the triangular matrix with decay^(s − t) in row s ≥ t and column t, [steps, steps]."""
    powers = torch.tensor([decay**exponent for exponent in range(steps)], dtype=torch.float64)
    apart = torch.arange(steps)[:, None] - torch.arange(steps)
    return torch.where(apart >= 0, powers[apart.clamp(min=0)], 0.0).to(like)


def masked_sums(values: Tensor, decay: Tensor | float, mask: Tensor) -> Tensor:
    """Returns A_t = x_t + m_t·decay·A_{t+1} of values [F, N, T] for any mask, and a decay for each file [F, 1, 1].

    Each round doubles how far the sums reach (Hillis and Steele, Data Parallel Algorithms, 1986): log2 T rounds.
    """
    sums, fade, reach = values, mask * decay, 1
    fade = torch.cat([fade[..., :-1], torch.zeros_like(fade[..., :1])], dim=-1)
    while reach < values.shape[-1] and bool(fade.any()):
        near = torch.addcmul(sums[..., :-reach], fade[..., :-reach], sums[..., reach:])
        sums = torch.cat([near, sums[..., -reach:]], dim=-1)
        further = fade[..., :-reach] * fade[..., reach:]
        fade = torch.cat([further, torch.zeros_like(fade[..., -reach:])], dim=-1)
        reach *= 2
    return sums
