"""Saved workbooks of a minibatch against the outside witness, and mistakes planted in them, by the command and from Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.checking.causes import Cause
from blueprint.page.read import Found
from tests.checking.cells import change
from tests.checking.running import judged, run
from tests.checking.test_check_live import formulas_in
from tests.page.workshop import located
from tests.replayed import window_book, with_everything_logged
from tests.windows import variant

CASES: dict[str, Callable[[], Book]] = {
    "verl": lambda: window_book("verl"),
    "trl": lambda: window_book("trl_1.12", 24, with_everything_logged("trl_1.12")),
    "rewards": lambda: variant("rewards"),
    "advantages": lambda: variant("advantages, no entropy"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saves a workbook for each place where one begins."""
    folder = tmp_path_factory.mktemp("minibatch")
    for name, make in CASES.items():
        make().save(folder / f"{name}.xlsx")
    return {name: folder / f"{name}.xlsx" for name in CASES}


def cell_of(found: Found, at: tuple[int, ...] = ()) -> str:
    """Returns the address of a cell of a block."""
    row, column = next((row, column) for index, row, column in found.cells() if index == at)
    return f"{openpyxl.utils.get_column_letter(column)}{row}"


@pytest.mark.parametrize("name", CASES)
def test_every_quantity_has_a_line_and_agrees(saved: dict[str, Path], name: str) -> None:
    verdict = judged(saved[name])
    assert verdict.firsts == ()
    computed = {each for each, found in located(saved[name]).items() if found.kind != "typed"}
    assert {line.name for line in verdict.lines} == computed
    assert [line.name for line in verdict.lines if not line.agrees] == []
    assert not verdict.file.recalculated


def test_the_command_prints_a_line_for_each_quantity(saved: dict[str, Path]) -> None:
    code, out, err = run(saved["trl"], "--all")
    assert (code, err) == (0, "")
    assert f"{saved['trl']}  agrees" in out
    printed = {line.split()[0] for line in out.splitlines() if line.strip()}
    assert {each for each, found in located(saved["trl"]).items() if found.kind != "typed"} - printed == set()


def test_several_files_are_checked_in_one_call(saved: dict[str, Path]) -> None:
    code, out, _ = run(*saved.values())
    assert code == 0
    assert [f"{path}  agrees" in out for path in saved.values()] == [True] * len(CASES)


@pytest.mark.parametrize(
    ("name", "block", "at"),
    [
        ("verl", "advantages", (1, 3)),
        ("verl", "place.until", (2, 16)),
        ("trl", "off.rewards", (0, 5)),
        ("trl", "total_loss", ()),
        ("rewards", "td_errors", (2, 0)),
        ("advantages", "surrogate", (1, 1)),
    ],
)
def test_a_number_typed_over_a_formula_is_named(
    saved: dict[str, Path], tmp_path: Path, name: str, block: str, at: tuple[int, ...]
) -> None:
    found = located(saved[name])[block]
    cell = cell_of(found, at)
    assert (found.sheet, cell) in formulas_in(saved[name])
    change(saved[name], tmp_path / "a.xlsx", found.sheet, {cell: (None, 0.375)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cell, first.sheet) == (block, f"{found.sheet}!{cell}", 0.375)
    assert first.cause is Cause.FORMULA
    if name == "verl":
        code, out, _ = run(tmp_path / "a.xlsx")
        assert code == 1
        assert f"differs: {found.sheet}!{cell}: {block}" in out


def test_a_row_of_another_formula_is_named(saved: dict[str, Path], tmp_path: Path) -> None:
    """Every weight is twice what it should be; the file is recalculated, so that nothing in it contradicts itself."""
    found = located(saved["verl"])["policy.weight.token_mean"]
    cell = cell_of(found)
    doubled = f"{formulas_in(saved['verl'])[found.sheet, cell]}*2"
    change(saved["verl"], tmp_path / "a.xlsx", found.sheet, {cell: (doubled, None)})
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.file.recalculated
    assert [first.name for first in verdict.firsts] == ["policy.weight.token_mean"]
    assert verdict.firsts[0].cause is Cause.FORMULA
    assert "; a fresh workbook has =" in verdict.firsts[0].why
    assert {"policy.weight.row", "policy_loss", "total_loss", "off.total_loss"} <= set(verdict.firsts[0].follows)


@pytest.mark.parametrize(
    ("typed", "value", "first", "follows"),
    [
        ("gae_lambda.yours", 0.5, "gae_lambda", {"advantages", "returns", "total_loss"}),
        ("after.advantages", 0.75, "advantages", {"returns", "advantage.whitened", "policy_loss"}),
        ("rest.policy", 0.25, "policy_loss", {"total_loss"}),
        ("preset", "torchtune", "preset.number", {"reward.score_slot", "advantages", "total_loss"}),
    ],
)
def test_an_input_changed_without_recalculation_is_stale(
    saved: dict[str, Path], tmp_path: Path, typed: str, value: float | str, first: str, follows: set[str]
) -> None:
    found = located(saved["verl"])[typed]
    at = next(index for index, _, _ in found.cells())
    change(saved["verl"], tmp_path / "a.xlsx", found.sheet, {cell_of(found, at): (None, value)})
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.firsts[0].name == first
    assert verdict.firsts[0].cause is Cause.STALE
    assert follows <= set(verdict.firsts[0].follows)


def test_an_edited_workbook_that_was_saved_without_numbers_agrees(saved: dict[str, Path], tmp_path: Path) -> None:
    """openpyxl drops every number, so that the file is recalculated with what was typed: it then agrees."""
    places, written = located(saved["trl"]), openpyxl.load_workbook(saved["trl"])
    edits = {"kl_estimator.yours": "k3", "gamma.yours": 0.9, "loss.aggregation.yours": "seq-mean-token-mean"}
    for name, value in edits.items():
        written[places[name].sheet][cell_of(places[name])].value = value
    written.save(tmp_path / "edited.xlsx")
    verdict = judged(tmp_path / "edited.xlsx")
    assert verdict.file.recalculated
    assert verdict.agrees, verdict.firsts
    assert float(verdict.file.arrays["gamma"]) == 0.9
    assert verdict.file.arrays["kl_estimator"] == "k3"
