"""The commands check and build --witness: what they print, how they end, and what they refuse."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import ironcalc
import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking import Checked
from blueprint.page.grid import column_letters
from blueprint.page.read import Found
from tests.checking.cells import change
from tests.checking.running import SIGNAL, row_of, run
from tests.commands import run_command
from tests.page.workshop import located, save_made


def test_the_command_prints_one_line_for_a_file_that_agrees_and_ends_with_0(path: Path) -> None:
    code, out, _ = run(path)
    (line,) = out.splitlines()
    assert code == 0
    said = r"  agrees  ([\d,]+) of \1 quantities, [\d,]+ cells, largest difference \S+, "
    said += r"([\d,]+) of \2 formulas, [\d,]+ other stored values, (\d+) of \3 results of the paper's page"
    assert re.fullmatch(re.escape(str(path)) + said, line)


def test_every_formula_is_compared_with_something(path: Path) -> None:
    """The cells of quantities with torch, the others with what an engine makes of them: no stored value is left over."""
    told = json.loads(run(path, "--json")[1])["files"][0]
    places, formulas = located(path), told["formulas"]["expected"]
    of_quantities = sum(found.kind != "typed" for found in places.values() for _ in found.cells())
    constants = sum(each["cells"] for each in told["quantities"]) - of_quantities
    assert constants == 0
    assert told["values"]["compared"] + of_quantities >= formulas == told["formulas"]["compared"]


@pytest.mark.parametrize("sheet", ["Walk", "Start", "Loss", "Formulas", "Delivered"])
def test_a_stored_text_or_mark_that_no_formula_comes_to_is_told(path: Path, tmp_path: Path, sheet: str) -> None:
    """In the margin (a mark), in a print of Walk, in a verdict: whatever stands there that its formula does not come to."""
    workbook, shown = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
    column = {"Walk": "F", "Start": "D", "Loss": "A", "Formulas": "D", "Delivered": "D"}[sheet]
    formulas = (each for each in workbook[sheet][column] if str(each.value).startswith("="))
    cell = next(each for each in formulas if not isinstance(shown[sheet][each.coordinate].value, float))
    change(path, tmp_path / "a.xlsx", sheet, {cell.coordinate: (str(cell.value).removeprefix("="), "≠")})
    code, out, _ = run(tmp_path / "a.xlsx")
    place = f"{sheet}!{cell.coordinate}"
    assert code == 1
    first, second, *others = out.splitlines()
    assert first.startswith(f"{tmp_path / 'a.xlsx'}  shows what no formula comes to: {place}")
    assert second.startswith(f"{place}: the file shows '≠', its formula comes to ")
    assert second.endswith(": saved without recalculation")
    assert others == []


def test_all_prints_a_table_of_every_file_and_how_it_was_computed(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "b.xlsx")
    code, out, _ = run(path, tmp_path / "b.xlsx", "--all")
    assert code == 0
    assert sum(line.startswith("advantages ") for line in out.splitlines()) == 2
    assert sum("  agrees  " in line for line in out.splitlines() if ".xlsx" in line) == 2
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
    assert f"wrong.xlsx  differs: {SIGNAL}!{cell}: td_errors of episode 1, position 5: sheet 0.25" in out
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
    assert "float32" not in out
    assert "float32 on cpu" in run(path, "--dtype", "float32", "--all")[1].splitlines()[-1]


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
    result = run_command("build", "--witness", "--numbers", numbers, "-o", target)
    assert result.exit_code == 0, result.output
    book = openpyxl.load_workbook(target, data_only=True)["Checks"]
    cells = {str(cell.value) for row in book.iter_rows() for cell in row if cell.value is not None}
    assert any(text.startswith("Computed by torch ") and "float64 on" in text for text in cells)
    places = located(target)
    beside = [name for name in places if name.startswith("witness.") and name != "witness.near"]
    assert len(beside) >= 5
    arrays = Checked(target).arrays
    for name in beside:
        assert float(arrays[name]) == pytest.approx(float(arrays[name.removeprefix("witness.")]), abs=1e-12)
        assert float(arrays[name]) != 0 or float(arrays[name.removeprefix("witness.")]) == 0
    assert arrays["check.master"] == "OK"
    checked = run_command("check", target)
    assert checked.exit_code == 0, checked.output
    assert re.search(r"agrees  (\d+) of \1 quantities, .*, ([1-9][\d,]+) of \2 formulas", checked.output)


def test_a_distance_from_torch_that_somebody_typed_is_named(tmp_path: Path) -> None:
    target = tmp_path / "beside.xlsx"
    options = ["--witness", "--no-proof"]
    assert run_command("build", *options, "-o", target).exit_code == 0
    found = located(target)["distance.total_loss"]
    cell = f"{column_letters(found.left - 1)}{found.top}"
    change(target, tmp_path / "typed.xlsx", found.sheet, {cell: (None, 0.0)})
    checked = run_command("check", tmp_path / "typed.xlsx")
    assert checked.exit_code == 1
    assert f"{found.sheet}!{cell}" in checked.output


def test_the_master_check_covers_torchs_numbers_until_an_input_is_changed(tmp_path: Path) -> None:
    target = tmp_path / "beside.xlsx"
    assert run_command("build", "--witness", "--no-proof", "-o", target).exit_code == 0
    places, model = located(target), ironcalc.load_from_xlsx(str(target))
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
    save_made(tmp_path / "sleepy.xlsx", numbers="very-very-sleepy")
    place = located(tmp_path / "sleepy.xlsx")["mask"]
    row, column = next((row, column) for at, row, column in place.cells() if at == (0, 1))
    change(
        tmp_path / "sleepy.xlsx", tmp_path / "hole.xlsx", place.sheet, {f"{column_letters(column - 1)}{row}": (None, 0)}
    )
    code, _, err = run(tmp_path / "hole.xlsx")
    assert code == 2
    assert "the mask of episode 1 has a hole at position 2: a workbook has no rows for holes yet" in err


@pytest.mark.parametrize("command", [["check", "good.xlsx"], ["build", "--witness"]])
def test_without_torch_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("blueprint.commands.errors.find_spec", lambda name: None)
    result = run_command(*command)
    assert result.exit_code == 2
    assert f"{' '.join(command).removesuffix(' good.xlsx')} needs torch, which is not installed" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_command_imports_torch_before_it_is_asked_for_numbers() -> None:
    """In a process in which torch cannot be imported, as where it is not installed."""
    code = "import sys; sys.modules['torch'] = None\nfrom blueprint.cli import main\nmain(['check', 'none.xlsx'])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "came upon" not in told.stderr
    assert told.returncode in (2, 3)
    names = (
        "import sys; sys.modules['torch'] = None\nimport blueprint.commands.check, blueprint.checking, blueprint.api"
    )
    subprocess.run([sys.executable, "-c", names], check=True)


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
