"""Submissions are kept, below a folder of results, so that everything can be computed from them again."""

import json
import os
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from pydantic import Field, ValidationError

from blueprint.classes.collecting import Collected
from blueprint.classes.errors import ClassError
from blueprint.classes.results import Record
from blueprint.quoting import unquoted
from blueprint.reading import content_of
from blueprint.saving import saved_whole

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

    def add(self, found: Iterable[Collected], moved: Callable[[int], object] = lambda done: None) -> None:
        """Keeps files; one whose bytes are known gets one more name. The list is written when all are there; else none is kept."""
        before = [each.model_copy(deep=True) for each in self.files]
        try:
            self._add(found, moved)
        except BaseException:
            self.files = before
            self._clear()
            raise
        self.save()
        self._clear()

    def _add(self, found: Iterable[Collected], moved: Callable[[int], object]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        known = {each.sha256: each for each in self.files if each.stored}
        refused = {name for each in self.files if not each.stored for name in each.names}
        for each in found:
            moved(1)
            sha, participants = each.sha, [each.participant] if each.participant else []
            if each.refused:
                if each.name not in refused:
                    taken_not = Stored(
                        names=[each.name], sha256=sha, stored=None, participants=participants, refused=each.refused
                    )
                    self.files.append(taken_not)
            elif sha in known:
                _once(known[sha].names, [each.name])
                _once(known[sha].participants, participants)
            else:
                path = self.path(UNKNOWN, sha)
                self._write(path, each.content)
                known[sha] = Stored(
                    names=[each.name], sha256=sha, stored=str(path.relative_to(self.folder)), when=each.when,
                    participants=participants,
                )  # fmt: skip
                self.files.append(known[sha])

    def _clear(self) -> None:
        """Takes away the files of nobody that are not in the list: a grading that was ended had put them there."""
        listed = {self.folder / each.stored for each in self.files if each.stored}
        for path in (self.folder / UNKNOWN).glob("*.xlsx"):
            if re.fullmatch(r"[0-9a-f]{16}", path.stem) and path not in listed:
                path.unlink()

    def path(self, student: str, sha: str) -> Path:
        """Returns where a file of a student is kept; an id may hold anything, and leads nowhere else."""
        safe = quote(student, safe=" ")[:100].replace(".", "%2E") or "%"
        return self.folder / safe / f"{sha[:16]}.xlsx"

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

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(exist_ok=True)
        with saved_whole(path) as unfinished:
            unfinished.write_bytes(content)


def _once(known: list[str], more: list[str]) -> None:
    known += [each for each in more if each not in known]


def _read(path: Path) -> _Index:
    try:
        index = _Index.model_validate(json.loads(content_of(path).decode("utf-8")))
    except FileNotFoundError:
        return _Index()
    except (OSError, ValueError, ValidationError) as error:
        first = str(error).partition("\n")[0]
        raise ClassError(
            f"{path} is damaged ({unquoted(first)}): take it back from a copy, or move the folder away and grade again"
        ) from None
    for each in index.files:  # a path that leads out of the folder was not written by us
        if each.stored and not (path.parent / each.stored).resolve().is_relative_to(path.parent.resolve()):
            raise ClassError(f"{path} names a file outside of its folder ({unquoted(each.stored)}): take it out")
    return index
