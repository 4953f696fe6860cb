"""Generalized advantage estimation without a loop over time, for large batches and for masks of any form.

A_t = δ_t + γλ·A_{t+1} (Schulman et al. 2016, eq. 16) is a sum of fading terms. Chunks of 16 steps are summed by one small
triangular product; what enters a chunk from behind is the same problem on 16 times fewer steps, and so on. Rows are taken
in tiles that fit into the cache. A loop over time, as in TRL 0.11.4 and verl 0.9.1, runs one kernel for each step instead.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from blueprint.witness.errors import WitnessError
from blueprint.witness.tensors import masked_sums

CHUNK = 16
TILE_BYTES = {"cpu": 1 << 21, "cuda": 1 << 26, "mps": 1 << 26}
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
    for rows in row_slices(len(rewards), tiles.rows):
        here = None if mask is None else tiles.mask(mask[rows])
        tiles.advantages(rewards[rows], values[rows], here, advantages[rows], returns[rows])
    return advantages, returns


def check_rows(gae_holes: str, **rows: Tensor) -> None:
    """Raises WitnessError unless all tensors have one shape [B, T] and the word for holes is known."""
    if gae_holes not in HOLES:
        raise WitnessError(f"gae_holes is {gae_holes!r}: write one of {', '.join(HOLES)}")
    shapes = {name: tuple(tensor.shape) for name, tensor in rows.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 2:
        raise WitnessError(f"all tensors must have one shape [B, T], but their shapes are {shapes}")


def tile_rows(like: Tensor) -> int:
    """Returns how many rows of a tensor [B, T] make a tile that stays in the cache of its device."""
    fitting: int = TILE_BYTES.get(like.device.type, TILE_BYTES["cpu"]) // max(1, like.shape[1] * like.element_size())
    return max(1, min(int(like.shape[0]), fitting))


def row_slices(rows: int, height: int) -> list[slice]:
    """Returns the tiles of so many rows."""
    return [slice(first, min(first + height, rows)) for first in range(0, rows, height)]


class Tiles:
    """The work on one tile of rows: buffers, and the products of a decay."""

    def __init__(self, like: Tensor, gamma: float, gae_lambda: float, gae_holes: str) -> None:
        """Makes buffers for tiles of tensors such as `like` [B, T]."""
        self.gamma, self.decay, self.gae_holes = gamma, gamma * gae_lambda, gae_holes
        self.steps = like.shape[1]
        self.rows = tile_rows(like)
        self.scan = Scan(self.rows, self.steps, self.decay, like)
        self._values, self._mask, self._moved = (like.new_empty(self.rows, self.steps) for _ in range(3))

    def mask(self, mask: Tensor) -> Tensor:
        """Returns a tile of a mask as numbers 0 and 1, which multiply faster than true and false."""
        return mask if mask.dtype == self._mask.dtype else self._mask[: len(mask)].copy_(mask)

    def advantages(self, rewards: Tensor, values: Tensor, mask: Tensor | None, out: Tensor, returns: Tensor) -> None:
        """Writes the advantages and returns of one tile [R, T] to `out` and `returns`; the mask holds 0 and 1."""
        if mask is None:
            self._deltas(rewards, values, values)
            self.scan.run(out)
            torch.add(out, values, out=returns)
            return
        runs = Runs(mask)
        if runs.holes and self.gae_holes == "carry":
            self._carry(rewards, values, mask, out)
            torch.addcmul(out, values, mask, out=returns)
            return
        inside = torch.mul(values, mask, out=self._values[: len(values)])
        if runs.holes:
            deltas = self._deltas(rewards, values, inside).mul_(mask)
            out.copy_(masked_sums(deltas, self.decay, mask))
        else:
            self._contiguous(rewards, values, inside, mask, out, late=runs.late)
        torch.add(out, inside, out=returns)

    def _deltas(self, rewards: Tensor, values: Tensor, following: Tensor) -> Tensor:
        deltas = torch.sub(rewards, values, out=self.scan.input(len(rewards)))
        deltas[:, :-1].add_(following[:, 1:], alpha=self.gamma)
        return deltas

    def _contiguous(
        self, rewards: Tensor, values: Tensor, inside: Tensor, mask: Tensor, out: Tensor, late: bool
    ) -> None:
        self._deltas(rewards, values, inside).mul_(mask)
        self.scan.run(out)
        if late:
            out.mul_(mask)  # in front of a response that begins late the sum still fades

    def _carry(self, rewards: Tensor, values: Tensor, mask: Tensor, out: Tensor) -> None:
        """Moves the response words together, so that the holes are gone, and the advantages back."""
        source = mask.bool().flatten().nonzero().squeeze(1)
        target = self._together(mask, len(source))
        dense = []
        for each, buffer in zip((rewards, values), (self._values, self._moved), strict=True):
            flat = buffer[: len(out)].zero_().view(-1)
            dense.append(flat.scatter_(0, target, each.flatten().index_select(0, source)).view_as(out))
        self._deltas(dense[0], dense[1], dense[1])
        self.scan.run(dense[0])
        out.zero_().view(-1).scatter_(0, source, dense[0].view(-1).index_select(0, target))

    def _together(self, mask: Tensor, words: int) -> Tensor:
        """Returns where the response words of a tile go: in their row, in their order, from its first place on."""
        lengths = mask.sum(dim=1).long()
        firsts = torch.arange(len(mask), device=mask.device) * self.steps
        behind = lengths.cumsum(0) - lengths
        return torch.arange(words, device=mask.device) + torch.repeat_interleave(firsts - behind, lengths)


class Runs:
    """How the ones of a mask [R, T] lie: whether a row has more than one run of them, or begins with a zero."""

    def __init__(self, mask: Tensor) -> None:
        """Counts ones, neighbours that are both one, and rows with ones: runs = ones − neighbours."""
        ones, flat = mask.sum(dim=1), mask.flatten()
        crossing = torch.dot(mask[:-1, -1], mask[1:, 0])  # the flat mask has the next row's first beside a row's last
        neighbours = torch.dot(flat[1:], flat[:-1]) - crossing
        filled = int((ones > 0).sum())
        self.holes = round(float(ones.sum() - neighbours)) > filled
        self.late = int(mask[:, 0].sum()) < filled


class Scan:
    """Sums A_t = x_t + decay·A_{t+1} of rows [R, T] by products of chunks of 16 steps."""

    def __init__(self, rows: int, steps: int, decay: float, like: Tensor) -> None:
        """Makes the triangular product of one chunk, buffers, and the scan over the heads of the chunks."""
        self.steps, self.chunks, self.decay = steps, -(-steps // CHUNK), decay
        self._inputs = like.new_zeros(rows, self.chunks, CHUNK)  # steps behind the last stay 0
        self._sums = None if steps % CHUNK == 0 else like.new_empty(rows, self.chunks, CHUNK)
        self._within = fading(decay, CHUNK, like.dtype, like.device)
        self._alone = self._within[:, 0].contiguous()
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
            found = self._found[: self._rows]
            heads.copy_(torch.mv(chunks.view(-1, CHUNK), self._alone, out=found.view(-1)).view_as(heads))
            self._heads.run(found)
            chunks[:, :-1, -1].add_(found[:, 1:], alpha=self.decay)
        if self._sums is None:
            torch.mm(chunks.view(-1, CHUNK), self._within, out=out.view(-1, CHUNK))
            return
        sums = self._sums[: self._rows]
        torch.mm(chunks.view(-1, CHUNK), self._within, out=sums.view(-1, CHUNK))
        out.copy_(sums.view(self._rows, -1)[:, : self.steps])


@lru_cache(maxsize=64)
def fading(decay: float, steps: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Returns the triangular matrix with decay^(s − t) in row s ≥ t and column t, [steps, steps]."""
    powers = torch.tensor([decay**exponent for exponent in range(steps)], dtype=torch.float64)
    apart = torch.arange(steps)[:, None] - torch.arange(steps)
    return torch.where(apart >= 0, powers[apart.clamp(min=0)], 0.0).to(device=device, dtype=dtype)
