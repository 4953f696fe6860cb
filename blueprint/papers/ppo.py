"""PPO for language models, as in the papers, on one page of plain torch.

Schulman et al. 2017, Proximal Policy Optimization (PPO), eq. 6, 7, 9; Schulman et al. 2016, Generalized Advantage Estimation
(GAE), eq. 11, 16; Ziegler et al. 2019, Fine-Tuning Language Models from Human Preferences (FT), eq. 2; Schulman 2020,
Approximating KL Divergence (KL). The value loss is clipped as in OpenAI's baselines (ppo2/model.py). Tensors are [B, T]:
B responses, T tokens; `mask` says which tokens are response, in one piece. All is differentiable: `.total.backward()`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Ppo:
    """The results for one batch, each [B, T] or one number; results by token are meaningful only where the mask is true."""

    kl: Tensor  # log π_old − log π_ref of the token written: k1 (KL)
    rewards: Tensor
    deltas: Tensor
    advantages: Tensor
    returns: Tensor
    whitened: Tensor  # the advantages that the loss uses
    ratio: Tensor
    policy_losses: Tensor
    value_losses: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    total: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor


def ppo(
    *,
    logp_old: Tensor,
    logp_ref: Tensor,
    logp_new: Tensor,
    values_old: Tensor,
    values_new: Tensor,
    entropy: Tensor,
    scores: Tensor,
    mask: Tensor,
    gamma: float = 1.0,
    lam: float = 0.95,
    kl_coef: float = 0.1,
    clip: float = 0.2,
    value_clip: float = 0.2,
    value_coef: float = 0.5,
    entropy_coef: float = 0.01,
) -> Ppo:
    """Returns the loss of PPO and every step to it; scores: [B], of the reward model; all others [B, T]."""
    # The reward: a price for leaving the reference on every token, the score on the last one (FT, eq. 2).
    kl = logp_old - logp_ref
    last = mask.cumsum(1).argmax(1, keepdim=True)
    rewards = (-kl_coef * kl).scatter_add(1, last, scores[:, None])

    # Surprises, and their discounted sums A_t = Σ_l (γλ)^l δ_{t+l}, here as one matrix product (GAE, eq. 11 and 16).
    values = values_old.where(mask, 0)
    ahead = torch.cat([values[:, 1:], torch.zeros_like(last, dtype=values.dtype)], dim=1)
    deltas = (rewards + gamma * ahead - values).where(mask, 0)
    step = torch.arange(mask.shape[1], device=mask.device)
    steps_ahead = (step[:, None] - step).clamp(min=0)
    advantages = deltas @ ((gamma * lam) ** steps_ahead.to(deltas.dtype)).tril()
    returns = advantages + values

    # Mean 0 and variance 1 over all tokens of the batch.
    variance, mean = torch.var_mean(advantages[mask])
    whitened = (advantages - mean) / (variance + 1e-8).sqrt()

    # The worse of two, as a loss: the ratio as it is, and clipped (PPO, eq. 6 and 7).
    ratio = (logp_new - logp_old).exp()
    free, clipped = -whitened * ratio, -whitened * ratio.clamp(1 - clip, 1 + clip)
    policy_losses = torch.max(free, clipped)

    # Half the squared error of the critic, which gains nothing by moving further than the clip.
    near = values_new.clamp(values_old - value_clip, values_old + value_clip)
    value_losses = torch.max((values_new - returns) ** 2, (near - returns) ** 2) / 2

    # Means over all tokens of the batch (PPO, eq. 9, with the sign of a loss).
    policy_loss, value_loss, bonus = policy_losses[mask].mean(), value_losses[mask].mean(), entropy[mask].mean()
    total = policy_loss + value_coef * value_loss - entropy_coef * bonus

    # What one watches: k3 (KL) of the new policy, and how many tokens the clip changed.
    approx_kl = (ratio - 1 - ratio.log())[mask].mean().detach()
    clip_fraction = (clipped > free)[mask].to(ratio.dtype).mean()
    return Ppo(
        kl, rewards, deltas, advantages, returns, whitened, ratio, policy_losses, value_losses,
        policy_loss, value_loss, bonus, total, approx_kl, clip_fraction,
    )  # fmt: skip
