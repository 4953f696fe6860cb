"""Two optimisers, and numbers at the ends of what may be: torch.optim agrees with every row of every step."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from tests.rows import Array, arrays
from tests.workbooks.stepwise import assert_torch_agrees

MINIBATCHES = ("update.epochs=2", "update.minibatches=2", "update.order=[[2,1],[1,2]]")
APART = ("update.epochs=2", "update.critic_lr=0.1", "update.critic_max_norm=0.3", "update.max_norm=0.5")
NO_ADVANTAGE = (
    "reward_model.w=[0,0,0,0]", "reward_model.b=0", "old_critic.w=[0,0,0,0]", "ppo.kl_coef=0", "ppo.ent_coef=0",
)  # fmt: skip


def built(*overrides: str) -> dict[str, Array]:
    """Returns the rows of the built-in numbers `epochs`."""
    return arrays(Book(blueprint_of(load("epochs", overrides))))


@pytest.mark.parametrize("preset", ["verl", "openrlhf", "dschat"])
def test_two_optimisers_where_the_critic_is_trained_apart(preset: str) -> None:
    pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")
    assert_torch_agrees(blueprint_of(load("epochs", [*APART, f"preset={preset}"])))


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


@pytest.mark.parametrize(
    "overrides",
    [
        (*MINIBATCHES, *NO_ADVANTAGE),
        (*MINIBATCHES, *NO_ADVANTAGE, "update.whiten=minibatch", "update.by=sgd"),
        ("update.epochs=1", "update.minibatches=2", "update.max_norm=off", "update.by=sgd", "update.lr=1000"),
        (*MINIBATCHES, "update.max_norm=1e-12"),
    ],
    ids=["no advantage", "no advantage whitened in each step", "log-ratios of -219", "hardly any step"],
)
def test_numbers_at_the_ends(overrides: tuple[str, ...]) -> None:
    pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")
    assert_torch_agrees(blueprint_of(load("epochs", overrides)))


def test_a_minibatch_without_a_token_has_no_loss_and_no_gradient() -> None:
    pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")
    from blueprint.workbooks.rlhf_ppo.paper import PAGE
    from tests.papers.held import TOLERANCE, held_against

    outline = blueprint_of(load("epochs", MINIBATCHES))
    full = np.array([["the", "old", "dog", "is", *[""] * 5], ["the", "old", "dog", "is", *["very"] * 5]], dtype=object)
    outline = outline.with_typed({"given": full})
    rows = arrays(Book(outline))
    empty = [rows["response.length"][1], rows["policy_loss"], rows["value_loss"], rows["minibatch.words"] - 1]
    assert not np.any(empty)
    assert rows["update1.1.norm"] == 0
    np.testing.assert_array_equal(rows["update1.1.policy.W"], rows["policy.W"])
    assert rows["update1.2.norm"] > 0
    # The page's means of no token are 0/0, as in libraries; whatever has a number there agrees.
    off = held_against(Book(outline), PAGE.results, PAGE.masks)
    assert {name: far for name, far in off.items() if far > TOLERANCE} == {}
    assert sum(np.isnan(far) for far in off.values()) < 50 < 250 < len(off)
