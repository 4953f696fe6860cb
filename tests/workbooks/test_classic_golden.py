"""Classic PPO gives every number that CleanRL, Stable-Baselines3, TorchRL and rlax computed from the same rollout.

The libraries' own code was run in float64 (`tests/data/golden_runs.json`, `rl_runs`). What it computed is held against the
definitions, and against the finished workbook as other programs recalculate it. Both may be off by 1e-12 · (1 + max|row|).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from blueprint.book import Book
from blueprint.page.engine import Cells, with_ironcalc
from tests.audit import spoil
from tests.page.soffice import with_libreoffice
from tests.page.workshop import made

Array = npt.NDArray[np.float64]
FILE = Path(__file__).parents[1] / "data" / "golden_runs.json"
GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
ROLLOUT, RUNS = GOLDEN["rl_rollout"], GOLDEN["rl_runs"]
ROUNDING = 1e-12
SHAPE = (ROLLOUT["T"], ROLLOUT["N"])


def by_time(rows: Any) -> Array:
    """Turns rows per step, nested or flat (index = t · N + environment), into rows per environment."""
    return np.reshape(rows, SHAPE).T


def as_it_is(rows: Any) -> Array:
    """Leaves rows per environment, and single numbers, as they are."""
    return np.squeeze(np.asarray(rows, dtype=float))


def turned(number: Any) -> Array:
    """Turns the sign of a number around."""
    return -as_it_is(number)


Ours = dict[str, tuple[str, Callable[[Any], Array]]]
"""By a library's name for a number: our block, and how to read the number."""


class Run(NamedTuple):
    """What a library computed, how to build the same, and for each of its numbers our block and how to read the number."""

    found: dict[str, Any]
    overrides: tuple[str, ...]
    ours: Ours


COMMON: Ours = {"advantages_raw": ("advantages", by_time), "returns": ("returns", by_time), "ratio": ("ratio", by_time)}
CLEANRL: Ours = COMMON | {
    "mb_advantages": ("advantages_used", by_time), "pg_loss": ("policy_loss", as_it_is), "v_loss": ("value_loss", as_it_is),
    "entropy": ("entropy", as_it_is), "loss": ("total_loss", as_it_is), "old_approx_kl": ("approx_kl.k1", as_it_is),
    "approx_kl": ("approx_kl.k3", as_it_is), "clipfrac": ("clip_fraction", as_it_is),
    "explained_variance": ("explained_variance.old", as_it_is),
}  # fmt: skip
SB3: Ours = {
    "advantages": ("advantages_used", by_time), "ratio": ("ratio", by_time), "policy_loss": ("policy_loss", as_it_is),
    "value_loss": ("value_loss", as_it_is), "entropy_loss": ("entropy", turned), "loss": ("total_loss", as_it_is),
    "clip_fraction": ("clip_fraction", as_it_is), "approx_kl": ("approx_kl.k3", as_it_is),
}  # fmt: skip
SB3_ALL: Ours = COMMON | SB3 | {"explained_variance": ("explained_variance.old", as_it_is)}
TORCHRL: Ours = {
    "loss_objective": ("policy_loss", as_it_is), "clip_fraction": ("clip_fraction", as_it_is),
    "kl_approx": ("approx_kl.k1", as_it_is), "entropy": ("entropy", as_it_is), "loss_entropy": ("adds.entropy", as_it_is),
    "loss_critic": ("adds.value_loss", as_it_is), "explained_variance": ("explained_variance.new", as_it_is),
    "ESS": ("ratio.effective", as_it_is), "max_ratio": ("ratio.largest", as_it_is), "mean_ratio": ("ratio.mean", as_it_is),
}  # fmt: skip
TORCHRL_GAE: Ours = {"advantage": ("advantages", as_it_is), "value_target": ("returns", as_it_is)}
RLAX: Ours = {
    "advantages": ("advantages", by_time),
    "clipped_surrogate_pg_loss_unnormalised_adv": ("policy_loss", as_it_is),
    "entropy_loss": ("entropy", turned),
}
NEVER = str(np.zeros(SHAPE[::-1], dtype=int).tolist())
SB3_RUN, TORCHRL_RUN = RUNS["stable_baselines3_2.9.2_PPO"], RUNS["torchrl_0.14.1"]
CHECKED: dict[str, Run] = {
    "the default is cleanrl": Run(RUNS["cleanrl_ppo"]["result"], (), CLEANRL),
    "cleanrl": Run(RUNS["cleanrl_ppo"]["result"], ("preset=cleanrl",), CLEANRL),
    "sb3": Run(SB3_RUN["result"], ("preset=sb3",), SB3_ALL),
    "sb3, values clipped": Run(
        SB3_RUN["variant_clip_range_vf_0_2"], ("preset=sb3", "ppo.value_clip_range=0.2"), SB3
    ),
    "torchrl, gae": Run(TORCHRL_RUN["gae"], ("preset=torchrl",), TORCHRL_GAE),
    "torchrl, gae at a time limit": Run(
        TORCHRL_RUN["gae"]["truncation_variant"], ("preset=torchrl", f"rollout.terminated={NEVER}"), TORCHRL_GAE
    ),
    "torchrl": Run(TORCHRL_RUN["ClipPPOLoss_default"], ("preset=torchrl",), TORCHRL),
    "torchrl, whitened, squares, values clipped": Run(
        TORCHRL_RUN["ClipPPOLoss_normalized_l2_clipvalue"],
        ("preset=torchrl", "ppo.whiten_advantages=on", "ppo.value_norm=l2", "ppo.value_clip_range=0.2"),
        TORCHRL | {"value_clip_fraction": ("value_fraction", as_it_is)},
    ),
    # The pair of ε is not recorded; any that ends between the ratios 1.2547 and 1.4012 gives these numbers.
    "torchrl, a farther clip above": Run(
        TORCHRL_RUN["ClipPPOLoss_asym"], ("preset=torchrl", "ppo.clip_more=0.08"), TORCHRL
    ),
    "rlax": Run(RUNS["rlax_0.1.9"]["result"], ("preset=rlax",), RLAX),
}  # fmt: skip
NO_NUMBERS = {"note", "vectorised_equal", "truncation_variant"}


