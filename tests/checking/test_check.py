"""Files against the outside witness: what agrees, and planted edits, each named at the right cell and classed rightly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import ironcalc
import openpyxl
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking.causes import Cause
from blueprint.checking.checker import check
from blueprint.checking.files import read_checked
from blueprint.checking.verdicts import Verdict
from blueprint.cli import main
from blueprint.page.grid import letters
from blueprint.page.read import Found, locate
from blueprint.page.soffice import convert, libreoffice
from tests.audit import formulas
from tests.checking.cells import change
from tests.page.basic import Change, edit
from tests.page.workshop import made

SIGNAL, LOSS = "Reward & advantage", "Loss"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook."""
    saved = tmp_path_factory.mktemp("check") / "rlhf_ppo.xlsx"
    made().save(saved)
    return saved


@pytest.fixture(scope="module")
def places(path: Path) -> dict[str, Found]:
    """Returns where its blocks stand."""
    return locate(path)


def judged(path: Path) -> Verdict:
    """Checks one file."""
    return check([read_checked(path)]).verdicts[0]


def row_of(places: dict[str, Found], name: str) -> int:
    """Returns the row of a block that has one."""
    return places[name].top


def test_every_computed_quantity_of_the_built_in_workbooks_agrees(path: Path, tmp_path: Path) -> None:
    made(numbers="very-very-sleepy").save(tmp_path / "sleepy.xlsx")
    for file in (path, tmp_path / "sleepy.xlsx"):
        verdict = judged(file)
        assert verdict.agrees, verdict.firsts
        computed = {name for name, found in locate(file).items() if found.kind != "typed"}
        assert {line.name for line in verdict.lines} == computed
        assert verdict.largest < 1e-14


