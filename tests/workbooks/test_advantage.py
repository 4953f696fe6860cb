"""The advantage: the golden trace of twenty steps, five gradients by plain loops, exact bias and spread."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from tests.page.workshop import Array, made, row

EXACT = 1e-12
BOOK = made(numbers="advantage")
LAMBDAS = (0.0, 0.5, 0.95, 1.0)
GAMMA, MEAN, SD = 0.99, 0.5, 0.5


def the_notebooks_trace() -> tuple[Array, Array]:
    """Draws twenty rewards and twenty-one values by numpy's legacy generator, seed 42."""
    draws = np.random.RandomState(42)
    rewards = draws.randn(20) * 0.5 + 0.5
    values = 5 + np.cumsum(draws.randn(20) * 0.3)
    return rewards, np.append(values, values[-1] + 0.1)


def faded(rewards: Array, values: Array, lam: float) -> Array:
    """Computes GAE backwards; along the last axis."""
    found = np.zeros(rewards.shape)
    later = np.zeros(rewards.shape[:-1])
    for t in reversed(range(rewards.shape[-1])):
        delta = rewards[..., t] + GAMMA * values[..., t + 1] - values[..., t]
        later = found[..., t] = delta + GAMMA * lam * later
    return found


def traces(count: int, seed: int) -> tuple[Array, Array, Array]:
    """Draws traces of five steps as the head of the numbers file says, rounded: actions, rewards, values with a last 0."""
    draws, steps = np.random.RandomState(seed), 5
    level = draws.normal(2, 1, count)[:, None]
    actions = np.asarray(draws.uniform(size=(count, steps)) < 0.5, float)
    rewards = np.round(0.5 * level + 0.5 * actions + 0.5 * draws.normal(size=(count, steps)), 1)
    left = np.array([sum(GAMMA**k for k in range(steps - t)) for t in range(steps)])
    values = np.round((0.5 * level + 0.25) * left + draws.normal(0, 0.2, (count, steps)), 1)
    return actions, rewards, np.pad(values, ((0, 0), (0, 1)))


def estimates(actions: Array, rewards: Array, values: Array, theta: float = 0.0, lam: float = 0.95) -> Array:
    """Computes the gradient of each trace by each of the five weights, [5, N], by plain loops."""
    G = np.zeros(values.shape)
    for t in reversed(range(rewards.shape[1])):
        G[:, t] = rewards[:, t] + GAMMA * G[:, t + 1]
    G = G[:, :-1]
    weights = (0 * G + G[:, :1], G, G - G.mean(0), G - values[:, :-1], faded(rewards, values, lam))
    return np.stack([((actions - 1 / (1 + exp(-theta))) * each).sum(1) for each in weights])


def test_the_golden_trace_of_twenty_steps() -> None:
    """A_1, A_20 and the variance over time as they were before there was a workbook; typed with four decimals."""
    np.testing.assert_allclose(row(BOOK, "long.first"), [0.627, 1.085, 4.36, 5.27], rtol=0, atol=0.005)
    np.testing.assert_allclose(row(BOOK, "long.end"), -0.141, rtol=0, atol=0.0005)
    np.testing.assert_allclose(row(BOOK, "long.variance"), [0.25, 0.49, 3.27, 4.26], rtol=0, atol=0.005)
    rewards, values = the_notebooks_trace()
    typed = np.append(row(BOOK, "long.value"), row(BOOK, "long.last_value"))
    np.testing.assert_allclose(row(BOOK, "long.reward"), rewards, rtol=0, atol=5.1e-5)
    np.testing.assert_allclose(typed, values, rtol=0, atol=5.1e-5)
    for at, lam in enumerate(LAMBDAS):
        A = faded(row(BOOK, "long.reward"), typed, lam)
        np.testing.assert_allclose(row(BOOK, f"long.line.{at + 1}"), A, rtol=0, atol=EXACT)
        assert row(BOOK, "long.variance")[at] == pytest.approx(A.var(), abs=EXACT)


