"""Overrides win over a built-in set, and are held to the sizes of a user's own file."""

from pathlib import Path

import numpy as np
import pytest

from blueprint.inputs import load
from blueprint.inputs.errors import NumbersError
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers

SMALL = """
level = "weights"
[text]
vocabulary = ["end", "a", "b"]
prompts = ["a b", ["a"]]
[rollout]
draws = [[0.11, 0.12], [0.21, 0.22]]
[old]
E = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]
"""


def weighted(*overrides: str, source: str | Path = "default") -> WeightNumbers:
    numbers = load(source, overrides)
    assert isinstance(numbers, WeightNumbers)
    return numbers


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_right_side_is_toml_or_else_a_bare_string() -> None:
    numbers = weighted("ppo.kl_coef=0.2", " ppo.kl_estimator = k2", 'title="x = y"', "ppo.whiten_advantages=off")
    assert numbers.ppo == {"kl_coef": 0.2, "kl_estimator": "k2", "whiten_advantages": "off"}
    assert numbers.title == "x = y"


def test_a_mapping_a_list_and_one_string_mean_the_same() -> None:
    assert load("default", {"ppo.gamma": "1"}).ppo == load("default", ["ppo.gamma=1"]).ppo == {"gamma": 1.0}
    assert load("default", "ppo.gamma=1").ppo == {"gamma": 1.0}


def test_a_later_override_wins() -> None:
    assert weighted("ppo.gamma=0.5", "ppo.gamma=0.6").ppo == {"gamma": 0.6}


def test_a_list_may_go_over_several_lines() -> None:
    given = weighted("old_critic.w=[1, 2,\n 3, 4]").weights["old_critic.w"]
    np.testing.assert_array_equal(given, [1, 2, 3, 4])


def test_loading_twice_leaves_the_built_in_set_alone() -> None:
    weighted("ppo.gamma=0.5", "sizes.hidden=6")
    assert weighted().ppo == {}


def test_more_hidden_units_keep_what_still_fits() -> None:
    default, wide = weighted(), weighted("sizes.hidden=6")
    assert wide.vocabulary == default.vocabulary
    assert wide.prompts == default.prompts
    np.testing.assert_array_equal(wide.draws, default.draws)
    np.testing.assert_array_equal(wide.weights["old.E"], default.weights["old.E"])
    assert wide.weights["old.W"].shape == (10, 6)
    assert wide.weights["policy.delta_Y"].shape == (6, 8)
    assert np.any(wide.weights["policy.delta_Y"])
    assert not np.any(wide.weights["policy.delta_E"])


def test_a_dropped_reference_stays_different_from_the_old_policy() -> None:
    wide = weighted("sizes.hidden=6").weights
    assert np.any(wide["reference.Y"] != wide["old.Y"])
    np.testing.assert_array_equal(wide["reference.E"], wide["old.E"])


def test_what_was_drawn_anew_is_told() -> None:
    assert weighted().drawn_anew == ()
    assert "old.W" in weighted("sizes.hidden=6").drawn_anew
    assert "old.E" not in weighted("sizes.hidden=6").drawn_anew


def test_a_larger_vocabulary_keeps_the_prompts_and_a_tiny_one_does_not() -> None:
    assert weighted("sizes.vocabulary=64").prompts == weighted().prompts
    assert len(set(weighted("sizes.vocabulary=64").vocabulary)) == 64
    tiny = weighted("sizes.vocabulary=3")
    assert tiny.vocabulary == ("<eos>", "the", "old")
    assert {word for prompt in tiny.prompts for word in prompt} <= {"the", "old"}


def test_longer_prompts_move_the_given_draws() -> None:
    numbers = weighted("sizes.prompt=6")
    assert [len(prompt) for prompt in numbers.prompts] == [6, 6]
    assert numbers.draws.shape == (2, 10)
    np.testing.assert_array_equal(numbers.draws[0, 5:9], [0.64, 0.75, 0.90, 0.11])


def test_more_new_words_and_more_episodes_draw_anew() -> None:
    assert weighted("sizes.max_new_tokens=6").draws.shape == (2, 10)
    many = weighted("sizes.episodes=5")
    assert (len(many.prompts), many.draws.shape) == (5, (5, 8))


def test_overridden_parts_settle_the_sizes_of_a_built_in_set() -> None:
    one = weighted('text.prompts=["the old dog"]')
    assert one.prompts == (("the", "old", "dog"),)
    assert one.draws.shape == (1, 7)
    few = weighted('text.vocabulary=["stop", "go"]')
    assert few.weights["old.E"].shape == (2, 3)
    assert {word for prompt in few.prompts for word in prompt} == {"go"}


def test_a_whole_table_may_be_overridden() -> None:
    assert weighted("sizes={hidden=6}").weights["old.W"].shape == (10, 6)


def test_an_overridden_part_is_never_dropped() -> None:
    with pytest.raises(NumbersError, match=r"^old\.E: found vocabulary = 3, expected 8, as sizes\.vocabulary says\.$"):
        weighted("sizes.vocabulary=8", "old.E=[[1,2,3],[1,2,3],[1,2,3]]")


def test_per_token_numbers_may_be_overridden() -> None:
    numbers = load("very-very-sleepy", ["per_token.values=[[1, 2, 3]]", "ppo.gamma=1"])
    assert numbers["per_token.values"] == ((1.0, 2.0, 3.0),)
    assert numbers.ppo["gamma"] == 1.0


def test_a_users_file_tells_its_sizes_by_its_parts(small: Path) -> None:
    numbers = weighted(source=small)
    assert (numbers.name, numbers.title, numbers.about) == ("small", "small", "")
    assert numbers.max_new_tokens == 2
    assert numbers.weights["old.W"].shape == (7, 4)


def test_draws_begin_at_the_last_prompt_word_of_each_episode(small: Path) -> None:
    draws = weighted(source=small).draws
    assert draws.shape == (2, 4)
    np.testing.assert_array_equal(draws[0, 1:3], [0.11, 0.12])
    np.testing.assert_array_equal(draws[1, 0:2], [0.21, 0.22])


def test_nothing_of_a_users_file_is_dropped(small: Path) -> None:
    with pytest.raises(NumbersError, match=r"^old\.E: found embedding = 2, expected 5, as sizes\.embedding says\.$"):
        weighted("sizes.embedding=5", source=small)


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "marked.toml"
    path.write_text('level = "weights"', encoding="utf-8-sig")
    assert weighted(source=str(path)).vocabulary[0] == "<eos>"


def test_numbers_are_rounded_to_fifteen_digits() -> None:
    assert weighted("old_critic.b=0.12345678901234567").weights["old_critic.b"] == 0.123456789012346


def test_a_formula_is_a_word_like_any_other() -> None:
    assert weighted('text.vocabulary=["<eos>", "=1+1"]').vocabulary == ("<eos>", "=1+1")
