"""Files: one that somebody names is read to its end or to a bound, and one of ours appears whole or not at all.

What would never end, or never begin, is not opened. A build that dies leaves the old file as it was.

What is being written stands beside its target, and is gone afterwards, however the writing ended. It is locked by its
writer, so that one which nobody holds was left by a process that was killed; the next command that writes into the folder
takes it away.

Last, a chart in a file: whether one can be drawn there at all, which is asked before anything is computed.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PROGRAM = "RLHF Blueprint"


LARGEST = 1 << 28
"""Bytes of a file of text: thousands of times the largest of ours."""


def content_of(path: Path, most: int = LARGEST) -> bytes:
    """Returns the bytes of a file, and of a longer one those up to the bound and one more.

    Raises OSError, whose `strerror` says why: it cannot be opened, or is a pipe or a device, of which nobody knows when it ends.
    """
    if not (stat.S_ISREG(mode := os.stat(path).st_mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, and no file", str(path))
    with path.open("rb") as file:
        return file.read(most + 1)


try:
    import fcntl
except ImportError:  # Windows knows no such locks
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(r"\.blueprint-[0-9a-z_]{8}\.xlsx")
_OLD = 24 * 60 * 60.0
"""Seconds after which a file is left behind where no lock says whether it still is being written."""
_ours: set[Path] = set()


class SaveError(OSError):
    """A file could not be saved; nothing was changed."""


def refuse_target(path: Path, force: bool, source: Path | None = None) -> None:
    """Refuses, before anything is computed, where a workbook cannot or must not be written.

    source: the file that is read. Raises SaveError for that file, forced or not, for a directory, for an ending by which no
    program knows a workbook, and as `refuse_existing`.
    """
    _refuse_directory(path)
    if source is not None and os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise SaveError(f"{path} is the file that is read, which is never written over: name another file")
    require_workbook_ending(path)
    refuse_existing(path, force)


def require_workbook_ending(path: Path) -> None:
    """Raises SaveError for a directory, and for a workbook that no program would know by its name."""
    _refuse_directory(path)
    if path.suffix.lower() != ".xlsx":
        raise SaveError(f"{path} does not end in .xlsx, by which programs know a workbook: name it so")


def require_page_ending(path: Path) -> None:
    """Raises SaveError for a directory, and for a page that no browser would know by its name."""
    _refuse_directory(path, "page.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise SaveError(f"{path} does not end in .html, by which browsers know a page: name it so")


def refuse_existing(path: Path, force: bool) -> None:
    """Refuses to write over a file, unless that is asked for by name: it may hold somebody's own numbers.

    Raises SaveError if something is there and `force` is false; a link is something, wherever it leads.
    """
    if force or os.path.isdir(path):
        return  # a directory is refused where it is saved, forced or not
    if os.path.islink(path):
        raise SaveError(f"{path} is a link to {os.readlink(path)}: name another file, or write through it with --force")
    if os.path.exists(path):
        raise SaveError(f"{path} is there already: name another file, or replace it with --force")


NAMES = {".html": "page.html", ".toml": "numbers.toml", ".png": "run.png", ".svg": "run.svg", ".pdf": "run.pdf"}
"""What a file of each kind may be called, by its ending."""


def _refuse_directory(path: Path, name: str = "workbook.xlsx") -> None:
    """Refuses a directory, and gives a name in it; one that ends as a file would gets a name of that kind.

    Refuses what no file can be called, too: Python says that of a null byte only where the file is opened.
    """
    if "\0" in str(path):
        raise SaveError(f"{str(path)!a} cannot be written: there is a null byte in the name")
    if os.path.isdir(path):
        inside = path / NAMES.get(path.suffix, name)
        raise SaveError(f"{path} is a directory: give the name of a file, such as {inside}")


@contextmanager
def saved_whole(path: Path, mode: int | None = None) -> Iterator[Path]:
    """Gives an unfinished file beside the target; it takes the target's place at the end and is gone after a failure.

    A link is followed, and the mode of a file that is replaced is kept; mode: the one that it gets instead. Raises SaveError
    if the target is a directory, a device or a pipe, or cannot be written.
    """
    _refuse_directory(path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise SaveError(f"{path} is a device or a pipe: give the name of a file, such as workbook.xlsx")
    try:
        with replacing(Path(os.path.realpath(path)), mode) as unfinished:
            yield unfinished
    except SaveError as error:
        raise SaveError(f"{path} cannot be written: {error}") from error
    except OSError as error:
        no_folder = "" if os.path.exists(path.parent) else f"there is no folder {path.parent}"
        raise SaveError(f"{path} cannot be written: {no_folder or (error.strerror or str(error)).lower()}") from error


@contextmanager
def replacing(target: Path, mode: int | None = None) -> Iterator[Path]:
    """Gives an empty file beside the target; it takes the target's place, with the target's mode or another, at the end.

    After a failure, an interruption or the end of the program it is gone. Raises OSError.
    """
    clear(target.parent)
    unfinished = target.with_name(f".blueprint-{os.urandom(4).hex()}.xlsx")
    _ours.add(unfinished)  # before it exists: an interruption may come at any moment
    held = None
    try:
        held = _created(unfinished)
        yield unfinished
        unfinished.chmod(_mode(target) if mode is None else mode)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)
        _ours.discard(unfinished)
        if held is not None:
            os.close(held)


def clear(folder: Path) -> None:
    """Takes away what processes that were killed have left in a folder; says nothing where that is not allowed."""
    with suppress(OSError):
        names = [name for name in os.listdir(folder) if _NAME.fullmatch(name)]
        for path in (folder / name for name in names if folder / name not in _ours):
            _take_away(path)


def _created(path: Path) -> int | None:
    """Makes an empty file that only its owner may read; returns what holds it, where the system has locks."""
    while True:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        if fcntl is None:
            os.close(handle)
            return None
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            return handle
        os.close(handle)  # it was taken for a file left behind, between its making and its lock


def _take_away(path: Path) -> None:
    """Removes a file that nobody holds."""
    with suppress(OSError):
        if fcntl is None:
            if time.time() - path.stat().st_mtime > _OLD:
                path.unlink()
            return
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(handle)


def _mode(target: Path) -> int:
    """Returns the permissions of the file that is replaced; those of a new file, where there is none."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@atexit.register
def _clear_ours() -> None:
    """Removes what an interruption within the removing itself has left."""
    for path in _ours:
        with suppress(OSError):
            path.unlink()


ENDINGS = (".png", ".svg", ".pdf")


def check_plot_file(path: Path, refusal: type[Exception]) -> None:
    """Raises the refusal of a room where a chart could not be drawn into a file of that name."""
    if path.suffix.lower() not in ENDINGS:
        raise refusal(f"--plot {path}: found the ending {path.suffix or 'none'}, expected one of {', '.join(ENDINGS)}")
    if find_spec("matplotlib") is None:
        raise refusal('--plot needs matplotlib, which is not installed: python -m pip install ".[plot]"')


def save_plot(figure: Figure, path: Path, dpi: int) -> None:
    """Writes a chart in the format that the ending of its file names. Raises SaveError; the file is whole or not there."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    with saved_whole(path) as unfinished:
        figure.savefig(unfinished, dpi=dpi, format=path.suffix[1:].lower())
