"""Policy gradients without a critic: several responses to each prompt, and their rewards are compared with each other.

Shao et al. 2024, DeepSeekMath (GRPO), arXiv:2402.03300, sec. 4.1; Yu et al. 2025, DAPO, arXiv:2503.14476; Liu et al. 2025,
Understanding R1-Zero-Like Training (Dr. GRPO), arXiv:2503.20783, sec. 3; Ahmadian et al. 2024 (RLOO), arXiv:2402.14740.
B responses, T tokens. Rewards, and the number of the prompt that a response answers (`group`), are [B]; log-probs of the tokens
written are [B, T], and `mask` says which of them are response. Values outside the mask mean nothing.

    GRPO      average="response", scale=True, kl_coef=0.04
    DAPO      average="token", scale=True, clip_high=0.28, rewards of overlong(…), only responses of which differ(…) is true
    Dr. GRPO  average=the largest number of tokens, scale=False
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Grpo:
    """What a batch comes to: advantages [B], ratio, KL and loss of each token [B, T], and single numbers."""

    advantages: Tensor
    ratio: Tensor
    kl: Tensor
    token_losses: Tensor
    policy_loss: Tensor
    kl_loss: Tensor
    total: Tensor


@dataclass(frozen=True)
class Rloo:
    """What a batch comes to: rewards less their KL, and advantages, [B], and the loss."""

    rewards: Tensor
    advantages: Tensor
    total: Tensor


def overlong(rewards: Tensor, lengths: Tensor, longest: int, buffer: int) -> Tensor:
    """Returns rewards less what it costs to be nearly too long, or longer, [B] (DAPO, eq. 13)."""
    return rewards + ((longest - buffer - lengths.to(rewards.dtype)) / buffer).clamp(-1, 0)


def differ(rewards: Tensor, group: Tensor) -> Tensor:
    """Returns for each response, [B], whether its group's rewards differ; responses with false are not used (DAPO, eq. 11)."""
    return torch.stack([(rewards[group == g] != r).any() for g, r in zip(group, rewards, strict=True)])


def grpo(
    new: Tensor, old: Tensor, ref: Tensor, rewards: Tensor, group: Tensor, mask: Tensor, *, average: str | int = "response",
    scale: bool = True, eps: float = 1e-4, clip_low: float = 0.2, clip_high: float = 0.2, kl_coef: float = 0.0,
) -> Grpo:  # fmt: skip
    """Returns the loss, and the steps to it.

    On the first step after the sampling `old` is `new.detach()`: every ratio is 1, and yet its gradient is not 0.
    average: over the tokens of each "response" and then over responses (GRPO, eq. 3); over every "token" of the batch (DAPO,
    eq. 12); or over responses, each one's token sum divided by this number (Dr. GRPO, sec. 3.2).
    scale: whether rewards are divided by their standard deviation in the group, plus eps.
    """
    compared = [rewards[group == g] for g in group]
    advantages = rewards - torch.stack([r.mean() for r in compared])
    if scale:  # GRPO, sec. 4.1; not Dr. GRPO
        advantages = advantages / (torch.stack([r.std() for r in compared]) + eps)
    A = advantages[:, None]

    # The clipped surrogate (GRPO, eq. 3), as a loss; with two ends it is DAPO's (eq. 10).
    ratio = (new - old).exp()
    token_losses = -torch.min(ratio * A, ratio.clamp(1 - clip_low, 1 + clip_high) * A)
    # The KL to the reference, never below 0 (GRPO, eq. 4).
    kl = (ref - new).exp() - (ref - new) - 1

    def mean(x: Tensor) -> Tensor:
        if average == "token":
            return x[mask].mean()
        rows = list(zip(x, mask, strict=True))
        if average == "response":
            return torch.stack([row[tokens].mean() for row, tokens in rows]).mean()
        return torch.stack([row[tokens].sum() / average for row, tokens in rows]).mean()

    policy_loss, kl_loss = mean(token_losses), mean(kl)
    return Grpo(advantages, ratio, kl, token_losses, policy_loss, kl_loss, policy_loss + kl_coef * kl_loss)


def rloo(new: Tensor, ref: Tensor, rewards: Tensor, group: Tensor, mask: Tensor, kl_coef: float = 0.05) -> Rloo:
    """Returns the loss of REINFORCE, in which each response is compared with the mean of the others (RLOO, eq. 4).

    A response is one action: its log-prob is the sum of its tokens', and its reward pays for the KL to the reference.
    """
    written = torch.stack([row[tokens].sum() for row, tokens in zip(new, mask, strict=True)])
    before = torch.stack([row[tokens].sum() for row, tokens in zip(ref, mask, strict=True)])
    rewards = rewards - kl_coef * (written - before).detach()
    here = torch.arange(len(rewards))
    others = [rewards[(group == g) & (here != i)].mean() for i, g in enumerate(group)]
    advantages = rewards - torch.stack(others)
    return Rloo(rewards, advantages, -(advantages * written).mean())
