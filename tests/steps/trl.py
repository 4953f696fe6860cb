"""A step of TRL 1.12.0's PPOTrainer, written again from its source, with random numbers in place of models.

trl/experimental/ppo/ppo_trainer.py, train(): lines 237-270 (masked_mean, masked_var, masked_whiten), and from "be very careful
with padding_mask_p1" to `ratio_stats`. Nothing here is read by what is tested. A `Bug` changes what the trainer does, as
somebody's edit of these lines would; what the file says of its settings stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.steps.writing import Written

INVALID_LOGPROB = 1.0
SETTINGS = (
    "gamma", "lam", "cliprange", "cliprange_value", "vf_coef", "kl_coef", "kl_estimator", "whiten_rewards", "temperature",
)  # fmt: skip


@dataclass(frozen=True)
class Args:
    """The trainer's arguments, and how large the run is: rows are those of a rank's rollout, slots those of a response."""

    gamma: float = 0.95
    lam: float = 0.9
    cliprange: float = 0.2
    cliprange_value: float = 0.2
    vf_coef: float = 0.1
    kl_coef: float = 0.05
    kl_estimator: str = "k1"
    whiten_rewards: bool = False
    temperature: float = 0.7
    ranks: int = 1
    num_ppo_epochs: int = 1
    num_mini_batches: int = 2
    microbatches: int = 4
    per_device_train_batch_size: int = 2
    slots: int = 12
    empty: bool = False
    dtype: torch.dtype = torch.float32
    seed: int = 0
    bug: str = ""
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def local_mini_batch_size(self) -> int:
        return self.microbatches * self.per_device_train_batch_size

    @property
    def local_batch_size(self) -> int:
        return self.num_mini_batches * self.local_mini_batch_size


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    return (values * mask).sum() / mask.sum()


def masked_whiten(values: Tensor, mask: Tensor, shift_mean: bool = True) -> Tensor:
    mean = masked_mean(values, mask)
    centered_values = values - mean
    variance = masked_mean(centered_values**2, mask)
    mask_sum = mask.sum()
    variance = variance * (mask_sum / (mask_sum - 1))
    whitened = (values - mean) * torch.rsqrt(variance + 1e-8)
    if not shift_mean:
        whitened += mean
    return whitened


@dataclass
class Rollout:
    """What the trainer holds of a rank's rollout when the epochs begin."""

    padding_mask: Tensor
    padding_mask_p1: Tensor
    logprobs: Tensor
    ref_logprobs: Tensor
    values: Tensor
    scores: Tensor
    rewards: Tensor
    advantages: Tensor
    returns: Tensor


def rollout(args: Args, rank: int) -> Rollout:
    """Returns a rank's rollout: log-probs, values and scores are drawn, all else is computed as the trainer does."""
    draws = torch.Generator().manual_seed(1000 * args.seed + rank)
    rows, slots = args.local_batch_size, args.slots

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draws).to(args.dtype)

    sequence_lengths = torch.randint(0, slots, (rows,), generator=draws)
    sequence_lengths[0] = slots - 1
    if args.empty:
        sequence_lengths[1] = -1  # the response begins with the pad
    logprobs = -normal(rows, slots).abs() - 0.05
    ref_logprobs = -(logprobs.abs() + 0.2 * normal(rows, slots).abs())
    values, scores = normal(rows, slots), 2 * normal(rows)

    response_idxs = torch.arange(slots).repeat(rows, 1)
    padding_mask = response_idxs > sequence_lengths.unsqueeze(1)
    shifted = int(args.bug == "the mask of rank 1 is shifted" and rank == 1)
    logprobs = torch.masked_fill(logprobs, padding_mask, INVALID_LOGPROB)
    ref_logprobs = torch.masked_fill(ref_logprobs, padding_mask, INVALID_LOGPROB)
    sequence_lengths_p1 = sequence_lengths + 1
    padding_mask_p1 = response_idxs > sequence_lengths_p1.unsqueeze(1)
    values = torch.masked_fill(values, padding_mask_p1, 0)

    logr = ref_logprobs - logprobs
    kl = -logr if args.kl_estimator == "k1" else (logr.exp() - 1) - logr
    rewards = -args.kl_coef * kl
    actual_start = torch.arange(rows)
    actual_end = torch.where(sequence_lengths_p1 < slots, sequence_lengths_p1, sequence_lengths)
    rewards[actual_start, actual_end] += scores
    if args.whiten_rewards:
        rewards = masked_whiten(rewards, mask=~padding_mask_p1, shift_mean=False)
        rewards = torch.masked_fill(rewards, padding_mask_p1, 0)

    lastgaelam: Any = 0
    advantages_reversed = []
    gamma = 1.0 if args.bug == "gamma forgotten" else args.gamma
    for t in reversed(range(slots)):
        nextvalues: Any = values[:, t + 1] if t < slots - 1 else 0.0
        delta = rewards[:, t] + gamma * nextvalues - values[:, t]
        lastgaelam = delta + gamma * args.lam * lastgaelam
        advantages_reversed.append(lastgaelam)
    advantages = torch.stack(advantages_reversed[::-1], dim=1)
    returns = advantages + values
    over = ~padding_mask
    if args.bug == "whitened over pads":
        over = torch.ones_like(over)
    if shifted:
        over = torch.nn.functional.pad(over, (1, 0))[:, :-1]
    if not args.bug.startswith("whitened per"):
        advantages = masked_whiten(advantages, over)
    advantages = torch.masked_fill(advantages, padding_mask, 0)
    return Rollout(
        padding_mask, padding_mask_p1, logprobs, ref_logprobs, values, scores, rewards, advantages, returns
    )  # fmt: skip


