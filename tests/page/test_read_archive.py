"""Files that are no workbooks, or say little and mean much, are refused before anything makes objects of them."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from blueprint.page import saved_file
from blueprint.page.engine import without_values
from blueprint.page.read import ReadError
from blueprint.page.saved_file import LARGEST, MOST_PARTS, Workbook, check_archive
from tests.page.zips import SHEET, changed, refusal, with_parts, with_said_size

SMALL = Path(__file__).parents[2] / "workbooks" / "kl-controller.xlsx"
LAUGHS = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;">]>'


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


SAVED = "name one that `blueprint build` or a spreadsheet has saved"
NO_FILE: dict[str, tuple[bytes, str]] = {
    "text": (b"a,b\n1,2\n", f"bad.xlsx is no workbook in xlsx format (it begins as no .xlsx file does): {SAVED}"),
    "nothing": (b"", f"bad.xlsx is no workbook in xlsx format (it is empty): {SAVED}"),
    "xls or password": (
        saved_file.PASSWORD + bytes(600),
        "bad.xlsx is protected by a password, or in the old xls format: save it as plain .xlsx",
    ),
    "cut": (
        SMALL.read_bytes()[:20_000],
        "bad.xlsx is no workbook in xlsx format: its end is missing; copy or download it again",
    ),
}


@pytest.mark.parametrize("kind", NO_FILE)
def test_what_is_no_archive(tmp_path: Path, kind: str) -> None:
    data, sentence = NO_FILE[kind]
    assert refusal(written(tmp_path / "bad.xlsx", data)) == sentence


def test_what_is_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.xlsx") == "no.xlsx does not exist"
    assert refusal(tmp_path) == f"{tmp_path.name} is a directory, not a workbook"
    (tmp_path / "link.xlsx").symlink_to(tmp_path / "nowhere.xlsx")
    assert refusal(tmp_path / "link.xlsx") == "link.xlsx does not exist"
    assert re.search(" cannot be opened: file name too long$| does not exist$", refusal(tmp_path / ("long" * 200)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.xlsx")
    assert refusal(tmp_path / "pipe.xlsx") == "pipe.xlsx is a device or a pipe, not a workbook"


def test_a_file_without_permission(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The refusal of the system is played, because an administrator may read everything."""

    def denied(self: Path, *_: object) -> io.BytesIO:
        raise PermissionError(13, "Permission denied", str(self))

    path = written(tmp_path / "locked.xlsx", SMALL.read_bytes())
    monkeypatch.setattr(Path, "open", denied)
    assert refusal(path) == "locked.xlsx may not be read: ask its owner, or copy it to a folder of your own"


