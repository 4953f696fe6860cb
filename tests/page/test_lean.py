"""The copy from which an engine computes says places for names, and comes to what the file comes to."""

import re
import zipfile
from pathlib import Path

import pytest

from blueprint.page import engine
from blueprint.page.engine import lean
from tests.page.workshop import save_made


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_made(tmp_path_factory.mktemp("lean") / "a.xlsx", numbers="very-very-sleepy")


def _names(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as book:
        return set(re.findall(r'<definedName [^>]*name="([^"]*)"', book.read("xl/workbook.xml").decode()))


def test_only_formulas_and_the_list_of_names_change(saved: Path, tmp_path: Path) -> None:
    short = lean(saved, tmp_path / "b.xlsx")
    assert len(_names(short)) < len(_names(saved)) / 10
    with zipfile.ZipFile(saved) as whole, zipfile.ZipFile(short) as copy:
        assert whole.namelist() == copy.namelist()
        changed = [name for name in whole.namelist() if whole.read(name) != copy.read(name)]
        assert {name for name in changed if not name.startswith("xl/worksheets/")} == {"xl/workbook.xml"}
        for name in changed:
            bare = [
                re.sub(rb"<f>[^<]*</f>|<definedName.*</definedNames>", b"", book.read(name)) for book in (whole, copy)
            ]
            assert bare[0] == bare[1], name


@pytest.mark.parametrize("numbers", ["very-very-sleepy", "grpo-batch", "dpo", "classic", "reward-model"])
def test_an_engine_computes_the_same_from_the_file_itself(
    numbers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_made(tmp_path / "a.xlsx", numbers=numbers)
    found = engine.with_ironcalc(path)
    monkeypatch.setattr(engine, "lean", lambda path, target: path)
    assert engine.with_ironcalc(path) == found


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("SUM(rate)*rate_two+Rate", "SUM('My &amp; S'!$A$1)*rate_two+Rate"),
        ("A1+rate", "A1+'My &amp; S'!$A$1"),
        ('IF(rate&gt;0,"the rate","A")', 'IF(\'My &amp; S\'!$A$1&gt;0,"the rate","A")'),
        ("IF(rate&gt;0,&quot;a rate&quot;,1)", "IF('My &amp; S'!$A$1&gt;0,\"a rate\",1)"),
        ("'a rate'!A1+my.rate+rates", "'a rate'!A1+my.rate+rates"),
        ("S!rate+rate(A1)+rate:A2+A1:rate", "S!rate+rate(A1)+rate:A2+A1:rate"),
        ("A1+raterate+Ärate+rateä", "A1+raterate+Ärate+rateä"),
        ("here+A1", "here+A1"),
        ("moved+A1", "moved+A1"),
        ("rate", "'My &amp; S'!$A$1"),
        ("loud", "loud"),
        ("SUM(loud)", "SUM(SFT!$A$1)"),
    ],
)
def test_a_place_stands_where_a_name_stands_for_itself(formula: str, said: str, tmp_path: Path) -> None:
    names = (
        '<definedName name="rate">\'My &amp; S\'!$A$1</definedName><definedName name="moved">S!A1</definedName>'
        '<definedName name="loud">SFT!$A$1</definedName>'
        '<definedName name="here">S!$A$1</definedName><definedName name="here" localSheetId="0">S!$B$1</definedName>'
    )
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as made:
        made.writestr("xl/workbook.xml", f"<workbook><definedNames>{names}</definedNames></workbook>")
        made.writestr("xl/worksheets/sheet1.xml", f"<c><f>{formula}</f></c>")
    with zipfile.ZipFile(lean(tmp_path / "a.xlsx", tmp_path / "b.xlsx")) as copy:
        assert copy.read("xl/worksheets/sheet1.xml").decode() == f"<c><f>{said}</f></c>"
        kept = copy.read("xl/workbook.xml").decode()
    for name in ("rate", "moved", "here", "loud"):
        still = name in re.findall(r"\w+", said.lower())
        assert f'"{name}"' in kept or not still, name
        assert f'"{name}"' not in kept or name in said.lower(), name


def test_a_name_that_another_name_says_stays(tmp_path: Path) -> None:
    names = '<definedName name="a">S!$A$1</definedName><definedName name="b">a*2</definedName>'
    book = f"<workbook><definedNames>{names}</definedNames></workbook>"
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as made:
        made.writestr("xl/workbook.xml", book)
        made.writestr("xl/worksheets/sheet1.xml", "<c><f>b+1</f></c>")
    assert _names(lean(tmp_path / "a.xlsx", tmp_path / "b.xlsx")) == {"a", "b"}
