"""The copy from which an engine computes has the names that formulas say, and every cell of the file."""

import re
import zipfile
from pathlib import Path

import pytest

from blueprint.page import recalculate
from blueprint.page.lean import lean
from tests.page.workshop import save_made


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_made(tmp_path_factory.mktemp("lean") / "a.xlsx", numbers="very-very-sleepy")


def _names(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as book:
        return set(re.findall(r'<definedName [^>]*name="([^"]*)"', book.read("xl/workbook.xml").decode()))


def test_names_that_no_formula_says_are_left_out_and_nothing_else(saved: Path, tmp_path: Path) -> None:
    short = lean(saved, tmp_path / "b.xlsx")
    assert {"changed_since"} <= _names(short) < _names(saved)
    with zipfile.ZipFile(saved) as whole, zipfile.ZipFile(short) as copy:
        assert whole.namelist() == copy.namelist()
        changed = [name for name in whole.namelist() if whole.read(name) != copy.read(name)]
    assert changed == ["xl/workbook.xml"]


def test_an_engine_computes_the_same_with_all_of_them(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = recalculate.with_ironcalc(saved)
    monkeypatch.setattr(recalculate, "lean", lambda path, target: path)
    assert recalculate.with_ironcalc(saved) == found


def test_a_name_that_another_name_says_stays(tmp_path: Path) -> None:
    names = '<definedName name="a">S!$A$1</definedName><definedName name="b">a*2</definedName>'
    book = f"<workbook><definedNames>{names}</definedNames></workbook>"
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as made:
        made.writestr("xl/workbook.xml", book)
        made.writestr("xl/worksheets/sheet1.xml", "<c><f>b+1</f></c>")
    assert _names(lean(tmp_path / "a.xlsx", tmp_path / "b.xlsx")) == {"a", "b"}
