"""Files against the outside witness: what agrees, and planted edits, each named at the right cell and classed rightly."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking.causes import Cause
from blueprint.page.read import Found
from tests.audit import formulas
from tests.checking.cells import change
from tests.checking.running import LOSS, SIGNAL, judged, row_of
from tests.page.basic import Change, edit
from tests.page.soffice import convert, libreoffice
from tests.page.workshop import made, save_made


def test_corners_between_two_edges_are_no_formulas_without_numbers(tmp_path: Path) -> None:
    """Around a grid lies a wall; where two of its sides meet no equation reaches, so that nothing stands there."""
    verdict = judged(save_made(tmp_path / "grid.xlsx", numbers="value-iteration"))
    assert verdict.agrees
    assert not verdict.file.recalculated
    assert verdict.values.compared > 100


def test_a_formula_overwritten_by_a_number(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    """The number 0.25 in place of δ of episode 1, decision 5, in a file recalculated afterwards."""
    cell = f"U{row_of(places, 'td_errors')}"
    change(path, tmp_path / "a.xlsx", SIGNAL, {cell: (None, 0.25)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cell, first.sheet) == ("td_errors", f"{SIGNAL}!{cell}", 0.25)
    assert first.witness == pytest.approx(-0.3763, abs=5e-5)
    assert first.what == "td_errors of episode 1, position 5"
    assert first.cause is Cause.FORMULA
    assert "a number stands there" in first.why


def test_an_input_changed_without_recalculation(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    change(path, tmp_path / "a.xlsx", "Inputs", {f"E{row_of(places, 'gamma.yours')}": (None, 1)})
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.firsts[0].name == "gamma"
    assert verdict.firsts[0].cause is Cause.STALE
    assert {"td_errors", "advantages", "total_loss"} <= set(verdict.firsts[0].follows)
    assert len(verdict.firsts) == 1


def test_a_sign_flipped_in_one_cell(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    cell = f"V{row_of(places, 'returns')}"
    formula = formulas(path)[SIGNAL, cell]
    flipped = formula.replace("+", "-")
    assert flipped != formula
    book = made()
    A, V = (float(book.values.cell(book.blocks[name], 0, 5)) for name in ("advantages", "old_critic.values"))
    change(path, tmp_path / "a.xlsx", SIGNAL, {cell: (flipped, A - V)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cell, first.cause) == ("returns", f"{SIGNAL}!{cell}", Cause.FORMULA)
    assert flipped in first.why


def test_a_row_of_another_formula(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    """Every cell of the row forgets γ; the file is recalculated, so that nothing in it contradicts itself but its watch."""
    row = row_of(places, "td_errors")
    changed = {
        cell: f
        for (sheet, cell), f in formulas(path).items()
        if sheet == SIGNAL and cell.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == str(row) and cell != f"A{row}"
    }
    book = openpyxl.load_workbook(path)
    for cell, formula in changed.items():
        assert "gamma_*" in formula
        book[SIGNAL][cell].value = "=" + formula.replace("gamma_*", "")
    book.save(tmp_path / "a.xlsx")
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.file.recalculated  # openpyxl saves no numbers
    assert (verdict.firsts[0].name, verdict.firsts[0].cause) == ("td_errors", Cause.FORMULA)
    assert re.fullmatch(r"the whole row is =.*; a fresh workbook has =.*gamma_\*.*", verdict.firsts[0].why)
    assert {other.cell for other in verdict.file.compared.others} == {f"{SIGNAL}!{cell}" for cell in changed}
    assert "advantages" in verdict.firsts[0].follows


def test_a_wrong_cached_value(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    cell = f"T{row_of(places, 'ratio')}"
    change(path, tmp_path / "a.xlsx", LOSS, {cell: (formulas(path)[LOSS, cell], 0.9)})
    verdict = judged(tmp_path / "a.xlsx")
    assert [first.cell for first in verdict.firsts] == [f"{LOSS}!{cell}"]
    assert verdict.firsts[0].cause is Cause.STALE


def test_a_link_that_leads_elsewhere(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    cell = f"T{row_of(places, 'loss.returns')}"
    other = formulas(path)[LOSS, f"U{row_of(places, 'loss.returns')}"]
    book = made()
    wrong = float(book.values.cell(book.blocks["returns"], 0, 4))
    change(path, tmp_path / "a.xlsx", LOSS, {cell: (other, wrong)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cause) == ("loss.returns", Cause.FORMULA)


def test_files_edited_and_saved_by_others(path: Path, tmp_path: Path, needs_libreoffice: None) -> None:
    """openpyxl drops every number; LibreOffice recalculates; both rename and reorder sheets, and the file still agrees."""
    book = openpyxl.load_workbook(path)
    book["Inputs"]["E8"].value = 0.5
    book["Old policy"]["T89"].value = (
        0.05 if book["Old policy"]["T89"].data_type == "n" else book["Old policy"]["T89"].value
    )
    book.move_sheet("Contents", -5)
    book.save(tmp_path / "openpyxl.xlsx")
    program = libreoffice()
    assert program is not None
    saved = convert(program, [tmp_path / "openpyxl.xlsx"], tmp_path)[0]
    for file in (tmp_path / "openpyxl.xlsx", saved):
        verdict = judged(file)
        assert verdict.agrees, verdict.firsts
        assert float(verdict.file.arrays["gamma"]) == 0.5


def test_sheets_renamed_and_reordered_by_a_person_are_followed(
    path: Path, places: dict[str, Found], tmp_path: Path, needs_libreoffice: None
) -> None:
    lines = [
        'book.Sheets.getByName("Loss").Name = "What it costs"',
        'book.Sheets.moveByName("Old policy", 0)',
        'book.Sheets.getByName("Inputs").getCellRangeByName("E8").Value = 0.5',
        "book.calculateAll()",
    ]
    edit([Change(path, tmp_path / "renamed.xlsx", lines)], tmp_path)
    verdict = judged(tmp_path / "renamed.xlsx")
    assert verdict.agrees, verdict.firsts
    assert verdict.file.places["total_loss"].sheet == "What it costs"
    assert float(verdict.file.arrays["gamma"]) == 0.5
