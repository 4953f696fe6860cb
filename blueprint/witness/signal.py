"""From log-probs and scores to what the loss learns from: KL estimates, rewards, advantages, returns.

Tensors have the axes [F, N, T] (file, episode, decision); settings are [F, 1, 1]. Everything is 0 outside the mask,
apart from what was typed there.
"""

from __future__ import annotations

from typing import TypeAlias

import torch
from torch import Tensor

from blueprint.witness.gae import masked_sums
from blueprint.witness.models import Named

Number: TypeAlias = Tensor | float


def masked_mean(values: Tensor, mask: Tensor, words: Tensor) -> Tensor:
    """Returns the mean over the response words of a file, [F]."""
    return (values * mask).sum(dim=(-2, -1)) / words


def kl_rows(logprobs: Tensor, reference: Tensor, estimator: Tensor) -> Named:
    """Returns the estimates of KL(π_old‖π_ref) on the word written, in nats, and the one chosen (0, 1, 2: k1, k2, k3).

    k1 = log π_old − log π_ref, k2 = k1²/2, k3 = e^(−k1) − 1 + k1 (Schulman, Approximating KL Divergence, 2020).
    """
    k1 = logprobs - reference
    k2, k3 = k1.square() / 2, torch.exp(-k1) - 1 + k1
    used = torch.where(estimator == 0, k1, torch.where(estimator == 1, k2, k3))
    return {"kl.k1": k1, "kl.k2": k2, "kl.k3": k3, "kl.used": used}


def score_rows(out: Tensor, mask: Tensor) -> Named:
    """Returns the reward model's score in the column that wrote the last word, [F, N, T].

    `out` [F, N, T] is the model's number after the word that a column reads, so the score stands one column further on;
    behind the last column it is 0, and so is the mask.
    """
    nothing = torch.zeros_like(out[..., :1])
    following = torch.cat([mask[..., 1:], nothing], dim=-1)
    after = torch.cat([out, nothing], dim=-1)
    return {"reward_model.out": after, "reward.score": mask * (1 - following) * after[..., 1:]}


def reward_rows(kl: Tensor, score: Tensor, kl_coef: Number) -> Named:
    """Returns penalty and reward, r_t = −kl_coef·kl_t + score_t (Ziegler et al. 2019, eq. 2, token by token)."""
    penalty = -kl_coef * kl
    return {"reward.penalty": penalty, "rewards": penalty + score}


def td_errors(rewards: Tensor, values: Tensor, gamma: Number, mask: Tensor) -> Tensor:
    """Returns δ_t = r_t + γ·V_{t+1} − V_t inside the mask; `values` [F, N, T + 1] has V_{T+1} as its last column."""
    return mask * (rewards + gamma * values[..., 1:] - values[..., :-1])


def with_end(values: Tensor) -> Tensor:
    """Returns the tensor with a column of zeros behind the last decision."""
    return torch.cat([values, torch.zeros_like(values[..., :1])], dim=-1)


def gae_rows(rewards: Tensor, values: Tensor, mask: Tensor, gamma: Number, gae_lambda: Number) -> Named:
    """Returns TD errors, advantages and returns (Schulman et al. 2016, Generalized Advantage Estimation, eq. 16).

    A_t = δ_t + γλ·A_{t+1} inside the mask; the return, the target of the value, is A_t + V_t.
    """
    deltas = td_errors(rewards, values, gamma, mask)
    advantages = masked_sums(deltas, gamma * gae_lambda, mask)
    return {
        "td_errors": deltas,
        "advantages": with_end(advantages),
        "returns": advantages + values[..., :-1],
    }


def whitened_rows(advantages: Tensor, mask: Tensor, words: Tensor, eps: Number, off: Tensor) -> Named:
    """Returns mean, variance with N − 1 and (A − μ)/√(σ² + ε) over the response words of the file, and the one used.

    `off` [F, 1, 1] is 1 where the loss uses the advantages as they are.
    """
    mean = masked_mean(advantages, mask, words)
    centred = mask * (advantages - mean[:, None, None])
    variance = centred.square().sum(dim=(-2, -1)) / (words - 1).clamp(min=1)
    whitened = centred / torch.sqrt(variance[:, None, None] + eps)
    return {
        "advantage.mean": mean,
        "advantage.centred": centred,
        "advantage.variance": variance,
        "advantage.whitened": whitened,
        "advantages_used": torch.where(off > 0, advantages, whitened),
    }


def exact_kl(p: Tensor, p_log_p: Tensor, log_q: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Returns Σ_v p·log q and KL(p‖q) = Σ_v p·log p − Σ_v p·log q, the second inside the mask; both [F, N, T], nats."""
    cross = (p * log_q).sum(dim=-1)
    return cross, mask * (p_log_p - cross)
