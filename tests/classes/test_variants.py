"""Variants: the same for the same student, of the same structure, with numbers as people type them."""

from random import Random

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.classes import ClassError
from blueprint.classes.variants import (
    NoVariant,
    Variation,
    decimals_of,
    moved,
    resolved,
    shuffled,
    structure_of,
    variant_id,
)
from blueprint.inputs import load
from blueprint.workbooks.registry import level_of


def variation(name: str, *vary: str) -> Variation:
    numbers = load(name)
    return Variation(numbers, tuple(resolved(level_of(numbers), numbers, vary)), "hw1", 2026)


@pytest.fixture(scope="module")
def default() -> Variation:
    return variation("default")


def test_a_student_always_gets_the_same_and_others_get_others(default: Variation) -> None:
    drawn = [variant_id(default.typed(*each)) for each in (("4711", 0), ("4711", 0), ("4712", 0), ("4711", 1))]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


def test_by_itself_every_number_that_is_given_varies_and_no_draw(default: Variation) -> None:
    typed = default.typed("4711", 0)
    assert {"old.E", "reference.W", "policy.delta.Y"} <= set(typed)
    assert "rollout.draw" not in typed


def test_numbers_stay_near_and_short_and_a_zero_stays(default: Variation) -> None:
    base = {block.name: np.asarray(cells) for block, cells in default.base.typed.items()}
    for name, cells in default.typed("4711", 0).items():
        usual, own = base[name], np.asarray(cells, dtype=float)
        assert usual.shape == own.shape
        assert np.array_equal(usual == 0, own == 0)
        assert max(decimals_of(number) for number in own.flat) <= 2
        assert abs(own - usual).max() <= max(0.2 * abs(usual).max(), 0.1)


def test_what_two_models_share_moves_together(default: Variation) -> None:
    typed = default.typed("4711", 0)
    assert typed["old.E"] == typed["reference.E"]
    assert typed["old.Y"] != typed["reference.Y"]


BY_HAND = {
    "by-hand": {"rewards.raw": 2, "td_errors": 2, "advantages": 4, "returns": 4},
    "by-hand-grpo": {"group.mean": 2, "group.deviation": 2, "group.scaled": 1, "log_ratio.free": 1},
    "by-hand-dpo": {"policy.sum": 1, "reference.sum": 1, "margin": 1, "margin.scaled": 2, "rejected.reward": 2},
}
"""By built-in numbers, rows that a pencil comes to, and the decimals that their numbers have at most."""


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_done_by_hand_stays_short_and_differs(name: str) -> None:
    by_hand, seen = variation(name), dict[str, set[bytes]]()
    students = [by_hand.base.with_typed(by_hand.typed(str(student), 0)) for student in range(12)]
    for values in [Book(each).values for each in students]:
        for block, decimals in BY_HAND[name].items():
            numbers = next(array for known, array in values.arrays.items() if known.name == block)
            assert (
                max(decimals_of(round(float(number), 9)) for number in numbers.flat if np.isfinite(number)) <= decimals
            ), block
            seen.setdefault(block, set()).add(numbers.round(9).tobytes())
    for block, answers in seen.items():
        assert len(answers) >= (1 if block == "group.deviation" else 2 if block == "group.mean" else 4), block


def test_judgements_change_places_or_turn_round() -> None:
    drawn = {tuple(moved([1, 0, 0, 0], Random(seed))) for seed in range(40)}
    assert {sum(each) for each in drawn} == {1, 3}
    assert len(drawn) == 8
    assert sum(map(sum, moved([[1.0, 0.0], [0.0, 0.0]], Random(1)))) in (1, 3)


def test_numbers_that_were_computed_do_not_move_beside_those_that_were_typed() -> None:
    assert variation("by-hand").keys == ("old_critic.values", "critic.values", "reward_model.scores")


@pytest.mark.parametrize(
    ("vary", "blocks"),
    [
        ("settings", {"gamma.yours", "gae_lambda.yours"}),
        ("ppo.gamma,old.E", {"gamma.yours", "old.E"}),
        ("draws", {"rollout.draw"}),
        ("prompts", {"given"}),
        ("critic", {"critic.delta.E", "critic.delta.W", "critic.delta.head.w"}),
    ],
)
def test_what_varies_goes_by_its_name(vary: str, blocks: set[str]) -> None:
    several = variation("default", *vary.split(","))
    found = set().union(*(several.typed("4711", attempt) for attempt in range(3)))
    assert found & blocks
    assert len(found) < 12


def test_a_text_keeps_its_words() -> None:
    assert sorted(shuffled("the old dog is", Random(1))) == sorted(["the", "old", "dog", "is"])


def test_a_name_that_means_nothing_is_refused() -> None:
    with pytest.raises(ClassError, match=r"--vary ppo\.gama: nothing of that name can vary, did you mean ppo\.gamma\?"):
        variation("default", "ppo.gama")


def test_a_setting_that_these_numbers_refuse_is_none_of_the_settings() -> None:
    assert "ppo.update_step" not in variation("epochs", "settings").keys
    with pytest.raises(NoVariant, match=r"ppo\.update_step"):
        variation("epochs", "ppo.update_step").typed("4711", 0)


def test_structure_sees_another_equation_and_another_size() -> None:
    base = structure_of(variation("kl-controller").base)
    assert base == structure_of(variation("kl-controller").base)
    numbers = load("kl-controller", ["controller.kl_coef=0.3"])
    assert structure_of(Variation(numbers, (), "hw1", 0).base) == base
    assert structure_of(variation("very-very-sleepy").base) != base


@pytest.mark.parametrize(("number", "decimals"), [(0.25, 2), (1.0, 0), (100, 0), (0.1 + 0.2, 1), (1e-8, 8), (0.0, 0)])
def test_decimals_are_those_that_were_typed(number: float, decimals: int) -> None:
    assert decimals_of(number) == decimals


def test_whole_numbers_get_a_decimal_and_long_ones_lose_some() -> None:
    assert any(number % 1 for number in moved([1.0, 2.0, -3.0, 4.0], Random(3)))
    assert max(map(decimals_of, moved([0.123456789, -1.5], Random(3)))) <= 4
