"""Files of a kind of one's own are explained, rebuilt, compared and checked through its record alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest
from click.testing import CliRunner, Result

from blueprint.book import Book
from blueprint.checking.files import Checked
from blueprint.cli import main
from blueprint.page.read import ReadError, locate
from blueprint.reopening import OwnBook, back_from, book_of
from blueprint.workbooks import add_kind, blueprint_of, registry
from tests.kinds.pairs import LOGPROBS, NUMBERS, kind, pairs
from tests.reopening.alike import fields_that_differ
from tests.reopening.typing_in import all_typed_into


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind is known while a test runs."""
    monkeypatch.setattr(registry, "_added", {})
    add_kind(kind())


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Saves its workbook."""
    Book(blueprint_of(NUMBERS)).save(tmp_path / "pairs.xlsx")
    return tmp_path / "pairs.xlsx"


def run(*arguments: object) -> Result:
    """Calls a command."""
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_a_file_is_explained_as_the_book_that_wrote_it(saved: Path) -> None:
    of = Book(blueprint_of(NUMBERS))
    assert str(book_of(saved).explain("loss", depth="all")) == str(of.explain("loss", depth="all"))
    told = run("explain", saved, "response.logprob", "--at", "p=2", "--at", "s=1")
    assert (told.exit_code, "L[2, 1] = −4.25" in told.output) == (0, True)


def test_what_was_typed_comes_back_and_is_computed_with(saved: Path, tmp_path: Path) -> None:
    edited = all_typed_into(saved, tmp_path / "edited.xlsx", {"beta": 2, "sign": 0})
    back = back_from(edited)
    assert fields_that_differ(pairs("two", LOGPROBS, 2), back.numbers) == []
    assert [line.partition(" (")[2] for line in back.unheld] == ["sign): 0, and 1 in a workbook built from the numbers"]
    assert book_of(edited).explain("margin", p=1).value == 5


def test_a_copy_without_properties_is_known_by_its_sign(saved: Path, tmp_path: Path) -> None:
    copy = openpyxl.load_workbook(saved)
    for prop in list(copy.custom_doc_props.props):
        del copy.custom_doc_props[prop.name]
    copy.save(tmp_path / "copy.xlsx")
    assert fields_that_differ(NUMBERS, back_from(tmp_path / "copy.xlsx").numbers) == ["name"]


def test_it_is_rebuilt_and_compared(saved: Path, tmp_path: Path) -> None:
    edited = all_typed_into(saved, tmp_path / "edited.xlsx", {"logprobs": -4})
    built = run("rebuild", edited, "-o", tmp_path / "new.xlsx", "--no-proof")
    assert (built.exit_code, "loss" in built.output) == (0, True)
    assert run("diff", edited, tmp_path / "new.xlsx").exit_code == 0
    told = json.loads(run("diff", saved, edited, "--json").output)
    assert [each["label"] for each in told["inputs"]] == ["logp[1, 1, 1]"]
    assert [each["block"] for each in told["partings"]] == ["response.logprob", "margin", "pair.loss", "loss"]
    assert told["taken"] == []


def test_without_a_witness_check_says_so_and_what_to_give(saved: Path) -> None:
    result = run("check", saved)
    assert result.exit_code == 3
    assert result.stderr.startswith(
        f"Error: {saved} is a workbook of pairs that check does not know: it knows RLHF PPO, "
    )
    assert "give the record of its kind a witness" in result.stderr


def test_what_a_witness_has_no_meaning_for_is_refused_before_it_is_asked(saved: Path) -> None:
    add_kind(kind(witness="nowhere", strict=True))
    with pytest.raises(ReadError) as refused:
        Checked(saved)
    found = locate(saved)["sign"]
    assert (
        str(refused.value) == f"{saved}, Pairs!{found.cell((1,))} (sign): found -1, expected 1 for the preferred side"
    )


def test_a_kind_that_says_nothing_of_its_files_is_read_by_formulas(saved: Path) -> None:
    add_kind(replace(kind(), saved=None))
    assert isinstance(book_of(saved), OwnBook)
