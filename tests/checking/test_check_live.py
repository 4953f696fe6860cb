"""Saved workbooks with live conventions against the outside witness, and mistakes planted in rows of the conventions."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking.causes import Cause
from blueprint.checking.verdicts import Verdict
from blueprint.page.read import Found
from tests.audit import formulas
from tests.checking.cells import change
from tests.checking.running import judged
from tests.live import book
from tests.page.workshop import located

CASES = {
    "logits": ("ten-libraries", "preset=verl", "compare=openai,openrlhf,verl"),
    "weights": ("default", "conventions=live", "compare=verl"),
    "ten": ("ten-libraries", "preset=verl"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saves a workbook of each level."""
    folder = tmp_path_factory.mktemp("live")
    for level, case in CASES.items():
        book(*case).save(folder / f"{level}.xlsx")
    return {level: folder / f"{level}.xlsx" for level in CASES}


def firsts(verdict: Verdict) -> list[str]:
    """Lists what deviates first."""
    return [first.name for first in verdict.firsts]


def cell_of(path: Path, found: Found, at: tuple[int, ...]) -> str:
    """Returns the address of a cell of a block, and checks that a formula stands there."""
    row, column = next((r, c) for index, r, c in found.cells() if index == at)
    cell = f"{openpyxl.utils.get_column_letter(column)}{row}"
    assert (found.sheet, cell) in formulas_in(path)
    return cell


@cache
def formulas_in(path: Path) -> dict[tuple[str, str], str]:
    """Returns every formula of a saved workbook, which no test writes anew."""
    return formulas(path)


@pytest.mark.parametrize("level", CASES)
def test_a_saved_workbook_agrees(saved: dict[str, Path], level: str) -> None:
    verdict = judged(saved[level])
    assert firsts(verdict) == []
    computed = {name for name, found in verdict.file.places.items() if found.kind != "typed"}
    assert {line.name for line in verdict.lines} == computed
    assert [line.name for line in verdict.lines if not line.agrees] == []


@pytest.mark.parametrize(
    ("level", "name", "at"),
    [
        ("logits", "score.place", (1, 3)),
        ("logits", "library.rewards.raw", (2, 1, 4)),
        ("weights", "policy.weight.row", (0, 5)),
    ],
)
def test_a_number_typed_over_a_convention_is_named(
    saved: dict[str, Path], tmp_path: Path, level: str, name: str, at: tuple[int, ...]
) -> None:
    found = located(saved[level])[name]
    cell = cell_of(saved[level], found, at)
    change(saved[level], tmp_path / "a.xlsx", found.sheet, {cell: (None, 0.375)})
    verdict = judged(tmp_path / "a.xlsx")
    first = verdict.firsts[0]
    assert (first.name, first.cell, first.sheet, first.cause) == (
        name,
        f"{found.sheet}!{cell}",
        0.375,
        Cause.FORMULA,
    )
    if name.startswith("library."):
        assert first.what == "library.rewards.raw of library 3, episode 2, position 5"


def test_a_row_of_another_formula_is_named(saved: dict[str, Path], tmp_path: Path) -> None:
    """The dual clip's floor forgets its factor in every cell; the file is recalculated, so that nothing contradicts."""
    found = located(saved["logits"])["surrogate.floor"]
    cells = (cell_of(saved["logits"], found, at) for at, _, _ in found.cells())
    edits = {cell: (f"{formulas_in(saved['logits'])[found.sheet, cell]}*2", None) for cell in cells}
    change(saved["logits"], tmp_path / "a.xlsx", found.sheet, edits)
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.file.recalculated
    assert firsts(verdict) == ["surrogate.floor"]
    assert verdict.firsts[0].cause is Cause.FORMULA
    assert "; a fresh workbook has =" in verdict.firsts[0].why


def test_another_preset_typed_without_recalculation_is_stale(saved: dict[str, Path], tmp_path: Path) -> None:
    found = located(saved["logits"])["preset"]
    ((_, row, column),) = found.cells()
    cell = f"{openpyxl.utils.get_column_letter(column)}{row}"
    change(saved["logits"], tmp_path / "a.xlsx", found.sheet, {cell: (None, "torchtune")})
    verdict = judged(tmp_path / "a.xlsx")
    assert firsts(verdict)[0] == "preset.number"
    assert verdict.firsts[0].cause is Cause.STALE
    assert {"gae_lambda.preset", "score.place", "total_loss", "library.differs"} <= set(verdict.firsts[0].follows)
