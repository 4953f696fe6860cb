"""Goes through the steps of a run, by processes of this machine or tasks of a Ray cluster: every step is verified once, whatever
becomes of the processes that work on them.

The work on one step, as a process of its own does it, makes a record of it: plain data of what its files come to. Processes of
this machine have one step at a time each, so that the memory in use is bounded by their number. They are begun anew (spawn),
since torch does not survive a fork. Each is reached by a pipe of its own, so that the death of one, be it at the hands of a
system that is out of memory, costs one step and none of the others.

Ray gives tasks to its nodes, and begins a task anew whose worker or node is lost. A task returns one result, however often it was
begun, and only this process writes into the ledger: nothing is counted twice. Every node needs this package, and the run's
folder under the same path.
"""

import signal
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from blueprint import interrupted
from blueprint.cluster import RETRIES, connected
from blueprint.dumps import MinibatchError
from blueprint.quoting import sentence
from blueprint.verifying import StepVerdict, VerifyOptions, data_of_step, read_dumps, text_of_step, verify_dumps
from blueprint.verifying.runs.ledger import NOT_VERIFIED, Ledger, Record
from blueprint.verifying.runs.report import AGREES, DIFFERS, NEEDS_OTHERS, NOTHING, TOO_COARSE, metrics_of
from blueprint.verifying.runs.steps import Died, Executor, Step, Work, key_of, program


class Run:
    """The steps of a run, in order, and the ledger of those that are finished.

    end: how many of the steps count. With `fail_fast` it is lowered to the earliest that deviates, and that one; what
        stands behind it does not depend on which process was the faster.
    """

    def __init__(self, steps: Sequence[Step], settings: VerifyOptions, ledger: Ledger, fail_fast: bool = False) -> None:
        """Takes what is finished from the ledger."""
        self.steps, self.settings, self.ledger, self.fail_fast = steps, settings, ledger, fail_fast
        self.keys = [key_of(step, settings) for step in steps]
        self.end = len(steps)
        self.known = sum(key in ledger for key in self.keys)
        if fail_fast:
            deviating = (at for at, key in enumerate(self.keys) if key in ledger and ledger[key]["outcome"] == DIFFERS)
            self.end = min(deviating, default=self.end - 1) + 1

    def go(self, executor: Executor, finished: Callable[[int], None]) -> None:
        """Verifies what is not finished, in the order of the steps; calls `finished` with how many more steps are.

        A step whose process died is tried once more when all others are done, alone, so that it has all the memory; if
        that process dies, too, the step counts as not verified.
        """
        todo = deque(at for at, key in enumerate(self.keys) if key not in self.ledger)
        again: list[int] = []
        while True:
            while todo and todo[0] < self.end and executor.free():
                executor.start(todo[0], self.steps[todo.popleft()])
            if not executor.running():
                break
            for at, found in executor.wait():
                if isinstance(found, Died):
                    again.append(at)
                else:
                    self._add(at, found, executor)
                    finished(1)
        for at in sorted(again):
            if at < self.end:
                executor.start(at, self.steps[at])
                ((_, found),) = executor.wait()
                if isinstance(found, Died):
                    twice = f"its process ended twice, the second time while nothing else was verified: {found.how}"
                    found = self._refused(at, twice)
                self._add(at, found, executor)
                finished(1)

    def _add(self, at: int, found: dict[str, Any], executor: Executor) -> None:
        if found["key"] != self.keys[at]:
            found = self._refused(
                at, f"a node verified it with {found['program']}, and here is {program()}: install the same"
            )
        self.ledger.add(found)
        if self.fail_fast and found["outcome"] == DIFFERS and at < self.end:
            self.end = at + 1
            executor.drop([each for each in executor.running() if each > at])

    def _refused(self, at: int, reason: str) -> dict[str, Any]:
        return head_of_step(self.steps[at], self.settings) | refused(reason) | {"seconds": None}

    def records(self) -> Iterator[Record]:
        """Yields the records of the steps that count, in their order."""
        return (self.ledger[key] for key in self.keys[: self.end] if key in self.ledger)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what was not computed now."""
        total, left = len(self.steps), self.steps[self.end :]
        found = {
            f"{self.known:,} of {total:,} steps were in the ledger {self.ledger.path} and are not done again": self.known,
            f"--fail-fast: {len(left):,} steps behind {self.steps[self.end - 1].name} do not count here": left,
        }
        return tuple(note for note, holds in found.items() if holds)


NOTHING_FIRST = dict.fromkeys(("first", "cause", "where", "text"), "")
"""What a record says of the first deviation where there is none."""


def record_of(folder: Path, step: Step, settings: VerifyOptions) -> dict[str, Any]:
    """Verifies a step and returns its record for the ledger; whatever goes wrong is in it, as a reason."""
    began = time.monotonic()
    try:
        found = _verified(folder, step, settings)
    except MinibatchError as error:
        found = refused(str(error))
    except MemoryError:
        found = refused("it needs more memory than there is: verify with fewer --workers, or where there is more")
    except Exception as error:  # the other steps are to be verified, whatever this one is
        found = refused(sentence(f"something unforeseen came up ({type(error).__name__}: {error})"))
    return head_of_step(step, settings) | found | {"seconds": round(time.monotonic() - began, 3)}


def head_of_step(step: Step, settings: VerifyOptions) -> dict[str, Any]:
    """Returns what a record begins with: which step it is, and what exactly was verified."""
    return {
        "key": key_of(step, settings),
        "program": program(),
        "step": step.number,
        "name": step.name,
        "bytes": step.size,
        "files": [asdict(file) for file in step.files],
    }


def refused(reason: str) -> dict[str, Any]:
    """Returns what a record says of a step that could not be verified."""
    return {"outcome": NOT_VERIFIED, "reason": reason, **NOTHING_FIRST, "quantities": [], "data": [], "watched": {}}


def _verified(folder: Path, step: Step, options: VerifyOptions) -> dict[str, Any]:
    """Returns what the files of a step come to, those of each kind together. Raises MinibatchError as `verify_step`."""
    dumps, unread = read_dumps([folder / file.name for file in step.files], options.above_zero)
    kinds = dict.fromkeys(dump.kind for dump in dumps)
    verdicts = [verify_dumps([dump for dump in dumps if dump.kind == kind], options) for kind in kinds]
    reasons = [*unread.values(), *(reason for each in verdicts for reason in each.unread.values())]
    computed = [(each, data_of_step(each)) for each in verdicts if each.parts]
    first = next((_first(each, data, folder) for each, data in computed if each.first), NOTHING_FIRST)
    return {
        "outcome": _outcome(
            bool(first["first"]), reasons, {line.line.says for each in verdicts for line in each.lines}
        ),
        "reason": sentence("; ".join(reasons)),
        **first,
        "quantities": [quantity for _, data in computed for quantity in data["quantities"]],
        "data": [  # of single files only where one deviates
            {name: part for name, part in data.items() if name != "quantities" and (each.first or name != "files")}
            for each, data in computed
        ],
        "watched": metrics_of([part for each in verdicts for part in each.parts]),
    }


def _first(step: StepVerdict, data: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Returns the quantity that deviates first, its likeliest cause, the file that it deviates in, and the report of it."""
    return {
        "first": step.first.name if step.first else "",
        "cause": step.causes[0].said if step.causes else "",
        "where": Path(data["first"]["file"]).relative_to(folder).as_posix(),
        "text": text_of_step(step),
    }


