"""Files that are no workbooks, or would explode in a reader, are refused before anything takes them apart."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from blueprint.page import saved_file
from blueprint.page.read import ReadError
from blueprint.page.saved_file import LARGEST, MOST_PARTS, Workbook, check_archive
from tests.page.zips import SHEET, refusal, with_parts, with_said_size

SMALL = Path(__file__).parents[2] / "workbooks" / "kl-controller.xlsx"
LAUGHS = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;">]>'


def written(path: Path, data: bytes) -> Path:
    """Writes a file."""
    path.write_bytes(data)
    return path


NO_FILE: dict[str, tuple[bytes, str]] = {
    "text": (b"a,b\n1,2\n", "bad.xlsx is no workbook in xlsx format (BadZipFile)"),
    "nothing": (b"", "bad.xlsx is no workbook in xlsx format (it is empty)"),
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
