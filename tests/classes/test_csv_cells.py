"""CSV for spreadsheets: no cell is a formula, numbers stay numbers, and what is written is read again."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from blueprint.classes import ClassError
from blueprint.classes.csv_cells import bare, csv_text, harmless, read_csv, records, save_csv

NUMBERS = ["-", "-1.5", "-1,5", "+3", "1e-3", "12 %", "-0.25%", "1.234,50", 3, -2.5, 0.1]


def computed(cell: str) -> bool:
    """Says whether Excel, LibreOffice or Google Sheets would compute a cell: written without looking at the guard."""
    text = cell.strip(' "\r\n\t\u00a0\u2007\u202f')
    try:
        float(text.replace(",", "").replace("%", ""))
    except ValueError:
        as_canvas_writes_texts = re.fullmatch('="[^"]*"', cell.strip())
        return text[:1] in tuple("=+-@＝＋－＠") and text not in ("-", "+") and not as_canvas_writes_texts
    return False


@pytest.mark.parametrize(
    "hostile",
    [
        "=1+1", "+1+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!D2", "@SUM(1+1)*cmd|' /C calc'!A0", "\t=1+1", "\r=1+1",
        " =HYPERLINK(\"http://x\",\"y\")", "＝1+1", '"=1+1', "a;=1+1", "a,=1+1;b", "a\n=1+1", "Kim, @here", "'\t=1", '="a;=1+1"',
    ],
)  # fmt: skip
@pytest.mark.parametrize("opened_with", [",", ";", "\t"])
def test_no_cell_is_a_formula_whatever_sign_a_program_splits_at(hostile: str, opened_with: str) -> None:
    line = csv_text([["before", hostile, "after"]])
    cells = [cell for row in csv.reader(io.StringIO(line, newline=""), delimiter=opened_with) for cell in row]
    assert not any(map(computed, cells)), cells


@settings(max_examples=150, deadline=None)
@given(some.text(alphabet="=+-@,;\t\n\r\"' |a1＝é", max_size=12))
def test_no_text_becomes_a_formula_and_each_is_read_again(text: str) -> None:
    for sign in ",;\t":
        lines = csv.reader(io.StringIO(csv_text([["x", text]]), newline=""), delimiter=sign)
        assert not any(computed(cell) for line in lines for cell in line)
    (row,) = csv.reader(io.StringIO(csv_text([["x", text]]), newline=""))
    assert row == ["x", harmless(text)]


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_stay_numbers(number: object) -> None:
    assert harmless(number) == str(number)


def test_what_is_no_number_is_empty_and_a_name_as_canvas_writes_it_stays() -> None:
    assert [harmless(each) for each in (None, float("nan"), float("inf"), -0.0)] == ["", "", "", "0.0"]
    assert harmless('="=Eve"') == '="=Eve"'
    assert bare(harmless("=Eve")) == "=Eve"
    assert bare(harmless("Smith, @Eve")) == "Smith, @Eve"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_files_of_any_country_are_read(tmp_path: Path, encoding: str, delimiter: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(delimiter.join(["id", "name\r\n7", '"Müller, A;ß"\r\n']).encode(encoding))
    table = read_csv(path)
    assert (table.rows, table.delimiter) == ([["id", "name"], ["7", "Müller, A;ß"]], delimiter)
    assert table.column(" NAME ") == 1
    assert table.column("email") is None


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    rows = [["id", "name"], ["1", "=cmd|x"], ["2", 'Żółć 🙂, "J"'], ["3", "a\nb"]]
    save_csv(tmp_path / "a.csv", rows, ";")
    table = read_csv(tmp_path / "a.csv")
    assert table.bom
    assert [*records(table)] == [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "is empty"), (b"\n ,\n", "is empty"), (b"PK\x03\x04rest", "is no text"), (b"a\x00b", "is no text"),
     (b'id\n"' + b"x" * 200_000, "cannot be read as a roster")],
)  # fmt: skip
def test_what_is_no_csv_is_refused_in_a_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(content)
    with pytest.raises(ClassError, match=says):
        read_csv(path, "a roster")
    with pytest.raises(ClassError, match="cannot be read as a roster"):
        read_csv(tmp_path / "none.csv", "a roster")