def test_the_variance_over_time_is_not_that_of_the_estimator() -> None:
    """Over 4,000 reward traces with the same values: the facts' means and spreads, and those that the workbook has exactly."""
    _, values = the_notebooks_trace()
    rewards = np.random.RandomState(0).randn(4000, 20) * SD + MEAN
    for at, lam in enumerate(LAMBDAS):
        A = faded(rewards, np.broadcast_to(values, (4000, 21)), lam)[:, 0]
        mean, sd = row(BOOK, "long.first_mean")[at], row(BOOK, "long.first_sd")[at]
        # A mean of 4,000 is off by sd/63 (one standard deviation), a spread by sd/89; three of these, and what is typed is rounded.
        assert A.mean() == pytest.approx(mean, abs=3 * sd / 63 + 0.001)
        assert A.std() == pytest.approx(sd, abs=3 * sd / 89)
    np.testing.assert_allclose(row(BOOK, "long.first_mean"), [0.38, 0.69, 4.25, 6.53], rtol=0, atol=0.03)
    np.testing.assert_allclose(row(BOOK, "long.first_sd"), [0.51, 0.58, 1.43, 2.03], rtol=0, atol=0.03)
    still = made("advantage.reward_sd=0", numbers="advantage")
    assert row(still, "long.first_sd").max() == 0
    assert row(still, "long.variance").max() == pytest.approx(4.26, abs=0.005)
    assert row(still, "long.first_bias")[3] == pytest.approx(0, abs=EXACT)


def test_the_typed_traces_are_those_of_the_process_that_the_file_names() -> None:
    actions, rewards, values = traces(10, 7)
    for name, drawn in (("trace.action", actions), ("trace.reward", rewards), ("trace.value", values[:, :-1])):
        np.testing.assert_allclose(row(BOOK, name), drawn, rtol=0, atol=EXACT)


@pytest.mark.parametrize(("theta", "lam"), [(0.0, 0.95), (1.5, 0.5), (-3.0, 0.0), (0.0, 1.0)])
def test_five_gradients_of_every_trace_by_plain_loops(theta: float, lam: float) -> None:
    book = made(f"advantage.theta={theta}", f"advantage.gae_lambda={lam}", numbers="advantage")
    expected = estimates(*traces(10, 7), theta, lam)
    np.testing.assert_allclose(row(book, "gradient.each"), expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(row(book, "gradient.mean"), expected.mean(1), rtol=0, atol=1e-11)
    np.testing.assert_allclose(row(book, "gradient.variance"), expected.var(1, ddof=1), rtol=1e-12, atol=0)
    assert float(row(book, "gradient.left")) == pytest.approx(expected[4].var() / expected[0].var(), rel=1e-12)


def test_each_weight_has_less_variance_than_the_one_before_and_ten_traces_are_typical() -> None:
    few, many = row(BOOK, "gradient.variance"), estimates(*traces(40_000, 1)).var(1, ddof=1)
    for variance in (few, many):
        assert (np.diff(variance) < 0).all()
        assert variance[0] / variance[4] > 50


def test_every_weight_finds_the_gradient_of_the_process_over_many_traces() -> None:
    """Σ p(1 − p)·½ over five steps is 0.625; the mean of all traces holds the own one, which hardly counts among 40,000."""
    found = estimates(*traces(40_000, 1))
    error = found.std(1) / 200
    np.testing.assert_array_less(abs(found.mean(1) - 0.625), 3.5 * error)


def test_gae_for_the_row_of_lambda_on_the_traces() -> None:
    actions, rewards, values = traces(10, 7)
    fair = faded(rewards, values, 1.0)[:, 0].mean()
    for at, lam in enumerate(LAMBDAS):
        A = faded(rewards, values, lam)[:, 0]
        found = [row(BOOK, f"sweep.first.{name}")[at] for name in ("mean", "sd", "bias")]
        np.testing.assert_allclose(found, [A.mean(), A.std(ddof=1), A.mean() - fair], rtol=0, atol=1e-11)
        pulls = estimates(actions, rewards, values, lam=lam)[4]
        assert row(BOOK, "sweep.gradient.variance")[at] == pytest.approx(pulls.var(ddof=1), rel=1e-11)


def test_what_start_and_the_notes_say() -> None:
    """A wrong value, an action that is hardly taken, four other λ, and rewards that never vary, over time."""
    values = row(BOOK, "trace.value").copy()
    values[3] += 10
    worse = made(f"traces.values={values.tolist()}", numbers="advantage")
    times = row(worse, "gradient.variance") / row(BOOK, "gradient.variance")
    np.testing.assert_allclose(times, [1, 1, 1, 4, 5], rtol=0, atol=0.5)
    slopes = np.unique(abs(row(made("advantage.theta=2", numbers="advantage"), "trace.slope")).round(9))
    assert slopes[1] / slopes[0] == pytest.approx(7.4, abs=0.05)
    others = made("sweep.lambdas=[0.8, 0.9, 0.97, 0.99]", numbers="advantage")
    np.testing.assert_allclose(row(others, "long.first_bias")[[0, 3]], [-4.9, -0.6], rtol=0, atol=0.05)
    np.testing.assert_allclose(row(others, "long.first_sd")[[0, 3]], [0.8, 1.9], rtol=0, atol=0.05)
    np.testing.assert_allclose(row(BOOK, "long.expected")[:20].var(0)[3], 3.8, rtol=0, atol=0.05)
