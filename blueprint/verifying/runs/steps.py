"""The steps of a run: the dumps in a folder, grouped by step from what their heads and names say, no tensor being read; the key by
which a ledger knows that nothing about a step has changed, and what goes through steps.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from blueprint.dumps import MinibatchError, Raw, ends_as_dump, files_in, head_of, is_foreign, natural, whole_number
from blueprint.quoting import unquoted
from blueprint.verifying.runs.ledger import is_ledger
from blueprint.verifying.settings import VerifyOptions

ROOMS = ("dumps", "inputs", "verifying", "workbooks")
"""What a verdict depends on."""


@dataclass(frozen=True)
class File:
    """A file of a run. name: relative to the run's folder, with slashes. mtime_ns: when it was last written to."""

    name: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Step:
    """One step of a run, the unit of work: all its files, which are verified together.

    number: as the files say it; None for a file that says none and has none in its name, which stands for itself.
    """

    number: int | None
    files: tuple[File, ...]

    @property
    def name(self) -> str:
        """What people call it: "step 120", or the name of the file."""
        return self.files[0].name if self.number is None else f"step {self.number}"

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)


def key_of(step: Step, settings: VerifyOptions) -> str:
    """Returns what tells whether a verdict on a step is still good: its files, the settings and this program."""
    depends_on = {"files": [asdict(file) for file in step.files], "settings": asdict(settings), "program": program()}
    return _digest([json.dumps(depends_on, sort_keys=True).encode()])


@cache
def program() -> str:
    """Returns the version of this package, and a digest of the code and tables that verdicts are made with."""
    files = (path for room in ROOMS for path in (Path(__file__).parents[2] / room).rglob("*"))
    digest = _digest(path.read_bytes() for path in sorted(files) if path.suffix in (".py", ".csv", ".toml"))
    try:
        return f"{version('rlhf-blueprint')}+{digest}"
    except PackageNotFoundError:  # run from a folder of sources
        return f"unknown+{digest}"


