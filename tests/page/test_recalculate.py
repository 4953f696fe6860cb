"""The engines compute from formulas alone, also from the copy with places for names, and `prove` sees every disagreement."""

import math
import re
import time
import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter

from blueprint.page import engine
from blueprint.page.digits import Print
from blueprint.page.engine import Cells, lean, with_ironcalc
from blueprint.page.recalculate import Absent, Failure, compare, prove
from tests.audit import formulas, spoil
from tests.page import soffice
from tests.page.workshop import save_made

FORMULAS: dict[tuple[str, str], tuple[str, float | str | bool | None]] = {
    ("Old policy", "B2"): ("=A1*2", 5.0),
    ("Old policy", "C2"): ("=EXP(B2)/3", math.exp(5) / 3),
    ("Old policy", "D2"): ('=IF(A1>2,"cat","dog")', "cat"),
    ("Old policy", "E2"): ('=IF(A1<2,1,"")', ""),
    ("Old policy", "F2"): ("=A1>2", True),
    ("Old policy", "G2"): ('=MATCH("<eos>",$A$3:$A$5,0)', 3.0),
    ("R & A", "AA7"): ("='Old policy'!C2+gamma_", math.exp(5) / 3 + 2.5),
}
EXPECTED: Cells = {key: value for key, (_, value) in FORMULAS.items()}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Writes a small workbook with every kind of result, each with its true cached value."""
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as workbook:
        sheets = {name: workbook.add_worksheet(name) for name in ("Old policy", "R & A")}
        sheets["Old policy"].write("A1", 2.5)
        for row, word in enumerate(("cat", "=1+1", "<eos>"), start=2):
            sheets["Old policy"].write_string(row, 0, word)
        workbook.define_name("gamma_", "='Old policy'!$A$1")
        for (sheet, cell), (formula, value) in FORMULAS.items():
            sheets[sheet].write_formula(cell, formula, None, value)
    return path


@pytest.fixture
def spoiled(book: Path) -> Path:
    """Replaces every cached value of the book by 777.25."""
    path = book.with_name("spoiled.xlsx")
    assert spoil(book, path) == len(FORMULAS)
    return path


def cached(path: Path) -> set[object]:
    """Returns the different values that a file shows without being recalculated."""
    loaded = openpyxl.load_workbook(path, data_only=True)
    return {loaded[sheet][cell].value for sheet, cell in formulas(path)}


def test_ironcalc_repairs_spoiled_caches(spoiled: Path) -> None:
    assert cached(spoiled) == {777.25}
    proof = prove(spoiled, EXPECTED)
    assert proof.failures == []
    assert (proof.total, proof.agreeing) == (len(FORMULAS), len(FORMULAS))
    assert proof.worst <= 1e-15


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_repairs_spoiled_caches_of_several_files(book: Path, spoiled: Path, tmp_path: Path) -> None:
    twin = tmp_path / "elsewhere" / spoiled.name
    twin.parent.mkdir()
    twin.write_bytes(book.read_bytes())
    first, second = soffice.with_libreoffice([spoiled, twin])
    assert compare(EXPECTED, first).failures == []
    assert first == second


@pytest.mark.usefixtures("needs_libreoffice")
def test_it_is_the_profile_that_makes_libreoffice_recalculate(spoiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = soffice.PROFILE[soffice.PROFILE.index("<item") : soffice.PROFILE.index("</oor:items>")]
    monkeypatch.setattr(soffice, "PROFILE", soffice.PROFILE.replace(order, ""))
    assert set(soffice.with_libreoffice([spoiled])[0].values()) == {777.25}


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_reads_dates_as_serial_numbers_and_errors_as_text(tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "book.xlsx") as workbook:
        sheet = workbook.add_worksheet("S")
        sheet.write_formula("A1", "=40000+5", workbook.add_format({"num_format": "yyyy-mm-dd"}))
        sheet.write_formula("A2", "=1/0")
    expected = {("S", "A1"): 40005.0, ("S", "A2"): "#DIV/0!"}
    assert soffice.with_libreoffice([tmp_path / "book.xlsx"]) == [expected]
    assert with_ironcalc(tmp_path / "book.xlsx") == expected


def test_only_formula_cells_are_returned(book: Path) -> None:
    assert set(with_ironcalc(book)) == set(formulas(book)) == set(EXPECTED)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        (("Old policy", "C2"), math.exp(5) / 3 * (1 + 3e-9)),
        (("Old policy", "B2"), math.nan),
        (("Old policy", "B2"), "5"),
        (("Old policy", "D2"), "Cat"),
        (("Old policy", "D2"), None),
        (("Old policy", "E2"), 0.0),
        (("Old policy", "F2"), 1.0),
        (("Old policy", "F2"), False),
        (("R & A", "AA7"), "#N/A"),
    ],
)
def test_a_planted_wrong_value_is_a_failure(book: Path, key: tuple[str, str], wrong: float | str | bool | None) -> None:
    proof = prove(book, EXPECTED | {key: wrong})
    assert [(failure.sheet, failure.cell) for failure in proof.failures] == [key]
    assert (proof.total, proof.agreeing) == (len(FORMULAS), len(FORMULAS) - 1)


def test_a_cell_that_one_side_lacks_is_a_failure(book: Path) -> None:
    expected: Cells = EXPECTED | {("R & A", "A1"): 1.0}
    del expected["Old policy", "B2"]
    proof = prove(book, expected)
    assert proof.failures == [
        Failure("Old policy", "B2", Absent.CELL, 5.0),
        Failure("R & A", "A1", 1.0, Absent.CELL),
    ]
    assert str(proof.failures[0]) == "Old policy!B2: we computed nothing, the engine 5.0"


@pytest.mark.parametrize("formula", ["LN(0)", "0/0", "NA()", "NOSUCH(1)", "nosuch+1", "EXP(1000)", "A1"])
def test_an_error_agrees_with_an_error_and_with_nothing_else(tmp_path: Path, formula: str) -> None:
    with xlsxwriter.Workbook(tmp_path / "book.xlsx") as workbook:
        workbook.add_worksheet("S").write_formula("A1", f"={formula}", None, 1)
    computed = with_ironcalc(tmp_path / "book.xlsx")
    assert str(computed["S", "A1"]).startswith("#")
    for ours, agreeing in (("#NUM!", 1), ("Err:502", 1), (1.0, 0), ("", 0), ("#", 0), (None, 0), (math.inf, 0)):
        assert prove(tmp_path / "book.xlsx", {("S", "A1"): ours}).agreeing == agreeing, ours


def test_worst_is_the_largest_scaled_difference() -> None:
    ours: Cells = {("S", "A1"): 2000.0, ("S", "A2"): 0.5, ("S", "A3"): None}
    theirs: Cells = {("S", "A1"): 1000.0, ("S", "A2"): 0.25, ("S", "A3"): ""}
    proof = compare(ours, theirs)
    assert (proof.worst, proof.agreeing) == (1.0, 1)
    assert compare({("S", "A1"): math.inf}, {("S", "A1"): 1.0}).worst == math.inf
    assert compare({}, {}).worst == 0


def test_twenty_thousand_formulas_take_less_than_a_few_seconds(tmp_path: Path) -> None:
    path = tmp_path / "large.xlsx"
    with xlsxwriter.Workbook(path) as workbook:
        sheet = workbook.add_worksheet("S")
        for i in range(20_000):
            sheet.write_formula(i // 100, i % 100, f"=EXP({i}/20000)*2", None, 777.25)
    start = time.perf_counter()
    cells = with_ironcalc(path)
    assert time.perf_counter() - start < 5  # about half a second; the bound only catches a wrong loop
    assert len(cells) == 20_000
    assert cells["S", "CV200"] == pytest.approx(2 * math.exp(19_999 / 20_000), rel=1e-14)


@pytest.mark.usefixtures("needs_libreoffice")
def test_no_files_are_no_work() -> None:
    assert soffice.with_libreoffice([]) == []


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("= 0.5 + 1·2", "= 0.5 + 1·2", True),
        ("= 0.0002·3", "= 0.0001·3", True),  # a tie, rounded the other way
        ("= 0.5001", "= 0.5", True),
        ("= 0.5002", "= 0.5", False),
        ("333333333333333000000000", "333333333333333060000000", True),
        ("= 12", "= 13", False),
        ("h1", "h2", False),
        ("= 1 + 2", "= 1 − 2", False),
        ("very", "happy", False),
    ],
)
def test_texts_agree_but_for_the_rounding_of_the_numbers_in_them(ours: str, theirs: str, same: bool) -> None:
    assert (compare({("A", "A1"): Print(ours)}, {("A", "A1"): theirs}).agreeing == 1) == same
    assert (compare({("A", "A1"): ours}, {("A", "A1"): theirs}).agreeing == 1) == (ours == theirs)  # words: exactly


# The copy from which an engine computes says places for names, and comes to what the file comes to.


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_made(tmp_path_factory.mktemp("lean") / "a.xlsx", numbers="very-very-sleepy")


def _names(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as book:
        return set(re.findall(r'<definedName [^>]*name="([^"]*)"', book.read("xl/workbook.xml").decode()))


LEFT_OUT = re.compile(
    rb"<f>[^<]*</f>|<definedName.*</definedNames>|<(?:legacyDrawing|drawing) [^>]*/>"
    rb'|<Relationship [^>]*Type="[^"]*/(?:comments|vmlDrawing|drawing)"[^>]*/>'
)


def test_only_formulas_the_list_of_names_notes_and_charts_change(saved: Path, tmp_path: Path) -> None:
    short = lean(saved, tmp_path / "b.xlsx")
    assert len(_names(short)) < len(_names(saved)) / 10
    with zipfile.ZipFile(saved) as whole, zipfile.ZipFile(short) as copy:
        assert whole.namelist() == copy.namelist()
        changed = [name for name in whole.namelist() if whole.read(name) != copy.read(name)]
        assert {name for name in changed if not name.startswith("xl/worksheets/")} == {"xl/workbook.xml"}
        for name in changed:
            bare = [LEFT_OUT.sub(b"", book.read(name)) for book in (whole, copy)]
            assert bare[0] == bare[1], name


@pytest.mark.parametrize("numbers", ["very-very-sleepy", "grpo-batch", "dpo", "classic", "reward-model"])
def test_an_engine_computes_the_same_from_the_file_itself(
    numbers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_made(tmp_path / "a.xlsx", numbers=numbers)
    found = engine.with_ironcalc(path)
    monkeypatch.setattr(engine, "lean", lambda path, *others: path)
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
