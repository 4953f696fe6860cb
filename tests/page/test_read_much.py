"""Files that say little and mean much are refused before they are made into objects; what is just within the bounds is read."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from blueprint.page import saved_file
from tests.page.zips import SHEET, changed, refusal

SMALL = Path(__file__).parents[2] / "workbooks" / "kl-controller.xlsx"

SPREAD = {
    "merged cells": b'</sheetData><mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>',
    "a merge in disguise": b'</sheetData><mergeCells count="1"><mergeCell ref="A1:&#88;FD1048576"/></mergeCells>',
    "a merge with an attribute of a prefix": (
        b'</sheetData><mergeCells xmlns:a="urn:a" count="1"><mergeCell a:ref="A1" ref="A1:XFD1048576"/></mergeCells>'
    ),
    "a merge with an odd prefix": (
        b'</sheetData><a.b-c:mergeCells xmlns:a.b-c="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        b'<a.b-c:mergeCell ref="A1:XFD1048576"/></a.b-c:mergeCells>'
    ),
    "links with a bracket before": (
        b'</sheetData><hyperlinks><hyperlink tooltip="a>b" ref="A1:XFD1048576" location="Start!A1"/></hyperlinks>'
    ),
    "links": b'</sheetData><hyperlinks><hyperlink ref="A1:XFD1048576" location="Start!A1"/></hyperlinks>',
}


@pytest.mark.parametrize("kind", SPREAD)
def test_a_range_of_a_whole_sheet_is_not_filled_with_objects(tmp_path: Path, kind: str) -> None:
    path = changed(SMALL, tmp_path / "wide.xlsx", SHEET, b"</sheetData>", SPREAD[kind])
    assert re.fullmatch(
        rf"wide\.xlsx has merged cells, links or notes over [\d,]+ cells in its part '{SHEET}', "
        "and at most 100,000 are read: take them out",
        refusal(path),
    )


NOT_OURS = "it is no workbook of ours, or too large to be read cell by cell"
MUCH: dict[str, tuple[bytes, str]] = {
    "a row far below": (
        b'<row r="99999999999"><c><v>1</v></c></row>',
        f"has a row at '99999999999' in its part '{SHEET}', and sheets end at row 1,048,576: it is damaged",
    ),
    "a row without a number": (
        b'<row r="1e9"/>',
        f"has a row at '1e9' in its part '{SHEET}', and sheets end at row 1,048,576: it is damaged",
    ),
    "a cell far below": (
        b'<row><c r="A9999999"><v>1</v></c></row>',
        f"has a cell at 'A9999999' in its part '{SHEET}', and sheets end at row 1,048,576: it is damaged",
    ),
    "elements of other kinds": (
        b"<a/>" * 200_000,
        f"has more than 200,000 texts, styles, names, links and notes: {NOT_OURS}",
    ),
    "a tag": (
        b'<row a="' + b" " * 2_000_000 + b'"/>',
        f"has a tag of more than 1,048,576 bytes in its part '{SHEET}': it is damaged",
    ),
    "depth": (b"<a>" * 70, f"has elements of a depth or width that no workbook has in its part '{SHEET}'"),
    "width": (
        b"<a " + b" ".join(b'a%d="1"' % i for i in range(70)) + b"/>",
        f"has elements of a depth or width that no workbook has in its part '{SHEET}'",
    ),
    "a formula that many share": (
        b'<row><c r="A1"><f t="shared" ref="A1:A2000" si="0">' + b"1+" * 4_000 + b"1</f></c>"
        b'</row>' + b'<row><c><f t="shared" si="0"/></c></row>' * 1_300,
        f"shares formulas of more than 10,000,000 letters among its cells: {NOT_OURS}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MUCH)
def test_more_than_a_workbook_has_is_not_made_into_objects(tmp_path: Path, kind: str) -> None:
    added, sentence = MUCH[kind]
    path = changed(SMALL, tmp_path / "much.xlsx", SHEET, b"</sheetData>", added + b"</sheetData>")
    assert path.stat().st_size < 100_000
    assert refusal(path) == f"much.xlsx {sentence}"


def test_too_many_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_file, "MOST_IN_CELLS", 50_000)
    path = changed(SMALL, tmp_path / "much.xlsx", SHEET, b"</sheetData>", b"<row/>" * 50_000 + b"</sheetData>")
    assert refusal(path) == f"much.xlsx has more than 50,000 rows, cells, formulas and values: {NOT_OURS}"


def test_too_many_texts(tmp_path: Path) -> None:
    """96 kB of them took 28 seconds."""
    texts = "xl/sharedStrings.xml"
    path = changed(SMALL, tmp_path / "much.xlsx", texts, b"</sst>", b"<si><r><t>a</t></r></si>" * 70_000 + b"</sst>")
    assert refusal(path) == f"much.xlsx has more than 200,000 texts, styles, names, links and notes: {NOT_OURS}"


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells a program's own largest memory in a file"
)
def test_a_file_just_within_the_bounds_takes_less_than_a_gigabyte(tmp_path: Path) -> None:
    """As many texts and links as are read: what costs openpyxl most.

    VmHWM is the program's own; ru_maxrss begins with what this process had when it started it.
    """
    links = b"</sheetData><hyperlinks>" + b'<hyperlink ref="A1" location="Start!A1"/>' * 90_000 + b"</hyperlinks>"
    path = changed(SMALL, tmp_path / "much.xlsx", SHEET, b"</sheetData>", links)
    texts = "xl/sharedStrings.xml"
    path = changed(path, tmp_path / "more.xlsx", texts, b"</sst>", b"<si><t>a</t></si>" * 50_000 + b"</sst>")
    code = (
        "import re, resource, sys\nresource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "from pathlib import Path\nfrom blueprint.page.saved_file import Workbook\nWorkbook(Path(sys.argv[1]))\n"
        "print(1024 * int(re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())[1]))"
    )
    said = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert int(said.stdout) < 1e9