def _outcome(deviates: bool, unread: Sequence[str], verdicts: set[str]) -> str:
    """Says in a word what a step comes to; what deviates does so whether or not all of its files can be read."""
    if deviates:
        return DIFFERS
    if unread:
        return NOT_VERIFIED
    return next((each for each in (AGREES, TOO_COARSE, NEEDS_OTHERS) if each in verdicts), NOTHING)


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
    from blueprint.verifying.progress import one_thread

    with one_thread(), suppress(EOFError, BrokenPipeError):
        while True:
            pipe.send(work(pipe.recv()))


def _ending(code: int | None) -> str:
    """Says how a process has ended."""
    if code is None or code >= 0:
        return f"it ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"it was ended by {name}{', as the system does where memory runs out' if name == 'SIGKILL' else ''}"


AHEAD = 2
"""Tasks for each core of the cluster that are handed in at a time, so that none waits for this process."""


class OnRay:
    """Works on the steps on a cluster; `most` bounds how many at a time, `gpus` is what each needs of them."""

    def __init__(self, work: Work, address: str, most: int | None = None, gpus: int = 0) -> None:
        """Connects to a cluster, or, for the address `local`, begins one on this machine. Raises RayError."""
        self._ray, self._ours = connected(address)
        self._most = most or AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._task = self._ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_worked)
        self._work = self._ray.put(work)
        self._steps: dict[Any, int] = {}

    def free(self) -> bool:
        """Tells whether another step may be started."""
        return len(self._steps) < self._most

    def running(self) -> Collection[int]:
        """Returns the steps that are being worked on."""
        return list(self._steps.values())

    def start(self, at: int, step: Step) -> None:
        """Hands in a step."""
        self._steps[self._task.remote(self._work, step)] = at

    def wait(self) -> list[tuple[int, dict[str, Any] | Died]]:
        """Waits until a step is done, or Ray gives it up."""
        (done,), _ = self._ray.wait(list(self._steps), num_returns=1)
        at = self._steps.pop(done)
        try:
            return [(at, self._ray.get(done))]
        except self._ray.exceptions.RayError as error:
            said = (str(error).strip() or type(error).__name__).splitlines()
            return [(at, Died(f"{type(error).__name__}: {said[-1][:200]}"))]

    def drop(self, steps: Collection[int]) -> None:
        """Forgets steps; those that have begun run to their end.

        Ray 2.60 ends this very process where a task that is cancelled by force has just finished.
        """
        self._steps = {task: at for task, at in self._steps.items() if at not in steps}

    def close(self) -> None:
        """Forgets all work; if the connection was made here it ends, and with it whatever is running."""
        self.drop(self.running())
        if self._ours:
            self._ray.shutdown()


def _worked(work: Work, step: Step) -> dict[str, Any]:
    """The task: one step, with one thread for arithmetic, as Ray itself sets it for a task of one core."""
    return work(step)
