"""A step of a run: its files, the key by which a ledger knows that nothing about it has changed, and what goes through steps."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

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