class Saved(NamedTuple):
    """A book, and its cells as another program recalculated them from the formulas alone."""

    book: Book
    cells: Cells


@cache
def book(name: str) -> Book:
    """Builds the workbook of a run, once."""
    return made(*CHECKED[name].overrides, numbers="classic")


def assert_found(name: str, array_of: Callable[[str], Array]) -> None:
    """Asserts that every number of a run is ours."""
    run = CHECKED[name]
    for key, (block, read) in run.ours.items():
        expected = read(run.found[key])
        allowed = ROUNDING * (1 + np.abs(expected).max())
        np.testing.assert_allclose(array_of(block), expected, rtol=0, atol=allowed, err_msg=f"{name}: {key}")


def computed(made: Book, block: str) -> Array:
    """Returns a block as the definitions have it."""
    return np.asarray(made.values[made.blocks[block]], dtype=float)


def recalculated(saved: Saved, name: str) -> Array:
    """Returns a block as a spreadsheet program has it."""
    block = saved.book.blocks[name]
    array = np.empty(np.shape(saved.book.values[block]))
    for at in np.ndindex(array.shape):
        sheet, _, cell = saved.book.layout.address(block, at).rpartition("!")
        array[at] = saved.cells[sheet.strip("'"), cell]
    return array


def spoiled(name: str, folder: Path) -> Path:
    """Saves the workbook of a run with 777.25 for every cached value, so that what is found right was computed."""
    path = folder / f"{list(CHECKED).index(name)}.xlsx"
    book(name).save(folder / "whole.xlsx")
    spoil(folder / "whole.xlsx", path)
    return path


@pytest.mark.parametrize("name", CHECKED)
def test_every_number_of_the_library_is_the_definitions(name: str) -> None:
    assert_found(name, lambda block: computed(book(name), block))


@pytest.mark.parametrize("name", CHECKED)
def test_every_number_of_the_library_is_held_against_ours(name: str) -> None:
    run = CHECKED[name]
    assert set(run.found) - NO_NUMBERS == set(run.ours)


@pytest.mark.parametrize("name", CHECKED)
def test_every_number_of_the_library_is_the_workbooks_in_ironcalc(name: str, tmp_path: Path) -> None:
    saved = Saved(book(name), with_ironcalc(spoiled(name, tmp_path)))
    assert_found(name, lambda block: recalculated(saved, block))


@pytest.mark.usefixtures("needs_libreoffice")
def test_every_number_of_the_libraries_is_the_workbooks_in_libreoffice(tmp_path: Path) -> None:
    found = with_libreoffice([spoiled(name, tmp_path) for name in CHECKED])
    for name, cells in zip(CHECKED, found, strict=True):
        saved = Saved(book(name), cells)
        assert_found(name, lambda block, saved=saved: recalculated(saved, block))  # type: ignore[misc]


@pytest.mark.parametrize("name", CHECKED)
def test_the_file_proves_itself_and_its_checks_are_ok(name: str, tmp_path: Path) -> None:
    assert str(book(name).values.cell(book(name).blocks["check.master"])) == "OK"
    book(name).save(tmp_path / "a.xlsx")
    proof = book(name).prove(tmp_path / "a.xlsx")
    assert (proof.failures, proof.agreeing) == ([], proof.total)
    assert proof.worst < ROUNDING


def test_the_built_in_numbers_are_the_rollout_that_the_libraries_had() -> None:
    given = {
        "rewards": "rewards", "done": "ended_after_step", "actions": "actions", "values.new": "values_new",
    }  # fmt: skip
    default = book("the default is cleanrl")
    for block, key in given.items():
        np.testing.assert_array_equal(computed(default, block), by_time(ROLLOUT[key]), err_msg=key)
    for block, key in {"old.logits": "logits_old", "policy.logits": "logits_new"}.items():
        np.testing.assert_array_equal(computed(default, block), np.swapaxes(ROLLOUT[key], 0, 1), err_msg=key)
    values = default.values.arrays[default.blocks["values.old"]]
    np.testing.assert_array_equal(values, np.vstack([ROLLOUT["values_old"], [ROLLOUT["next_value"]]]).T)


def test_a_forgotten_end_is_seen() -> None:
    """The goldens can fail: with no episode ended, the advantages are others wherever an end was to the right."""
    without = made(f"rollout.done={NEVER}", numbers="classic")
    with pytest.raises(AssertionError, match="advantages_raw"):
        assert_found("cleanrl", lambda block: computed(without, block))
