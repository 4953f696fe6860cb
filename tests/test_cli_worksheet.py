"""The command `worksheet`, as a user calls it."""

import json
import re
from pathlib import Path

from jsonschema import Draft202012Validator
from openpyxl import load_workbook

from tests.commands import run_command

SLEEPY = ("worksheet", "--numbers", "very-very-sleepy", "--no-proof")


def test_a_worksheet_its_answers_and_a_handout(tmp_path: Path) -> None:
    sheet, answers, paper = (tmp_path / name for name in ("s.xlsx", "a.xlsx", "h.pdf"))
    given = ("-o", sheet, "--answers", answers, "--print", paper, "--blanks", 3, "--check", "--seed", 7)
    result = run_command("worksheet", "--numbers", "very-very-sleepy", *given)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert re.fullmatch(r".*s\.xlsx: 3 blanks of level 1 \(single cells\), \d+ sheets, \d+ formulas", lines[0])
    assert "left out, since it would give an answer away:" in lines
    assert any(line.startswith("proof: ironcalc recalculated") for line in lines)
    names = load_workbook(sheet).defined_names
    for number, line in enumerate(lines[1:4], 1):
        assert names[f"blank_{number:02}"].attr_text.replace("$", "") == line.split("  ")[-1].strip(), line
    told = load_workbook(answers, data_only=True)
    for number in (1, 2, 3):
        where, _, cell = names[f"blank_{number:02}"].attr_text.replace("$", "").rpartition("!")
        assert load_workbook(sheet)[where.strip("'")][cell].value is None
        assert isinstance(told[where.strip("'")][cell].value, float)
    assert paper.read_bytes().startswith(b"%PDF-")


def test_programs_are_told_without_answers(tmp_path: Path) -> None:
    result = run_command(*SLEEPY, "-o", tmp_path / "s.xlsx", "--blanks", 2, "--json")
    found = json.loads(result.stdout)
    assert (found["level"], found["answers"], len(found["blanks"])) == (1, None, 2)
    assert set(found["blanks"][0]) == {"number", "title", "block", "cells", "weight", "asks", "check"}
    assert "Walk" in found["left_out"]


def test_rows_listed_in_a_file(tmp_path: Path) -> None:
    listed = tmp_path / "blanks.toml"
    listed.write_text('[[blanks]]\nwhat = "δ"\nweight = 3\n', encoding="utf-8")
    result = run_command(*SLEEPY, "-o", tmp_path / "s.xlsx", "--blanks-file", listed, "--level", 2, "--json")
    (blank,) = json.loads(result.stdout)["blanks"]
    assert (blank["title"], blank["weight"], blank["asks"]) == ("td_errors", 3, "formula")


def test_the_schema_describes_files_of_blanks() -> None:
    found = json.loads(run_command("worksheet", "--schema").stdout)
    Draft202012Validator.check_schema(found)
    check = Draft202012Validator(found)
    assert check.is_valid({"blanks": [{"what": "advantages", "weight": 2}]})
    assert not check.is_valid({"blanks": [{"what": "advantages", "weight": 0}]})
    assert not check.is_valid({"blanks": []})


def test_a_single_blank_is_proved_and_checked_as_well(tmp_path: Path) -> None:
    made = run_command("worksheet", "--numbers", "very-very-sleepy", "-o", tmp_path / "s.xlsx", "--blanks", 1)
    assert made.exit_code == 0, made.output
    assert re.search(r"ironcalc recalculated ([\d,]+) of \1 formulas", made.stdout)
    checked = run_command("check", tmp_path / "s.xlsx")
    assert "agrees so far" in checked.stdout
    assert "2 cells wait for a blank that is not filled in: they neither agree nor deviate" in checked.stdout
