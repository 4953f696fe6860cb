"""The page of the advantage: GAE as a sum is the recursion, its ends, and bias and spread by λ over 4,000 traces."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the page is torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.papers.advantage import first_exactly, first_measured, gae, gradients, returns, td_errors

GAMMA = 0.99
FACTS = {0.0: (0.38, 0.51), 0.5: (0.69, 0.58), 0.95: (4.25, 1.43), 1.0: (6.53, 2.03)}
"""By λ mean and spread of A_1 over 4,000 reward traces with the values of seed 42, as they were measured elsewhere."""


def values() -> Tensor:
    """Draws the twenty-one values of the trace by numpy's legacy generator, seed 42, after its twenty rewards."""
    draws = np.random.RandomState(42)
    draws.randn(20)
    found = 5 + np.cumsum(draws.randn(20) * 0.3)
    return torch.from_numpy(np.append(found, found[-1] + 0.1))


@pytest.mark.parametrize("lam", FACTS)
def test_bias_and_spread_of_the_first_advantage_over_4000_traces(lam: float) -> None:
    mean, sd = first_exactly(values(), GAMMA, lam, 0.5, 0.5)
    rewards = torch.from_numpy(np.random.RandomState(1).randn(4000, 20) * 0.5 + 0.5)
    measured = first_measured(values(), GAMMA, lam, rewards)
    # One standard deviation: sd/√4,000 of a mean, sd/√8,000 of a spread.
    assert abs(float(measured[0] - mean)) < 3 * float(sd) / 63
    assert abs(float(measured[1] - sd)) < 3 * float(sd) / 89
    assert (float(mean), float(sd)) == pytest.approx(FACTS[lam], abs=3 * float(sd) / 63)


def test_the_sum_is_the_recursion_and_its_ends_are_delta_and_return_less_value() -> None:
    draw = torch.Generator().manual_seed(0)
    r, V = (torch.randn(7, many, generator=draw, dtype=torch.float64) for many in (12, 13))
    V[:, -1] = 0
    later, found = torch.zeros(7, dtype=torch.float64), list[Tensor]()
    for t in reversed(range(12)):
        later = r[:, t] + 0.9 * V[:, t + 1] - V[:, t] + 0.9 * 0.7 * later
        found.insert(0, later)
    torch.testing.assert_close(gae(r, V, 0.9, 0.7), torch.stack(found, 1), rtol=0, atol=1e-12)
    torch.testing.assert_close(gae(r, V, 0.9, 0.0), td_errors(r, V, 0.9), rtol=0, atol=0)
    torch.testing.assert_close(gae(r, V, 0.9, 1.0), returns(r, 0.9) - V[:, :-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("theta", [-2.0, 0.0, 1.3])
def test_the_gradient_of_a_trace_is_action_less_probability_times_weight(theta: float) -> None:
    draw = torch.Generator().manual_seed(2)
    actions = torch.randint(0, 2, (6, 4), generator=draw).double()
    by = torch.randn(3, 6, 4, generator=draw, dtype=torch.float64)
    expected = ((actions - torch.sigmoid(torch.tensor(theta, dtype=torch.float64))) * by).sum(-1)
    torch.testing.assert_close(gradients(theta, actions, by), expected, rtol=0, atol=1e-12)
