"""REINFORCE's page: what draws estimate is what enumeration gives."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch", reason="the page is torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.papers.reinforce import baselines, drawn, exact, reinforce, reused, scores, variance


def policy(seed: int) -> tuple[Tensor, Tensor]:
    """Returns the logits and the rewards of four tokens."""
    draw = torch.Generator().manual_seed(seed)
    z, r = torch.randn(2, 4, generator=draw, dtype=torch.float64)
    return z, r


@pytest.mark.parametrize("seed", range(20))
def test_one_draws_estimate_has_the_gradient_as_its_mean_whatever_the_baseline(seed: int) -> None:
    z, r = policy(seed)
    tokens = torch.arange(4)
    for baseline in (0.0, 3.0, float(exact(z, r).best_baseline)):
        each = reinforce(z, tokens, r, torch.full_like(r, baseline)).each
        torch.testing.assert_close(z.softmax(0) @ each, exact(z, r).gradient)
        distance = ((each - exact(z, r).gradient) ** 2).sum(1)
        torch.testing.assert_close(z.softmax(0) @ distance, variance(z, r - baseline))


@pytest.mark.parametrize("seed", range(20))
def test_scores_are_autograds_and_the_best_baseline_is_the_lowest_point(seed: int) -> None:
    z, r = policy(seed)
    torch.testing.assert_close(torch.func.jacrev(lambda each: each.log_softmax(0))(z), scores(z))
    best = exact(z, r).best_baseline.clone().requires_grad_()
    (slope,) = torch.autograd.grad(variance(z, r - best), best)
    assert abs(float(slope)) < 1e-13


@pytest.mark.parametrize("seed", range(20))
def test_the_ratio_makes_old_draws_say_what_fresh_ones_would(seed: int) -> None:
    (z, r), (far, _) = policy(seed), policy(seed + 100)
    torch.testing.assert_close(reused(far, z, r), exact(far, r).gradient)


def test_many_draws_come_near_the_gradient() -> None:
    z, r = policy(1)
    u = (torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000
    tokens = drawn(z, u)
    torch.testing.assert_close(tokens.bincount(minlength=4) / 10_000, z.softmax(0).float(), atol=1e-4, rtol=0)
    found = reinforce(z, tokens, r[tokens], baselines(r[tokens], "leave_one_out"))
    torch.testing.assert_close(found.mean, exact(z, r).gradient, atol=1e-3, rtol=0)
    torch.testing.assert_close(found.running[-1], found.mean)


def test_numbers_at_the_edge() -> None:
    z, r = policy(1)
    sure = torch.tensor([0.0, -1e5, -1e5, -1e5], dtype=torch.float64)
    assert torch.equal(exact(sure, r).gradient, torch.zeros_like(r))
    assert float(exact(sure, r).best_baseline) == float(r[0])  # nothing moves: the mean stands in
    assert drawn(sure, torch.tensor([0.0, 0.999], dtype=torch.float64)).tolist() == [0, 0]
    # Equal rewards and their own mean: no estimate is left.
    one = torch.ones(3, dtype=torch.float64)
    assert not reinforce(z, torch.tensor([0, 1, 2]), one, baselines(one, "batch")).each.any()
    # One draw has no others: 0/0.
    assert math.isnan(float(baselines(one[:1], "leave_one_out")[0]))
