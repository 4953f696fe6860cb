"""Classic PPO, on environments that run side by side, as in the papers, on one page of plain torch.

Schulman et al. 2017, Proximal Policy Optimization (PPO), eq. 6, 7, 9, 11, 12; Schulman et al. 2016, Generalized Advantage
Estimation (GAE), eq. 11, 16; Schulman 2020, Approximating KL Divergence (KL). An episode may end at any step, and the next one
follows in the same row. Tensors are [N, T]: N environments, T steps; values have T + 1, the last being V of what comes next.

A2C (Mnih et al. 2016, Asynchronous Methods for Deep Reinforcement Learning) is the case of no clip on the first step: where the
ratio is 1, the slope of −Â·ratio is that of −Â·log π (Huang et al. 2022, A2C is a special case of PPO).
"""

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor


@dataclass(frozen=True)
class ClassicPpo:
    """What one batch of steps comes to, [N, T] or one number."""

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


def gae(
    rewards: Tensor, values: Tensor, done: Tensor, *, gamma: float, lam: float, cut: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Returns surprises and their discounted sums, which end where an episode is done.

    cut: where V of the next step is not looked at: by default where an episode is done; at a time limit it may stand for what
    would have come.
    """
    ahead = values[:, 1:].where(~(done if cut is None else cut), 0)
    deltas = rewards + gamma * ahead - values[:, :-1]  # GAE, eq. 11; PPO, eq. 12
    episode = torch.nn.functional.pad(done.cumsum(1)[:, :-1], (1, 0))  # how many were done before each step
    step = torch.arange(rewards.shape[1], device=rewards.device)
    steps_ahead = step - step[:, None]
    reaches = (steps_ahead >= 0) & (episode[:, :, None] == episode[:, None, :])
    discounts = ((gamma * lam) ** steps_ahead.clamp(min=0).to(deltas.dtype)).where(reaches, 0)
    return deltas, torch.einsum("nts,ns->nt", discounts, deltas)  # GAE, eq. 16; PPO, eq. 11


def classic_ppo(
    *,
    rewards: Tensor,
    done: Tensor,
    logp_old: Tensor,
    logp_new: Tensor,
    values_old: Tensor,
    values_new: Tensor,
    entropy: Tensor,
    gamma: float = 0.99,
    lam: float = 0.95,
    clip: float = 0.2,
    value_clip: float = 0.2,
    value_coef: float = 0.5,
    entropy_coef: float = 0.01,
) -> ClassicPpo:
    """Returns the loss and every step to it. A2C: clip and value_clip infinite, and the old log-probs are the new ones."""
    deltas, advantages = gae(rewards, values_old, done, gamma=gamma, lam=lam)
    returns = advantages + values_old[:, :-1]
    whitened = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

    # The worse of two, as a loss: the ratio as it is, and clipped (PPO, eq. 6 and 7).
    ratio = (logp_new - logp_old).exp()
    free = clipped = -whitened * ratio
    if clip < inf:
        clipped = -whitened * ratio.clamp(1 - clip, 1 + clip)
    policy_losses = torch.max(free, clipped)

    # Half the squared error of the critic, which gains nothing by moving further than the clip.
    near = values_new.clamp(values_old[:, :-1] - value_clip, values_old[:, :-1] + value_clip)
    value_losses = torch.max((values_new - returns) ** 2, (near - returns) ** 2) / 2

    # Means over all steps (PPO, eq. 9, with the sign of a loss).
    total = policy_losses.mean() + value_coef * value_losses.mean() - entropy_coef * entropy.mean()
    approx_kl = (ratio - 1 - ratio.log()).mean().detach()  # k3 (KL)
    clip_fraction = ((ratio - 1).abs() > clip).to(ratio.dtype).mean()
    return ClassicPpo(
        deltas, advantages, returns, whitened, ratio, policy_losses, value_losses,
        policy_losses.mean(), value_losses.mean(), entropy.mean(), total, approx_kl, clip_fraction,
    )  # fmt: skip
