"""The audit's own tools: spoiled caches, formulas from the XML, relative forms."""

import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from hypothesis import given
from hypothesis import strategies as st
from xlsxwriter.utility import xl_rowcol_to_cell

from tests.audit import formulas, relative_form, spoil

RESULTS: dict[str, tuple[str, float | str | bool]] = {
    "A1": ("1+2", 3.0),
    "B1": ('IF(A1<2,"a<b","x & y")', "x & y"),
    "C1": ('""', ""),
    "D1": ("A1>2", True),
    "E1": ("1/0", "#DIV/0!"),
    "B4": ("'R & A'!A1*2", 0.1),
}


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Writes formulas with cached values of every type among cells that are not formulas."""
    with xlsxwriter.Workbook(tmp_path / "book.xlsx") as workbook:
        sheet, other = workbook.add_worksheet("S"), workbook.add_worksheet("R & A")
        bold = workbook.add_format({"bold": True})
        sheet.write_blank("A2", None, bold)
        sheet.write("B2", 5)
        sheet.write_string("C2", "=1+1 <f> </c>")
        sheet.write_comment("B2", "a note")
        for cell, (formula, value) in RESULTS.items():
            sheet.write_formula(cell, f"={formula}", bold, value)
        other.write("A1", 7)
        other.write_formula("A2", "=SUM(S!A1:B2)", None, 8)
    return tmp_path / "book.xlsx"


def test_spoil_replaces_every_cached_value_and_nothing_else(book: Path, tmp_path: Path) -> None:
    target = tmp_path / "spoiled.xlsx"
    assert spoil(book, target) == len(RESULTS) + 1
    assert formulas(target) == formulas(book)
    before, after = (openpyxl.load_workbook(path, data_only=True) for path in (book, target))
    for sheet in before:
        for cell in (cell for row in sheet for cell in row):
            twin = after[sheet.title][cell.coordinate]
            expected = 777.25 if (sheet.title, cell.coordinate) in formulas(book) else cell.value
            assert (twin.value, twin.font.b) == (expected, cell.font.b)


def test_spoil_touches_no_other_part(book: Path, tmp_path: Path) -> None:
    spoil(book, tmp_path / "spoiled.xlsx")
    with zipfile.ZipFile(book) as before, zipfile.ZipFile(tmp_path / "spoiled.xlsx") as after:
        assert before.namelist() == after.namelist()
        changed = [name for name in before.namelist() if before.read(name) != after.read(name)]
    assert changed == ["xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"]


def test_spoil_refuses_a_formula_without_a_cached_value(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active["B3"] = "=1+2"
    book.save(tmp_path / "book.xlsx")
    with zipfile.ZipFile(tmp_path / "book.xlsx") as source, zipfile.ZipFile(tmp_path / "bare.xlsx", "w") as target:
        for name in source.namelist():
            target.writestr(
                name, source.read(name).replace(b"<v />", b"").replace(b"<v/>", b"").replace(b"<v></v>", b"")
            )
    with pytest.raises(ValueError, match=r'<c r="B3".* has no cached value'):
        spoil(tmp_path / "bare.xlsx", tmp_path / "spoiled.xlsx")


def test_formulas_are_read_from_every_sheet(book: Path) -> None:
    expected = {("S", cell): formula for cell, (formula, _) in RESULTS.items()} | {("R & A", "A2"): "SUM(S!A1:B2)"}
    assert formulas(book) == expected


def test_a_shared_formula_is_refused(book: Path, tmp_path: Path) -> None:
    shared = b'<f t="shared" si="0"/>'
    with zipfile.ZipFile(book) as source, zipfile.ZipFile(tmp_path / "shared.xlsx", "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b"<f>1+2</f>", shared))
    with pytest.raises(ValueError, match="the formula of S!A1 is not written out in its cell"):
        formulas(tmp_path / "shared.xlsx")


@pytest.mark.parametrize(
    ("formula", "cell", "relative"),
    [
        ("A2*$C$1", "B2", "RC[-1]*R1C3"),
        ("B2", "B2", "RC"),
        ("$B3+B$3", "D5", "R[-2]C2+R3C[-2]"),
        ("SUM(K10:K17)", "K18", "SUM(R[-8]C:R[-1]C)"),
        ("SUMPRODUCT($E10:$E17,K10:K17)", "K18", "SUMPRODUCT(R[-8]C5:R[-1]C5,R[-8]C:R[-1]C)"),
        ("'Old policy'!K12+1", "K13", "'Old policy'!R[-1]C+1"),
        ("'It''s A1'!A1", "A1", "'It''s A1'!RC"),
        ("'R & A'!$A$1:B2", "A1", "'R & A'!R1C1:R[1]C[1]"),
        ("Inputs!B2*Q1!B2", "B2", "Inputs!RC*Q1!RC"),
        ('IF(A1="A1 ""B2""",A1,"")', "A1", 'IF(RC="A1 ""B2""",RC,"")'),
        ("gamma_*kl_coef+old.E1+_A1+A1_x", "B2", "gamma_*kl_coef+old.E1+_A1+A1_x"),
        ("LOG10(A1)+ATAN2(A1,1)", "A1", "LOG10(RC)+ATAN2(RC,1)"),
        ("1E5+1.5E10+.5E2*A1", "A1", "1E5+1.5E10+.5E2*RC"),
        ("XFD1048576", "A1", "R[1048575]C[16383]"),
        ("XFE1+AAA1048577+A0", "A1", "XFE1+AAA1048577+A0"),
        ("SUM(A:A)", "A1", "SUM(A:A)"),
        ("-A1<>B1", "C1", "-RC[-2]<>RC[-1]"),
    ],
)
def test_relative_form(formula: str, cell: str, relative: str) -> None:
    assert relative_form(formula, cell) == relative


@pytest.mark.parametrize("cell", ["", "12", "K", "S!K12", "old.E"])
def test_relative_form_refuses_what_is_no_cell(cell: str) -> None:
    with pytest.raises(ValueError, match="is no cell address"):
        relative_form("A1", cell)


@given(*[st.tuples(st.integers(0, 500), st.integers(0, 500)) for _ in range(4)])
def test_a_formula_that_moves_keeps_its_relative_form(
    here: tuple[int, int], there: tuple[int, int], move: tuple[int, int], fixed: tuple[int, int]
) -> None:
    def written(down: int, right: int) -> str:
        moved = xl_rowcol_to_cell(there[0] + down, there[1] + right)
        formula = f"SUM({moved},{xl_rowcol_to_cell(*fixed, row_abs=True, col_abs=True)})"
        return relative_form(formula, xl_rowcol_to_cell(here[0] + down, here[1] + right))

    assert written(0, 0) == written(*move)
