"""Submissions: collected from a folder or a zip, whatever its folders and files are called, and kept below a folder of results.

Nothing is unpacked by its own name: what is in an archive is copied out, counted, under a name of ours. Links are not
followed, and an archive in an archive is opened, one in that is not. Each submission has a bound of its own, so that one that
is too large is flagged, and costs no other its marks.

From what is kept everything can be computed again.
"""

import hashlib
import os
import re
import stat
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple
from urllib.parse import quote

from pydantic import Field, ValidationError

from blueprint.classes import ClassError
from blueprint.classes.results import Record
from blueprint.files import content_of, saved_whole
from blueprint.page.saved_file import ZIP
from blueprint.quoting import encodable, quoted, unquoted

LARGEST_FILE, MOST_FILES = 30_000_000, 20_000
"""Bytes of one file that is handed in, 50 times the first workbook, and how many files are looked at."""
LARGEST_INNER, LARGEST_ALL = 200_000_000, 4_000_000_000
"""Bytes of an archive in the archive, and of everything together."""
LARGEST_SUBMISSION, MOST_IN_SUBMISSION = 60_000_000, 50
"""Bytes to which one submission may unpack, 100 times the first workbook, and files that are taken of it."""
LONGEST_LIST = 1_000_000
"""Bytes of the list at the end of an archive in the archive: one of millions of entries fills memory before one is unpacked."""
LITTER = re.compile(r"(?:^|/)(?:__MACOSX/|\._|~\$|\.~lock\.|\.DS_Store$|Thumbs\.db$|desktop\.ini$)|/$", re.IGNORECASE)
"""What systems and programs leave beside files, and folders."""
WORKBOOKS = (".xlsx", ".ods")
"""Endings of a worksheet that is named by itself."""
_PARTICIPANT = re.compile(r"(?:^|/)[^/]*_(\d+)_assignsubmission_(?:file|onlinetext)")
_IN_MEMORY = 1 << 20
_LONGEST_END = (1 << 16) + 200
"""Bytes of the records at the end of a zip, and of the comment that may follow them."""
_DAMAGE = (zipfile.BadZipFile, UnicodeError, NotImplementedError, EOFError, OverflowError, struct.error)
"""What zipfile raises of a damaged list of entries."""


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


def submission_of(name: str) -> str:
    """Returns what a file is a part of: a participant's folder, an archive in the archive, or itself."""
    if participant := _PARTICIPANT.search(name):
        return name[: participant.end()]
    archive = re.search(r"\.zip(?=/)", name, re.IGNORECASE)
    return name[: archive.end()] if archive else name


