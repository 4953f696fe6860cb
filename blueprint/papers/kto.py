"""KTO on one page of plain torch: single responses, each desirable or not.

Ethayarajh et al. 2024, KTO: Model Alignment as Prospect Theoretic Optimization, eq. 7 and 8. Tensors are [N]: numbers of N
responses; log-probs are sums over the tokens of a response.

    KTO  loss="kto"        APO-zero of single responses  loss="apo_zero_unpaired" (D'Oosterlinck et al. 2024, eq. 7)
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Kto:
    """What one batch comes to: by response [N], or one number; a mean over no response is not a number."""

    rewards: Tensor
    reference_point: Tensor  # the KL to the reference, at least 0
    losses: Tensor
    loss: Tensor
    chosen_reward: Tensor
    rejected_reward: Tensor


def kto(
    ratio: Tensor, good: Tensor, elsewhere: Tensor, *, beta: float = 0.1, desirable: float = 1.0,
    undesirable: float = 1.0, loss: str = "kto",
) -> Kto:  # fmt: skip
    """Returns the loss of single responses.

    ratio: log π/π_ref of each response; good: whether it is desirable. elsewhere: the same of responses to other prompts;
    their mean is the KL to the reference, with which a response is compared, and no gradient flows through it.
    """
    z = elsewhere.mean().clamp(min=0).detach() if loss == "kto" else ratio.new_zeros(())
    value = torch.sigmoid(beta * torch.where(good, ratio - z, z - ratio))
    weight = torch.full_like(ratio, undesirable).masked_fill(good, desirable)
    losses = weight * (1 - value)
    rewards = beta * ratio.detach()
    return Kto(rewards, z, losses, losses.mean(), rewards[good].mean(), rewards[~good].mean())
