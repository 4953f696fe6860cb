"""The book's numbers are those of PPO's page, which shares no line with it, on the default and on 200 random sets."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip("torch", reason="PPO's page is torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo.paper import PAGE
from tests import golden
from tests.page.workshop import row
from tests.papers.held import assert_holds, deviating, held_against
from tests.papers.pages import apart, file_of
from tests.workbooks.building import number, plain
from tests.workbooks.random_numbers import CLOSEST_DRAW, default, margin, random_numbers, with_settings

SEEDS = range(200)
WHITENED = {
    "advantages_used", "mean.advantages_used", "surrogate", "surrogate.clipped", "surrogate.unclipped", "mean.surrogate",
    "mean.surrogate.unclipped", "policy_loss", "total_loss", "clip_fraction.loss",
}  # fmt: skip
"""What follows from whitening: of one token there is no variance by N − 1."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_numbers(seed: int) -> None:
    numbers = random_numbers(seed)
    assert margin(numbers) >= CLOSEST_DRAW
    book = plain(numbers)
    apart_ = deviating(book, PAGE)
    if (
        number(book, "response.words") == 1 and numbers.ppo["whiten_advantages"] == "on"
    ):  # 0/0 on the page, as in libraries
        assert {name for name, far in apart_.items() if not np.isnan(far)} == set()
        assert set(apart_) <= WHITENED
        assert not row(book, "advantages_used").any()
    else:
        assert apart_ == {}


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


def test_every_mean_of_the_first_sheet_is_compared() -> None:
    book = plain(default())
    compared = held_against(book, PAGE.results, PAGE.masks)
    means = {name for name in book.blocks if name.startswith("mean.")}
    assert means
    assert means <= compared.keys()


def test_the_default_is_the_printed_example() -> None:
    numbers, printed = default(), golden.DEFAULT_NUMBERS
    ids = {word: number for number, word in enumerate(numbers.vocabulary)}
    assert list(numbers.vocabulary) == golden.VOCABULARY
    assert [[ids[word] for word in prompt] for prompt in numbers.prompts] == printed["prompts"]
    assert numbers.max_new_tokens == printed["max_new_tokens"]
    assert set(numbers.weights) == set(golden.WEIGHTS)
    for name, weight in numbers.weights.items():
        assert_array_equal(weight, golden.WEIGHTS[name], name)


@pytest.mark.parametrize("name", sorted(golden.WEIGHTS))
def test_a_changed_weight_is_noticed(name: str) -> None:
    """The comparison fails if the page is given another weight than the book: both sides really read it."""
    weight = default().weights[name]
    # By a different amount in every cell: a soft-max does not notice when all logits grow alike.
    moved = weight + 0.01 * np.arange(1, weight.size + 1).reshape(weight.shape)
    changed = plain(replace(default(), weights={**default().weights, name: moved}))
    typed = name.replace("delta_", "delta.").replace(".w", ".head.w").replace(".b", ".head.b")
    file = file_of(plain(default())) | {typed: file_of(changed)[typed]}
    assert apart(file, PAGE) != []
    assert apart(file_of(changed), PAGE) == []


def test_equal_returns_explain_nothing() -> None:
    """Three answers alike have equal returns, but their mean rounds: the variance is 1e-32 and means 0."""
    alike = with_settings(default(), kl_coef=0.35)
    alike = replace(alike, prompts=alike.prompts[:1] * 3, draws=np.full((3, 8), 0.05))
    assert_holds(plain(alike), PAGE)


@pytest.mark.parametrize("mask", [[1, 1, 0], [0, 1, 1], [1, 0, 0]])
def test_nothing_behind_a_response_leaks_into_it(mask: list[float]) -> None:
    """On the per-token level too V counts on the response alone: the last δ is r − V, whatever stands behind it."""
    cut = Book(blueprint_of(load("very-very-sleepy")).with_typed({"mask": [mask]}))
    off = deviating(cut, PAGE)
    assert {name: far for name, far in off.items() if not np.isnan(far)} == {}
    assert set(off) <= WHITENED
    if mask == [1, 1, 0]:
        assert row(cut, "td_errors")[0, 1] == pytest.approx(0.15 - 3.5, abs=1e-12)


def test_a_build_prints_no_warning_of_numpy() -> None:
    """Two equal returns have variance 0; the branch that divides by it is not taken, and not complained about."""
    numbers = replace(default(), draws=np.full_like(default().draws, 0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain(numbers)
