"""Epochs on one rollout: the first begins at the old policy, later ones go on from the step before."""

from __future__ import annotations

import gc
from functools import cache
from pathlib import Path
from time import process_time

import numpy as np
import pytest

import blueprint as bp
from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from tests.rows import Array, arrays, built_in


@cache
def built(*overrides: str) -> dict[str, Array]:
    """Returns the rows of the built-in numbers `epochs`."""
    return arrays(Book(blueprint_of(load("epochs", overrides))))


def test_the_first_epoch_begins_at_the_old_policy() -> None:
    rows = built()
    assert np.abs(rows["ratio"] - 1).max() == 0
    assert abs(rows["policy_loss"]) < 1e-15
    assert rows["epochs.clip_fraction.ratio"][0] == rows["epochs.policy_kl"][0] == 0
    assert rows["epochs.norm"][0] > 1


def test_then_the_ratio_leaves_1_and_clipping_begins() -> None:
    rows = built()
    assert np.all(np.diff(rows["epochs.policy_loss"]) < 0)
    assert np.all(rows["epochs.clip_fraction.ratio"][1:] > 0)
    assert rows["epochs.clip_fraction.loss"][-1] > 0
    assert np.all(rows["epochs.policy_kl"][1:] > 0.1)


def test_a_step_is_what_the_optimiser_says_by_hand() -> None:
    rows = built("update.by=sgd", "update.max_norm=off", "update.lr=0.1", "update.epochs=2")
    assert rows["update1.scale"] == 1
    np.testing.assert_allclose(
        rows["epoch2.policy.W"], rows["policy.W"] - 0.1 * rows["policy.W.grad"], rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(
        rows["epoch2.critic.head.b"], rows["critic.head.b"] - 0.1 * rows["critic.head.b.grad"], rtol=0, atol=1e-15
    )


@pytest.mark.parametrize(("numbers", "more", "near"), [("epochs", ("ppo.ent_coef=0.1",), 1e-5), ("sft", (), 1e-4)])
def test_a_small_step_of_sgd_lowers_the_loss_by_the_squared_gradient(
    numbers: str, more: tuple[str, ...], near: float
) -> None:
    """The loss is curved: over a step of 1e-6 its slope changes by about 1e-6 of itself, of demonstrations by some 1e-5."""
    rate = 1e-6
    rows = built_in(numbers, "update.by=sgd", "update.max_norm=off", f"update.lr={rate}", "update.epochs=2", *more)
    slope = (rows["epochs.total_loss"][0] - rows["epochs.total_loss"][1]) / rate
    assert abs(slope / rows["epochs.norm"][0] ** 2 - 1) < near


def test_steps_make_demonstrations_likelier() -> None:
    rows = built_in("sft", "update.epochs=6")
    assert np.all(np.diff(rows["epochs.total_loss"]) < 0)
    assert rows["epochs.total_loss"][-1] < rows["epochs.total_loss"][0] / 4
    assert rows["epochs.token_accuracy"][-1] == 1
    assert rows["epochs.perplexity"] == pytest.approx(np.exp(rows["epochs.nll"]), rel=1e-14)


def test_a_saved_file_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "epochs.xlsx"
    book = bp.build("epochs", set={"update.epochs": 2})
    book.save(path)
    again = bp.open(path)
    assert again["epochs.total_loss"].equals(book["epochs.total_loss"])
    assert [sheet.title for sheet in again.blueprint.sheets][:4] == ["Start", "First hour", "Walk", "Inputs"]


@pytest.mark.parametrize(("asked", "said"), [("off", "of the update"), ("on", "on")])
def test_a_file_says_whether_gradients_were_asked_for_besides_those_of_the_update(asked: str, said: str) -> None:
    """Then those of the libraries are there, too; reopened, they are again, or are not."""
    made = blueprint_of(load("epochs", ["update.epochs=1", "preset=verl", f"gradients={asked}"]))
    assert made.facts["gradients"] == said
    assert ("Library gradients" in [sheet.title for sheet in made.sheets]) == (asked == "on")


def test_four_epochs_take_less_than_three_times_one(tmp_path: Path) -> None:
    def taken(epochs: int) -> float:
        begun = process_time()
        bp.build("epochs", set={"update.epochs": epochs}).save(tmp_path / f"{epochs}.xlsx")
        return process_time() - begun

    # What other tests left in this process is no part of a build, and the collector would walk through it.
    gc.collect()
    gc.freeze()
    try:
        pairs = [(taken(1), taken(4)) for _ in range(3)]
    finally:
        gc.unfreeze()
    assert min(four for _, four in pairs) < 3 * min(one for one, _ in pairs)


APART = ("update.epochs=2", "update.critic_lr=0.1", "update.critic_max_norm=0.3", "update.max_norm=0.5")


def test_each_of_two_optimisers_has_its_norm_its_limit_and_its_rate() -> None:
    rows = built(*APART, "preset=verl", "update.by=sgd")
    for model, rate, most in (("policy", 0.02, 0.5), ("critic", 0.1, 0.3)):
        parts = [name for name in rows if name.startswith(f"update1.square.{model}.")]
        norm = np.sqrt(sum(rows[name] for name in parts))
        assert rows[f"update1.norm.{model}"] == pytest.approx(norm, rel=1e-15)
        held = rows[f"update1.scale.{model}"] * rows[f"{model}.W.grad"]
        assert rows[f"update1.scale.{model}"] == pytest.approx(min(1, most / (norm + 1e-6)), rel=1e-15)
        np.testing.assert_allclose(rows[f"epoch2.{model}.W"], rows[f"{model}.W"] - rate * held, rtol=0, atol=1e-15)


def test_one_optimiser_has_one_norm_and_one_rate_whatever_is_typed_for_the_critic() -> None:
    rows, same = built(*APART, "preset=trl_1.12"), built("update.epochs=2", "update.max_norm=0.5", "preset=trl_1.12")
    assert rows["update1.norm.policy"] == rows["update1.norm.critic"]
    np.testing.assert_array_equal(rows["epoch2.critic.W"], same["epoch2.critic.W"])


@pytest.mark.parametrize("name", ["default", "epochs", "grpo"])
def test_the_policy_of_the_first_epoch_is_not_said_to_be_updated(name: str) -> None:
    """Before the first step of an optimiser π_θ is π_old; where Δ is typed it is not: both are the policy in training."""
    leads = {sheet.title: sheet.lead for sheet in blueprint_of(load(name)).sheets}
    assert "policy in training" in leads["Policy"]
    assert "after the update" not in leads["Policy"] + leads.get("Critic", "")
