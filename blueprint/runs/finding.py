"""Finds the dumps in a folder and groups them by step, from what their heads say; no tensor is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from blueprint.minibatch import MinibatchError, metadata_of
from blueprint.quoting import unquoted
from blueprint.runs.ledger import is_ledger
from blueprint.runs.step import File, Step

ENDINGS = (".safetensors", ".npz", ".jsonl", ".parquet", ".pt", ".pth")
"""What ends so is a dump, or was meant to be one: if it is damaged, its step counts as not verified."""
_STEP = re.compile(r"step[_.-]?(\d{1,15})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
MOST_NAMED = 3


@dataclass(frozen=True)
class Found:
    """What a folder holds.

    steps: in order; behind them files without a number, by their names.
    skipped: files that are no dumps.
    by_name: files whose step their metadata do not say, so that it was taken from their names, or from nowhere.
    """

    folder: Path
    steps: tuple[Step, ...]
    skipped: tuple[str, ...]
    by_name: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was assumed and left aside."""
        said = []
        if self.by_name:
            said.append(
                f"{_files(len(self.by_name))} no step in the metadata: taken from the name ({_some(self.by_name)})"
            )
        if self.skipped:
            said.append(f"{_files(len(self.skipped))} no ending of a dump: left aside ({_some(self.skipped)})")
        return tuple(said)


def find(folder: Path, only: str | None = None) -> Found:
    """Finds all dumps in a folder and the folders in it, but for hidden ones.

    only: a pattern that names must fit, such as "rank_0*"; then those are dumps whatever they end with.
    """
    groups: dict[tuple[int, str], list[File]] = {}
    skipped, by_name = [], []
    for path in _files_in(folder):
        name = path.relative_to(folder).as_posix()
        if is_ledger(path) or (only and not fnmatch(name, only) and not fnmatch(path.name, only)):
            continue
        if not only and path.suffix.lower() not in ENDINGS:
            skipped.append(name)
            continue
        number = _whole(_said(path).get("step"))
        if number is None:
            by_name.append(name)
            number = number_in(name)
        groups.setdefault((-1, name) if number is None else (number, ""), []).append(_file(path, name))
    order = sorted(groups, key=lambda each: (each[0] < 0, each[0], natural(each[1])))
    steps = (Step(None if at[0] < 0 else at[0], tuple(groups[at])) for at in order)
    return Found(folder, tuple(steps), tuple(skipped), tuple(by_name))


def _files_in(folder: Path) -> Iterator[Path]:
    """Yields the files of a folder. Raises OSError for a folder that cannot be listed: its steps would be missing unseen."""
    for at, folders, names in os.walk(folder, onerror=_raised):
        folders[:] = sorted((each for each in folders if not each.startswith(".")), key=natural)
        yield from (Path(at, name) for name in sorted(names, key=natural) if not name.startswith("."))


def _said(path: Path) -> dict[str, Any]:
    """Returns the metadata of a dump; of a damaged one none, and verifying it will say what is wrong."""
    try:
        return metadata_of(path)
    except MinibatchError:
        return {}


def _whole(found: Any) -> int | None:
    """Returns a step that is a whole number of 0 or more; verifying tells what is wrong with any other one."""
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    return found if type(found) is int and found >= 0 else None


def number_in(name: str) -> int | None:
    """Returns the step that a name tells: behind the last "step", else the only number of the file's own name."""
    told = _STEP.findall(name)
    if told:
        return int(told[-1])
    numbers = _NUMBER.findall(Path(name).stem)
    return int(numbers[0]) if len(numbers) == 1 and len(numbers[0]) <= 15 else None


def natural(name: str) -> list[tuple[int, str]]:
    """Returns by what names are sorted so that 10 stands behind 9."""
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d{1,15})", name)]


def _raised(error: OSError) -> None:
    raise error


def _file(path: Path, name: str) -> File:
    """Returns a file; of one that is gone, or a link that leads nowhere, verifying says so."""
    try:
        found = path.stat()
    except OSError:
        return File(name, 0, 0)
    return File(name, found.st_size, found.st_mtime_ns)


def _files(count: int) -> str:
    return "1 file has" if count == 1 else f"{count:,} files have"


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} others" if len(names) > MOST_NAMED else ""
    return ", ".join(unquoted(name) for name in names[:MOST_NAMED]) + more
