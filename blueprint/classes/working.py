"""The work on one file, apart from all others: it is read, marked, and looked at for what may be flagged.

Processes do it, a file at a time, so that memory is bounded by their number, and a file that ends one costs that file alone.
"""

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.key import Key, KeyStudent
from blueprint.classes.locked import Lying, edited, lying_in
from blueprint.classes.marking import Answers, Course, Marking
from blueprint.classes.marks import is_constant, marks_of
from blueprint.classes.results import Mark
from blueprint.classes.submission import Submission, read_submission
from blueprint.language import compute
from blueprint.page.placing import place_blocks
from blueprint.quoting import unquoted

TOO_FEW = 8
"""Files below which processes of their own cost more than they save."""


@dataclass(frozen=True)
class Job:
    """A file to be worked on, and the student whose it is if somebody has said so."""

    path: Path
    assigned: str | None = None


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
        self.course = Course(key, policy)
        base = self.course.base
        values = compute(self.course.blocks, base.sizes, base.typed, beyond=True)
        self.lying: list[Lying] = lying_in(place_blocks(base, values), self.course.asked)
        self.owners = {student.token: student for student in key.students}

    def work(self, job: Job) -> Worked:
        """Works on a file; whatever its content, a sentence comes of it."""
        try:
            return self._work(job)
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
        asked = [blank for blank in self.course.key.blanks if blank.asks == "formula"]
        return Worked(
            found.tokens,
            (owners[0].id,),
            marks_of(marking),
            saved_by=found.saved_by,
            edited=tuple(self._edited(found, marking)),
            constants=tuple(blank.id for blank in asked if is_constant(marking, blank)),
            unreadable=tuple(_unreadable(found.answers)),
        )

    def _owners(self, tokens: dict[str, str], job: Job) -> list[KeyStudent]:
        if job.assigned is not None:
            return [self.course.key.student(job.assigned)]
        known = (self.owners.get(token) for token in tokens.values())
        return list({each.id: each for each in known if each}.values())

    def _edited(self, found: Submission, marking: Marking) -> list[str]:
        given = [each for answers in found.answers.values() for each in answers]
        typed_alone = any(each.text for each in given)  # text is no number to a sheet
        return edited(found.locked, self.lying, marking.carried, typed_alone)


def _unreadable(answers: Answers) -> Iterator[str]:
    for id, given in answers.items():
        if problem := next((each.problem for each in given if each.number is None and each.problem), ""):
            yield f"{id} ({problem})"


@cache
def _worker(key: str, policy: str) -> Worker:
    """Makes what a process needs, once."""
    return Worker(Key.model_validate_json(key), GradingPolicy.model_validate_json(policy))


_begun: dict[str, Worker] = {}


def _begin(key: str, policy: str) -> None:
    _begun["worker"] = _worker(key, policy)
    gc.freeze()  # what is known of the class stays; to go through it again for each file took a third of the time
    gc.set_threshold(100_000)


def _go(job: Job) -> Worked:
    return _begun["worker"].work(job)


def worked_on(
    jobs: list[Job], key: Key, policy: GradingPolicy, processes: int, done: Callable[[int], object]
) -> list[Worked]:
    """Works on all files, in their order. done: called after each, with 1."""
    worker = Worker(key, policy)  # here too, so that what is wrong with a key is said once
    if len(jobs) < TOO_FEW or processes < 2:
        return [_counted(worker.work(job), done) for job in jobs]
    given = key.model_dump_json(), policy.model_dump_json()
    found: dict[int, Worked] = {}
    while left := [i for i in range(len(jobs)) if i not in found]:
        for i, worked in _in_processes(left, jobs, given, 1 if found else processes):
            found[i] = _counted(worked, done)
    return [found[i] for i in range(len(jobs))]


def _in_processes(left: list[int], jobs: list[Job], given: tuple[str, str], most: int) -> Iterator[tuple[int, Worked]]:
    """Yields what is done until a process dies; if there is but one, it is known which file has ended it."""
    with ProcessPoolExecutor(most, get_context("spawn"), initializer=_begin, initargs=given) as pool:
        begun: list[tuple[int, Future[Worked]]] = [(i, pool.submit(_go, jobs[i])) for i in left]
        broken = []
        for i, future in begun:
            if isinstance(future.exception(), BrokenProcessPool):
                broken.append(i)
            else:
                yield i, future.result()
    if broken and most == 1:
        yield broken[0], Worked(refused="the file ended the process that read it: it asks for too much memory or time")


def _counted(worked: Worked, done: Callable[[int], object]) -> Worked:
    done(1)
    return worked
