"""Whatever somebody writes into single cells of a workbook, check ends in a verdict or in one sentence."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking import Checked, data, findings, line_of, quantities
from blueprint.checking.checker import check
from blueprint.checking.verdicts import Verdict
from blueprint.page.contents import COLUMNS
from blueprint.page.read import ReadError
from blueprint.witness.settings import WitnessError
from tests.checking.cells import change
from tests.checking.running import SIGNAL, run
from tests.commands import run_command
from tests.page.workshop import save_made
from tests.page.zips import rewritten

Value = float | str | None
ODD: list[Value] = [
    5, -1, 1e300, None, "", "typed", "link", "words", "numbers", "foo", "n→2/12", "t→3", "v↓3 t→3", "t→0", "mask",
    "old.W", "after.words", "presets.names", "case.ratio", "#REF!", "a, b", "'", "\u202e\u200b", "gamma_",
]  # fmt: skip


@cache
def plain_file() -> bytes:
    """Builds the smallest workbook that check knows."""
    with TemporaryDirectory() as folder:
        return save_made(Path(folder) / "a.xlsx", numbers="very-very-sleepy").read_bytes()


@cache
def contents() -> dict[str, dict[str, str]]:
    """Returns the addresses of the cells of Contents that hold something, by column and by the block of their line."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.xlsx"
        path.write_bytes(plain_file())
        rows = list(openpyxl.load_workbook(path)["Contents"].iter_rows(min_row=5))
    columns = {column: [row[i] for row in rows] for i, column in enumerate(COLUMNS)}
    return {
        column: {str(row[0].value): cell.coordinate for row, cell in zip(rows, cells, strict=True) if cell.value}
        for column, cells in columns.items()
    }


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Saves the smallest workbook that check knows."""
    path = tmp_path / "whole.xlsx"
    path.write_bytes(plain_file())
    return path


def answered(path: Path) -> Verdict | str:
    """Checks a file and prints the verdict in every way; returns it, or the sentence with which the file is refused."""
    try:
        verdict = check([Checked(path)]).verdicts[0]
    except (ReadError, WitnessError) as error:
        return str(error)
    printed = [quantities(verdict), line_of(verdict), findings(verdict), json.dumps(data(verdict))]
    assert all(text.replace("\n", "").isprintable() for text in printed)
    return verdict


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.sampled_from(("name", "kind", "holds", "reads from", "defined name", "lies")), st.data(), st.sampled_from(ODD)
)
def test_a_cell_of_contents_may_hold_anything(column: str, drawn: st.DataObject, value: Value) -> None:
    cell = drawn.draw(st.sampled_from(list(contents()[column].values())))
    with TemporaryDirectory() as folder:
        whole, damaged = Path(folder) / "whole.xlsx", Path(folder) / "damaged.xlsx"
        whole.write_bytes(plain_file())
        change(whole, damaged, "Contents", {cell: (None, value)})
        said = answered(damaged)
    if isinstance(said, str):
        assert said.isprintable()


SAID = {
    "no name": ("name", None, "the Contents sheet has no name for advantages"),
    "a number for a name": ("name", 7, "says of 7 under “name” '7', expected a word"),
    "a name twice": ("name", "returns", "lists 'returns' twice"),
    "an unknown kind": (
        "kind",
        "magic",
        "says of advantages under “kind” 'magic', expected one of typed, formula, link",
    ),
    "no kind": ("kind", None, "under “kind” 'None', expected one of"),
    "a number that is read": ("reads from", 0.5, "under “reads from” '0.5', expected a word"),
    "neither words nor numbers": ("holds", "both", "expected one of words, numbers"),
    "a number for how it lies": ("lies", 3, "under “lies” '3', expected a word"),
}


@pytest.mark.parametrize("said", SAID)
def test_a_damaged_line_of_contents_is_refused_in_a_sentence(whole: Path, tmp_path: Path, said: str) -> None:
    column, value, sentence = SAID[said]
    change(whole, tmp_path / "a.xlsx", "Contents", {contents()[column]["advantages"]: (None, value)})
    code, out, err = run(tmp_path / "a.xlsx")
    assert (code, out) == (3, "")
    assert sentence in err
    assert "came upon something" not in err


@pytest.mark.parametrize("range_", ["'Reward & advantage!$Q$25", "Checks!$D$8#", "#REF!", "=1+", "[1]Other!A1:B2"])
def test_a_defined_name_may_mean_anything(whole: Path, tmp_path: Path, range_: str) -> None:
    written = range_.replace("&", "&amp;").encode()
    data = rewritten(
        plain_file(),
        lambda name, content: (
            re.sub(rb'(<definedName name="advantages"[^>]*>)[^<]*', rb"\g<1>" + written, content)
            if name == "xl/workbook.xml"
            else content
        ),
    )
    (tmp_path / "a.xlsx").write_bytes(data)
    code, _, err = run(tmp_path / "a.xlsx")
    assert code == 3
    assert "advantages" in err
    assert "came upon something" not in err


@pytest.mark.parametrize("formula", ["Q9#", '"abc', "cmd|'/C calc'!A0", "SUM(", "'", "{1,2", "[1]!x"])
def test_a_deviating_formula_may_be_anything(whole: Path, tmp_path: Path, formula: str) -> None:
    change(whole, tmp_path / "a.xlsx", SIGNAL, {"R25": (formula, 0.5)})
    verdict = answered(tmp_path / "a.xlsx")
    assert isinstance(verdict, Verdict)
    assert [first.cell for first in verdict.firsts] == [f"{SIGNAL}!R25"]
    assert f"its formula is ={formula}" in verdict.firsts[0].why


def test_a_computed_word_that_is_shown_as_a_date_is_named(whole: Path, tmp_path: Path) -> None:
    book = openpyxl.load_workbook(whole)
    cell = book["Inputs"]["D14"]
    assert cell.value.startswith("=IF(kl_estimator_yours")
    cell.number_format = "yyyy-mm-dd"
    book.save(tmp_path / "styled.xlsx")
    change(tmp_path / "styled.xlsx", tmp_path / "a.xlsx", "Inputs", {"D14": (cell.value[1:], 45_000)})
    verdict = answered(tmp_path / "a.xlsx")
    assert isinstance(verdict, Verdict)
    code, out, _ = run(tmp_path / "a.xlsx", "--json")
    assert code in (0, 1)
    assert json.loads(out)["files"]


def test_a_name_changed_on_contents_is_said_and_nothing_agrees(whole: Path, tmp_path: Path) -> None:
    change(whole, tmp_path / "a.xlsx", "Contents", {contents()["name"]["advantages"]: (None, "advantage")})
    code, out, _ = run(tmp_path / "a.xlsx")
    assert code == 1
    assert "not all compared" in out
    assert "not compared: advantages: the Contents sheet has no such name" in out
    assert "agrees  " not in out
    told = json.loads(run(tmp_path / "a.xlsx", "--json")[1])["files"][0]
    assert not told["agrees"]
    assert told["quantities_compared"] < told["quantities_expected"]
    assert {"advantages", "advantage"} <= {each["quantity"] for each in told["missed"]}


@pytest.mark.parametrize(("column", "value"), [("lies", "t→3(end) n→1/7"), ("holds", "words")])
def test_a_row_that_cannot_be_compared_is_said(whole: Path, tmp_path: Path, column: str, value: str) -> None:
    change(whole, tmp_path / "a.xlsx", "Contents", {contents()[column]["advantages"]: (None, value)})
    code, out, _ = run(tmp_path / "a.xlsx")
    assert code == 1
    assert "not compared: advantages: the Contents sheet says that it" in out


def test_a_file_without_values_leaves_standard_output_to_the_answer(
    whole: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bare = rewritten(plain_file(), lambda name, content: re.sub(rb"(</f>)<v>[^<]*</v>", rb"\1", content))
    (tmp_path / "bare.xlsx").write_bytes(bare)
    code, out, _ = run(tmp_path / "bare.xlsx", "--json")
    assert code == 0
    assert json.loads(out)["files"][0]["recalculated"]
    assert capfd.readouterr().out == ""  # what an engine prints does not go through Python


def test_a_formula_that_was_typed_and_saved_without_its_value_counts(whole: Path, tmp_path: Path) -> None:
    """γ typed as =0.25+0.25, everything else as it was: the inputs show nothing there, and the file is not right."""
    yours = next(cell.coordinate for cell in openpyxl.load_workbook(whole)["Inputs"]["E"] if cell.row == 7)
    change(whole, tmp_path / "a.xlsx", "Inputs", {yours: ("0.25+0.25", None)})
    verdict = answered(tmp_path / "a.xlsx")
    assert isinstance(verdict, Verdict)
    assert verdict.file.recalculated
    assert float(verdict.file.arrays["gamma.yours"]) == 0.5
    assert float(verdict.file.arrays["gamma"]) == 0.5
    assert verdict.agrees


def test_a_mask_other_than_0_and_1_is_refused_by_its_cell_and_by_the_page(whole: Path, tmp_path: Path) -> None:
    change(whole, tmp_path / "a.xlsx", SIGNAL, {"R6": (None, 2)})
    code, _, err = run(tmp_path / "a.xlsx", whole)
    assert code == 3
    assert f"a.xlsx, {SIGNAL}!R6 (mask): found 2, expected 1 for a token of the response or 0 for any other" in err
    rules = openpyxl.load_workbook(whole)[SIGNAL].data_validations.dataValidation
    (rule,) = (each for each in rules if "R6" in each.sqref)
    assert (rule.type, rule.formula1, rule.formula2) == ("whole", "0", "1")


DAMAGE: list[tuple[str, str, Value]] = [
    ("name", "advantages", "advantage"),
    ("name", "advantages", 7),
    ("kind", "advantages", "typed"),
    ("kind", "mask", "formula"),
    ("holds", "advantages", "words"),
    ("lies", "advantages", "t→3(end) n→1/7"),
    ("reads from", "advantages", 0.5),
    ("defined name", "advantages", "gamma_"),
]


@pytest.mark.parametrize(("column", "name", "value"), DAMAGE)
def test_other_commands_have_a_sentence_for_it_too(
    whole: Path, tmp_path: Path, column: str, name: str, value: Value
) -> None:
    change(whole, tmp_path / "a.xlsx", "Contents", {contents()[column][name]: (None, value)})
    for command in (["explain", str(tmp_path / "a.xlsx"), "returns"], ["numbers", str(tmp_path / "a.xlsx")]):
        found = run_command(*command)
        assert found.exit_code in (0, 2, 3)
        assert "came upon something" not in found.output