def step(args: Args) -> Iterator[Written]:
    """Yields what the hook of docs/dump-hooks.md writes, a file for each microbatch of each rank and epoch."""
    for rank in range(args.ranks):
        yield from _epochs(args, rank, rollout(args, rank))


def _epochs(args: Args, rank: int, whole: Rollout) -> Iterator[Written]:
    draws = torch.Generator().manual_seed(500 + 7 * rank)
    updates = 0
    for ppo_epoch_idx in range(args.num_ppo_epochs):
        b_inds = torch.randperm(args.local_batch_size, generator=draws)
        for minibatch_idx, mini_batch_inds in enumerate(torch.split(b_inds, args.local_mini_batch_size)):
            for gradient_accumulation_idx, inds in enumerate(
                torch.split(mini_batch_inds, args.per_device_train_batch_size)
            ):
                place = {
                    "step": 3, "rank": rank, "world_size": args.ranks, "epoch": ppo_epoch_idx, "epochs": args.num_ppo_epochs,
                    "minibatch": minibatch_idx, "minibatches": args.num_mini_batches, "microbatch": gradient_accumulation_idx,
                    "microbatches": args.microbatches, "optimizer_step": updates,
                }  # fmt: skip
                yield _file(args, whole, inds, mini_batch_inds, place, draws)
            updates += 1


def _file(
    args: Args, whole: Rollout, inds: Tensor, minibatch: Tensor, place: dict[str, int], draws: torch.Generator
) -> Written:
    """Returns what one pass through the loop over microbatches logs, and the tensors that it has."""
    shape, moved = (len(inds), args.slots), float(place["optimizer_step"] > 0)

    def change(size: float) -> Tensor:
        return (moved * size * torch.randn(*shape, generator=draws)).to(args.dtype)

    padding_mask, padding_mask_p1 = whole.padding_mask[inds], whole.padding_mask_p1[inds]
    mb_advantage = whole.advantages[inds]
    if args.bug == "whitened per microbatch":
        mb_advantage = torch.masked_fill(masked_whiten(mb_advantage, ~padding_mask), padding_mask, 0)
    elif args.bug == "whitened per minibatch":
        words = ~whole.padding_mask[minibatch]
        whitened = torch.zeros_like(whole.advantages)
        whitened[minibatch] = masked_whiten(whole.advantages[minibatch], words)
        mb_advantage = torch.masked_fill(whitened[inds], padding_mask, 0)
    mb_logprobs, mb_return, mb_values = whole.logprobs[inds], whole.returns[inds], whole.values[inds]
    new_logprobs = torch.minimum(mb_logprobs + change(0.3), torch.tensor(-0.01).to(args.dtype))
    new_logprobs = torch.masked_fill(new_logprobs, padding_mask, INVALID_LOGPROB)
    vpred = torch.masked_fill(mb_values + change(0.5), padding_mask_p1, 0)
    vpredclipped = torch.clamp(vpred, mb_values - args.cliprange_value, mb_values + args.cliprange_value)
    vf_losses1 = torch.square(vpred - mb_return)
    vf_losses2 = torch.square(vpredclipped - mb_return)
    vf_loss = 0.5 * masked_mean(torch.max(vf_losses1, vf_losses2), ~padding_mask_p1)
    vf_clipfrac = masked_mean((vf_losses2 > vf_losses1).float(), ~padding_mask_p1)
    logprobs_diff = new_logprobs - mb_logprobs
    ratio = torch.exp(logprobs_diff)
    pg_losses = -mb_advantage * ratio
    pg_losses2 = -mb_advantage * torch.clamp(ratio, 1.0 - args.cliprange, 1.0 + args.cliprange)
    pg_loss = masked_mean(torch.max(pg_losses, pg_losses2), ~padding_mask)
    if args.bug == "pg_loss not divided by the microbatches":
        pg_loss = pg_loss * args.microbatches
    loss = pg_loss + args.vf_coef * vf_loss
    pg_clipfrac = masked_mean((pg_losses2 > pg_losses).float(), ~padding_mask)
    entropy = torch.rand(*shape, generator=draws).to(args.dtype) + 0.5
    approxkl = 0.5 * (logprobs_diff**2).mean()
    tensors = {
        "padding_mask": padding_mask, "logprobs": mb_logprobs, "ref_logprobs": whole.ref_logprobs[inds],
        "new_logprobs": new_logprobs,
        "values": mb_values, "vpred": vpred, "entropy": entropy, "scores": whole.scores[inds], "rewards": whole.rewards[inds],
        "advantages": mb_advantage, "returns": mb_return, "row_index": inds,
    }  # fmt: skip
    logged = {
        "loss": loss,
        "pg_loss": pg_loss,
        "vf_loss": vf_loss,
        "pg_clipfrac": pg_clipfrac,
        "vf_clipfrac": vf_clipfrac,
        "approxkl": approxkl,
    } | {"policy/entropy_avg": entropy.mean(), "val/ratio": ratio.mean()}
    settings = {name: getattr(args, name) for name in SETTINGS}
    said = dict(library="trl", version="1.12.0", layout="response", hyperparameters=settings, **place) | args.said
    name = "trl_{step:06}_{rank}_{epoch}_{minibatch}_{microbatch}".format(**place)
    return Written(name, tensors, said | {"logged": {each: value.item() for each, value in logged.items()}})


def write(folder: Path, args: Args) -> list[Path]:
    """Writes the files of a step."""
    return [each.write(folder) for each in step(args)]
