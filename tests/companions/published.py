"""What courses and books ask their readers to write, a few lines of torch each, from the published description of the function.

Nothing here reads a definition of ours, and nothing is copied from a course: the inputs are the numbers that a workbook was given.
A function is found by what the page calls it: the text between the backticks of a row's first cell (`PUBLISHED`).
Advantages are [B], log-probs and losses of tokens [B, T], and `mask` says which tokens are response.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from blueprint.book import Book


@dataclass(frozen=True)
class Rollouts:
    """Prompts with B responses in all, of at most T tokens, as a workbook of GRPO was given them.

    new: log-probs of the policy in training, [B, T], a leaf for gradients; old, ref, engine: those of the others.
        Behind a response they are 0.
    mask: [B, T], whether a token is response. rewards: [B]. group: [B], the prompt that a response answers.
    logits: those of the policy, [B, T, V], None where log-probs were typed.
    """

    new: Tensor
    old: Tensor
    ref: Tensor
    engine: Tensor
    mask: Tensor
    rewards: Tensor
    group: Tensor
    logits: Tensor | None


def rollouts(book: Book) -> Rollouts:
    """Reads what was typed into a workbook of GRPO; log-probs of typed logits are those of a log-soft-max."""
    mask = typed(book, "mask") == 1
    new = logprobs(book, "policy", mask)
    old = logprobs(book, "old", mask)
    ref = logprobs(book, "reference", mask) if _has(book, "reference") else new
    engine = logprobs(book, "engine", mask) if _has(book, "engine") else old
    rewards = typed(book, "score")
    group = torch.arange(len(rewards)) // int(book.show("count.group").value)
    logits = typed(book, "policy.logits") if "policy.logits" in book.blocks else None
    return Rollouts(new.clone().requires_grad_(), old, ref, engine, mask, rewards, group, logits)


def typed(book: Book, name: str) -> Tensor:
    """Returns the numbers of a row, as float64."""
    return torch.tensor(book.values[book.blocks[name]], dtype=torch.float64)


def _has(book: Book, model: str) -> bool:
    return bool({f"{model}.logprobs", f"{model}.logits"} & book.blocks.keys())


def logprobs(book: Book, model: str, mask: Tensor) -> Tensor:
    """Returns the log-probs of what was written, [B, T]: as typed, or of typed logits by a log-soft-max; 0 behind a response."""
    if f"{model}.logits" not in book.blocks:
        return torch.where(mask, typed(book, f"{model}.logprobs"), 0.0)
    words = [[str(word) for word in row] for row in book.values[book.blocks["word_written"]]]
    vocabulary = [str(word) for word in book.values[book.blocks["vocabulary"]]]
    ids = torch.tensor([[vocabulary.index(word) if word in vocabulary else 0 for word in row] for row in words])
    found = typed(book, f"{model}.logits").log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    return torch.where(mask, found, 0.0)


# ---- advantages, [B] ---------------------------------------------------------------------------------------------------


def in_groups(r: Rollouts, of_group: Callable[[Tensor], Tensor]) -> Tensor:
    """Applies a function of a group's rewards to each group."""
    return torch.cat([of_group(r.rewards[r.group == g]) for g in sorted(set(r.group.tolist()))])


def standardised(r: Rollouts, eps: float) -> Tensor:
    """Returns (r − mean)/(std + eps), std with n − 1, as torch.std has it."""
    return in_groups(r, lambda x: (x - x.mean()) / (x.std() + eps))


def centred(r: Rollouts) -> Tensor:
    """Returns r − mean (Dr. GRPO)."""
    return in_groups(r, lambda x: x - x.mean())


def over_the_mean(r: Rollouts, eps: float) -> Tensor:
    """Returns (r − mean)/(mean + eps) (MaxRL)."""
    return in_groups(r, lambda x: (x - x.mean()) / (x.mean() + eps))


def others(r: Rollouts) -> Tensor:
    """Returns r less the mean of the other rewards (RLOO)."""
    return in_groups(r, lambda x: x - (x.sum() - x) / (len(x) - 1))


# ---- losses of tokens, [B, T] ------------------------------------------------------------------------------------------


def reinforce(r: Rollouts, A: Tensor) -> Tensor:
    """Returns −A·log π: a reward or an advantage for all tokens of a response."""
    return -A[:, None] * r.new


