"""A class is made: first a variant for each student is drawn, then, once all are good, everything is written."""

import gc
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from blueprint import interrupted
from blueprint.book import Book
from blueprint.classes.assignment import Assignment
from blueprint.classes.cores import cores
from blueprint.classes.csv_cells import save_csv
from blueprint.classes.degenerate import Finding
from blueprint.classes.draws import Drawn, Draws, Refused
from blueprint.classes.files import KEY, MANIFEST, STRESS, TEACHER, digest, file_names, made_whole
from blueprint.classes.key import Key, KeyStudent
from blueprint.classes.roster import Student
from blueprint.classes.stress import stress_page
from blueprint.classes.variants import variant_id
from blueprint.saving import saved_whole

FEW = 6
"""Students for whom no process is started: that takes longer than their files."""
Progress = Callable[[int], object]
"""Is told how many more steps are done."""
Work = Callable[[Draws, Any], Any]
Each = Callable[[Work, Sequence[Any], Progress], Iterator[Any]]
"""Does a task for each of some things, in their order."""


@dataclass(frozen=True)
class Made:
    """A class that was made: its key, why draws were refused, by rule and number of the blank, and what all variants have alike.

    again: how many draws were refused.
    """

    key: Key
    refused: Refused
    again: int
    warnings: list[str]


class _Task(NamedTuple):
    """A file to write: whose, what is typed in it, the answers, and where."""

    student: str
    typed: dict[str, Any]
    answers: dict[str, list[float]]
    path: Path


def make(
    assignment: Assignment,
    students: Sequence[Student],
    folder: Path,
    teacher: bool = False,
    progress: Progress = lambda done: None,
) -> Made:
    """Draws a variant for each student and writes files, key, manifest and stress page; all of them, or none.

    teacher: with a file of the numbers themselves, in which every answer stands. progress: two steps for each student.
    Raises ClassError where a student's variant cannot be drawn, and SaveError.
    """
    assignment, names = assignment.settled(), file_names([student.id for student in students])
    draws = Draws(assignment)
    with working(draws, len(students)) as each:
        drawn: list[Drawn] = [*each(_draw, [student.id for student in students], progress)]
        with made_whole(folder) as unfinished:
            tasks = [
                _Task(found.student, found.typed, found.answers, unfinished / names[found.student]) for found in drawn
            ]
            written: list[str] = [*each(_write, tasks, progress)]
            pairs = zip(students, drawn, written, strict=True)
            key = assignment.key([_student(assignment, *each, names) for each in pairs])
            refused: Refused = sum((found.refused for found in drawn), Counter())
            again = sum(found.again for found in drawn)
            key.save(unfinished / KEY)
            save_csv(unfinished / MANIFEST, manifest_of(key))
            with saved_whole(unfinished / STRESS) as page:
                page.write_text(stress_page(draws, key, refused, again), encoding="utf-8")
            if teacher:
                Book(assignment.worksheet.whole).save(unfinished / TEACHER)
                (unfinished / TEACHER).chmod(0o600)
    return Made(key, refused, again, draws.warnings)


def manifest_of(key: Key) -> list[list[str]]:
    """Returns the rows of the manifest."""
    rows = [[each.id, each.variant, each.token, each.file, each.sha256] for each in key.students]
    return [["student", "variant", "token", "file", "sha256"], *rows]


def write_file(
    assignment: Assignment, student: str, typed: dict[str, Any], answers: dict[str, list[float]], path: Path
) -> str:
    """Writes a student's file, the same bytes whenever it is written; returns the SHA-256 of its bytes."""
    assignment.series.save(path, Book(assignment.handed_out(student, typed, answers)))
    return digest(path)


def _student(assignment: Assignment, student: Student, drawn: Drawn, sha256: str, names: dict[str, str]) -> KeyStudent:
    return KeyStudent(
        id=student.id,
        name=student.name,
        email=student.email,
        variant=variant_id(drawn.typed),
        token=assignment.token(student.id, drawn.typed),
        file=names[student.id],
        sha256=sha256,
        typed=drawn.typed,
        answers=drawn.answers,
    )


def _draw(draws: Draws, student: str) -> Drawn:
    return draws.drawn(student)


def _write(draws: Draws, task: _Task) -> str:
    return write_file(draws.assignment, *task)


@contextmanager
def working(draws: Draws, students: int) -> Iterator[Each]:
    """Gives what does a task for each student, in their order: in a process for each core, where there are many.

    Processes are begun anew (spawn), and make the worksheet once, each for itself: what it has computed does not travel.
    """
    if students < FEW or cores() < 2:
        yield lambda work, given, progress: _each(map(partial(work, draws), given), progress)
        return
    given = (replace(draws.assignment), draws.always)
    with ProcessPoolExecutor(cores(), get_context("spawn"), _begin, given) as pool:
        try:
            yield lambda work, given, progress: _each(_begun(pool, work, given), progress)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begun(pool: ProcessPoolExecutor, work: Work, given: Any) -> Iterator[Any]:
    """Gives tasks to processes; those that begin now do not hear Ctrl-C, which ends them through this one."""
    with interrupted.unheard():
        return pool.map(partial(_work, work), given, chunksize=2)


def _each(found: Iterator[Any], progress: Progress) -> Iterator[Any]:
    for each in found:
        progress(1)
        yield each


_draws: list[Draws] = []


def _begin(assignment: Assignment, always: set[Finding]) -> None:
    """Begins a process, which works on one assignment. always: what the first process has found."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends it through the one process that hears it
    _draws[:] = [Draws(assignment, always)]
    _ = assignment.series, _draws[0].screen
    gc.freeze()  # what every task needs is walked through by no collection


def _work(work: Work, given: Any) -> Any:
    return work(_draws[0], given)
