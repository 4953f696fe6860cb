"""Files of a kind of one's own are explained, rebuilt, compared and checked through its record alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest

import blueprint as bp
from blueprint.inputs import load
from blueprint.page.read import Opened, ReadError
from blueprint.reopening import OwnBook, back_from, book_of
from blueprint.workbooks import add_kind, registry
from tests.commands import run_command
from tests.kinds.toy import KIND
from tests.reopening.alike import fields_that_differ
from tests.reopening.typing_in import all_typed_into


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind is known while a test runs."""
    monkeypatch.setattr(registry, "_added", {})
    add_kind(KIND)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Saves its workbook."""
    bp.build("toy").save(tmp_path / "toy.xlsx")
    return tmp_path / "toy.xlsx"


def test_a_file_is_explained_as_the_book_that_wrote_it(saved: Path) -> None:
    ours, theirs = (each.explain("preference_loss", depth="all") for each in (bp.build("toy"), book_of(saved)))
    assert str(theirs) == str(ours)
    told = run_command("explain", saved, "answer.sum", "--at", "p=2", "--at", "s=chosen")
    assert (told.exit_code, "S_sum[2, “chosen”] = −2.5" in told.output) == (0, True)


def test_what_was_typed_comes_back_and_is_computed_with(saved: Path, tmp_path: Path) -> None:
    edited = all_typed_into(saved, tmp_path / "edited.xlsx", {"beta.yours": 2, "answer.yours": "Mean", "sign": 0})
    back = back_from(edited)
    same = ["preference.beta=2", "preference.answer=mean"]
    assert fields_that_differ(load("toy", same), back.numbers) == []
    assert [line.partition(" (")[2] for line in back.unheld] == ["sign): 0, and 1 in a workbook built from the numbers"]
    printed = run_command("numbers", edited)
    assert (printed.exit_code, "beta = 2.0" in printed.stdout) == (0, True)


def test_a_copy_without_properties_is_known_by_its_sign(saved: Path, tmp_path: Path) -> None:
    copy = openpyxl.load_workbook(saved)
    for prop in list(copy.custom_doc_props.props):
        del copy.custom_doc_props[prop.name]
    copy.save(tmp_path / "copy.xlsx")
    differ = fields_that_differ(load("toy"), back_from(tmp_path / "copy.xlsx").numbers)
    assert set(differ) <= {"name", "title", "about", "built_in"}


def test_it_is_rebuilt_and_compared(saved: Path, tmp_path: Path) -> None:
    edited = all_typed_into(saved, tmp_path / "edited.xlsx", {"logprobs": -4, "beta.yours": 2})
    built = run_command("rebuild", edited, "-o", tmp_path / "new.xlsx")
    assert (built.exit_code, "preference loss" in built.output) == (0, True)
    assert run_command("diff", edited, tmp_path / "new.xlsx").exit_code == 0
    told = json.loads(run_command("diff", saved, edited, "--json").output)
    assert {each["label"] for each in told["inputs"]} == {"β_yours", "log π[1, “chosen”, 1]"}
    assert {"answer.sum", "margin", "preference_loss"} <= {each["block"] for each in told["partings"]}
    assert told["taken"] == []


def test_check_computes_a_kind_without_a_page_from_its_equations_alone(saved: Path) -> None:
    pytest.importorskip("torch", reason="check looks for it first")
    add_kind(replace(KIND, paper=None))
    result = run_command("check", saved)
    assert (result.exit_code, "agrees" in result.output, "paper" in result.output) == (0, True, False)


def test_what_torch_has_no_meaning_for_is_refused_before_it_is_asked(saved: Path) -> None:
    from blueprint.checking import Checked

    add_kind(replace(KIND, whole={"sign": (1, "1 for the chosen answer")}))
    with pytest.raises(ReadError) as refused:
        Checked(saved)
    found = Opened(saved).places["sign"]
    assert str(refused.value) == f"{saved}, Pairs!{found.cell((1,))} (sign): found -1, expected 1 for the chosen answer"


def test_a_kind_that_says_nothing_of_its_files_is_read_by_formulas(saved: Path) -> None:
    add_kind(replace(KIND, saved=None))
    assert isinstance(book_of(saved), OwnBook)


def test_a_file_that_says_its_level_and_lacks_its_sign_is_refused(saved: Path, tmp_path: Path) -> None:
    copy = openpyxl.load_workbook(saved)
    (line,) = (row for row in copy["Contents"].iter_rows() if row[0].value == "sides")
    line[0].value = "other"
    copy.save(tmp_path / "copy.xlsx")
    with pytest.raises(ReadError, match="has no block sides: it was made by another version of this program"):
        book_of(tmp_path / "copy.xlsx")
