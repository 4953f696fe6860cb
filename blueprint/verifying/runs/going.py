"""Goes through the steps of a run: every step is verified once, whatever becomes of the processes that work on them.

The work on one step, as a process of its own does it, makes a record of it: plain data of what its files come to.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blueprint.dumps import MinibatchError
from blueprint.quoting import sentence
from blueprint.verifying import StepVerdict, VerifyOptions, data_of_step, read_dumps, text_of_step, verify_dumps
from blueprint.verifying.runs.ledger import NOT_VERIFIED, Ledger, Record
from blueprint.verifying.runs.step import Died, Executor, Step, key_of, program
from blueprint.verifying.runs.summary import AGREES, DIFFERS, NEEDS_OTHERS, NOTHING, TOO_COARSE, metrics_of


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
        return head_of(self.steps[at], self.settings) | refused(reason) | {"seconds": None}

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
    return head_of(step, settings) | found | {"seconds": round(time.monotonic() - began, 3)}


def head_of(step: Step, settings: VerifyOptions) -> dict[str, Any]:
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
    dumps, unread = read_dumps([folder / file.name for file in step.files])
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
