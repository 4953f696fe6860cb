"""The files of a class in its folder: what they are called, and how they come to be there, all of them or none.

Everything is written into a folder of its own within it, and moved at the end, the key first: what a crash leaves is told
from what was handed out, and with the key every other file can be made again.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from blueprint.classes.errors import ClassError
from blueprint.classes.key import Key
from blueprint.quoting import unquoted
from blueprint.saving import SaveError

KEY, MANIFEST, STRESS, TEACHER, STUDENTS = "key.json", "manifest.csv", "stress.html", "teacher.xlsx", "students"
UNFINISHED = ".unfinished"
"""Where a class is made; what stands there was never handed out."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_LONGEST = 60


def file_names(ids: Sequence[str]) -> dict[str, str]:
    """Returns the path of each student's file below the class's folder: the id, where that is a safe name on any system.

    Else what is left of it, and 8 digits of its hash; so no id leads out of the folder, and no two to one file.
    """
    return {id: f"{STUDENTS}/{_safe(id)}.xlsx" for id in ids}


def _safe(id: str) -> str:
    kept = re.sub(r"[^A-Za-z0-9_-]+", "_", id)[:_LONGEST]
    if id and kept == id and not _RESERVED.fullmatch(id) and not id.startswith(("-", "_")):
        return id
    return f"{kept.strip('_-') or 'student'}-{sha256(id.encode()).hexdigest()[:8]}"


def refuse_made(folder: Path, force: bool) -> None:
    """Refuses a folder in which there is a class, unless that is asked for by name. Raises SaveError."""
    if folder.exists() and not folder.is_dir():
        raise SaveError(f"{folder} is a file: name a folder, which is made")
    there = [name for name in (KEY, MANIFEST, STUDENTS) if (folder / name).exists()]
    if there and not force:
        raise SaveError(
            f"{folder / there[0]} is there already: name another folder, or make the class anew with --force (with the same key, "
            "so that files that were handed out stay valid)"
        )


def assignment_named(name: str | None, folder: Path) -> str:
    """Returns what an assignment is called: as one says it, or as its folder. Raises ClassError for what no token can bear."""
    found = name if name is not None else re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name).strip("-")[:40]
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", found):
        raise ClassError(
            f"--assignment {unquoted(found)}: no token bears it, write 1 to 40 letters without accents, digits, - and _, as in hw1"
        )
    return found


def left_behind(folder: Path) -> str:
    """Says what a run that was ended has left in a folder; "" if nothing."""
    if not (folder / UNFINISHED).exists():
        return ""
    was = "was being put in place" if (folder / KEY).exists() else "had not been put in place"
    return f"{folder} holds what a run that was ended left behind: it {was}, and is made anew"


def former_secret(folder: Path, assignment: str) -> str | None:
    """Returns the secret of the key that lies in a folder, so that tokens stay valid; None where there is none."""
    if not (folder / KEY).exists():
        return None
    key = Key.load(folder / KEY)
    if key.assignment != assignment:
        whose = f"{folder / KEY} is the key of {key.assignment}, not of {assignment}"
        raise ClassError(f"{whose}: name another folder, or --assignment {key.assignment}")
    return key.secret


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """Gives an empty folder within a folder; what it holds at the end takes its place there, after a failure it is gone."""
    unfinished = folder / UNFINISHED
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        (unfinished / STUDENTS).mkdir(parents=True)
        try:
            yield unfinished
            _move(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
            with suppress(OSError):  # of a folder in which nothing stands, nothing is left
                folder.rmdir()
    except OSError as error:
        if isinstance(error, SaveError):
            raise
        raise SaveError(f"{folder} cannot be written: {(error.strerror or str(error)).lower()}") from error


def _move(unfinished: Path, folder: Path) -> None:
    (folder / STUDENTS).mkdir(exist_ok=True)
    for path in _in_order(unfinished.rglob("*")):
        path.replace(folder / path.relative_to(unfinished))


def _in_order(paths: Iterable[Path]) -> list[Path]:
    """Returns the files of a class, the key first."""
    return sorted((path for path in paths if path.is_file()), key=lambda path: (path.name != KEY, path))


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hex."""
    return sha256(path.read_bytes()).hexdigest()
