"""The witness against the workbooks: built-in numbers, random ones, and files as `read` gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.page.contents import kind_of
from blueprint.page.read import read
from blueprint.workbooks.registry import witness_of as witness
from tests.page.workshop import made, save_made
from tests.witness.stage import built_in, differing, random_file

# As in the design: within 1e-12 of 1 + the row's largest number; float32 with IEEE products errs by up to 2e-5.
FLOAT64, FLOAT32 = 1e-12, 2e-5
LEVELS = ("default", "very-very-sleepy")


@pytest.mark.parametrize("name", LEVELS)
def test_a_built_in_workbook_agrees(name: str) -> None:
    file = built_in(name)
    assert differing(witness([file], device="cpu")[0], file, FLOAT64) == []


@pytest.mark.parametrize("name", LEVELS)
def test_every_formula_is_recomputed_and_nothing_else(name: str) -> None:
    formulas = {block.name for block in made(numbers=name).values.arrays if kind_of(block) == "formula"}
    assert set(witness([built_in(name)], device="cpu")[0]) == formulas


@pytest.mark.parametrize("name", LEVELS)
def test_only_what_is_typed_is_read(name: str) -> None:
    book = made(numbers=name)
    typed = {block.name: array for block, array in book.values.arrays.items() if kind_of(block) == "typed"}
    assert differing(witness([typed], device="cpu")[0], built_in(name), FLOAT64) == []


def test_a_saved_file_agrees(tmp_path: Path) -> None:
    save_made(tmp_path / "a.xlsx")
    file = read(tmp_path / "a.xlsx")
    assert differing(witness([file], device="cpu")[0], file, FLOAT64) == []


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_random_numbers_agree(first: int) -> None:
    files = [random_file(seed) for seed in range(first, first + 10)]
    for file, found in zip(files, witness(files, device="cpu"), strict=True):
        assert differing(found, file, FLOAT64) == []


def test_200_random_number_sets_agree_in_one_call() -> None:
    files = [random_file(seed) for seed in range(200)]
    found = witness(files, device="cpu")
    assert [wrong for ours, file in zip(found, files, strict=True) for wrong in differing(ours, file, FLOAT64)] == []
    assert found.record.ties == []


@pytest.mark.parametrize("name", LEVELS)
def test_float32_agrees_coarsely(name: str) -> None:
    file = built_in(name)
    found = witness([file], device="cpu", dtype="float32")
    assert found[0]["advantages"].dtype == np.float32
    # The sheet's checks allow 1e-9, which float32 cannot keep: their distances are compared, their verdicts are not.
    verdicts = (".verdict", ".failed", "check.master")
    assert differing({name: row for name, row in found[0].items() if not name.endswith(verdicts)}, file, FLOAT32) == []


def test_the_total_of_the_example_is_the_one_of_the_independent_reference() -> None:
    found = witness([built_in("default")], device="cpu")[0]
    assert found["total_loss"] == pytest.approx(0.105459, abs=5e-7)
    assert found["word_written"][0].tolist() == ["the", "old", "dog", "is", "very", "very", "sleepy", "<eos>", ""]


@pytest.mark.parametrize(
    ("changes", "total"),
    [
        ({(f"policy.delta.{part}", ...): 0.0 for part in "EWY"}, 0.157258),
        ({("rollout.draw", (0, 3)): 0.05}, 0.230665),
        ({("rollout.draw", (1, 3 + word)): draw for word, draw in enumerate((0.89, 0.95, 0.60, 0.90))}, 1.378065),
    ],
    ids=["the policy not updated", "a response of one token", "a response cut"],
)
def test_totals_of_the_example_changed(changes: dict[tuple[str, Any], float], total: float) -> None:
    """Totals that were printed with the example before there was a witness."""
    file = {name: array.copy() for name, array in built_in("default").items()}
    for (name, at), value in changes.items():
        file[name][at] = value
    assert witness([file], device="cpu")[0]["total_loss"] == pytest.approx(total, abs=5e-7)
