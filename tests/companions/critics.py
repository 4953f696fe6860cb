"""The parts of a course's PPO, of its fine-tuning and of its DPO, a few lines of torch each, from the published description.

Advantages, values and losses of tokens are [B, T]; `mask` says which tokens are response.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

import blueprint
from blueprint.book import Book
from tests.companions.published import by_sequence, logprobs, typed


@dataclass(frozen=True)
class Episodes:
    """A batch of PPO as typed. new, old, ref: log-probs [B, T]; values, values_old: [B, T]; scores: [B]; mask: [B, T]."""

    new: Tensor
    old: Tensor
    ref: Tensor
    values: Tensor
    values_old: Tensor
    scores: Tensor
    mask: Tensor


def episodes(book: Book) -> Episodes:
    """Reads what was typed into a workbook of PPO that begins at logits."""
    mask = typed(book, "mask") == 1
    new, old, ref = (logprobs(book, model, mask) for model in ("policy", "old", "reference"))
    values, values_old = [
        torch.where(mask, torch.nan_to_num(typed(book, f"{of}.out")), 0.0) for of in ("critic", "old_critic")
    ]
    scores = torch.nan_to_num(typed(book, "reward_model.score"))
    return Episodes(
        new.clone().requires_grad_(), old, ref, values, values_old, scores.reshape(len(mask), -1).sum(1), mask
    )


def rewards(e: Episodes, kl_coef: float) -> Tensor:
    """Returns −β·(log π_old − log π_ref) at every token, and the score at the last."""
    last = e.mask.long().cumsum(1).argmax(1)
    paid = torch.where(e.mask, -kl_coef * (e.old - e.ref), 0.0)
    return paid.scatter_add(1, last[:, None], e.scores[:, None])


def gae(r: Tensor, e: Episodes, gamma: float, lam: float) -> Tensor:
    """Returns GAE by its backward loop; behind the last token there is no value."""
    advantages, later, value = (
        torch.zeros_like(r),
        torch.zeros(len(r), dtype=r.dtype),
        torch.zeros(len(r), dtype=r.dtype),
    )
    for t in reversed(range(r.shape[1])):
        here = e.mask[:, t].to(r.dtype)
        delta = r[:, t] + gamma * value - e.values_old[:, t]
        later = here * (delta + gamma * lam * later)
        value = here * e.values_old[:, t]
        advantages[:, t] = later
    return advantages


def value_loss(e: Episodes, targets: Tensor, clip: float) -> Tensor:
    """Returns ½ of the larger of two squared errors, the second with the value held near the old one, by response."""
    held = torch.clamp(e.values, e.values_old - clip, e.values_old + clip)
    return by_sequence(0.5 * torch.maximum((e.values - targets) ** 2, (held - targets) ** 2), e.mask)


def ppo_policy_loss(e: Episodes, A: Tensor, eps: float) -> Tensor:
    """Returns the clipped loss of the policy, by response."""
    ratio = (e.new - e.old).exp()
    return by_sequence(torch.maximum(-A * ratio, -A * ratio.clamp(1 - eps, 1 + eps)), e.mask)


def sft_loss(book: Book) -> Tensor:
    """Returns minus the sum of the response's log-probs, as a mean over texts."""
    mask = typed(book, "mask") == 1
    return -logprobs(book, "policy", mask).sum(1).mean()


def dpo_losses(name: str, beta: float) -> Tensor:
    """Returns −log σ(β·(Δ log π − Δ log π_ref)) for each pair of a built-in numbers file, from sums of log-probs."""
    path = Path(blueprint.__file__).parent / "workbooks" / "dpo" / "numbers" / f"{name}.toml"
    file = tomllib.loads(path.read_text(encoding="utf-8"))
    policy, reference = (_chosen_less_rejected(file[model]) for model in ("policy", "reference"))
    return -logsigmoid(beta * (policy - reference))


def _chosen_less_rejected(model: dict[str, list[list[float]]]) -> Tensor:
    sums = [[sum(row) for row in model[which]] for which in ("chosen", "rejected")]
    return torch.tensor(sums[0], dtype=torch.float64) - torch.tensor(sums[1], dtype=torch.float64)