def _digest(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


Work = Callable[[Step], dict[str, Any]]
"""Makes the record of a step; it is sent to other processes, so it is a function of a module, or a partial of one."""


@dataclass(frozen=True)
class Died:
    """The process that worked on a step ended before it was done. how: in words."""

    how: str


class Executor(Protocol):
    """Works on steps, each known by its place in the run."""

    def free(self) -> bool:
        """Tells whether another step may be started."""

    def running(self) -> Collection[int]:
        """Returns the steps that are being worked on."""

    def start(self, at: int, step: Step) -> None:
        """Begins with a step."""

    def wait(self) -> list[tuple[int, dict[str, Any] | Died]]:
        """Waits until something is done; returns which steps, each once, and their records."""

    def drop(self, steps: Collection[int]) -> None:
        """Stops working on steps; they are never reported."""

    def close(self) -> None:
        """Ends all work."""


_STEP = re.compile(r"step[_.-]?(\d{1,15})(?!\d)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
LONGEST = 15
"""Digits of a number that may be a step."""


MOST_NAMED = 3


@dataclass(frozen=True)
class Found:
    """What a folder holds.

    steps: in order; behind them files without a number, by their names.
    skipped: files that do not end as dumps do. foreign: files that do, and hold nothing of a training step, as a checkpoint.
    by_name: files whose step their metadata do not say, so that it was taken from their names, or from nowhere.
    """

    folder: Path
    steps: tuple[Step, ...]
    skipped: tuple[str, ...]
    by_name: tuple[str, ...]
    foreign: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was assumed and left aside."""
        found = (
            (self.by_name, "no step in the metadata: taken from the name"),
            (self.skipped, "no ending of a dump: left aside"),
            (self.foreign, "nothing of a training step inside, as a checkpoint has: left aside"),
        )
        return tuple(
            f"{len(names):,} {'file has' if len(names) == 1 else 'files have'} {what} ({_some(names)})"
            for names, what in found
            if names
        )


def find(folder: Path, only: str | None = None) -> Found:
    """Finds all dumps in a folder and the folders in it, but for hidden ones.

    only: a pattern that names must fit, such as "rank_0*"; then those are dumps whatever they end with.
    """
    numbers, skipped, foreign = dict[str, int | None](), list[str](), list[str]()
    for path in files_in(folder):
        name = path.relative_to(folder).as_posix()
        if is_ledger(path) or (only and not fnmatch(name, only) and not fnmatch(path.name, only)):
            continue
        if not only and not ends_as_dump(path):
            skipped.append(name)
            continue
        head = _head_of(path)
        if head is not None and is_foreign(head):
            foreign.append(name)
        else:
            numbers[name] = None if head is None else _step_of(head)
    by_name = tuple(name for name, number in numbers.items() if number is None)
    return Found(
        folder, tuple(_steps(folder, numbers | numbers_in(by_name, numbers))), tuple(skipped), by_name, tuple(foreign)
    )


def _steps(folder: Path, numbers: Mapping[str, int | None]) -> Iterator[Step]:
    """Yields the steps in their order, and behind them files without a number."""
    groups: dict[int, list[File]] = {}
    for name, number in numbers.items():
        if number is not None:
            groups.setdefault(number, []).append(_file(folder / name, name))
    yield from (Step(number, tuple(groups[number])) for number in sorted(groups))
    alone = sorted((name for name, number in numbers.items() if number is None), key=natural)
    yield from (Step(None, (_file(folder / name, name),)) for name in alone)


def _head_of(path: Path) -> Raw | None:
    """Returns the head of a file; of a damaged one none, and verifying it will say what is wrong."""
    try:
        return head_of(path)
    except MinibatchError:
        return None


def _step_of(head: Raw) -> int | None:
    """Returns the step that the head of a dump says."""
    try:
        step = head.metadata.get("step")
        return None if step is None else whole_number(step, "step", 0)
    except MinibatchError:
        return None


def _file(path: Path, name: str) -> File:
    """Returns a file; of one that is gone, or a link that leads nowhere, verifying says so."""
    try:
        found = path.stat()
    except OSError:
        return File(name, 0, 0)
    return File(name, found.st_size, found.st_mtime_ns)


def _some(names: tuple[str, ...]) -> str:
    left = len(names) - MOST_NAMED
    more = f" and {left:,} other{'s' * (left > 1)}" if len(names) > MOST_NAMED else ""
    return ", ".join(unquoted(name) for name in names[:MOST_NAMED]) + more


def numbers_in(names: Iterable[str], known: Mapping[str, int | None]) -> dict[str, int | None]:
    """Returns the steps that names tell; known: those of all files whose metadata say it.

    The number that stands where names of the same shape have the step that their metadata say; else the one behind the last
    "step"; else the only number of the file's own name.
    """
    places = _places({name: step for name, step in known.items() if step is not None})
    return {name: _numbers(name)[places[_shape(name)]] if _shape(name) in places else number_in(name) for name in names}


def number_in(name: str) -> int | None:
    """Returns the step that a name tells by itself."""
    if named := _STEP.findall(name):
        return int(named[-1])
    numbers = _numbers(Path(name).stem)
    return numbers[0] if len(numbers) == 1 else None


def _numbers(name: str) -> list[int | None]:
    """Returns the numbers in a name; None for one that is too long to be a step."""
    return [int(each) if len(each) <= LONGEST else None for each in _NUMBER.findall(name)]


def _shape(name: str) -> str:
    return _NUMBER.sub("#", name)


def _places(known: Mapping[str, int]) -> dict[str, int]:
    """Returns for names of a shape which of their numbers, counted from 0, is the step in all of those that say it."""
    found: dict[str, set[int]] = {}
    for name, step in known.items():
        here = {at for at, number in enumerate(_numbers(name)) if number == step}
        found[_shape(name)] = found.get(_shape(name), here) & here
    return {shape: min(places) for shape, places in found.items() if places}
