"""What goes through steps, several at a time: processes of this machine, or a cluster. Both are driven by `going`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

from blueprint.verifying.runs.step import Step

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
