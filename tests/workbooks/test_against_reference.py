"""The book's numbers are those of a witness that shares no line with it, on the default and on 200 random sets."""

import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests import golden
from tests.reference import run
from tests.workbooks import convert
from tests.workbooks.building import plain
from tests.workbooks.compare import assert_agrees, inside, pairs
from tests.workbooks.convert import reference_numbers
from tests.workbooks.random_numbers import CLOSEST_DRAW, default, random_numbers, with_settings

SEEDS = range(200)


def test_default() -> None:
    assert_agrees(plain(default()), default())


@pytest.mark.parametrize("seed", SEEDS)
def test_random_numbers(seed: int) -> None:
    numbers = random_numbers(seed)
    expected = assert_agrees(plain(numbers), numbers)
    assert expected.margin >= CLOSEST_DRAW


def test_random_numbers_meet_every_kind() -> None:
    sets = [random_numbers(seed) for seed in SEEDS]
    for key, wanted in {
        "kl_estimator": {"k1", "k2", "k3"},
        "whiten_advantages": {"on", "off"},
        "update_step": {0.0, 0.5, 1.0},
    }.items():
        assert {numbers.ppo[key] for numbers in sets} == wanted
    assert {len(numbers.vocabulary) for numbers in sets} == set(range(2, 13))
    assert {numbers.weights["old.W"].shape[1] for numbers in sets} == set(range(1, 9))
    assert {numbers.weights["old.E"].shape[1] for numbers in sets} == set(range(1, 6))
    assert {len(numbers.prompts) for numbers in sets} == set(range(1, 5))
    assert {numbers.max_new_tokens for numbers in sets} == set(range(1, 7))
    assert any(len(set(map(len, numbers.prompts))) > 1 for numbers in sets)
    assert any(float(numbers.ppo["policy_kl_coef"]) > 0 for numbers in sets)


def test_no_quantity_of_the_witness_is_left_out() -> None:
    expected = run(reference_numbers(default()))
    compared = [pair.name for pair in pairs(plain(default()), expected, inside(default(), expected))]
    names = [*expected.tokens, *expected.episodes, *expected.scalars]
    assert len(names) > 40
    assert len(set(names)) == len(names)
    assert [name for name in compared if not name.startswith("mean.")] == names


def test_every_mean_of_the_first_sheet_is_compared() -> None:
    book = plain(default())
    expected = run(reference_numbers(default()))
    compared = {pair.name for pair in pairs(book, expected, inside(default(), expected))}
    means = {name.replace("value.word_loss", "value.loss") for name in book.blocks if name.startswith("mean.")}
    assert means
    assert means <= compared


def test_converted_default_is_the_printed_example() -> None:
    found = reference_numbers(default())
    assert {key: found[key] for key in ("max_new_tokens", "ppo", "prompts", "draws")} == {
        key: golden.DEFAULT_NUMBERS[key] for key in ("max_new_tokens", "ppo", "prompts", "draws")
    }
    assert list(found["vocabulary"]) == golden.VOCABULARY
    assert set(found["weights"]) == set(golden.WEIGHTS)
    for name, weight in found["weights"].items():
        assert_array_equal(weight, golden.WEIGHTS[name], name)


def test_conversion_uses_nothing_of_the_package_but_the_type() -> None:
    source = Path(convert.__file__).read_text(encoding="utf-8")
    assert re.findall(r"^from (blueprint.*)$", source, re.MULTILINE) == [
        "blueprint.workbooks.rlhf_ppo.inputs.result import WeightNumbers"
    ]


@pytest.mark.parametrize("name", sorted(golden.WEIGHTS))
def test_a_changed_weight_is_noticed(name: str) -> None:
    """The comparison fails if the witness is given another weight than the book: both sides really read it."""
    weight = default().weights[name]
    # By a different amount in every cell: a soft-max does not notice when all logits grow alike.
    moved = weight + 0.01 * np.arange(1, weight.size + 1).reshape(weight.shape)
    changed = replace(default(), weights={**default().weights, name: moved})
    with pytest.raises(AssertionError):
        assert_agrees(plain(changed), default())


def test_equal_returns_explain_nothing() -> None:
    """Three answers alike have equal returns, but their mean rounds: the variance is 1e-32 and means 0."""
    alike = with_settings(default(), kl_coef=0.35)
    alike = replace(alike, prompts=alike.prompts[:1] * 3, draws=np.full((3, 8), 0.05))
    assert_agrees(plain(alike), alike)


def test_a_build_prints_no_warning_of_numpy() -> None:
    """Two equal returns have variance 0; the branch that divides by it is not taken, and not complained about."""
    numbers = replace(default(), draws=np.full_like(default().draws, 0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain(numbers)
