"""What a file must be before anything takes it apart: a whole zip archive, of bearable size, of plain XML.

An xlsx file is a zip archive of XML parts. Both can be made to explode: a few kB that unpack to gigabytes, entities
that repeat each other ("billion laughs"), a merged range of 17 billion cells. All that is looked for here, once, before
openpyxl reads anything, in every part and in bounded memory.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blueprint.page.errors import ReadError

LARGEST = 100_000_000
"""Bytes to which a file may unpack: 20 times the largest workbook of the repository, ten-libraries.xlsx with 5.1 MB.

openpyxl 3.1.5 takes at most about 26 bytes of memory for each of them, measured on a sheet of 1 in every cell (384 MB and
5 s for 15 MB), so that a file at the limit needs 2.6 GB and half a minute; ten-libraries.xlsx takes 5 bytes for each.
"""
MOST_PARTS = 2_000
"""Parts that a file may have; ten-libraries.xlsx has 85."""
MOST_SPREAD = 100_000
"""Cells over which merged ranges, links and notes of one part may spread: openpyxl makes an object for each."""

ZIP, PASSWORD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a zip archive begins, and the container of the old xls format and of workbooks with a password."""
ENCRYPTED = 0x1
_DECLARES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_SPREADS = re.compile(rb"<(?:\w+:)?(?:mergeCell|hyperlink|comment)\b[^>]*?\bref\s*=\s*[\"']([^\"']*)[\"']")
_RANGE = re.compile(rb"\$?([A-Z]{1,3})\$?([0-9]{1,7})(?::\$?([A-Z]{1,3})\$?([0-9]{1,7}))?")


def check_archive(path: Path) -> None:
    """Looks whether a file may be taken apart. Raises ReadError, with what is wrong and what to do, where it may not."""
    _check_file(path)
    with refusing(path), path.open("rb") as file, zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        _check_sizes(parts, path)
        for part in parts:
            _check_part(part, archive, path)


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turns whatever a reader of archives or XML says about a damaged file into one sentence.

    Which errors zipfile, expat and openpyxl raise for which damage is written down nowhere, so all of them are meant.
    """
    try:
        yield
    except ReadError:
        raise
    except PermissionError:
        raise ReadError(f"{path} may not be read: ask its owner, or copy it to a folder of your own") from None
    except Exception as error:
        raise ReadError(f"{path} is no workbook in xlsx format ({type(error).__name__})") from error


def _check_file(path: Path) -> None:
    """Refuses what is no file, and what begins as no archive does."""
    try:
        if path.is_dir():
            raise ReadError(f"{path} is a directory, not a workbook")
        if not path.exists():
            raise ReadError(f"{path} does not exist")
        if not path.is_file():
            raise ReadError(f"{path} is a device or a pipe, not a workbook")
    except ReadError:
        raise
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise ReadError(f"{path} cannot be opened: {(error.strerror or str(error)).lower()}") from error
    with refusing(path), path.open("rb") as file:
        begin = file.read(len(PASSWORD))
        if begin == PASSWORD:
            raise ReadError(f"{path} is protected by a password, or in the old xls format: save it as plain .xlsx")
        if not begin.startswith(ZIP):
            raise ReadError(f"{path} is no workbook in xlsx format ({'BadZipFile' if begin else 'it is empty'})")
        if not zipfile.is_zipfile(file):
            raise ReadError(f"{path} is no workbook in xlsx format: its end is missing; copy or download it again")


def _check_sizes(parts: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuses too much, by what the archive's own list says; the list is held to its word when a part is read."""
    if len(parts) > MOST_PARTS:
        raise ReadError(
            f"{path} has {len(parts):,} parts, and at most {MOST_PARTS:,} are read: it is no workbook of ours"
        )
    unpacked = sum(part.file_size for part in parts)
    if unpacked > LARGEST:
        raise ReadError(
            f"{path} unpacks to {unpacked / 1e6:,.0f} MB, and at most {LARGEST / 1e6:.0f} MB are read: "
            "it is no workbook of ours, or too large to be read cell by cell"
        )
    names = [part.filename for part in parts]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ReadError(f"{path} holds the part {twice!r} twice: it is damaged")


def _check_part(part: zipfile.ZipInfo, archive: zipfile.ZipFile, path: Path) -> None:
    """Unpacks one part, no further than its stated size, and refuses what would explode in a reader."""
    if part.flag_bits & ENCRYPTED:
        raise ReadError(f"{path} is protected by a password: save it without one")
    with archive.open(part) as unpacking:
        text = unpacking.read(part.file_size + 1).replace(b"\0", b"")  # without zeros UTF-16 reads as ASCII here
    # Pictures are looked through too: what a part is called says nothing of what it is read as.
    if _DECLARES.search(text):
        raise ReadError(f"{path} declares entities in its part {part.filename!r}, as no workbook does: it is not read")
    spread = sum(map(_cells, _SPREADS.findall(text)))
    if spread > MOST_SPREAD:
        raise ReadError(
            f"{path} has merged cells, links or notes over {spread:,} cells in its part {part.filename!r}, "
            f"and at most {MOST_SPREAD:,} are read: take them out"
        )


def _cells(reference: bytes) -> int:
    """Returns how many cells a reference such as B2:D9 means; more than any file may, where it is spelled in no such way."""
    match = _RANGE.fullmatch(reference)
    if match is None:
        return MOST_SPREAD + 1
    left, top, right, bottom = match.groups()
    if right is None or bottom is None:
        return 1
    return (abs(_column(right) - _column(left)) + 1) * (abs(int(bottom) - int(top)) + 1)


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number
