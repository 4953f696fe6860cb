"""Saving: a file appears whole or not at all, so that a build that dies leaves the old file as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from blueprint.unfinished import replacing


class SaveError(OSError):
    """A file could not be saved; nothing was changed."""


def refuse_target(path: Path, force: bool, source: Path | None = None) -> None:
    """Refuses, before anything is computed, where a workbook cannot or must not be written.

    source: the file that is read. Raises SaveError for that file, forced or not, for a directory, for an ending by which no
    program knows a workbook, and as `refuse_existing`.
    """
    if os.path.isdir(path):
        raise SaveError(f"{path} is a directory: give the name of a file, such as {path / 'workbook.xlsx'}")
    if source is not None and os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise SaveError(f"{path} is the file that is read, which is never written over: name another file")
    if path.suffix.lower() != ".xlsx":
        raise SaveError(f"{path} does not end in .xlsx, by which programs know a workbook: name it so")
    refuse_existing(path, force)


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


@contextmanager
def saved_whole(path: Path) -> Iterator[Path]:
    """Gives an unfinished file beside the target; it takes the target's place at the end and is gone after a failure.

    A link is followed, and the mode of a file that is replaced is kept. Raises SaveError if the target is a directory, a
    device or a pipe, or cannot be written.
    """
    if os.path.isdir(path):
        raise SaveError(f"{path} is a directory: give the name of a file, such as {path / 'workbook.xlsx'}")
    if os.path.exists(path) and not os.path.isfile(path):
        raise SaveError(f"{path} is a device or a pipe: give the name of a file, such as workbook.xlsx")
    try:
        with replacing(Path(os.path.realpath(path))) as unfinished:
            yield unfinished
    except OSError as error:
        raise SaveError(f"{path} cannot be written: {_reason(path, error)}") from error


def _reason(path: Path, error: OSError) -> str:
    if not os.path.exists(path.parent):
        return f"there is no folder {path.parent}"
    return (error.strerror or str(error)).lower()
