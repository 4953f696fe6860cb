"""Check the independent witness against identities that hold for every rollout."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.reference import every_weight, run
from tests.reference_example import default
from tests.reference_models import distributions, respond
from tests.reference_tokens import kl_estimates


def test_step_0_leaves_policy_and_critic_alone() -> None:
    still = run(default(update_step=0.0))
    assert_array_equal(np.concatenate(still.tokens["ratio"]), 1.0)
    for new, old in zip(still.tokens["critic.values"], still.tokens["old_critic.values"], strict=True):
        assert_array_equal(new, old)


def test_lambda_1_gives_the_reward_to_go_and_lambda_0_the_td_error() -> None:
    far, near = run(default(gamma=1.0, gae_lambda=1.0)), run(default(gae_lambda=0.0))
    for returns, rewards in zip(far.tokens["returns"], far.tokens["rewards"], strict=True):
        assert_allclose(returns, rewards[::-1].cumsum()[::-1], rtol=0, atol=1e-12)
    for advantages, td_errors in zip(near.tokens["advantages"], near.tokens["td_errors"], strict=True):
        assert_array_equal(advantages, td_errors)


def test_exact_kl_is_the_mean_of_its_estimates() -> None:
    result, weights = run(default()), every_weight(default())
    old, ref, new = (distributions(weights, m, [1, 2, 3, 4], [7, 0]) for m in ("old", "reference", "policy"))
    for other, name in [(ref, "kl.exact"), (new, "policy_kl.exact")]:
        estimates = kl_estimates(old, other)
        for estimator in ("k1", "k3"):
            mean = (np.exp(old) * estimates[estimator]).sum(axis=1)
            assert_allclose(result.tokens[name][1], mean, rtol=0, atol=1e-14)


def test_kl_estimates_of_a_word_twice_as_likely() -> None:
    found = kl_estimates(np.log([0.5]), np.log([0.25]))
    expected = {"k1": np.log(2), "k2": np.log(2) ** 2 / 2, "k3": np.log(2) - 0.5}
    assert {name: kl.item() for name, kl in found.items()} == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
def test_the_selected_estimator_is_used_everywhere(estimator: str) -> None:
    chosen = run(default(kl_estimator=estimator, whiten_advantages="off"))
    for name, expected in [("kl.used", f"kl.{estimator}"), ("advantages_used", "advantages")]:
        assert_array_equal(np.concatenate(chosen.tokens[name]), np.concatenate(chosen.tokens[expected]))
    penalty = -0.1 * chosen.scalars["kl.per_response"]
    assert chosen.scalars["non_score_reward"] == pytest.approx(penalty, abs=1e-15)


def test_policy_kl_enters_the_total_with_its_coefficient() -> None:
    without, within = run(default()).scalars, run(default(policy_kl_coef=0.5)).scalars
    assert without["policy_kl"] > 0.01
    assert within["total_loss"] - without["total_loss"] == pytest.approx(0.5 * without["policy_kl"], abs=1e-15)


def test_a_draw_on_a_boundary_takes_the_word_after_it() -> None:
    weights, prompt = every_weight(default()), [1, 2, 3, 4]
    boundaries = np.exp(distributions(weights, "old", prompt, [0])[0]).cumsum()
    for word in range(7):
        assert respond(weights, prompt, [boundaries[word]]) == ([word + 1], 0.0)


def test_prompts_may_differ_in_length() -> None:
    numbers = default()
    alone = run({**numbers, "prompts": [[1, 2]], "draws": [numbers["draws"][0]]})
    both = run({**numbers, "prompts": [[1, 2], [1, 2, 3, 4, 5]]})
    for name in ("old.logprobs", "rewards", "advantages", "critic.values"):
        assert_array_equal(both.tokens[name][0], alone.tokens[name][0])


@pytest.mark.parametrize("file", sorted(Path(__file__).parent.glob("reference*.py")), ids=lambda file: file.stem)
def test_the_witness_imports_nothing_it_is_to_judge(file: Path) -> None:
    assert "blueprint" not in file.read_text(encoding="utf-8")
