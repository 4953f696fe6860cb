"""REINFORCE: gradients, means and variances against plain loops over all tokens and all batches of draws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from blueprint.inputs import load
from tests.page.workshop import Array, made, row

BASELINES = ("leave_one_out", "batch", "expected", "optimal", "typed")
THREE = (
    'text.vocabulary=["a", "b", "c"]',
    "policy.logits=[0.3, -1, 1]",
    "reward.scores=[4, -2, 1]",
    "policy.direction=[1, 0, -1]",
)
SMALL = (*THREE, "draws.uniform=[0.2, 0.9, 0.5]")
EXACT = 1e-12
BOOK = made(numbers="reinforce")


def soft(z: Array) -> Array:
    e: Array = np.exp(z - z.max())
    return np.asarray(e / e.sum())


def every_batch(baseline: str, p: Array, r: Array, many: int) -> tuple[Array, float]:
    """Goes through every batch of draws there can be; returns mean and variance of its first draw's estimate, by definition."""
    g, J = np.eye(len(p)) - p, p @ r
    squares = (g**2).sum(axis=1)
    best = (p * r) @ squares / (p @ squares)
    likely, found = [], []
    for batch in product(range(len(p)), repeat=many):
        rewards = r[list(batch)]
        b = {
            "leave_one_out": rewards[1:].mean(),
            "batch": rewards.mean(),
            "expected": J,
            "optimal": best,
            "typed": 3.0,
        }
        likely.append(p[list(batch)].prod())
        found.append((rewards[0] - b[baseline]) * g[batch[0]])
    mean = np.array(likely) @ np.array(found)
    return mean, float(np.array(likely) @ ((np.array(found) - mean) ** 2).sum(axis=1))


@pytest.mark.parametrize("baseline", BASELINES)
def test_mean_and_variance_are_those_of_all_batches_that_can_be_drawn(baseline: str) -> None:
    book = made(*SMALL, f"reinforce.baseline={baseline}", numbers="reinforce")
    p, r = soft(np.array([0.3, -1, 1])), np.array([4.0, -2, 1])
    mean, variance = every_batch(baseline, p, r, 3)
    np.testing.assert_allclose(row(book, "gradient.with"), mean, rtol=0, atol=EXACT)
    assert float(row(book, "variance.with")) == pytest.approx(variance, abs=EXACT)
    held = 2 / 3 if baseline == "batch" else 1
    np.testing.assert_allclose(mean, held * row(book, "gradient"), rtol=0, atol=EXACT)
    assert str(book.values.cell(book.blocks["check.master"])) == "OK"


def test_the_gradient_is_the_slope_of_the_expected_reward() -> None:
    z, r, step = np.array([-1, 0.5, 0, 0.5]), np.array([5.0, 4, 3, 1]), 1e-5
    slopes = [(soft(z + step * e) @ r - soft(z - step * e) @ r) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(row(BOOK, "gradient"), slopes, rtol=0, atol=1e-9)  # differences of h² and of rounding


def test_the_least_variance_is_at_the_optimal_baseline() -> None:
    tried = {b: float(row(made(f"reinforce.baseline_value={b}", "reinforce.baseline=typed", numbers="reinforce"), "variance.with"))
             for b in (2.8, 2.95, 2.9572, 2.97, 3.1)}  # fmt: skip
    assert min(tried, key=lambda b: tried[b]) == 2.9572
    assert float(row(BOOK, "baseline.optimal")) == pytest.approx(2.9572, abs=5e-5)
    assert min(tried.values()) >= float(row(BOOK, "least.variance"))


def test_draws_by_a_plain_loop() -> None:
    z, r = np.array([-1, 0.5, 0, 0.5]), np.array([5.0, 4, 3, 1])
    p, without, with_ = soft(z), [], []
    for u in load("reinforce", [])["draws.uniform"]:
        token = int(np.sum(np.cumsum(p)[:-1] <= u))
        g = np.eye(4)[token] - p
        without.append(r[token] * g)
        with_.append((r[token] - p @ r) * g)
    for name, found in {"without": np.array(without), "with": np.array(with_)}.items():
        np.testing.assert_allclose(row(BOOK, f"{name}.estimate"), found, rtol=0, atol=EXACT)
        np.testing.assert_allclose(row(BOOK, f"{name}.running")[6], found[:7].mean(axis=0), rtol=0, atol=EXACT)
        assert float(row(BOOK, f"{name}.variance")) == pytest.approx(found.var(axis=0).sum(), abs=EXACT)


def test_reused_draws_have_the_mean_of_fresh_ones_and_not_their_variance() -> None:
    """Every token enumerated, weighted by the policy that drew, for each policy some steps away."""
    z, r = np.array([-1, 0.5, 0, 0.5]), np.array([5.0, 4, 3, 1])
    p = soft(z)
    for place, steps in enumerate((0, 1, 2, 3, 4)):
        q = soft(z + steps * np.eye(4)[0])
        each = ((q / p) * (r - p @ r))[:, None] * (np.eye(4) - q)
        mean = q * (r - p @ r) - q * (q @ (r - p @ r))
        np.testing.assert_allclose(p @ each, mean, rtol=0, atol=EXACT)
        np.testing.assert_allclose(row(BOOK, "reused.gradient")[place], mean, rtol=0, atol=EXACT)
        assert row(BOOK, "reused.variance")[place] == pytest.approx(p @ ((each - mean) ** 2).sum(axis=1), abs=EXACT)
        assert row(BOOK, "moved.effective")[place] == pytest.approx(1 / (p @ (q / p) ** 2), abs=EXACT)
    times = row(BOOK, "reused.variance") / row(BOOK, "fresh.variance")
    assert times.round(1).tolist() == [1.0, 1.9, 4.0, 5.2, 3.5]


def test_what_start_promises_of_things_to_try() -> None:
    more = made("reward.scores=[15, 14, 13, 11]", numbers="reinforce")
    np.testing.assert_allclose(row(more, "gradient"), row(BOOK, "gradient"), rtol=0, atol=EXACT)
    assert float(row(more, "variance.with")) == pytest.approx(float(row(BOOK, "variance.with")), abs=1e-11)
    assert round(float(row(more, "variance.without")) / float(row(BOOK, "variance.without"))) == 17
    none = made("reinforce.baseline=typed", "reinforce.baseline_value=0", numbers="reinforce")
    np.testing.assert_array_equal(row(none, "with.estimate"), row(none, "without.estimate"))
    far = made("policy.steps=[0, 6]", numbers="reinforce")
    assert row(far, "moved.ratio_largest")[-1] == pytest.approx(12.3, abs=0.05)
    assert row(far, "moved.effective")[-1] == pytest.approx(0.083, abs=5e-4)


def test_equal_rewards_leave_no_gradient_and_with_a_baseline_no_noise() -> None:
    same = made("reward.scores=[2, 2, 2, 2]", numbers="reinforce")
    assert np.abs(row(same, "gradient")).max() < EXACT
    assert float(row(same, "variance.without")) > 1
    assert np.abs(row(same, "with.estimate")).max() < EXACT


def test_a_ratio_too_large_for_a_number_is_said() -> None:
    """The expected reward and the variances do not read it, so the workbook stands, and the row says why it has no number."""
    book = made("policy.logits=[-800, 0, 0, 0]", "policy.steps=[0, 900]", numbers="reinforce")
    why = {block.name: reason for block, reason in book.values.why.items()}
    assert why["moved.ratio"] == "exp(801.0986) is beyond 1.8e308, the largest number that a cell can hold"
    assert np.isfinite(book["expected_reward"].to_numpy()).all()
