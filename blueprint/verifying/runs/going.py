"""Goes through the steps of a run: every step is verified once, whatever becomes of the processes that work on them."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from blueprint.verifying.runs.ledger import Ledger, Record
from blueprint.verifying.runs.step import Died, Executor, Step, key_of, program
from blueprint.verifying.runs.work import DIFFERS, head_of, refused
from blueprint.verifying.settings import VerifyOptions


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
                    reason = "its process ended twice, the second time while nothing else was verified"
                    found = self._refused(at, f"{reason}: {found.how}")
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
        known = f"{self.known:,} of {total:,} steps were in the ledger {self.ledger.path} and are not done again"
        behind = (
            f"--fail-fast: {len(left):,} steps behind {self.steps[self.end - 1].name} do not count here" if left else ""
        )
        return (*([known] if self.known else []), *([behind] if behind else []))
