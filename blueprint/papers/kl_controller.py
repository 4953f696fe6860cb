"""The adaptive KL controller on one page of plain torch: β follows the KL of the responses, batch after batch.

Ziegler et al. 2019, Fine-Tuning Language Models from Human Preferences, sec. 2.2: e = clip(KL/target − 1, −0.2, 0.2) and
β ← β·(1 + K_β·e); openai/lm-human-preferences (train_policy.py, AdaptiveKLController) has K_β = n/horizon. What is fed is that
library's mean of sums, or a mean of means per token (OpenRLHF, verl).
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class AdaptiveKLController:
    """β, and what moves it. most: how far an error may reach."""

    value: Tensor
    target: float
    horizon: float
    most: float = 0.2

    def update(self, current: Tensor, n_steps: float) -> Tensor:
        """Takes the KL of a batch of n_steps responses; returns the factor by which β moved."""
        error = torch.clip(current / self.target - 1, -self.most, self.most)
        factor = 1 + error * n_steps / self.horizon
        self.value = self.value * factor
        return factor


def mean_of_sums(kl: Tensor, lengths: Tensor) -> Tensor:
    """Returns the KL of a batch as lm-human-preferences and TRL feed it: the mean over responses of their sums, [I]."""
    return kl.mean()


def mean_per_token(kl: Tensor, lengths: Tensor) -> Tensor:
    """Returns it as OpenRLHF and verl do: the mean over responses of their means per token, [I]."""
    return (kl / lengths).mean()
