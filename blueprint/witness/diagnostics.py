"""What is watched in training: clip fractions, approximate KL, KL to the reference, scores, explained variance.

Tensors are [F, N, T] and masked; means are over the response words of a file unless a name says otherwise.
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.models import Held, Named
from blueprint.witness.signal import masked_mean

MEANS = {
    "weights": (
        "old.logprobs",
        "reference.logprobs",
        "policy.logprobs",
        "reward.penalty",
        "reward.score",
        "rewards",
        "old_critic.values",
        "td_errors",
        "advantages_used",
        "ratio",
        "surrogate.unclipped",
        "surrogate",
    ),
    "tokens": ("kl.used", "reward.penalty", "rewards", "td_errors", "advantages", "returns"),
}
MEANS["live"] = (*(name for name in MEANS["weights"] if name != "reward.score"), "score.placed")
"""Where conventions are live the score lands where they say."""


def response_rows(mask: Tensor) -> Named:
    """Returns lengths [F, N] and their summaries; the counts that something is divided by are at least 1."""
    length = mask.sum(dim=-1)
    wrote = (length > 0).to(mask.dtype)
    count = wrote.sum(dim=-1).clamp(min=1)
    return {
        "response.length": length,
        "response.words": length.sum(dim=-1).clamp(min=1),
        "response.wrote": wrote,
        "response.count": count,
        "response.mean_length": length.sum(dim=-1) / count,
        "response.longest": length.amax(dim=-1),
    }


def update_rows(rows: Held, mask: Tensor, words: Tensor) -> Named:
    """Returns how far the update moved the policy: clip fractions, and approximate KL as means of −d and e^d − 1 − d."""
    of_words = {
        "clip_fraction.loss": "clip_fraction.changed",
        "clip_fraction.ratio": "clip_fraction.outside",
        "approx_kl.k1": "policy_kl.k1",
        "approx_kl.k3": "policy_kl.k3",
        "kl.per_word": "kl.used",
    }
    return {name: masked_mean(rows[row], mask, words) for name, row in of_words.items()}


def per_response_rows(kl: Tensor, score: Tensor, penalty: Tensor, mask: Tensor, count: Tensor) -> Named:
    """Returns sums over each response [F, N] and their means over the responses [F]: KL, score, KL penalty."""
    sums = [(each * mask).sum(dim=-1) for each in (kl, score, penalty)]
    means = [each.sum(dim=-1) / count for each in sums]
    return {
        "kl.response": sums[0],
        "kl.per_response": means[0],
        "score.response": sums[1],
        "score.mean": means[1],
        "non_score.response": sums[2],
        "non_score_reward": means[2],
    }


def explained_rows(returns: Tensor, values: Tensor, mask: Tensor, words: Tensor, floor: Tensor) -> Named:
    """Returns 1 − var(R − V_old)/var(R) with variances over N, 0 where var(R) is at most the floor [F]; and its steps."""
    residual = mask * (returns - values)
    mean, residual_mean = masked_mean(returns, mask, words), masked_mean(residual, mask, words)
    centred, residual_centred = mask * (returns - mean[:, None, None]), mask * (residual - residual_mean[:, None, None])
    variance = masked_mean(centred.square(), mask, words)
    residual_variance = masked_mean(residual_centred.square(), mask, words)
    some = variance > floor
    share = residual_variance / torch.where(some, variance, 1.0)
    return {
        "returns.mean": mean,
        "returns.centred": centred,
        "returns.variance": variance,
        "value.residual": residual,
        "value.residual_mean": residual_mean,
        "value.residual.centred": residual_centred,
        "value.residual.variance": residual_variance,
        "explained_variance": torch.where(some, 1 - share, 0.0),
    }


def mean_rows(rows: Held, level: str, mask: Tensor, words: Tensor) -> Named:
    """Returns the masked means of the rows that a level shows them for, without their end columns."""
    columns = mask.shape[-1]
    return {f"mean.{name}": masked_mean(rows[name][..., :columns], mask, words) for name in MEANS[level]}
