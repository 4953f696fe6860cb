"""Check the independent witness itself against the golden numbers."""

from typing import Any, cast

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests import golden
from tests.reference import Result, clipped_surrogate, every_weight, gae, per_token, run
from tests.reference_example import default, with_draws
from tests.reference_models import states
from tests.reference_tokens import RewardSettings


def half_unit(decimals: int) -> float:
    """Return half a unit of the last printed digit, and a rounding error more."""
    return 0.5 * 10.0**-decimals + 1e-12


@pytest.fixture(scope="module")
def result() -> Result:
    """Return the default example, computed once."""
    return run(default())


def test_default_words_and_scores(result: Result) -> None:
    assert result.words == golden.DEFAULT_WORDS
    assert_allclose(result.episodes["score"], golden.DEFAULT_SCORES, rtol=0, atol=half_unit(4))
    assert result.episodes["response.length"].tolist() == [4, 2]
    assert result.margin >= 0.03


@pytest.mark.parametrize("name", golden.DEFAULT_TOKENS)
def test_default_rows(result: Result, name: str) -> None:
    for row, printed in zip(result.tokens[name], golden.DEFAULT_TOKENS[name], strict=True):
        assert_allclose(row, printed, rtol=0, atol=half_unit(golden.DEFAULT_TOKEN_DECIMALS))


@pytest.mark.parametrize(("name", "episode", "word", "printed"), golden.DEFAULT_SQUARES)
def test_default_value_squares(result: Result, name: str, episode: int, word: int, printed: float) -> None:
    assert result.tokens[name][episode][word] == pytest.approx(printed, rel=0, abs=half_unit(4))


@pytest.mark.parametrize("name", golden.DEFAULT_SCALARS)
def test_default_scalars(result: Result, name: str) -> None:
    printed, decimals = golden.DEFAULT_SCALARS[name]
    assert result.scalars[name] == pytest.approx(printed, rel=0, abs=half_unit(decimals))


def test_default_diagnostics_follow_from_the_printed_rows(result: Result) -> None:
    printed = {name: np.concatenate(rows) for name, rows in golden.DEFAULT_TOKENS.items()}
    advantages, returns = printed["advantages"], printed["advantages"] + printed["old_critic.values"]
    d = printed["policy.logprobs"] - printed["old.logprobs"]
    expected = {
        "approx_kl.k1": -d.mean(),
        "approx_kl.k3": (printed["ratio"] - 1 - d).mean(),
        "kl.per_word": printed["kl.k1"].mean(),
        "kl.per_response": printed["kl.k1"].sum() / 2,
        "non_score_reward": -0.1 * printed["kl.k1"].sum() / 2,
        "score.mean": np.mean(golden.DEFAULT_SCORES),
        "advantage.mean": advantages.mean(),
        "advantage.variance": advantages.var(ddof=1),
        "advantage.mean_abs": np.abs(advantages).mean(),
        "explained_variance": 1 - advantages.var() / returns.var(),
        "response.longest": 4,
        "response.mean_length": 3,
    }
    for name, number in expected.items():
        assert result.scalars[name] == pytest.approx(number, rel=0, abs=2e-4), name


def test_default_policy_does_not_saturate(result: Result) -> None:
    texts = [[1, 2, 3, 4, *response] for response in result.words]
    largest = max(np.abs(states(every_weight(default()), "old", text)).max() for text in texts)
    printed, decimals = golden.DEFAULT_LARGEST_POLICY_STATE
    assert largest == pytest.approx(printed, rel=0, abs=half_unit(decimals))


def test_default_shows_every_region_of_the_clip(result: Result) -> None:
    advantages, ratios = (np.concatenate(result.tokens[name]) for name in ("advantages_used", "ratio"))
    sides = np.where(ratios > 1.2, "above", np.where(ratios < 0.8, "below", "inside"))
    found = set(zip(np.sign(advantages), sides.tolist(), strict=True))
    assert found == {(1, "above"), (-1, "below"), (1, "below"), (-1, "above"), (1, "inside")}


def test_step_0_total_follows_from_the_printed_advantages() -> None:
    still, printed = run(default(update_step=0.0)), np.concatenate(golden.DEFAULT_TOKENS["advantages"])
    assert still.scalars["total_loss"] == pytest.approx(golden.STEP_0_TOTAL, rel=0, abs=half_unit(6))
    assert still.scalars["policy_loss"] == pytest.approx(0.0, abs=1e-12)
    assert still.scalars["value_loss"] == pytest.approx((printed**2).mean() / 2, rel=0, abs=half_unit(4))


def test_the_total_with_only_the_policy_held_still() -> None:
    numbers = default()
    still = {name: np.zeros_like(w) for name, w in numbers["weights"].items() if name.startswith("policy.delta_")}
    found = run({**numbers, "weights": {**numbers["weights"], **still}})
    assert found.scalars["total_loss"] == pytest.approx(golden.POLICY_STILL_TOTAL, rel=0, abs=half_unit(6))


@pytest.mark.parametrize("variant", [golden.CUT, golden.ONE_WORD], ids=["cut", "one token"])
def test_other_draws(variant: dict[str, Any]) -> None:
    other = run(with_draws(variant))
    assert other.words[variant["episode"]] == variant["words"]
    assert other.scalars["total_loss"] == pytest.approx(variant["total_loss"], rel=0, abs=half_unit(6))


@pytest.mark.parametrize("name", ["kl.used", "rewards", "td_errors", "advantages"])
def test_s1_table(name: str) -> None:
    old, ref, values = (np.array(golden.S1[row]) for row in ("logprobs_old", "logprobs_ref", "values"))
    found = per_token(old, ref, values, golden.S1["score"], cast(RewardSettings, golden.S1["ppo"]))
    assert_allclose(found[name], golden.S1[name], rtol=0, atol=1e-12)
    assert_allclose(found["returns"], found["advantages"] + values, rtol=0, atol=0)


@pytest.mark.parametrize(("advantage", "ratio", "unclipped", "clipped", "loss"), golden.S1_CLIP)
def test_s1_clip_table(advantage: float, ratio: float, unclipped: float, clipped: float, loss: float) -> None:
    found = clipped_surrogate(advantage, ratio, golden.S1_CLIP_RANGE)
    assert found["unclipped"] == pytest.approx(unclipped, abs=1e-12)
    assert found["clipped"] == pytest.approx(clipped, abs=1e-12)
    assert -found["smaller"] == pytest.approx(loss, abs=1e-12)


def test_s2_recursion_corrects_the_figure() -> None:
    found = gae(np.array(golden.S2["td_errors"]), golden.S2["gamma"], golden.S2["gae_lambda"])
    assert_allclose(found, golden.S2["advantages"], rtol=0, atol=half_unit(4))
    assert np.abs(found - golden.S2["advantages_printed"]).min() > 0.1
