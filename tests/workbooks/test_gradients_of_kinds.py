"""Gradients of classic PPO and of a real minibatch: against autograd, in both engines, read back, and on the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")

import blueprint as bp
from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.classic_ppo.rollout import classic_presets
from tests.autograd import way_back
from tests.commands import run_command
from tests.replayed import minibatch, window_book, window_numbers
from tests.rows import Array, arrays

# Of the largest of a row: torch multiplies the same slopes in another order.
NEAR = 1e-12
REAL = Path(__file__).parents[1] / "data" / "real"


def classic(*overrides: str) -> Book:
    """Returns classic PPO with gradients."""
    return Book(blueprint_of(load("classic", ["gradients=on", *overrides])))


def window(preset: str, *without: str) -> Book:
    """Returns a few words of a minibatch with gradients."""
    return Book(blueprint_of(replace(window_numbers(preset, batch=minibatch(*without)), gradients=True)))


def compared(book: Book, kind: str = "classic_ppo") -> dict[str, Array]:
    """Returns the slopes of a book by name, every one of which autograd has as well."""
    rows = arrays(book)
    away = way_back(book, kind)
    assert len(away) > 3
    assert {name: far for name, far in away.items() if not far <= NEAR} == {}
    return {name: rows[name] for name in rows if ".grad" in name and not book.blocks[name].typed}


@pytest.mark.parametrize("preset", classic_presets().presets)
def test_classic_ppo(preset: str) -> None:
    slopes = compared(classic(f"preset={preset}"))
    assert np.abs(slopes["policy.logits.grad"]).max() > 1e-3
    assert np.abs(slopes["policy.logits.grad"].sum(axis=-1)).max() < 1e-15
    assert bool(np.abs(slopes["values.new.grad"]).max() > 1e-3) is (preset != "rlax")  # rlax has the actor's loss alone


@pytest.mark.parametrize("norm", ["l2", "smooth_l1"])
@pytest.mark.parametrize("combine", ["max", "clipped_only"])
def test_classic_value_losses_with_large_errors(norm: str, combine: str) -> None:
    far = ["ppo.value_clip_range=0.01", f"ppo.value_norm={norm}", f'ppo.value_combine="{combine}"']
    assert np.abs(compared(classic(*far))["values.new.grad"]).max() > 1e-3


def test_scores_far_apart() -> None:
    made = classic()
    logits = made.blocks["policy.logits"]
    far = Book(made.blueprint.with_typed({"policy.logits": 60 * made.values[logits]}))
    assert np.abs(arrays(far)["log_ratio"]).max() > 50
    compared(far)


@pytest.mark.parametrize("preset", ["default", "verl", "trl_0.11.4", "openai", "dschat"])
def test_a_minibatch(preset: str) -> None:
    slopes = compared(window(preset), "rlhf_ppo")
    assert np.abs(slopes["policy.logprobs.grad"]).max() > 1e-4
    assert np.abs(slopes["critic.values.grad"]).max() > 1e-4


@pytest.mark.parametrize("without", [("entropy",), ("values_new",), ("values_old", "values_new", "entropy")])
def test_a_dump_that_has_less_has_fewer_slopes(without: tuple[str, ...]) -> None:
    slopes = compared(window("trl_1.12", *without), "rlhf_ppo")
    assert ("policy.entropy.grad" in slopes) is ("entropy" not in without)
    assert ("critic.values.grad" in slopes) is ("values_new" not in without)


def test_without_gradients_there_are_none() -> None:
    assert not [name for name in window_book().blocks if ".grad" in name]


def test_both_are_read_back(tmp_path: Path) -> None:
    for name, made, row in (
        ("classic", classic(), "policy.logits.grad"),
        ("window", window("verl"), "critic.values.grad"),
    ):
        path = tmp_path / f"{name}.xlsx"
        made.save(path)
        assert made.prove(path).failures == []
        again = bp.open(path)
        np.testing.assert_array_equal(again.values[again.blocks[row]], made.values[made.blocks[row]])
        assert bp.check(path).agrees


@pytest.mark.parametrize("run", ["trl_1_12", "cleanrl"])
def test_an_import_asks_for_them(run: str, tmp_path: Path) -> None:
    dump, path = min((REAL / run).rglob("*.safetensors")), tmp_path / "step.xlsx"
    asked = ["import", str(dump), "-o", str(path), "--gradients", "--no-proof", "--tokens", "16"]
    told = run_command(*asked)
    assert told.exit_code == 0, told.output
    assert "policy.logprobs.grad" in bp.open(path).blocks
