"""A bandit on one page of plain torch: pull an arm, see what it pays, think of it anew.

Sutton & Barto 1998, Reinforcement Learning, sec. 2.2 (ε-greedy), 2.3 (soft-max), eq. 2.4 (the update). K arms pay `means` and
noise; T pulls follow each other, each by a uniform draw for the arm and a normal one for what it pays. The regret is by means.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rules:
    """How arms are chosen and estimates move. tau: the temperature of a soft-max, or None: ε-greedy. alpha: None is 1/n."""

    epsilon: float = 0.1
    tau: float | None = None
    alpha: float | None = None
    start: float = 0.0
    noise: float = 1.0
    tie: float = 0.0


@dataclass(frozen=True)
class Pulls:
    """What happened, pull by pull: [T] each, but policies, estimates before and after it, and pulls of every arm so far: [T, K]."""

    arms: Tensor
    rewards: Tensor
    greedy: Tensor
    policies: Tensor
    before: Tensor
    after: Tensor
    counts: Tensor


def looks_best(estimates: Tensor, tie: float) -> Tensor:
    """Returns the first arm whose estimate is no more than `tie` below the largest, from 0."""
    return (estimates.amax(-1, keepdim=True) - estimates <= tie).to(torch.uint8).argmax(-1)


def policy(estimates: Tensor, rules: Rules) -> Tensor:
    """Returns the probability of each arm, [..., K]: exploring draws among all of them, or a soft-max of estimates over τ."""
    if rules.tau is not None:
        return (estimates / rules.tau).softmax(-1)
    p = torch.full_like(estimates, rules.epsilon / estimates.shape[-1])
    return p.scatter_add(
        -1, looks_best(estimates, rules.tie)[..., None], torch.full_like(p[..., :1], 1 - rules.epsilon)
    )


def play(means: Tensor, uniform: Tensor, normal: Tensor, rules: Rules) -> Pulls:
    """Pulls T times. means: [K]; uniform, normal: the draws, [T]."""
    q, n = torch.full_like(means, rules.start), torch.zeros_like(means)
    found: list[tuple[Tensor, ...]] = []
    for u, z in zip(uniform, normal, strict=True):
        p = policy(q, rules)
        arm = (p.cumsum(0)[:-1] <= u).sum()  # the border of two arms belongs to the second
        reward = means[arm] + rules.noise * z
        n = n + torch.nn.functional.one_hot(arm, len(n))
        step = 1 / n[arm] if rules.alpha is None else torch.full_like(n[arm], rules.alpha)
        after = q.clone()
        after[arm] = torch.lerp(q[arm], reward, step)
        found.append((arm, reward, looks_best(q, rules.tie), p, q, after, n))
        q = after
    return Pulls(*(torch.stack(each) for each in zip(*found, strict=True)))


def regrets(means: Tensor, policies: Tensor, arms: Tensor) -> tuple[Tensor, Tensor]:
    """Returns what each pull loses against the best arm by the means: as drawn, and on average, [T]."""
    return means.max() - means[arms], means.max() - policies @ means
