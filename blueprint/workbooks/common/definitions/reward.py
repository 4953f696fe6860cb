"""From one score at the end and a price for drifting to a reward for every word."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, block, exp
from blueprint.workbooks.common import sources
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.settings import Switch


class ReferenceKL(NamedTuple):
    """Three estimates of the distance from the reference on the sampled word, and the one that is used; all (n, t)."""

    k1: Block
    k2: Block
    k3: Block
    used: Block


class Reward(NamedTuple):
    """The price of drifting and the reward that is left, (n, t)."""

    penalty: Block
    rewards: Block


def score_of(m: Block, head: Block) -> Block:
    """Takes the reward model's number where the last word was *read* to the column that *wrote* it.

    A response that was cut is scored at its last word, like one that ended.
    """
    score = block("reward.score", (n, t), "score", "reward model's score, on the last word", source=sources.SCORE)
    score[n, t] = m[n, t] * (1 - m[n, t + 1]) * head[n, t + 1]
    return score


def reference_kl(logp_old: Block, logp_ref: Block, estimator: Switch) -> ReferenceKL:
    """Estimates KL(π_old ‖ π_ref) from the log-probs of the sampled word; 0 outside the response, where both are 0."""
    k1 = block("kl.k1", (n, t), "k1", "KL estimate k1: log-ratio, any sign", source=sources.REFERENCE_KL)
    k2 = block("kl.k2", (n, t), "k2", "KL estimate k2: half of k1²", unit="≥ 0", source=sources.REFERENCE_KL)
    k3 = block("kl.k3", (n, t), "k3", "KL estimate k3: never negative", unit="≥ 0", source=sources.REFERENCE_KL)
    used = block("kl.used", (n, t), "KL", "reference KL used (chosen on Inputs)")
    k1[n, t] = logp_old[n, t] - logp_ref[n, t]
    k2[n, t] = k1[n, t] * k1[n, t] / 2
    k3[n, t] = exp(-k1[n, t]) - 1 + k1[n, t]
    used[n, t] = estimator.choose(k1=k1[n, t], k2=k2[n, t], k3=k3[n, t])
    return ReferenceKL(k1, k2, k3, used)


def reward(kl: Block, score: Block, kl_coef: Block) -> Reward:
    """Adds the price of drifting from the reference to the score."""
    penalty = block("reward.penalty", (n, t), "pen", "KL penalty −β·KL, part of the reward")
    rewards = block("rewards", (n, t), "r", "augmented reward: KL penalty + score", source=sources.REWARD)
    penalty[n, t] = -(kl_coef * kl[n, t])
    rewards[n, t] = penalty[n, t] + score[n, t]
    return Reward(penalty, rewards)