def without_clip(r: Rollouts, A: Tensor) -> Tensor:
    """Returns −ratio·A."""
    return -(r.new - r.old).exp() * A[:, None]


def clipped(r: Rollouts, A: Tensor, low: float = 0.2, high: float = 0.2) -> Tensor:
    """Returns −min(ratio·A, clip(ratio)·A) for every token."""
    return _pessimistic((r.new - r.old).exp(), A[:, None], low, high)


def gspo(r: Rollouts, A: Tensor, low: float = 0.2, high: float = 0.2) -> Tensor:
    """Returns the same with one ratio for a response, the geometric mean of its tokens', and repeated for each of them."""
    mean = torch.stack([row[tokens].mean() for row, tokens in zip(r.new - r.old, r.mask, strict=True)])
    return _pessimistic(mean.exp(), A, low, high)[:, None].expand_as(r.new)


def _pessimistic(ratio: Tensor, A: Tensor, low: float, high: float) -> Tensor:
    return -torch.minimum(ratio * A, ratio.clamp(1 - low, 1 + high) * A)


def cispo(r: Rollouts, A: Tensor, low: float | None, high: float) -> Tensor:
    """Returns −sg(clip(ratio))·A·log π; `low` None: no lower end."""
    weight = (r.new - r.old).exp().detach().clamp(None if low is None else 1 - low, 1 + high)
    return -weight * A[:, None] * r.new


def sapo(r: Rollouts, A: Tensor, good: float, bad: float) -> Tensor:
    """Returns −A·(4/τ)·σ(τ·(ratio − 1)), τ by the sign of A."""
    tau = torch.where(A > 0, r.new.new_tensor(good), r.new.new_tensor(bad))[
        :, None
    ]  # of two numbers where makes a float32
    return -A[:, None] * 4 / tau * (tau * ((r.new - r.old).exp() - 1)).sigmoid()


def k3(r: Rollouts) -> Tensor:
    """Returns π_ref/π − 1 − log(π_ref/π), by which tokens drawn from π estimate KL(π‖π_ref)."""
    return (r.ref - r.new).exp() - 1 - (r.ref - r.new)


def truncated_weight(r: Rollouts, cap: float) -> Tensor:
    """Returns min(π_learner/π_sampler, cap), a number through which nothing flows back; the log-ratio is held within ±10."""
    return (r.old - r.engine).clamp(-10, 10).exp().clamp(max=cap).detach()


# ---- one number of a batch ---------------------------------------------------------------------------------------------


def by_sequence(x: Tensor, mask: Tensor) -> Tensor:
    """Returns the mean over responses of the mean over their tokens."""
    return torch.stack([row[tokens].mean() for row, tokens in zip(x, mask, strict=True)]).mean()


def by_token(x: Tensor, mask: Tensor) -> Tensor:
    """Returns the mean over all tokens."""
    return x[mask].mean()


def by_constant(x: Tensor, mask: Tensor, constant: float) -> Tensor:
    """Returns the mean over responses of the sum over their tokens, divided by a constant."""
    return torch.stack([row[tokens].sum() for row, tokens in zip(x, mask, strict=True)]).mean() / constant


def in_all(x: Tensor, mask: Tensor, constant: float) -> Tensor:
    """Returns the sum over all tokens, divided by a constant."""
    return x[mask].sum() / constant


def accumulated(r: Rollouts, loss_of: Callable[[Tensor, Tensor], Tensor], x: Tensor, steps: int) -> Tensor:
    """Returns what `steps` microbatches of equally many responses add up to, each divided by `steps`."""
    parts = zip(x.chunk(steps), r.mask.chunk(steps), strict=True)
    return torch.stack([loss_of(part, mask) / steps for part, mask in parts]).sum()


def sequence_level(r: Rollouts, A: Tensor) -> Tensor:
    """Returns −mean of A times the sum of a response's log-probs."""
    return -(A * torch.stack([row[tokens].sum() for row, tokens in zip(r.new, r.mask, strict=True)])).mean()


def sequence_clip(r: Rollouts, A: Tensor, eps: float) -> Tensor:
    """Returns −mean of min(ratio·A, clip(ratio)·A), the ratio that of a whole response: the product of its tokens'."""
    summed = torch.stack([row[tokens].sum() for row, tokens in zip(r.new - r.old, r.mask, strict=True)])
    return _pessimistic(summed.exp(), A, eps, eps).mean()