def collect(source: Path) -> Iterator[Collected]:
    """Yields every file in a folder, or in a zip, in the order of their names; of a workbook, which is a zip, too, itself alone.

    Raises ClassError where the source is none of these, or holds too many.
    """
    if source.is_dir():
        yield from _Collecting(source).folder()
        return
    if source.exists() and not source.is_file():
        raise ClassError(
            f"{source} is a pipe or a device: give a folder, or the zip that the platform lets you download"
        )
    if source.exists() and source.suffix.lower() in WORKBOOKS:
        yield from _Collecting(source.parent).alone(source)
        return
    try:
        with source.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise ClassError(f"{source} is neither a folder nor a zip: give what the platform lets you download")
            yield from _Collecting(source).archive(file)
    except OSError as error:
        raise ClassError(f"{source} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except _DAMAGE as error:
        raise ClassError(f"{source} is a damaged zip ({unquoted(error, 120)}): download it again") from None


class _Entry(NamedTuple):
    """What a folder or a zip lists: its name, bytes and time, how it is opened, and why it is not to be."""

    name: str
    size: int
    when: datetime | None
    opened: Callable[[], IO[bytes]]
    refused: str = ""


class _Collecting:
    """Goes through a source, and counts what each submission unpacks to before any of it is unpacked."""

    def __init__(self, source: Path):
        self._source, self._number, self._unpacked = source, 0, 0
        self._files, self._bytes = Counter[str](), Counter[str]()

    def folder(self) -> Iterator[Collected]:
        unread: list[OSError] = []
        paths = sorted(
            Path(at, name)
            for at, folders, names in os.walk(self._source, onerror=unread.append)
            for name in (*names, *(each for each in folders if os.path.islink(os.path.join(at, each))))
        )
        yield from self._taken(map(self._in_folder, paths), deeper=True)
        for error in unread:
            says = f"the folder {_unreadable(error)}"
            yield from self._one(_Entry(self._name(Path(error.filename)), 0, None, BytesIO, says))

    def alone(self, path: Path) -> Iterator[Collected]:
        """Yields one file of the folder: somebody's worksheet that came later."""
        yield from self._taken([self._in_folder(path)], deeper=False)

    def _name(self, path: Path) -> str:
        return encodable(path.relative_to(self._source).as_posix())

    def _in_folder(self, path: Path) -> _Entry:
        name = self._name(path)

        def opened() -> IO[bytes]:
            return path.open("rb")

        try:
            state = path.lstat()
        except OSError as error:  # it is gone, or its folder may not be entered
            return _Entry(name, 0, None, opened, f"it {_unreadable(error)}")
        link = "" if stat.S_ISREG(state.st_mode) else "it is a link or a device, which is not followed"
        when = None
        with suppress(ValueError, OverflowError, OSError):  # a time that no calendar has
            when = datetime.fromtimestamp(state.st_mtime)
        return _Entry(name, state.st_size, when, opened, link)

    def archive(self, file: IO[bytes], within: str = "") -> Iterator[Collected]:
        """Yields the files of a zip; within: how names in a zip in the source begin. Raises what zipfile does."""
        with zipfile.ZipFile(file) as archive:
            infos = sorted(archive.infolist(), key=lambda each: each.filename)[: MOST_FILES + 1]
            yield from self._taken((_in_zip(archive, each, within) for each in infos), deeper=not within)

    def _taken(self, entries: Iterable[_Entry], deeper: bool) -> Iterator[Collected]:
        """Counts what is listed with its submissions, and yields, once, each that has too much now; then every file."""
        found = [each for each in entries if not LITTER.search(each.name)]
        before = {name for name in self._files if self._is_over(name)}
        for each in found:
            submission = submission_of(each.name)
            self._files[submission] += not each.name.lower().endswith(".zip")  # what is in it is counted
            self._bytes[submission] += each.size if each.size <= LARGEST_FILE else 0
        for name in [*self._files]:
            if self._is_over(name) and name not in before:
                yield self._counted(Collected(name, b"", None, self._too_much(name)))
        for each in found:
            yield from self._one(each) if each.refused else self._read(each, deeper)

    def _is_over(self, submission: str) -> bool:
        return self._bytes[submission] > LARGEST_SUBMISSION or self._files[submission] > MOST_IN_SUBMISSION

    def _too_much(self, submission: str) -> str:
        return (
            f"it unpacks to {self._bytes[submission] / 1e6:,.0f} MB in {self._files[submission]:,} files, and of one submission "
            f"at most {LARGEST_SUBMISSION / 1e6:.0f} MB and {MOST_IN_SUBMISSION} files are read: ask for the worksheet alone; "
            "what holds files of several students is graded by itself"
        )

    def _read(self, each: _Entry, deeper: bool) -> Iterator[Collected]:
        """Yields a file, or what is in it if it is an archive that is no workbook. Reads no further than the bounds."""
        is_archive = deeper and each.name.lower().endswith(".zip")
        most = LARGEST_INNER if is_archive else LARGEST_FILE
        try:
            if each.size > most:
                says = f"it has {each.size / 1e6:,.0f} MB, and at most {most / 1e6:.0f} MB are read"
                yield from self._one(each._replace(refused=says))
                return
            with each.opened() as file:
                yield from self._inner(each, file) if is_archive else self._one(each, file.read(most))
        except ClassError:
            raise
        except OSError as error:
            yield from self._one(each._replace(refused=f"it {_unreadable(error)}"))
        except Exception as error:  # zlib, lzma and bz2 each say of damage what they like
            unpacked = isinstance(error, zipfile.BadZipFile | NotImplementedError | EOFError | RuntimeError)
            says = "cannot be unpacked" if unpacked else "is damaged"
            yield from self._one(each._replace(refused=f"it {says} ({type(error).__name__}): ask for it again"))

    def _inner(self, each: _Entry, file: IO[bytes]) -> Iterator[Collected]:
        with SpooledTemporaryFile(_IN_MEMORY) as inner:
            left = LARGEST_INNER
            while left and (piece := file.read(min(left, _IN_MEMORY))):
                inner.write(piece)
                left -= len(piece)
            inner.seek(0)
            if inner.read(len(ZIP)) != ZIP or not zipfile.is_zipfile(inner):
                says = f"{quoted(PurePosixPath(each.name).name)} is no zip: ask for it again"
                yield from self._one(each._replace(refused=says))
            elif list_length(inner) > LONGEST_LIST:
                says = "it lists more files than any submission has: ask for the worksheet alone"
                yield from self._one(each._replace(refused=says))
            else:
                yield from self.archive(inner, f"{each.name}/")

    def _one(self, each: _Entry, content: bytes = b"") -> Iterator[Collected]:
        """Yields a file, unless it is of a submission that is flagged as a whole."""
        if not self._is_over(submission_of(each.name)):
            yield self._counted(Collected(each.name, content, each.when, each.refused))

    def _counted(self, found: Collected) -> Collected:
        """Returns a file. Raises ClassError where all together are too many, or too much."""
        self._number, self._unpacked = self._number + 1, self._unpacked + len(found.content)
        if self._number > MOST_FILES or self._unpacked > LARGEST_ALL:
            raise ClassError(
                f"{self._source} holds more than {MOST_FILES:,} files, or unpacks to more than {LARGEST_ALL / 1e9:.0f} GB, "
                f"up to {unquoted(found.name)}: give the submissions of one assignment"
            )
        return found


def _in_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo, within: str) -> _Entry:
    when = None
    with suppress(ValueError):
        when = datetime(*info.date_time)
    link = "it is a link, which is not followed" * stat.S_ISLNK(info.external_attr >> 16)
    refused = link or "it is protected by a password in the zip" * (info.flag_bits & 0x1)
    return _Entry(encodable(f"{within}{info.filename}"), info.file_size, when, partial(archive.open, info), refused)


