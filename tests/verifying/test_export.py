"""A few words of a minibatch in a workbook: they come to what the whole minibatch comes to, in every engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.dumps import Minibatch, MinibatchError
from blueprint.page.engine import with_ironcalc
from blueprint.page.formulas import expected
from blueprint.page.recalculate import compare
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.window import NEAR, agreement, chosen_window, worst_window
from tests.audit import spoil
from tests.page.soffice import with_libreoffice
from tests.replayed import (
    LOGGED,
    RESPONSES,
    SLOTS,
    agreed,
    minibatch,
    part_of,
    replayed,
    values_of,
    window_book,
    with_everything_logged,
)

PRESETS = tuple(rlhf().presets)
WHOLE = {"policy_loss", "value_loss", "entropy", "kl_loss", "total_loss", "loss.keep", "advantage.divisor"}
ROWS = {
    "rewards",
    "td_errors",
    "advantages",
    "returns",
    "advantages_used",
    "ratio",
    "surrogate",
    "share",
    "value.word_loss",
}


@pytest.mark.parametrize("preset", PRESETS)
def test_the_words_shown_come_to_what_the_whole_minibatch_comes_to(preset: str) -> None:
    found = replayed(preset)
    for window in (
        worst_window(found, 4, "ratio", 16),
        chosen_window(found, [0, 1, 5], "kl", 24),
        worst_window(found, RESPONSES, "advantage", 64),
    ):
        made = agreed(found, window, preset)
        assert made.distances.keys() >= ROWS | WHOLE
        assert made.apart == []


def test_a_guard_that_switches_the_losses_off_hides_no_sum() -> None:
    found = replayed("trl_0.11.4", loss_ratio_threshold=0.5)
    assert found.whole["loss.keep"] == 0
    window = worst_window(found, 2, "ratio", 16)
    values = values_of(part_of(found, window, "trl_0.11.4"))
    shown = (values["policy.weight.row"] * values["surrogate"]).sum() + values["rest.policy"]
    assert abs(shown - -replayed("trl_0.11.4").whole["policy_loss"]) < NEAR


def test_the_rest_of_the_batch_matters() -> None:
    """A test of the tests: with the words shown alone, the loss would be another."""
    values = values_of(part_of(found := replayed(), worst_window(found, 2, "ratio", 16), "verl"))
    assert abs(values["rest.policy"]) > 1e-3
    assert np.abs(values["after.advantages"]).max() > 1e-3


@pytest.mark.parametrize(
    ("lacking", "gone"),
    [
        (("logprobs_ref",), set()),
        (("entropy",), {"entropy", "adds.entropy"}),
        (("values_new",), {"value_loss", "adds.value_loss"}),
        (("values_old", "values_new"), {"td_errors", "returns", "value_loss"}),
        (("scores", "values_old", "values_new", "entropy"), {"rewards", "td_errors", "returns", "entropy"}),
        (("logprobs_new",), set()),
    ],
)
def test_a_dump_that_lacks_a_tensor_begins_later_or_ends_earlier(lacking: tuple[str, ...], gone: set[str]) -> None:
    found = replayed("verl", minibatch(*lacking), reward_kl_in="none")
    window = worst_window(found, 3, "ratio", 16)
    values = values_of(part_of(found, window, "verl"))
    assert values.keys() & gone == set()
    made = agreed(found, window, "verl")
    assert "total_loss" in made.distances or "total_loss" in found.missing
    assert made.apart == []


@pytest.mark.parametrize(
    "name", ["advantage.mean", "after.advantages", "rest.policy", "policy.words", "old_critic.values"]
)
def test_a_wrong_number_is_seen(name: str) -> None:
    """A test of the comparison: one typed number off by 1e-9 of itself is farther than rounding."""
    found = replayed()
    window = worst_window(found, 3, "ratio", 16)
    numbers = part_of(found, window, "verl")
    wrong = dict(numbers.typed) | {name: numbers.typed[name] * (1 + 1e-9)}
    assert agreement(values_of(replace(numbers, typed=wrong)), found, window).apart != []


def test_scores_of_single_words_stand_where_they_stand() -> None:
    dense = np.random.default_rng(5).normal(size=(RESPONSES, SLOTS)).astype(np.float32)
    found = replayed("openrlhf", minibatch("advantages", scores=dense))
    window = worst_window(found, 3, "kl", 16)
    assert agreed(found, window, "openrlhf").apart == []
    numbers = part_of(found, window, "openrlhf")
    assert "score.given" not in numbers.typed
    assert "Reward & advantage" in {place.sheet for place in Book(blueprint_of(numbers)).layout.places.values()}


LACKS = "run.safetensors has no {}, of which advantages are made: save it with the others"
EXACT = "kl_estimator is full: an exact KL needs every token's probability; --set ppo.kl_estimator=k1"


@pytest.mark.parametrize(
    ("batch", "options", "sentence"),
    [
        (minibatch(), {"kl_estimator": "full"}, EXACT),
        (minibatch("scores", "advantages"), {}, LACKS.format("scores")),
        (minibatch("values_old", "advantages"), {}, LACKS.format("values_old")),
    ],
)
def test_what_no_loss_can_be_made_of_is_refused(batch: Minibatch, options: dict[str, str], sentence: str) -> None:
    found = replayed("verl", batch, **options)
    with pytest.raises(MinibatchError) as refused:
        part_of(found, chosen_window(found, [0], "ratio", 16), "verl")
    assert str(refused.value) == sentence


def test_what_was_logged_stands_beside_what_it_comes_to() -> None:
    found = replayed()
    values = values_of(part_of(found, worst_window(found, 2, "ratio", 16), "verl"))
    for name, logged in LOGGED.items():
        assert float(values[f"logged.{name}"]) == logged
        assert float(values[f"off.{name}"]) == pytest.approx(abs(logged - found.whole[name]), rel=1e-12)
    assert values["off.advantages_used"].max() > 0.1


@pytest.mark.parametrize(
    ("lacking", "there"),
    [
        ((), {"logged.score.placed", "logged.rewards", "logged.advantages", "logged.returns"}),
        (("scores",), {"logged.advantages", "logged.returns"}),
        (("values_old",), set()),
        (("values_old", "rewards"), set()),
    ],
)
def test_rows_that_were_logged_stand_beside_those_that_are_computed(lacking: tuple[str, ...], there: set[str]) -> None:
    whole = with_everything_logged()
    kept = {name: each for name, each in whole.tensors.items() if name not in lacking}
    found = replayed("verl", replace(whole, tensors=kept, logged={}))
    window = worst_window(found, 2, "ratio", 16)
    values = values_of(part_of(found, window, "verl"))
    assert {name for name in values if name.startswith("logged.")} == there
    for name in there:
        # Logged in float32, which rounds by up to half a unit in the 24th binary digit.
        row = values[name.removeprefix("logged.")]
        assert values[f"off.{name.removeprefix('logged.')}"].max() <= 6e-8 * np.abs(row).max()


def test_settings_that_differ_from_the_preset_stand_under_yours() -> None:
    found = replayed("verl", loss_dual_clip=2.0, gamma=0.99)
    numbers = part_of(found, worst_window(found, 1, "ratio", 16), "verl")
    assert numbers.ppo == {"gamma": 0.99, "loss.dual_clip": 2.0}
    values = values_of(numbers)
    assert (float(values["gamma.yours"]), float(values["gamma.preset"]), float(values["gamma"])) == (0.99, 1.0, 0.99)


@pytest.mark.parametrize("preset", ["verl", "trl_1.12", "openai"])
def test_an_engine_recalculates_every_formula_to_the_same_value(preset: str, tmp_path: Path) -> None:
    book = window_book(preset)
    book.save(tmp_path / "run.xlsx")
    spoil(tmp_path / "run.xlsx", tmp_path / "spoiled.xlsx")
    proof = compare(expected(book.layout), with_ironcalc(tmp_path / "spoiled.xlsx"))
    assert proof.failures == []
    assert proof.total > 2000


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_recalculates_every_formula_to_the_same_value(tmp_path: Path) -> None:
    book = window_book("trl_1.12")
    book.save(tmp_path / "run.xlsx")
    spoil(tmp_path / "run.xlsx", tmp_path / "spoiled.xlsx")
    (cells,) = with_libreoffice([tmp_path / "spoiled.xlsx"])
    assert compare(expected(book.layout), cells).failures == []
