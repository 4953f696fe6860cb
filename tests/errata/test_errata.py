"""The measurements of the page Errata: each against an identity or a number that is known otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.errata import grid, styles, traces, trunk


@pytest.mark.parametrize("beta", [0.05, 0.1, 0.5, 1.0])
def test_nothing_beats_the_optimum(beta: float) -> None:
    def objective(policy: styles.Array) -> styles.Array:
        return np.asarray(policy @ styles.REWARDS - beta * styles.kl(policy))

    others = np.random.default_rng(1).dirichlet(np.ones(5), size=2_000)
    best = styles.optimum(beta)
    assert objective(others).max() < objective(best)
    # At the optimum reward less β·log π/π_ref is the same for every style: no logit has a slope.
    worth = styles.REWARDS - beta * np.log(best / styles.REFERENCE)
    np.testing.assert_allclose(worth, worth[0], atol=1e-12)


def test_only_the_corrected_gradient_stands_still_at_the_optimum() -> None:
    beta, best = 0.5, styles.optimum(0.5)
    worth = styles.REWARDS - beta * np.log(best / styles.REFERENCE)
    corrected = sum(p * w * (np.eye(5)[a] - best) for a, (p, w) in enumerate(zip(best, worth, strict=True)))
    printed = best * (styles.REWARDS - beta * styles.kl(best))
    np.testing.assert_allclose(corrected, 0, atol=1e-12)
    assert np.abs(printed).max() > 0.1


def test_the_true_values_of_the_grid() -> None:
    exact = grid.best_values()
    # Six steps from the goal: five of them cost, the last pays 1.
    assert exact[0, 0] == pytest.approx(0.99**5 - 0.01 * sum(0.99**step for step in range(5)), abs=1e-12)
    assert grid.falls(exact) == 0
    assert grid.falls(-exact) == 22


def test_the_cart_and_its_pole() -> None:
    """Pushed right from an angle of 0.05: numbers of gymnasium's CartPole-v1, in float64."""
    state: tuple[float, ...] = (0.0, 0.0, 0.05, 0.0)
    seen = []
    for _ in range(3):
        state, down = trunk.cart_pole(state, push_right=True)
        assert not down
        seen.append(state)
    expected = [
        (0, 0.194371, 0.05, -0.276498),
        (0.003887, 0.388745, 0.04447, -0.553001),
        (0.011662, 0.583215, 0.03341, -0.831348),
    ]
    np.testing.assert_allclose(seen, expected, atol=5e-7)


def test_the_trunk_is_the_notebook_s_and_the_value_loss_takes_the_step() -> None:
    assert sum(weights.numel() for weights in trunk.Shared().parameters()) == 4_675
    value_loss, policy, value, held = trunk.shares(0)
    assert value > 50 * policy
    assert held < 0.05
    assert value_loss > 20


def test_gae_at_its_ends() -> None:
    """At λ = 0 it is the TD error; at λ = 1 the discounted rewards to come, with the last value, less the value."""
    rewards, values = traces.notebook_trace()
    np.testing.assert_allclose(
        traces.gae(rewards, values, 0.0), rewards + traces.GAMMA * values[1:] - values[:-1], atol=1e-12
    )
    to_come = sum(traces.GAMMA**t * reward for t, reward in enumerate(rewards)) + traces.GAMMA**traces.T * values[-1]
    assert traces.gae(rewards, values, 1.0)[0] == pytest.approx(to_come - values[0], abs=1e-12)
