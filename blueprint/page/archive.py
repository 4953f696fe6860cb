"""Archives: a file is judged before it is opened, so that none explodes; what a reader stumbles on becomes a sentence."""

import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blueprint.page.parts import Parts, TooMuch
from blueprint.quoting import Told, quoted


class ReadError(Told):
    """A file is no workbook of ours, or has been changed so that a block cannot be found whole; one sentence says how."""


LARGEST = 100_000_000
"""Bytes to which a file may unpack: 20 times the largest workbook of the repository, with 5.1 MB.

What openpyxl makes of them is bounded by what `parts` counts, to 1 GB and about 20 seconds.
"""
MOST_PARTS = 2_000
"""Parts that a file may have; the largest of the repository has 85."""

ZIP, PASSWORD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a zip archive begins, and the container of the old xls format and of workbooks with a password."""
ENCRYPTED = 0x1
_DECLARES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def check_archive(path: Path) -> None:
    """Looks whether a file may be taken apart. Raises ReadError, with what is wrong and what to do, where it may not."""
    _check_file(path)
    with refusing(path), path.open("rb") as file, zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        _check_sizes(parts, path)
        looked = Parts()
        for part in parts:
            _check_part(part, archive, looked, path)


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
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise ReadError(f"{path} does not exist") from None
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise ReadError(f"{path} cannot be opened: {(error.strerror or str(error)).lower()}") from error
    if stat.S_ISDIR(mode):
        raise ReadError(f"{path} is a directory, not a workbook")
    if not stat.S_ISREG(mode):
        raise ReadError(f"{path} is a device or a pipe, not a workbook")
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
        raise ReadError(f"{path} holds the part {quoted(twice)} twice: it is damaged")


def _check_part(part: zipfile.ZipInfo, archive: zipfile.ZipFile, looked: Parts, path: Path) -> None:
    """Unpacks one part, no further than its stated size, and refuses what would explode in a reader."""
    if part.flag_bits & ENCRYPTED:
        raise ReadError(f"{path} is protected by a password: save it without one")
    with archive.open(part) as unpacking:
        content = unpacking.read(part.file_size + 1)
    # Pictures are looked through too: what a part is called says nothing of what it is read as.
    if _DECLARES.search(content.replace(b"\0", b"")):  # without zeros UTF-16 reads as ASCII
        raise ReadError(
            f"{path} declares entities in its part {quoted(part.filename)}, as no workbook does: it is not read"
        )
    try:
        looked.look_through(part.filename, content)
    except TooMuch as error:
        raise ReadError(f"{path} {error}") from error
