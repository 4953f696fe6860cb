"""Every gradient against central differences in numpy: of every weight, in every preset, and of whatever else the loss reads."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Block, compute
from blueprint.language.gradient import gradient
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.registry import kind_of
from tests.autograd import backward_of
from tests.page.workshop import made
from tests.rows import Array, arrays
from tests.workbooks.central import NEAR, slopes
from tests.workbooks.test_backward import MISTAKES, SEEN, outline, planted

POLICY, CRITIC = ("policy.E", "policy.W", "policy.Y"), ("critic.E", "critic.W", "critic.head.w", "critic.head.b")
CONSTANT = ("loss.advantages", "returns", "loss.V_old", "loss.logp_old", "loss.returns", "values.kept")
EVERYTHING = ("gradients=on", "ppo.ent_coef=0.1", "ppo.policy_kl_coef=0.3")
CASES: dict[str, tuple[str, ...]] = {
    "default": ("default", *EVERYTHING),
    "the first step of the epochs": ("epochs", "update.epochs=1", "ppo.ent_coef=0.1"),
    "KL in the loss": (
        "default", *EVERYTHING, "conventions=live", "reward.kl_in=loss", "loss.kl_estimator=k3", "batch.temperature=0.8",
    ),
    **{name: ("default", "gradients=on", "ppo.ent_coef=0.1", f"preset={name}") for name in rlhf().presets},
}  # fmt: skip


def measured(book: Book) -> dict[str, Array]:
    """Returns the central difference by every weight; where conventions may part them, the critic's of its own loss."""
    blocks = book.blocks
    constant = [blocks[name] for name in CONSTANT if name in blocks]
    critic = blocks.get("critic_loss", blocks["total_loss"])
    found = slopes(book, _named(blocks, POLICY), blocks["total_loss"], constant)
    return found | slopes(book, _named(blocks, CRITIC), critic, constant)


def _named(blocks: dict[str, Block], names: tuple[str, ...]) -> list[Block]:
    return [blocks[name] for name in names]


def furthest(rows: dict[str, Array], slope: dict[str, Array]) -> float:
    """Returns how far a gradient is from its slope at most, as a part of the largest of its block."""
    return max(float(np.abs(rows[f"{w}.grad"] - slope[w]).max() / np.abs(slope[w]).max()) for w in slope)


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_of_every_weight_is_the_slope(case: str) -> None:
    name, *overrides = CASES[case]
    book = Book(blueprint_of(load(name, overrides)))
    found = measured(book)
    assert set(found) == {*POLICY, *CRITIC}
    assert furthest(arrays(book), found) <= NEAR


@pytest.mark.parametrize("numbers", ["grpo", "dpo", "sft", "reward-model"])
def test_so_it_is_of_the_weights_of_other_kinds(numbers: str) -> None:
    """All but the bias of a reward model, which no difference of two scores reads."""
    book = made("gradients=on", numbers=numbers)
    blocks, of = book.blocks, backward_of(kind_of(load(numbers)).name)
    names = {name for name in blocks if name.startswith(("policy.", "reward_model.")) and f"{name}.grad" in blocks}
    leaves = [blocks[name] for name in sorted(names) if name.endswith((".E", ".W", ".Y", ".w"))]
    found = slopes(book, leaves, blocks["total_loss"], [blocks[name] for name in of.constant if name in blocks])
    assert len(found) == 3
    assert furthest(arrays(book), found) <= NEAR


def test_the_loss_has_the_slopes_of_all_that_it_reads_through_whitening_and_advantages() -> None:
    """Nothing is held constant: settings, the weights of every model that has a say, and the steps of the update."""
    book = Book(blueprint_of(load("default", EVERYTHING[1:])))
    blocks = book.blocks
    settings = (
        "gamma", "gae_lambda", "kl_coef", "clip_range", "value_clip_range", "vf_coef", "ent_coef", "policy_kl_coef",
        "whiten_eps", "update_step",
    )  # fmt: skip
    others = ("reference", "reward_model", "old_critic", "policy.delta", "critic.delta")
    leaves = _named(blocks, settings) + [b for b in blocks.values() if b.typed and b.name.startswith(others)]
    leaves = [b for b in leaves if not b.text]
    assert len(leaves) >= 28
    ours = gradient(blocks["total_loss"], leaves)
    values = compute([*book.blueprint.blocks(), *ours.blocks], book.blueprint.sizes, book.blueprint.typed)
    for name, slope in slopes(book, leaves, blocks["total_loss"]).items():
        assert np.abs(values[ours[blocks[name]]] - slope).max() <= NEAR * np.abs(slope).max(), name
        assert np.abs(slope).max() > 0, name


@cache
def of_default() -> dict[str, Array]:
    """Returns the slopes of the default."""
    return measured(Book(outline()))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_not_the_slope(mistake: str) -> None:
    assert furthest(arrays(planted(mistake)), of_default()) > SEEN > NEAR


def test_a_lost_sign_and_a_lost_factor_are_not_the_slope() -> None:
    rows = arrays(Book(outline()))
    for name in of_default():
        for factor in (-1.0, 0.5, 0.999):
            assert furthest({**rows, f"{name}.grad": factor * rows[f"{name}.grad"]}, of_default()) > SEEN / 2