def test_gigabytes_are_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.xlsx"
    bomb.write_bytes(SMALL.read_bytes())
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as target, target.open("xl/bomb.xml", "w") as part:
        for _ in range(LARGEST // 1_000_000 + 1):
            part.write(bytes(1_000_000))
    assert bomb.stat().st_size < 200_000
    assert refusal(bomb) == (
        "bomb.xlsx unpacks to 101 MB, and at most 100 MB are read: "
        "it is no workbook of ours, or too large to be read cell by cell"
    )


@pytest.mark.parametrize("said", [100, 0, 2_000_000_000])
def test_a_part_that_lies_about_its_size(tmp_path: Path, said: int) -> None:
    liar = with_said_size(SMALL, tmp_path / "liar.xlsx", SHEET, said)
    assert zipfile.ZipFile(liar).getinfo(SHEET).file_size == said
    sentence = refusal(liar)
    assert sentence.startswith(
        "liar.xlsx unpacks to 2,000 MB" if said > LARGEST else "liar.xlsx is no workbook in xlsx format"
    )


def test_the_largest_workbook_of_the_repository_is_far_below_the_limit() -> None:
    for path in SMALL.parent.glob("*.xlsx"):
        with zipfile.ZipFile(path) as each:
            assert sum(part.file_size for part in each.infolist()) * 8 < LARGEST
            assert len(each.infolist()) * 10 < MOST_PARTS
        check_archive(path)


def test_too_many_parts_and_one_that_comes_twice(tmp_path: Path) -> None:
    many = with_parts(SMALL, tmp_path / "many.xlsx", {f"a{i}.txt": b"" for i in range(MOST_PARTS)})
    assert re.match(
        r"many\.xlsx has 2,0\d\d parts, and at most 2,000 are read: it is no workbook of ours", refusal(many)
    )
    twice = written(tmp_path / "twice.xlsx", SMALL.read_bytes())
    with zipfile.ZipFile(twice, "a") as target, pytest.warns(UserWarning, match="Duplicate name"):
        target.writestr(SHEET, b"<worksheet/>")
    assert refusal(twice) == f"twice.xlsx holds the part {SHEET!r} twice: it is damaged"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/styles.xml", "docProps/custom.xml", "[Content_Types].xml"])
def test_entities_that_repeat_each_other(tmp_path: Path, part: str, encoding: str) -> None:
    content = zipfile.ZipFile(SMALL).read(part)
    laughing = (LAUGHS + content[content.index(b"?>") + 2 :]).decode().encode(encoding)
    path = with_parts(SMALL, tmp_path / "laughs.xlsx", {part: laughing})
    assert refusal(path) == f"laughs.xlsx declares entities in its part {part!r}, as no workbook does: it is not read"


def test_a_part_may_be_called_a_picture_and_is_looked_through(tmp_path: Path) -> None:
    path = with_parts(SMALL, tmp_path / "picture.xlsx", {"xl/media/image1.png": b"\x89PNG" + LAUGHS})
    assert refusal(path).startswith("picture.xlsx declares entities in its part 'xl/media/image1.png'")


MISSING: list[tuple[str, Callable[[str], bool]]] = [
    ("workbook", lambda name: name == "xl/workbook.xml"),
    ("relations", lambda name: name == "xl/_rels/workbook.xml.rels"),
    ("types", lambda name: name == "[Content_Types].xml"),
    ("words", lambda name: name == "xl/sharedStrings.xml"),
    ("styles", lambda name: name == "xl/styles.xml"),
    ("sheets", lambda name: name.startswith("xl/worksheets/sheet")),
]


@pytest.mark.parametrize(("kind", "belongs"), MISSING)
def test_parts_that_are_missing(tmp_path: Path, kind: str, belongs: Callable[[str], bool]) -> None:
    from blueprint.page.read import Opened

    names = [name for name in zipfile.ZipFile(SMALL).namelist() if belongs(name)]
    assert names
    path = with_parts(SMALL, tmp_path / "less.xlsx", dict.fromkeys(names))
    with pytest.raises(ReadError, match=r"is no workbook in xlsx format \(|there is none$") as refused:
        Opened(path)
    assert "less.xlsx" in str(refused.value)


def test_part_of_a_password_protected_archive_is_refused(tmp_path: Path) -> None:
    data = bytearray(SMALL.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 8] |= 1
    assert refusal(written(tmp_path / "locked.xlsx", bytes(data))) == (
        "locked.xlsx is protected by a password: save it without one"
    )


def test_a_workbook_of_somebody_else_is_opened(tmp_path: Path) -> None:
    openpyxl.Workbook().save(tmp_path / "theirs.xlsx")
    assert Workbook(tmp_path / "theirs.xlsx").sheets == ["Sheet"]


# Files that say little and mean much are refused before they are made into objects; what is just within the bounds is read.


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


# What is looked for in a sheet's text is found in time, however the text is drawn out.


def test_a_million_blanks_behind_a_formula_cost_no_square_of_time(tmp_path: Path) -> None:
    drawn_out = b'<row r="999"><c r="A999"><f>1</f>' + b" " * 1_000_000 + b"<v>1</v></c><c r='B999'><f>1</f> </c></row>"
    path = changed(SMALL, tmp_path / "blanks.xlsx", SHEET, b"</sheetData>", drawn_out + b"</sheetData>")
    begun = time.process_time()
    assert without_values(path) - without_values(SMALL) == {"B999"}
    assert time.process_time() - begun < 5  # 0.01 where this was written, and 700 if it were a square
