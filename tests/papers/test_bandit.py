"""The page of the bandit: the U of regret over τ, and ε-greedy beside it; policies at the ends of τ and ε."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the page is torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.papers.bandit import Rules, looks_best, play, policy, regrets

BANDITS, ARMS, PULLS = 200, 10, 500


def regret_of_a_pull(rules: Rules) -> Tensor:
    """Plays many bandits side by side, and returns the regret of a pull of each, [B]; every rule gets the same draws."""
    draw = torch.Generator().manual_seed(0)
    means = torch.randn(BANDITS, ARMS, generator=draw, dtype=torch.float64)
    q, n, lost = torch.zeros_like(means), torch.zeros_like(means), torch.zeros(BANDITS, dtype=torch.float64)
    each = torch.arange(BANDITS)
    for _ in range(PULLS):
        u = torch.rand(BANDITS, 1, generator=draw, dtype=torch.float64)
        z = torch.randn(BANDITS, generator=draw, dtype=torch.float64)
        p = policy(q, rules)
        arm = (p.cumsum(-1)[:, :-1] <= u).sum(-1)
        n[each, arm] += 1
        q[each, arm] += (means[each, arm] + z - q[each, arm]) / n[each, arm]
        lost += means.amax(-1) - means[each, arm]
    return lost / PULLS


def test_the_regret_over_tau_is_a_u_and_epsilon_greedy_is_far_below_both_its_arms() -> None:
    by = {tau: regret_of_a_pull(Rules(tau=tau)).mean() for tau in (0.01, 0.2, 1.0, 10.0)}
    greedy = regret_of_a_pull(Rules(epsilon=0.1)).mean()
    # The standard error of a mean of 200 bandits is 0.03 at τ = 0.01, and less elsewhere.
    assert by[0.2] + 0.1 < by[0.01]
    assert by[0.2] + 0.1 < by[1.0] < by[10.0] - 0.3
    assert by[0.2] < greedy < min(by[0.01], by[1.0]) - 0.1
    uniform = regret_of_a_pull(Rules(epsilon=1.0)).mean()
    assert abs(by[10.0] - uniform) < 0.15


def test_policies_at_the_ends() -> None:
    q = torch.tensor([1.0, 3.0, 3.0, -2.0], dtype=torch.float64)
    assert policy(q, Rules(epsilon=0)).tolist() == [0, 1, 0, 0], "of two that tie the first one"
    assert policy(q, Rules(epsilon=1)).tolist() == [0.25] * 4
    assert policy(q, Rules(tau=1e-3)).tolist() == [0, 0.5, 0.5, 0], "a soft-max shares a tie"
    torch.testing.assert_close(policy(q, Rules(tau=1e6)), torch.full_like(q, 0.25), rtol=0, atol=1e-5)
    assert int(looks_best(torch.tensor([1.0, 1.0 + 1e-9]), tie=1e-6)) == 0


def test_one_arm_has_no_regret_and_its_estimate_is_the_mean() -> None:
    draw = torch.Generator().manual_seed(1)
    u, z = torch.rand(30, generator=draw, dtype=torch.float64), torch.randn(30, generator=draw, dtype=torch.float64)
    done = play(torch.tensor([2.0], dtype=torch.float64), u, z, Rules())
    lost, awaited = regrets(torch.tensor([2.0], dtype=torch.float64), done.policies, done.arms)
    assert float(lost.abs().max() + awaited.abs().max()) == 0
    torch.testing.assert_close(done.after[:, 0], done.rewards.cumsum(0) / torch.arange(1, 31), rtol=0, atol=1e-12)