def _unreadable(error: OSError) -> str:
    return f"cannot be read ({(error.strerror or str(error)).lower()})"


def list_length(file: IO[bytes]) -> int:
    """Returns how many bytes the list of a zip's entries has, as the record at its end says; too many where it has none."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_END))
    end = file.read()
    at, at_64 = end.rfind(b"PK\x05\x06"), end.rfind(b"PK\x06\x06")
    if at < 0:
        return LONGEST_LIST + 1
    of_64 = int.from_bytes(end[at_64 + 40 : at_64 + 48], "little") if at_64 >= 0 else 0
    return max(int.from_bytes(end[at + 12 : at + 16], "little"), of_64)


FOLDER, INDEX, UNKNOWN = "submissions", "index.json", "_unknown"


class Stored(Record):
    """A file that was handed in.

    Attributes:
        names: what its platform called it, each time that these very bytes came. sha256: of its bytes.
        stored: its path below the folder of submissions; None for one that was not taken, of which refused says why.
        when: the time that the archive or folder notes. participant: the platform's number, where its folder says it.
    """

    names: list[str] = Field(min_length=1)
    sha256: str
    stored: str | None
    when: datetime | None = None
    participants: list[str] = Field(default_factory=list)
    refused: str = ""


class _Index(Record):
    version: int = 1
    files: list[Stored] = Field(default_factory=list)


class Store:
    """The submissions of a class. Raises ClassError, in a sentence, for a list of them that is damaged."""

    def __init__(self, folder: Path):
        self.folder = folder / FOLDER
        self.files = _read(self.folder / INDEX).files
        for each in self.files:  # a crash may have come between the moving of a file and the list
            if each.stored and not (self.folder / each.stored).exists():
                each.stored = next(
                    (str(path.relative_to(self.folder)) for path in self.folder.glob(f"*/{each.sha256[:16]}.xlsx")),
                    None,
                )
                each.refused = each.refused or ("" if each.stored else "it is not among the kept submissions any more")

    def add(self, found: Iterable[Collected]) -> None:
        """Keeps files; one whose bytes are known gets one more name. The list is written when all are there; else none is kept."""
        before = [each.model_copy(deep=True) for each in self.files]
        known = {each.sha256: each for each in self.files if each.stored}
        refused = {name for each in self.files if not each.stored for name in each.names}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for each in found:
                self._keep(each, known, refused)
        except BaseException:
            self.files = before
            self._clear()
            raise
        self.save()
        self._clear()

    def _keep(self, each: Collected, known: dict[str, Stored], refused: set[str]) -> None:
        """Keeps a file. known: by their bytes those that are kept; refused: the names of those that were not taken."""
        sha, participants = each.sha, [each.participant] if each.participant else []
        if each.refused:
            if each.name not in refused:
                taken_not = Stored(names=[each.name], sha256=sha, stored=None, refused=each.refused)
                taken_not.participants = participants
                self.files.append(taken_not)
                refused.add(each.name)
            return
        if sha not in known:
            path = self.path(UNKNOWN, sha)
            path.parent.mkdir(exist_ok=True)
            with saved_whole(path) as unfinished:
                unfinished.write_bytes(each.content)
            known[sha] = Stored(
                names=[each.name], sha256=sha, stored=str(path.relative_to(self.folder)), when=each.when
            )
            self.files.append(known[sha])
        of = known[sha]
        of.names += [each.name] if each.name not in of.names else []
        of.participants += [each for each in participants if each not in of.participants]

    def _clear(self) -> None:
        """Takes away the files of nobody that are not in the list: a grading that was ended had put them there."""
        listed = {self.folder / each.stored for each in self.files if each.stored}
        for path in (self.folder / UNKNOWN).glob("*.xlsx"):
            if re.fullmatch(r"[0-9a-f]{16}", path.stem) and path not in listed:
                path.unlink()

    def path(self, student: str, sha: str) -> Path:
        """Returns where a file of a student is kept."""
        return self.folder / folder_of(student) / f"{sha[:16]}.xlsx"

    def move(self, stored: Stored, student: str) -> None:
        """Puts a file among those of a student."""
        assert stored.stored is not None
        old, new = self.folder / stored.stored, self.path(student, stored.sha256)
        if old != new:
            new.parent.mkdir(exist_ok=True)
            os.replace(old, new)
            stored.stored = str(new.relative_to(self.folder))

    def save(self) -> None:
        """Writes the list of what is there, whole or not at all."""
        with saved_whole(self.folder / INDEX) as unfinished:
            unfinished.write_text(_Index(files=self.files).model_dump_json(indent=1), encoding="utf-8")


def folder_of(student: str) -> str:
    """Returns what a file or a folder of a student may be called: an id may hold anything, and so leads nowhere else."""
    return quote(student, safe=" ")[:100].replace(".", "%2E") or "%"


def _read(path: Path) -> _Index:
    if not path.exists():
        return _Index()
    try:
        index = _Index.model_validate_json(content_of(path))
    except (OSError, ValidationError) as error:
        first = str(error).partition("\n")[0]
        raise ClassError(
            f"{path} is damaged ({unquoted(first)}): take it back from a copy, or move the folder away and grade again"
        ) from None
    for each in index.files:  # a path that leads out of the folder was not written by us
        if each.stored and not (path.parent / each.stored).resolve().is_relative_to(path.parent.resolve()):
            raise ClassError(f"{path} names a file outside of its folder ({unquoted(each.stored)}): take it out")
    return index