def test_a_formula_overwritten_by_a_number(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    """The number 0.25 in place of δ of episode 1, decision 5, in a file recalculated afterwards."""
    cell = f"U{row_of(places, 'td_errors')}"
    change(path, tmp_path / "a.xlsx", SIGNAL, {cell: (None, 0.25)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cell, first.sheet) == ("td_errors", f"{SIGNAL}!{cell}", 0.25)
    assert first.witness == pytest.approx(-0.3763, abs=5e-5)
    assert first.what == "td_errors of episode 1, decision 5"
    assert first.cause.cause is Cause.FORMULA
    assert "a number stands there" in first.cause.why


def test_an_input_changed_without_recalculation(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    change(path, tmp_path / "a.xlsx", "Inputs", {f"E{row_of(places, 'gamma.yours')}": (None, 1)})
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.firsts[0].name == "gamma"
    assert verdict.firsts[0].cause.cause is Cause.STALE
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
    assert (first.name, first.cell, first.cause.cause) == ("returns", f"{SIGNAL}!{cell}", Cause.FORMULA)
    assert flipped in first.cause.why


def test_a_row_of_another_formula(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    """Every cell of the row forgets γ; the file is recalculated, so that nothing in it contradicts itself."""
    row = row_of(places, "td_errors")
    changed = {
        cell: f
        for (sheet, cell), f in formulas(path).items()
        if sheet == SIGNAL and cell.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == str(row)
    }
    book = openpyxl.load_workbook(path)
    for cell, formula in changed.items():
        assert "gamma_*" in formula
        book[SIGNAL][cell].value = "=" + formula.replace("gamma_*", "")
    book.save(tmp_path / "a.xlsx")
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.file.recalculated  # openpyxl saves no numbers
    assert (verdict.firsts[0].name, verdict.firsts[0].cause.cause) == ("td_errors", Cause.ARITHMETIC)
    assert "advantages" in verdict.firsts[0].follows


def test_a_wrong_cached_value(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    cell = f"T{row_of(places, 'ratio')}"
    change(path, tmp_path / "a.xlsx", LOSS, {cell: (formulas(path)[LOSS, cell], 0.9)})
    verdict = judged(tmp_path / "a.xlsx")
    assert [first.cell for first in verdict.firsts] == [f"{LOSS}!{cell}"]
    assert verdict.firsts[0].cause.cause is Cause.STALE


def test_a_link_that_leads_elsewhere(path: Path, places: dict[str, Found], tmp_path: Path) -> None:
    cell = f"T{row_of(places, 'loss.returns')}"
    other = formulas(path)[LOSS, f"U{row_of(places, 'loss.returns')}"]
    book = made()
    wrong = float(book.values.cell(book.blocks["returns"], 0, 4))
    change(path, tmp_path / "a.xlsx", LOSS, {cell: (other, wrong)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cause.cause) == ("loss.returns", Cause.FORMULA)


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


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Runs the command; returns exit code, stdout and stderr."""
    result = CliRunner().invoke(main, ["check", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_a_table_and_ends_with_0(path: Path) -> None:
    code, out, _ = run(path)
    assert code == 0
    assert "advantages" in out
    assert f"{path}  agrees" in out
    assert "float64 on cpu" in out


def test_many_files_have_a_line_each_and_a_difference_ends_with_1(
    path: Path, places: dict[str, Found], tmp_path: Path
) -> None:
    cell = f"U{row_of(places, 'td_errors')}"
    change(path, tmp_path / "wrong.xlsx", SIGNAL, {cell: (None, 0.25)})
    shutil.copy(path, tmp_path / "right.xlsx")
    code, out, _ = run(tmp_path / "right.xlsx", tmp_path / "wrong.xlsx")
    assert code == 1
    assert "right.xlsx  agrees" in out
    assert f"wrong.xlsx  differs: {SIGNAL}!{cell}: td_errors of episode 1, decision 5: sheet 0.25" in out
    assert "broken formula" in out


def test_json_is_for_programs(path: Path) -> None:
    code, out, _ = run(path, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["files"][0]["agrees"]
    assert told["dtype"] == "float64"
    assert {"quantity", "range", "cells", "largest", "where"} <= told["files"][0]["quantities"][0].keys()


def test_float32_is_held_to_what_float32_can(path: Path) -> None:
    code, out, _ = run(path, "--dtype", "float32")
    assert code == 0, out
    assert "float32" in out


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nothing.xlsx"], 3, "nothing.xlsx does not exist"),
        (["text.xlsx"], 3, "is no workbook in xlsx format"),
        (["theirs.xlsx"], 3, "has no range called blueprint_contents"),
        (["locked.xlsx"], 3, "is protected by a password"),
        (["good.xlsx", "--dtype", "bfloat16"], 2, "bfloat16"),
        (["good.xlsx", "--device", "warp"], 2, "warp"),
        ([], 2, "Missing argument"),
    ],
)
def test_wrong_use_and_unreadable_files_have_a_sentence(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(path, "good.xlsx")
    Path("text.xlsx").write_text("no archive", encoding="utf-8")
    openpyxl.Workbook().save("theirs.xlsx")
    Path("locked.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"0" * 600)
    found, _, err = run(*arguments)
    assert found == code
    assert sentence in err
    assert "Traceback" not in err


def test_one_unreadable_file_does_not_keep_the_others_from_being_checked(path: Path) -> None:
    code, out, err = run(path, "nothing.xlsx")
    assert code == 3
    assert "rlhf_ppo.xlsx  agrees" in out
    assert "nothing.xlsx does not exist" in err


@pytest.mark.parametrize("numbers", ["default", "very-very-sleepy"])
def test_a_build_puts_torch_beside_the_sheet(tmp_path: Path, numbers: str) -> None:
    target = tmp_path / "beside.xlsx"
    result = CliRunner().invoke(main, ["build", "--witness", "--numbers", numbers, "-o", str(target)])
    assert result.exit_code == 0, result.output
    book = openpyxl.load_workbook(target, data_only=True)["Checks"]
    cells = {str(cell.value) for row in book.iter_rows() for cell in row if cell.value is not None}
    assert any(text.startswith("Computed by torch ") and "float64 on" in text for text in cells)
    places = locate(target)
    beside = [name for name in places if name.startswith("witness.") and name != "witness.near"]
    assert len(beside) >= 5
    arrays = read_checked(target).arrays
    for name in beside:
        assert float(arrays[name]) == pytest.approx(float(arrays[name.removeprefix("witness.")]), abs=1e-12)
        assert float(arrays[name]) != 0 or float(arrays[name.removeprefix("witness.")]) == 0
    assert arrays["check.master"] == "OK"


def test_the_master_check_covers_torchs_numbers_until_an_input_is_changed(tmp_path: Path) -> None:
    target = tmp_path / "beside.xlsx"
    assert CliRunner().invoke(main, ["build", "--witness", "--no-proof", "-o", str(target)]).exit_code == 0
    places, model = locate(target), ironcalc.load_from_xlsx(str(target))
    sheets = {sheet["name"]: number for number, sheet in enumerate(model.get_worksheets_properties())}

    def types(name: str, text: str) -> None:
        model.set_user_input(sheets[places[name].sheet], places[name].top, places[name].left, text)
        model.evaluate()

    def says(name: str) -> object:
        return model.get_cell_value(sheets[places[name].sheet], places[name].top, places[name].left)

    model.evaluate()
    assert (says("check.master"), says("inputs.changed")) == ("OK", 0)
    types("total_loss", "7")  # a formula overwritten: torch's number stays, and tells
    assert (says("check.witness.verdict"), says("check.master")) == ("LOOK", "LOOK")
    types("total_loss", "=policy_loss+adds_value_loss+adds_entropy+adds_policy_kl")
    assert says("check.master") == "OK"
    types("gamma.yours", "0.5")  # another input: torch's numbers belong to the delivered one
    assert (says("inputs.changed"), says("check.witness.verdict"), says("check.master")) == (1, "OK", "OK")


def test_a_mask_with_a_hole_is_refused(path: Path, tmp_path: Path) -> None:
    made(numbers="very-very-sleepy").save(tmp_path / "sleepy.xlsx")
    place = locate(tmp_path / "sleepy.xlsx")["mask"]
    row, column = next((row, column) for at, row, column in place.cells() if at == (0, 1))
    change(tmp_path / "sleepy.xlsx", tmp_path / "hole.xlsx", place.sheet, {f"{letters(column - 1)}{row}": (None, 0)})
    code, _, err = run(tmp_path / "hole.xlsx")
    assert code == 2
    assert "the mask of episode 1 has a hole at decision 2: a workbook has no rows for holes yet" in err


@pytest.mark.parametrize("command", [["check", "good.xlsx"], ["build", "--witness"]])
def test_without_torch_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("blueprint.cli_check.find_spec", lambda name: None)
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert f"{' '.join(command).removesuffix(' good.xlsx')} needs torch, which is not installed" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_another_version_and_deleted_rows_are_refused(path: Path, tmp_path: Path) -> None:
    book = openpyxl.load_workbook(path)
    next(prop for prop in book.custom_doc_props.props if prop.name == "blueprint layout").value = "1"
    book.save(tmp_path / "older.xlsx")
    book = openpyxl.load_workbook(path)
    book["Contents"].delete_rows(40, 5)
    book.save(tmp_path / "cut.xlsx")
    for name, sentence in (("older", "was written in layout 1"), ("cut", "rows of it were deleted")):
        code, _, err = run(tmp_path / f"{name}.xlsx")
        assert (code, sentence in err) == (3, True), err


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
