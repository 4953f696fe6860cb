"""Collecting: the workbooks in a folder or a zip as platforms deliver it, whatever its folders and files are called.

Nothing is unpacked by its own name: what is in an archive is copied out, counted, under a name of ours. Links are not
followed, and an archive in an archive is opened, one in that is not.
"""

import hashlib
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple

from blueprint.classes.errors import ClassError
from blueprint.page.archive import ZIP
from blueprint.quoting import quoted

LARGEST_FILE, MOST_FILES = 30_000_000, 20_000
"""Bytes of one file that is handed in, 50 times the first workbook, and how many files are looked at."""
LARGEST_INNER, LARGEST_ALL = 200_000_000, 4_000_000_000
"""Bytes of an archive in the archive, and of everything together."""
LITTER = re.compile(r"(?:^|/)(?:__MACOSX/|\._|~\$|\.~lock\.|\.DS_Store$|Thumbs\.db$|desktop\.ini$)|/$", re.IGNORECASE)
"""What systems and programs leave beside files, and folders."""
_PARTICIPANT = re.compile(r"(?:^|/)[^/]*_(\d+)_assignsubmission_(?:file|onlinetext)")
_IN_MEMORY = 1 << 20


class Collected(NamedTuple):
    """A file that was handed in: what its platform called it, its bytes, when it was saved there, and what was wrong.

    refused: why it was not taken; its content is empty then.
    """

    name: str
    content: bytes
    when: datetime | None
    refused: str = ""

    @property
    def participant(self) -> str | None:
        """The platform's number of the participant, where the folder says it."""
        match = _PARTICIPANT.search(self.name)
        return match[1] if match else None

    @property
    def sha(self) -> str:
        """What the content is known by."""
        return hashlib.sha256(self.content).hexdigest()


def collect(source: Path) -> Iterator[Collected]:
    """Yields every file in a folder, or in a zip, in the order of their names.

    Raises ClassError where the source is neither, or holds too many.
    """
    if source.is_dir():
        yield from _bounded(_in_folder(source), source)
        return
    try:
        with source.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise ClassError(f"{source} is neither a folder nor a zip: give what the platform lets you download")
            yield from _bounded(_in_zip(file, "", deeper=True), source)
    except OSError as error:
        raise ClassError(f"{source} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except zipfile.BadZipFile as error:
        raise ClassError(f"{source} is a damaged zip ({error}): download it again") from None


def _bounded(found: Iterator[Collected], source: Path) -> Iterator[Collected]:
    unpacked = 0
    for number, each in enumerate(found):
        unpacked += len(each.content)
        if number >= MOST_FILES or unpacked > LARGEST_ALL:
            raise ClassError(
                f"{source} holds more than {MOST_FILES:,} files, or unpacks to more than {LARGEST_ALL / 1e9:.0f} GB: "
                "give the submissions of one assignment"
            )
        yield each


def _in_folder(folder: Path) -> Iterator[Collected]:
    for path in sorted(folder.rglob("*")):  # which follows no link to a folder
        name = path.relative_to(folder).as_posix()
        if LITTER.search(name) or (path.is_dir() and not path.is_symlink()):
            continue
        try:
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode):
                yield Collected(name, b"", None, "it is a link or a device, which is not followed")
                continue
            with path.open("rb") as file:
                yield from _one(name, file, path.stat().st_size, datetime.fromtimestamp(path.stat().st_mtime), True)
        except OSError as error:
            yield Collected(name, b"", None, f"it cannot be read ({(error.strerror or str(error)).lower()})")


def _in_zip(file: IO[bytes], within: str, deeper: bool) -> Iterator[Collected]:
    with zipfile.ZipFile(file) as archive:
        for info in sorted(archive.infolist(), key=lambda each: each.filename)[: MOST_FILES + 1]:
            name = f"{within}{info.filename}"
            if LITTER.search(info.filename):
                continue
            when = None
            with suppress(ValueError):
                when = datetime(*info.date_time)
            if stat.S_ISLNK(info.external_attr >> 16):
                yield Collected(name, b"", when, "it is a link, which is not followed")
            elif info.flag_bits & 0x1:
                yield Collected(name, b"", when, "it is protected by a password in the zip")
            else:
                yield from _unpacked(archive, info, name, when, deeper)


def _unpacked(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, when: datetime | None, deeper: bool
) -> Iterator[Collected]:
    try:
        with archive.open(info) as file:
            yield from _one(name, file, info.file_size, when, deeper)
    except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
        yield Collected(name, b"", when, f"it cannot be unpacked ({type(error).__name__}): ask for it again")
    except Exception as error:  # zlib, lzma and bz2 each say of damage what they like
        if isinstance(error, ClassError):
            raise
        yield Collected(name, b"", when, f"it is damaged ({type(error).__name__}): ask for it again")


def _one(name: str, file: IO[bytes], size: int, when: datetime | None, deeper: bool) -> Iterator[Collected]:
    """Yields a file, or what is in it if it is an archive that is no workbook. Reads no further than the bounds."""
    is_archive = PurePosixPath(name).suffix.lower() == ".zip"
    most = LARGEST_INNER if is_archive and deeper else LARGEST_FILE
    if size > most:
        yield Collected(name, b"", when, f"it has {size / 1e6:,.0f} MB, and at most {most / 1e6:.0f} MB are read")
        return
    if not (is_archive and deeper):
        yield Collected(name, file.read(most), when)
        return
    with SpooledTemporaryFile(_IN_MEMORY) as inner:
        left = most
        while left and (piece := file.read(min(left, _IN_MEMORY))):
            inner.write(piece)
            left -= len(piece)
        inner.seek(0)
        if inner.read(len(ZIP)) != ZIP or not zipfile.is_zipfile(inner):
            yield Collected(name, b"", when, f"{quoted(PurePosixPath(name).name)} is no zip: ask for it again")
        else:
            yield from _in_zip(inner, f"{name}/", deeper=False)
