"""Archives: a file is judged before it is opened, so that none explodes; what a reader stumbles on becomes a sentence."""

import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blueprint.page.elements import NOT_OURS, Parts
from blueprint.page.refusals import ReadError, require
from blueprint.quoting import quoted

LARGEST, MOST_PARTS = 100_000_000, 2_000
"""Bytes to which a file may unpack, and parts that it may have: 20 times the largest of ours; `Parts` bounds what is made of it."""
ZIP, PASSWORD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a zip archive begins, and the container of the old xls format and of workbooks with a password."""

DECLARES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
"""How a part declares entities, as none of a workbook does; without zeros UTF-16 reads as ASCII."""


def check_archive(path: Path) -> None:
    """Looks whether a file may be taken apart. Raises ReadError, with what is wrong and what to do, where it may not."""
    check_file(path)
    with refusing(path), path.open("rb") as file, zipfile.ZipFile(file) as archive:
        check_sizes(archive.infolist(), path)
        looked = Parts(path)
        for part in archive.infolist():
            require(not (part.flag_bits & 0x1), f"{path} is protected by a password: save it without one")
            with archive.open(part) as unpacking:
                content = unpacking.read(part.file_size + 1)  # no further than its stated size
            # Pictures are looked through too: what a part is called says nothing of what it is read as. Without zeros
            # UTF-16 reads as ASCII.
            require(
                not DECLARES.search(content.replace(b"\0", b"")),
                f"{path} declares entities in its part {quoted(part.filename)}, as no workbook does: it is not read",
            )
            looked.look_through(part.filename, content)


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


def check_file(path: Path) -> None:
    """Refuses what is no file, and what begins as no archive does."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise ReadError(f"{path} does not exist") from None
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise ReadError(f"{path} cannot be opened: {(error.strerror or str(error)).lower()}") from error
    require(not stat.S_ISDIR(mode), f"{path} is a directory, not a workbook")
    require(stat.S_ISREG(mode), f"{path} is a device or a pipe, not a workbook")
    with refusing(path), path.open("rb") as file:
        begin, says = file.read(len(PASSWORD)), f"{path} is no workbook in xlsx format"
        require(
            begin != PASSWORD, f"{path} is protected by a password, or in the old xls format: save it as plain .xlsx"
        )
        require(begin.startswith(ZIP), f"{says} ({'BadZipFile' if begin else 'it is empty'})")
        require(zipfile.is_zipfile(file), f"{says}: its end is missing; copy or download it again")


def check_sizes(parts: list[zipfile.ZipInfo], path: Path) -> None:
    """Refuses too much, by what the archive's own list says; the list is held to its word when a part is read."""
    require(
        len(parts) <= MOST_PARTS,
        f"{path} has {len(parts):,} parts, and at most {MOST_PARTS:,} are read: it is no workbook of ours",
    )
    unpacked = sum(part.file_size for part in parts)
    require(
        unpacked <= LARGEST,
        f"{path} unpacks to {unpacked / 1e6:,.0f} MB, and at most {LARGEST / 1e6:.0f} MB are read: {NOT_OURS}",
    )
    names = [part.filename for part in parts]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ReadError(f"{path} holds the part {quoted(twice)} twice: it is damaged")
