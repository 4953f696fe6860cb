"""Classic PPO as CleanRL, Stable-Baselines3, TorchRL and rlax compute it: the page `papers/classic_ppo.py` with options.

Without any it is CleanRL's (ppo.py), which is the plain page. Tensors are [N, T]: environments, steps.
"""

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor
from torch.nn.functional import mse_loss, smooth_l1_loss

from blueprint.papers.classic_ppo import gae
from blueprint.papers.libraries.ppo import Whitening, moments, whiten

STD_PLUS = Whitening(form="std_plus")  # CleanRL, Stable-Baselines3


@dataclass(frozen=True)
class Rollout:
    """What the environments and the old policy and critic gave; values have one column more."""

    rewards: Tensor
    done: Tensor
    terminated: Tensor  # done, and not by a time limit
    logp: Tensor
    values: Tensor


@dataclass(frozen=True)
class Options:
    """The conventions, in the order in which they are used."""

    gamma: float = 0.99
    lam: float = 0.95
    only_terminated: bool = False  # V of the next step is cut off by a termination alone, not by a time limit: TorchRL
    whitening: Whitening | None = STD_PLUS  # TorchRL: std_max and 1e-6, if asked; rlax: none
    clip_low: float = 0.2
    clip_high: float = 0.2  # TorchRL takes a pair
    value_clip: float = 0.2  # off, infinite: Stable-Baselines3, TorchRL
    only_clipped: bool = False  # the clipped error alone, not the larger one: Stable-Baselines3
    smooth: bool = False  # smooth L1 for the square: TorchRL
    value_factor: float = 0.5  # 1: Stable-Baselines3, TorchRL
    value_coef: float = 0.5  # 1: TorchRL
    entropy_coef: float = 0.01  # 0: Stable-Baselines3


@dataclass(frozen=True)
class Found:
    """The losses and every step to them, [N, T] or one number."""

    deltas: Tensor
    advantages: Tensor
    returns: Tensor
    used: Tensor
    log_ratio: Tensor
    ratio: Tensor
    ratio_clipped: Tensor
    policy_losses: Tensor
    values_clipped: Tensor
    value_errors: Tensor  # squared, or by smooth L1
    value_errors_clipped: Tensor
    value_losses: Tensor
    policy_loss: Tensor
    value_loss: Tensor
    entropy: Tensor
    total: Tensor


def classic_ppo(rollout: Rollout, logp: Tensor, values: Tensor, entropy: Tensor, use: Options) -> Found:
    """Returns the loss of the new log-probs, values and entropies, and every step to it."""
    cut = rollout.terminated if use.only_terminated else rollout.done
    deltas, advantages = gae(rollout.rewards, rollout.values, rollout.done, gamma=use.gamma, lam=use.lam, cut=cut)
    old = rollout.values[:, :-1]
    returns, every = advantages + old, torch.ones_like(rollout.done)
    used = advantages
    if use.whitening is not None:
        used = whiten(advantages, *moments(advantages, every, use.whitening), use.whitening)

    log_ratio = logp - rollout.logp
    ratio = log_ratio.exp()
    ratio_clipped = ratio.clamp(max=1 + use.clip_high).clamp(min=1 - use.clip_low) if use.clip_low < inf else ratio
    policy_losses = torch.max(-used * ratio, -used * ratio_clipped)

    distance = smooth_l1_loss if use.smooth else mse_loss
    near = values.clamp(old - use.value_clip, old + use.value_clip)
    errors, errors_clipped = (distance(each, returns, reduction="none") for each in (values, near))
    value_losses = use.value_factor * (errors_clipped if use.only_clipped else torch.max(errors, errors_clipped))
    policy_loss, value_loss, bonus = policy_losses.mean(), value_losses.mean(), entropy.mean()
    total = policy_loss + use.value_coef * value_loss - use.entropy_coef * bonus
    return Found(
        deltas, advantages, returns, used, log_ratio, ratio, ratio_clipped, policy_losses, near, errors, errors_clipped,
        value_losses, policy_loss, value_loss, bonus, total,
    )  # fmt: skip
