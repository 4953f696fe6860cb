"""Finds the dumps in a folder and groups them by step, from what their heads say; no tensor is read."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from blueprint.dumps import MinibatchError, metadata_of
from blueprint.quoting import unquoted
from blueprint.verifying.runs.ledger import is_ledger
from blueprint.verifying.runs.names import LONGEST, natural, numbers_in
from blueprint.verifying.runs.step import File, Step

ENDINGS = (".safetensors", ".npz", ".jsonl", ".parquet", ".pt", ".pth")
"""What ends so is a dump, or was meant to be one: if it is damaged, its step counts as not verified."""
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
    said, skipped = dict[str, int | None](), []
    for path in _files_in(folder):
        name = path.relative_to(folder).as_posix()
        if is_ledger(path) or (only and not fnmatch(name, only) and not fnmatch(path.name, only)):
            continue
        if only or path.suffix.lower() in ENDINGS:
            said[name] = _whole(_said(path).get("step"))
        else:
            skipped.append(name)
    by_name = tuple(name for name, number in said.items() if number is None)
    return Found(folder, tuple(_steps(folder, said | numbers_in(by_name, said))), tuple(skipped), by_name)


def _steps(folder: Path, numbers: Mapping[str, int | None]) -> Iterator[Step]:
    """Yields the steps in their order, and behind them files without a number."""
    groups: dict[int, list[File]] = {}
    for name, number in numbers.items():
        if number is not None:
            groups.setdefault(number, []).append(_file(folder / name, name))
    yield from (Step(number, tuple(groups[number])) for number in sorted(groups))
    alone = sorted((name for name, number in numbers.items() if number is None), key=natural)
    yield from (Step(None, (_file(folder / name, name),)) for name in alone)


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
    if isinstance(found, str) and found.isascii() and found.isdecimal() and len(found) <= LONGEST:
        found = int(found)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    return found if type(found) is int and found >= 0 else None


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
