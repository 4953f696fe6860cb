"""What is left out is drawn: reproducibly, part by part, with few digits."""

from pathlib import Path

import numpy as np
import pytest

from blueprint.inputs import load
from blueprint.workbooks.rlhf_ppo import draw
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from blueprint.workbooks.rlhf_ppo.draw import LIMITS, Sizes

GOLDEN_PROMPTS = (("the", "happy", "very", "happy"), ("very", "sleepy", "happy", "sleepy"))
GOLDEN_DRAWS = [0.72, 0.95, 0.08, 0.64, 0.76, 0.61, 0.75, 0.89]
GOLDEN_E = [1.1, 1.2, 0.1]


def drawn(tmp_path: Path, text: str = "", *overrides: str) -> WeightNumbers:
    path = tmp_path / "drawn.toml"
    path.write_text(f'level = "weights"\n{text}', encoding="utf-8")
    numbers = load(path, overrides)
    assert isinstance(numbers, WeightNumbers)
    return numbers


def differing(left: WeightNumbers, right: WeightNumbers) -> list[str]:
    return [name for name in left.weights if not np.array_equal(left.weights[name], right.weights[name])]


def test_a_seed_gives_the_same_numbers_again(tmp_path: Path) -> None:
    first, again, other = drawn(tmp_path), drawn(tmp_path), drawn(tmp_path, "", "seed=2")
    assert not differing(first, again)
    assert first.prompts == again.prompts
    np.testing.assert_array_equal(first.draws, again.draws)
    assert "old.E" in differing(first, other)
    assert np.any(first.draws != other.draws)


def test_these_numbers_stay_from_version_to_version(tmp_path: Path) -> None:
    numbers = drawn(tmp_path)
    assert numbers.prompts == GOLDEN_PROMPTS
    np.testing.assert_array_equal(numbers.draws[0], GOLDEN_DRAWS)
    np.testing.assert_array_equal(numbers.weights["old.E"][0], GOLDEN_E)


def test_giving_one_part_leaves_the_others_alone(tmp_path: Path) -> None:
    given = drawn(tmp_path, "[reward_model]\nw = [1, 1, 1, 1]")
    assert differing(drawn(tmp_path), given) == ["reward_model.w"]


def test_reference_and_updates_follow_the_old_models(tmp_path: Path) -> None:
    weights = drawn(tmp_path).weights
    for letter in "EWY":
        # Near the old policy, but not it: otherwise a drawn workbook would have no KL to show.
        moved = np.abs(weights[f"reference.{letter}"] - weights[f"old.{letter}"])
        assert 0 < moved.max() < 1
        assert np.any(weights[f"policy.delta_{letter}"])
    given = drawn(tmp_path, f"[old_critic]\nw = [1, 1, 1, 1]\n[old]\nE = {np.ones((8, 3)).tolist()}").weights
    np.testing.assert_array_equal(given["reference.E"], given["old.E"])
    assert not np.any(given["critic.delta_w"])
    assert not np.any(given["policy.delta_E"])
    assert np.any(given["policy.delta_W"])


def test_drawn_digits_are_few(tmp_path: Path) -> None:
    numbers = drawn(tmp_path, "[sizes]\nhidden = 32\nembedding = 31\nvocabulary = 64\nepisodes = 64")
    for name, values in numbers.weights.items():
        np.testing.assert_array_equal(values, values.round(2), err_msg=name)
    np.testing.assert_array_equal(numbers.weights["old.E"], numbers.weights["old.E"].round(1))
    np.testing.assert_array_equal(numbers.draws, numbers.draws.round(2))
    assert numbers.draws.min() >= 0.03
    assert numbers.draws.max() <= 0.97


def test_zero_has_no_sign(tmp_path: Path) -> None:
    for values in drawn(tmp_path, "[sizes]\nhidden = 32").weights.values():
        assert not np.any(np.signbit(values) & (values == 0))


@pytest.mark.parametrize("hidden", [1, 4, 32])
def test_recurrent_rows_stay_below_the_chaotic_gain(hidden: int) -> None:
    sizes = Sizes(hidden=hidden)
    rows = [draw.weights(seed, "old.W", sizes)[sizes.embedding : -1] for seed in range(400)]
    assert np.std(rows) < 0.5 / np.sqrt(hidden)


def test_every_size_of_vocabulary_can_be_drawn() -> None:
    low, high = LIMITS["vocabulary"]
    for size in range(low, high + 1):
        words = draw.vocabulary(size)
        assert len({word.casefold() for word in words}) == size
        assert words[0] == "<eos>"


def test_a_drawn_prompt_never_holds_the_end_word(tmp_path: Path) -> None:
    numbers = drawn(tmp_path, "[sizes]\nvocabulary = 2\nprompt = 50\nepisodes = 20")
    assert {word for prompt in numbers.prompts for word in prompt} == {"the"}


@pytest.mark.parametrize("size", LIMITS)
@pytest.mark.parametrize("end", [0, 1])
def test_every_size_may_stand_at_its_limits(tmp_path: Path, size: str, end: int) -> None:
    others = {"prompt": "max_new_tokens", "max_new_tokens": "prompt"}
    keep = [f"sizes.{others[size]}=1"] if size in others else []
    numbers = drawn(tmp_path, "", f"sizes.{size}={LIMITS[size][end]}", *keep)
    assert numbers.draws.shape[1] == len(numbers.prompts[0]) + numbers.max_new_tokens
