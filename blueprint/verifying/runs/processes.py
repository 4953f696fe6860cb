"""Processes of this machine, each with one step at a time: the memory in use is bounded by their number.

They are begun anew (spawn), since torch does not survive a fork. Each is reached by a pipe of its own, so that the death of
one, be it at the hands of a system that is out of memory, costs one step and none of the others.
"""

import os
import signal
from collections.abc import Collection
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from blueprint import interrupted
from blueprint.verifying.runs.step import Died, Step, Work

SECONDS_TO_END = 5.0


class Processes:
    """Works on up to `most` steps at once."""

    def __init__(self, work: Work, most: int) -> None:
        """Starts nothing yet: a process begins with the first step that it is needed for."""
        self._work, self._most = work, most
        self._workers: list[_Worker] = []

    def free(self) -> bool:
        """Tells whether another step may be started."""
        return len(self.running()) < self._most

    def running(self) -> Collection[int]:
        """Returns the steps that are being worked on."""
        return [worker.at for worker in self._workers if worker.at is not None]

    def start(self, at: int, step: Step) -> None:
        """Begins with a step, in a process that is idle, or a new one."""
        if all(each.at is not None for each in self._workers):
            self._workers.append(_Worker(self._work))
        next(each for each in self._workers if each.at is None).begin(at, step)

    def wait(self) -> list[tuple[int, dict[str, Any] | Died]]:
        """Waits until a step is done, or a process has died over it."""
        busy = {worker.pipe: worker for worker in self._workers if worker.at is not None}
        found = []
        for pipe in wait(list(busy)):
            worker = busy[pipe]  # type: ignore[index]
            found.append(worker.result())
            if isinstance(found[-1][1], Died):
                self._workers.remove(worker)
        return found

    def drop(self, steps: Collection[int]) -> None:
        """Ends the processes that work on steps."""
        for worker in [each for each in self._workers if each.at in steps]:
            self._workers.remove(worker)
            worker.end()

    def close(self) -> None:
        """Ends all processes."""
        while self._workers:
            self._workers.pop().end()


class _Worker:
    """A process, and the step that it works on."""

    def __init__(self, work: Work) -> None:
        self.at: int | None = None
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        with interrupted.unheard():
            self.process.start()
        theirs.close()

    def begin(self, at: int, step: Step) -> None:
        self.at = at
        with suppress(BrokenPipeError):  # it has died while it was idle: `result` will say so
            self.pipe.send(step)

    def result(self) -> tuple[int, dict[str, Any] | Died]:
        """Returns the step that was worked on, and its record."""
        at, self.at = self.at, None
        assert at is not None
        try:
            return at, self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join(SECONDS_TO_END)
            return at, Died(_ending(self.process.exitcode))

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Connection, work: Work) -> None:
    """Works on one step after another, until nobody is there any more who asks for them."""
    from blueprint.verifying.tiled_passes import one_thread

    with one_thread(), suppress(EOFError, BrokenPipeError):
        while True:
            pipe.send(work(pipe.recv()))


def _ending(code: int | None) -> str:
    """Says how a process has ended."""
    if code is None or code >= 0:
        return f"it ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"it was ended by {name}{', as the system does where memory runs out' if name == 'SIGKILL' else ''}"


def cores() -> int:
    """Returns how many cores this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
