"""The work on one file, apart from all others: it is read, marked, and looked at for what may be flagged.

Processes do it, a file at a time, so that memory is bounded by their number, and a file that ends one costs that file alone.
The files of one submission share a bound of time, where the system has alarms.
"""

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from blueprint import interrupted
from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.key import Key, KeyStudent
from blueprint.classes.marking import Course, Marking, is_constant, marks_of
from blueprint.classes.results import Mark
from blueprint.classes.submission import Lying, edited, lying_in, read_submission
from blueprint.page.placing import place_blocks
from blueprint.quoting import unquoted

TOO_FEW = 8
"""Files below which processes of their own cost more than they save."""
SECONDS = 120.0
"""What the files of one submission may take together; one takes a few tenths, and at most 20 where formulas were not saved with
their values."""


class OutOfTime(BaseException):
    """The time of a submission is over: no Exception, for whoever reads a file takes those for damage."""


@dataclass(frozen=True)
class Job:
    """A file to be worked on, the student whose it is if somebody has said so, and which submission it is a part of."""

    path: Path
    assigned: str | None = None
    submission: str = ""


@dataclass(frozen=True)
class Worked:
    """What became of a file.

    Attributes:
        tokens: see `submission`. owners: the ids of the students whose tokens stand in it, or who was assigned.
        marks: of its one owner, by blank; None where it is not marked, of which refused says why if it was not read.
        saved_by: who made it, and who saved it last. edited: blocks in which locked cells were edited.
        constants: ids of blanks with a number where a formula was asked for.
        unreadable: for each blank with a cell of which no number could be made, which blank, and what was found there.
    """

    tokens: dict[str, str] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    marks: dict[str, Mark] | None = None
    refused: str = ""
    saved_by: tuple[str, str] = ("", "")
    edited: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()


class Worker:
    """Works on the files of one class."""

    def __init__(self, key: Key, policy: GradingPolicy):
        self.course = course = Course(key, policy)
        values = course.everything.values(course.base.typed)
        self.lying: list[Lying] = lying_in(place_blocks(course.base, values), course.cells)
        self.owners = {student.token: student for student in key.students}

    def work_on(self, jobs: list[Job]) -> list[Worked]:
        """Works on the files of one submission, as long as its time lasts."""
        end, found = time.monotonic() + SECONDS, []
        for job in jobs:
            found.append(self.work(job, end - time.monotonic()))
        return found

    def work(self, job: Job, seconds: float = SECONDS) -> Worked:
        """Works on a file; whatever its content, a sentence comes of it."""
        try:
            with alarmed(seconds):
                return self._work(job)
        except OutOfTime:
            return Worked(refused=f"its submission takes more than {SECONDS:.0f} seconds to be read: ask for it again")
        except Exception as error:  # of somebody else's file; the class goes on
            return Worked(refused=f"the file cannot be marked ({type(error).__name__}: {unquoted(error)})")

    def _work(self, job: Job) -> Worked:
        def wanted(tokens: dict[str, str]) -> bool:
            return len(self._owners(tokens, job)) == 1

        found = read_submission(job.path, self.course.key, self.lying, wanted)
        owners = self._owners(found.tokens, job)
        if found.refused or len(owners) != 1:
            return Worked(found.tokens, tuple(each.id for each in owners), refused=found.refused)
        marking = Marking(self.course, owners[0], found.answers)
        typed_alone = any(
            each.text for given in found.answers.values() for each in given
        )  # text is no number to a sheet
        asked = [blank for blank in self.course.key.blanks if blank.asks == "formula"]
        problems = {
            id: next((each.problem for each in given if each.number is None and each.problem), "")
            for id, given in found.answers.items()
        }
        return Worked(
            found.tokens,
            (owners[0].id,),
            marks_of(marking),
            saved_by=found.saved_by,
            edited=tuple(edited(found.locked, self.lying, marking.carried, typed_alone)),
            constants=tuple(blank.id for blank in asked if is_constant(marking, blank)),
            unreadable=tuple(f"{id} ({problem})" for id, problem in problems.items() if problem),
        )

    def _owners(self, tokens: dict[str, str], job: Job) -> list[KeyStudent]:
        if job.assigned is not None:
            return [self.course.key.student(job.assigned)]
        known = (self.owners.get(token) for token in tokens.values())
        return list({each.id: each for each in known if each}.values())


_begun: list[Worker] = []


def _begin(key: str, policy: str) -> None:
    _begun[:] = [Worker(Key.model_validate_json(key), GradingPolicy.model_validate_json(policy))]
    gc.freeze()  # what is known of the class stays; to go through it again for each file took a third of the time
    gc.set_threshold(100_000)


def _go(jobs: list[Job]) -> list[Worked]:
    return _begun[0].work_on(jobs)


@contextmanager
def alarmed(seconds: float) -> Iterator[None]:
    """Raises OutOfTime after some seconds, at once if there are none; only the main thread of a POSIX system has alarms."""
    if seconds <= 0:
        raise OutOfTime
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*given: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def worked_on(
    jobs: list[Job], key: Key, policy: GradingPolicy, processes: int, done: Callable[[int], object]
) -> list[Worked]:
    """Works on all files, in their order. done: called after each, with 1."""
    worker = Worker(key, policy)  # here too, so that what is wrong with a key is said once
    by_submission: dict[object, list[int]] = {}
    for i, job in enumerate(jobs):
        by_submission.setdefault(job.submission or i, []).append(i)
    groups = [*by_submission.values()]
    found: dict[int, Worked] = {}

    def take(pairs: Iterable[tuple[list[int], list[Worked]]]) -> None:
        for group, worked in pairs:
            found.update(zip(group, worked, strict=True))
            done(len(group))

    if len(jobs) < TOO_FEW or processes < 2:
        take((group, worker.work_on([jobs[i] for i in group])) for group in groups)
    given = key.model_dump_json(), policy.model_dump_json()
    while left := [group for group in groups if group[0] not in found]:
        take(_in_processes(left, jobs, given, 1 if found else processes))
    return [found[i] for i in range(len(jobs))]


def _in_processes(
    left: list[list[int]], jobs: list[Job], given: tuple[str, str], most: int
) -> Iterator[tuple[list[int], list[Worked]]]:
    """Yields what is done until a process dies; if there is but one, it is known which submission has ended it."""
    with ProcessPoolExecutor(most, get_context("spawn"), initializer=_begin, initargs=given) as pool:
        with interrupted.unheard():
            begun = [(group, pool.submit(_go, [jobs[i] for i in group])) for group in left]
        broken = []
        for group, future in begun:
            if isinstance(future.exception(), BrokenProcessPool):
                broken.append(group)
            else:
                yield group, future.result()
    if broken and most == 1:
        ended = Worked(refused="the file ended the process that read it: it asks for too much memory or time")
        yield broken[0], [ended for _ in broken[0]]
