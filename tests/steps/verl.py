"""A step of verl 0.9.1, written again from its source, with random numbers in place of models.

verl/utils/torch_functional.py:294 (masked_mean, masked_whiten); trainer/ppo/core_algos.py:217 (compute_gae_advantage_return),
:1138 (agg_loss), :1256 (compute_policy_loss_vanilla), :2128 (compute_value_loss); workers/utils/losses.py (ppo_loss, value_loss);
workers/engine/fsdp/transformer_impl.py:730 (batch_num_tokens). Nothing here is read by what is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.steps.writing import Written

SETTINGS = (
    "gamma",
    "lam",
    "clip_ratio_low",
    "clip_ratio_high",
    "clip_ratio_c",
    "cliprange_value",
    "loss_agg_mode",
    "entropy_coeff",
)


@dataclass(frozen=True)
class Args:
    """Settings, and how large the run is: rows are those of all ranks, in one rollout."""

    gamma: float = 0.98
    lam: float = 0.9
    clip_ratio_low: float = 0.2
    clip_ratio_high: float = 0.28
    clip_ratio_c: float = 3.0
    cliprange_value: float = 0.5
    loss_agg_mode: str = "token-mean"
    entropy_coeff: float = 0.01
    ranks: int = 2
    ppo_epochs: int = 1
    minibatches: int = 2
    microbatch_sizes: tuple[int, ...] = (3, 1)
    slots: int = 10
    said: dict[str, Any] = field(default_factory=dict)
    says_share: bool = True
    seed: int = 0
    bug: str = ""

    @property
    def ppo_mini_batch_size(self) -> int:
        return self.ranks * sum(self.microbatch_sizes)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    return (values * mask).sum() / (mask.sum() + 1e-8)


def masked_whiten(values: Tensor, mask: Tensor) -> Tensor:
    mean = masked_mean(values, mask)
    variance = masked_mean((values - mean) ** 2, mask)
    mask_sum = mask.sum()
    variance = variance * (mask_sum / (mask_sum - 1))
    return (values - mean) * torch.rsqrt(variance + 1e-8)


def agg_loss(
    loss_mat: Tensor,
    loss_mask: Tensor,
    loss_agg_mode: str,
    dp_size: float,
    batch_num_tokens: float,
    global_batch_size: float,
) -> Tensor:
    if loss_agg_mode == "token-mean":
        return torch.sum(loss_mat * loss_mask) / batch_num_tokens * dp_size
    seq_mask = loss_mask.sum(dim=-1)
    seq_losses = (loss_mat * loss_mask).sum(dim=-1)
    if loss_agg_mode == "seq-mean-token-mean":
        seq_losses = seq_losses / (seq_mask + 1e-8)
    return torch.sum(seq_losses * (seq_mask > 0)) / global_batch_size * dp_size


def gae(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, lam: float) -> tuple[Tensor, Tensor]:
    nextvalues: Any = 0
    lastgaelam: Any = 0
    found = []
    for t in reversed(range(rewards.shape[-1])):
        delta = rewards[:, t] + gamma * nextvalues - values[:, t]
        lastgaelam_ = delta + gamma * lam * lastgaelam
        nextvalues = values[:, t] * mask[:, t] + (1 - mask[:, t]) * nextvalues
        lastgaelam = lastgaelam_ * mask[:, t] + (1 - mask[:, t]) * lastgaelam
        found.append(lastgaelam)
    advantages = torch.stack(found[::-1], dim=1)
    return advantages, advantages + values


def rollout(args: Args) -> dict[str, Tensor]:
    """Returns the rollout of all ranks as the driver has it when it calls update_actor: rank by rank."""
    draws = torch.Generator().manual_seed(args.seed)
    rows, slots = args.minibatches * args.ppo_mini_batch_size, args.slots
    lengths = torch.randint(1, slots + 1, (rows,), generator=draws)
    mask = (torch.arange(slots) < lengths[:, None]).float()
    old = -torch.randn(rows, slots, generator=draws).abs() - 0.05
    values = torch.randn(rows, slots, generator=draws)
    scores = torch.zeros(rows, slots)
    scores[torch.arange(rows), lengths - 1] = torch.randn(rows, generator=draws)
    gamma = 1.0 if args.bug == "gamma forgotten" else args.gamma
    advantages, returns = gae(scores, values, mask, gamma, args.lam)
    if args.bug == "whitened per rank":
        parts = zip(advantages.chunk(args.ranks), mask.chunk(args.ranks), strict=True)
        advantages = torch.cat([masked_whiten(each, of) for each, of in parts])
    else:
        advantages = masked_whiten(advantages, mask)
    return {
        "response_mask": mask, "old_log_probs": old, "values": values, "token_level_scores": scores,
        "token_level_rewards": scores, "advantages": advantages, "returns": returns, "row_index": torch.arange(rows),
    }  # fmt: skip


def step(args: Args) -> Iterator[Written]:
    """Yields a file for each microbatch of each rank: what actor and critic have there together."""
    whole = rollout(args)
    draws = torch.Generator().manual_seed(77 + args.seed)
    per_rank = args.minibatches * sum(args.microbatch_sizes)
    for epoch in range(args.ppo_epochs):
        orders = [rank * per_rank + torch.randperm(per_rank, generator=draws) for rank in range(args.ranks)]
        for minibatch in range(args.minibatches):
            size = sum(args.microbatch_sizes)
            mine = [order[minibatch * size : (minibatch + 1) * size] for order in orders]
            batch_num_tokens = int(whole["response_mask"][torch.cat(mine)].sum())
            for rank, rows in enumerate(mine):
                for microbatch, inds in enumerate(torch.split(rows, list(args.microbatch_sizes))):
                    place = {
                        "step": 9, "rank": rank, "world_size": args.ranks, "epoch": epoch, "epochs": args.ppo_epochs,
                        "minibatch": minibatch, "minibatches": args.minibatches, "microbatch": microbatch,
                        "microbatches": len(args.microbatch_sizes), "optimizer_step": epoch * args.minibatches + minibatch,
                    }  # fmt: skip
                    yield _file(
                        args, {name: each[inds] for name, each in whole.items()}, place, batch_num_tokens, draws
                    )


def _file(
    args: Args, data: dict[str, Tensor], place: dict[str, int], batch_num_tokens: int, draws: torch.Generator
) -> Written:
    mask, old, advantages = data["response_mask"], data["old_log_probs"], data["advantages"]
    moved = float(place["optimizer_step"] > 0)
    log_prob = torch.minimum(old + moved * 0.3 * torch.randn(old.shape, generator=draws), torch.tensor(-0.01))
    vpreds = data["values"] + moved * 0.5 * torch.randn(old.shape, generator=draws)
    entropy = torch.rand(old.shape, generator=draws) + 0.5
    tokens: float = batch_num_tokens
    rows: float = args.ppo_mini_batch_size
    dp_size = args.ranks
    if args.bug == "mean of the microbatch":
        tokens, rows, dp_size = float(mask.sum()), float(len(mask)), 1
    elif args.bug == "dp_size forgotten":
        dp_size = 1
    info = {"dp_size": dp_size, "batch_num_tokens": tokens, "global_batch_size": rows}

    negative_approx_kl = torch.clamp(log_prob - old, min=-20.0, max=20.0)
    ratio = torch.exp(negative_approx_kl)
    pg_losses1 = -advantages * ratio
    pg_losses2 = -advantages * torch.clamp(ratio, 1 - args.clip_ratio_low, 1 + args.clip_ratio_high)
    clip_pg_losses1 = torch.maximum(pg_losses1, pg_losses2)
    clip_pg_losses2 = torch.min(-advantages * args.clip_ratio_c, clip_pg_losses1)
    pg_losses = torch.where(advantages < 0, clip_pg_losses2, clip_pg_losses1)
    pg_loss = agg_loss(pg_losses, mask, args.loss_agg_mode, **info)
    entropy_loss = agg_loss(entropy, mask, args.loss_agg_mode, **info)
    vpredclipped = torch.clamp(vpreds, data["values"] - args.cliprange_value, data["values"] + args.cliprange_value)
    vf_losses1, vf_losses2 = (vpreds - data["returns"]) ** 2, (vpredclipped - data["returns"]) ** 2
    vf_loss = 0.5 * agg_loss(torch.max(vf_losses1, vf_losses2), mask, args.loss_agg_mode, **info)
    logged = {
        "actor/pg_loss": pg_loss, "actor/loss": pg_loss - args.entropy_coeff * entropy_loss, "actor/entropy_loss": entropy_loss,
        "actor/pg_clipfrac": masked_mean((pg_losses2 > pg_losses1).float(), mask),
        "actor/ppo_kl": masked_mean(-negative_approx_kl, mask),
        "critic/vf_loss": vf_loss, "critic/vf_clipfrac": masked_mean((vf_losses2 > vf_losses1).float(), mask),
    }  # fmt: skip
    settings = {name: getattr(args, name) for name in SETTINGS}
    share = {"dp_size": args.ranks, "batch_num_tokens": batch_num_tokens, "global_batch_size": args.ppo_mini_batch_size}
    said = {"library": "verl", "version": "0.9.1", "layout": "response", "hyperparameters": settings, **place}
    said |= share if args.says_share else {}
    said |= {"logged": {name: each.item() for name, each in logged.items()}} | args.said
    name = "verl_{step}_{rank}_{epoch}_{minibatch}_{microbatch}".format(**place)
    return Written(name, data | {"log_prob": log_prob, "vpreds": vpreds, "entropys": entropy}, said)


def write(folder: Path, args: Args) -> list[Path]:
    """Writes the files of a step."""
    return [each.write(folder) for each in step(args)]
