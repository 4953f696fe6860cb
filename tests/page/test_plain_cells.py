"""A sheet in the usual spelling is taken apart without a parser, with the values that openpyxl finds; any other is left to it."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path

import pytest
import xlsxwriter
from openpyxl import Workbook as Openpyxl

from blueprint.page import saved_file
from blueprint.page.plain_cells import plain_cells, split
from blueprint.page.saved_file import Workbook

WORKBOOKS = Path(__file__).parents[2] / "workbooks"
HEAD = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
TAIL = b"</sheetData></worksheet>"
ROW = b'<row r="1" spans="1:2"><c r="A1" s="2" t="str"><f>A2&amp;"b"</f><v>a &lt; b</v></c><c r="B1"/></row>'


def held(path: Path) -> dict[str, object]:
    """Returns what a file says, with the types of its values: 1 and 1.0 and TRUE are not the same."""
    book = Workbook(path)
    return {
        name: ({at: (type(v), v) for at, v in sheet.values.items()}, sheet.formulas, sheet.links, sheet.ordinary)
        for name, sheet in book.cells.items()
    }


def both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, object], dict[str, object], int]:
    """Returns what a file says without a parser and by openpyxl, and how many sheets need none."""
    plain, sheets = held(path), len(saved_file.check_archive(path))
    monkeypatch.setattr(saved_file, "split", lambda content: None)
    by_openpyxl = held(path)
    monkeypatch.undo()
    return plain, by_openpyxl, sheets


@pytest.mark.parametrize("name", ["kl-controller", "by-hand-q-learning", "reinforce", "dpo"])
def test_our_own_files_need_no_parser_and_say_the_same_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, by_openpyxl, sheets = both_ways(WORKBOOKS / f"{name}.xlsx", monkeypatch)
    assert sheets == len(plain) > 3
    assert plain == by_openpyxl


def test_values_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates and durations hang on the look of a cell; openpyxl writes its own spelling of blanks and of formulas."""
    with xlsxwriter.Workbook(tmp_path / "written.xlsx") as written:
        sheet = written.add_worksheet()
        sheet.write_row(0, 0, [1, 1.5, 1e300, -2, True, "<&>\"'", "two\nlines"])
        sheet.write_datetime(1, 0, datetime(2026, 11, 28, 12), written.add_format({"num_format": "dd.mm.yyyy hh:mm"}))
        sheet.write_datetime(1, 1, time(1, 2, 3), written.add_format({"num_format": "[h]:mm:ss"}))
        sheet.write_number(1, 2, 4_000_000, written.add_format({"num_format": "yyyy"}))
        sheet.write_formula(2, 0, '=A1&"<b>"', None, "1<b>")
        sheet.write_formula(2, 1, "=1/0", None, "#DIV/0!")
        sheet.write_formula(2, 2, "=A1=1", None, True)
        sheet.write_blank(3, 0, None, written.add_format({"bold": True}))
        sheet.write_url(3, 1, "internal:Sheet1!A1", string="up")
    book = Openpyxl()
    book.active.append([1, 2.5, "text", None, "=A1+1", True])
    book.save(tmp_path / "openpyxl.xlsx")
    for path in (tmp_path / "written.xlsx", tmp_path / "openpyxl.xlsx"):
        plain, by_openpyxl, _ = both_ways(path, monkeypatch)
        assert plain == by_openpyxl
    values = Workbook(tmp_path / "written.xlsx").cells["Sheet1"].values
    assert (values[2, 1], values[1, 6], values[3, 2]) == (datetime(2026, 11, 28, 12), "<&>\"'", "#DIV/0!")


def test_the_usual_spelling() -> None:
    found = split(HEAD + ROW + TAIL)
    assert found is not None
    assert (found.elements, found.rest) == (5, HEAD + TAIL)
    assert plain_cells(found.cells) == [
        ("A", "1", "2", "str", '<f>A2&amp;"b"</f>', "a &lt; b"),
        ("B", "1", "", "", "", ""),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<row", b"<!-- a comment --><row"),
        (b"a &lt; b", b"a &amp;lt; b &#8722;"),
        (b"a &lt; b", b"&own;"),
        (b"a &lt; b", b"a ]]> b"),
        (b"a &lt; b", b"a\rb"),
        (b"a &lt; b", b"a\x01b"),
        (b"a &lt; b", b"\xff"),
        (b'<c r="B1"/>', b"<c/>"),
        (b'<c r="B1"/>', b'<c r="B1"><is><t>in line</t></is></c>'),
        (b'<c r="B1"/>', b'<c r="B1" t="inlineStr"/>'),
        (b'<c r="B1"/>', b'<x:c r="B1"/>'),
        (b'<c r="B1"/>', b'<c r="B1"><f t="shared" si="0"/></c>'),
        (b'<c r="B1"/>', b'<c r="B0"/>'),
        (b'<c r="B1"/>', b'<c r="B1"/>text'),
        (b'<c r="B1"/>', b'</row><row r="2" own="1">'),
        (b"</row>", b""),
        (b"</row>", b"</row></sheetData><sheetData>"),
        (b"<worksheet xmlns=", b"<worksheet xmlns:x="),
        (b"<sheetData>", b'<extLst xmlns="urn:own"><sheetData>'),
        (b"<worksheet", b'<?xml version="1.0" encoding="latin-1"?><worksheet'),
    ],
)
def test_any_other_spelling_is_left_to_the_parser(old: bytes, new: bytes) -> None:
    sheet = HEAD + ROW + TAIL
    assert sheet.count(old) == 1
    assert split(sheet.replace(old, new)) is None
