"""A class is made: first a variant for each student is drawn, then, once all are good, everything is written, all of it or nothing.

Everything is written into a folder of its own within it, and moved at the end, the key first: what a crash leaves is told
from what was handed out, and with the key every other file can be made again.

The stress page holds answers as a distribution, so it is the teacher's; which student has which stands in the key alone.
"""

import gc
import re
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from blueprint import interrupted
from blueprint.book import Book
from blueprint.classes import ClassError
from blueprint.classes.assignment import Assignment
from blueprint.classes.csv_cells import save_csv
from blueprint.classes.draws import RULES, Answers, Drawn, Draws, Finding, Refused, same_for_all
from blueprint.classes.html_page import html_page
from blueprint.classes.key import Key, KeyBlank, KeyStudent
from blueprint.classes.roster import Student
from blueprint.classes.variants import variant_id
from blueprint.cluster import cores
from blueprint.files import SaveError, saved_whole
from blueprint.page.copies import take_formulas
from blueprint.quoting import unquoted

KEY, MANIFEST, STRESS, TEACHER, STUDENTS = "key.json", "manifest.csv", "stress.html", "teacher.xlsx", "students"
UNFINISHED = ".unfinished"
"""Where a class is made; what stands there was never handed out."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_LONGEST = 60


def file_names(ids: Sequence[str]) -> dict[str, str]:
    """Returns the path of each student's file below the class's folder: the id, where that is a safe name on any system.

    Else what is left of it, and 8 digits of its hash; so no id leads out of the folder, and no two to one file.
    """

    def safe(id: str) -> str:
        kept = re.sub(r"[^A-Za-z0-9_-]+", "_", id)[:_LONGEST]
        if id and kept == id and not _RESERVED.fullmatch(id) and not id.startswith(("-", "_")):
            return id
        return f"{kept.strip('_-') or 'student'}-{sha256(id.encode()).hexdigest()[:8]}"

    return {id: f"{STUDENTS}/{safe(id)}.xlsx" for id in ids}


def refuse_made(folder: Path, force: bool) -> None:
    """Refuses a folder in which there is a class, unless that is asked for by name. Raises SaveError."""
    if folder.exists() and not folder.is_dir():
        raise SaveError(f"{folder} is a file: name a folder, which is made")
    there = [name for name in (KEY, MANIFEST, STUDENTS) if (folder / name).exists()]
    if there and not force:
        raise SaveError(
            f"{folder / there[0]} is there already: name another folder, or make the class anew with --force (with the same key, "
            "so that files that were handed out stay valid)"
        )


def assignment_named(name: str | None, folder: Path) -> str:
    """Returns what an assignment is called: as one says it, or as its folder. Raises ClassError for what no token can bear."""
    found = name if name is not None else re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name).strip("-")[:40]
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", found):
        raise ClassError(
            f"--assignment {unquoted(found)}: no token bears it, write 1 to 40 letters without accents, digits, - and _, as in hw1"
        )
    return found


def left_behind(folder: Path) -> str:
    """Says what a run that was ended has left in a folder; "" if nothing."""
    if not (folder / UNFINISHED).exists():
        return ""
    was = "was being put in place" if (folder / KEY).exists() else "had not been put in place"
    return f"{folder} holds what a run that was ended left behind: it {was}, and is made anew"


def former_secret(folder: Path, assignment: str) -> str | None:
    """Returns the secret of the key that lies in a folder, so that tokens stay valid; None where there is none."""
    if not (folder / KEY).exists():
        return None
    key = Key.load(folder / KEY)
    if key.assignment != assignment:
        whose = f"{folder / KEY} is the key of {key.assignment}, not of {assignment}"
        raise ClassError(f"{whose}: name another folder, or --assignment {key.assignment}")
    return key.secret


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """Gives an empty folder within a folder; what it holds at the end takes its place there, after a failure it is gone."""
    unfinished = folder / UNFINISHED
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        (unfinished / STUDENTS).mkdir(parents=True)
        try:
            yield unfinished
            (folder / STUDENTS).mkdir(exist_ok=True)
            made = (path for path in unfinished.rglob("*") if path.is_file())
            for path in sorted(made, key=lambda path: (path.name != KEY, path)):  # the key first
                path.replace(folder / path.relative_to(unfinished))
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
            with suppress(OSError):  # of a folder in which nothing stands, nothing is left
                folder.rmdir()
    except OSError as error:
        if isinstance(error, SaveError):
            raise
        raise SaveError(f"{folder} cannot be written: {(error.strerror or str(error)).lower()}") from error


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hex."""
    return sha256(path.read_bytes()).hexdigest()


BINS, MOST_CELLS = 12, 40
"""Columns of a histogram, and cells of a blank of which the range is drawn."""


def stress_page(draws: Draws, key: Key, refused: Refused, again: int) -> str:
    """Returns the page. again: how many draws were refused."""
    blanks = [f"{blank.id} {blank.title}" for blank in key.blanks]
    return html_page(
        "stress.html",
        title=f"{key.assignment}: how the answers are spread",
        key=key,
        shared=sum(times for times in Counter(student.variant for student in key.students).values() if times > 1),
        again=again,
        refused=[
            (times, "the whole" if blank is None else blanks[blank], RULES[rule])
            for (rule, blank), times in refused.most_common()
        ],
        warnings=draws.warnings,
        spreads=[_spread(draws, key, refused, number) for number in range(len(key.blanks))],
    )


def _spread(draws: Draws, key: Key, refused: Refused, number: int) -> dict[str, Any]:
    """Says how the answers to one blank are spread: how many fall where, or the range of each of its cells."""
    blank = key.blanks[number]
    answers = [student.answers[blank.id] for student in key.students]
    spread = Answers.of(blank, answers)
    found = {
        "blank": blank,
        "about": draws.assignment.worksheet.blanks[number].block.about,
        "bad": sum(count for (_, which), count in refused.items() if which == number),
        "different": spread.different,
        "ends": [_as_shown(answer, blank) for answer in (spread.least, spread.middle, spread.most)],
    }
    if len(blank.cells) == 1:
        counts, edges = np.histogram(answers, bins=min(BINS, max(1, len({*map(tuple, answers)}))))
        return found | {"counts": counts.tolist(), "edges": [_as_shown(edge, blank) for edge in edges.tolist()]}
    columns = [*zip(*answers, strict=True)][:MOST_CELLS]
    low, high = min(map(min, columns)), max(map(max, columns))
    ranges = [
        (address, *(100 * (at - low) / (high - low or 1.0) for at in (min(cells), median(cells), max(cells))))
        for address, cells in zip(blank.addresses, columns, strict=False)
    ]
    return found | {"ranges": ranges, "edges": [_as_shown(low, blank), _as_shown(high, blank)]}


def _as_shown(number: float, blank: KeyBlank) -> str:
    """Prints a number as a sheet does, with a minus sign of its own."""
    return f"{number + 0.0:.{blank.decimals}f}".replace("-", "−")


FEW = 6
"""Students for whom no process is started: that takes longer than their files."""
Progress = Callable[[int], object]
"""Is told how many more steps are done."""
Work = Callable[[Draws, Any], Any]
Each = Callable[[Work, Sequence[Any]], Iterator[Any]]
"""Does a task for each of some things, in their order."""


@dataclass(frozen=True)
class Made:
    """A class that was made: its key, why draws were refused, by rule and number of the blank, and what is told of blanks.

    again: how many draws were refused.
    """

    key: Key
    refused: Refused
    again: int
    warnings: list[str]


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

    def counted(done: Iterator[Any]) -> list[Any]:
        found = []
        for each in done:
            found.append(each)
            progress(1)
        return found

    with working(draws, len(students)) as each:
        drawn: list[Drawn] = counted(each(Draws.drawn, [student.id for student in students]))
        with made_whole(folder) as unfinished:
            tasks = [(of.student, of.typed, of.answers, unfinished / names[of.student]) for of in drawn]
            written: list[str] = counted(each(_write, tasks))
            key = assignment.key(
                [
                    KeyStudent(
                        **student._asdict(),
                        variant=variant_id(of.typed),
                        token=assignment.token(student.id, of.typed),
                        file=names[student.id],
                        sha256=sha256,
                        typed=of.typed,
                        answers=of.answers,
                    )
                    for student, of, sha256 in zip(students, drawn, written, strict=True)
                ]
            )
            refused: Refused = sum((found.refused for found in drawn), Counter())
            again = sum(found.again for found in drawn)
            key.save(unfinished / KEY)
            columns = ("student", "variant", "token", "file", "sha256")
            rows = ([each.id, each.variant, each.token, each.file, each.sha256] for each in key.students)
            save_csv(unfinished / MANIFEST, [columns, *rows])
            with saved_whole(unfinished / STRESS) as page:
                page.write_text(stress_page(draws, key, refused, again), encoding="utf-8")
            if teacher:
                Book(assignment.worksheet.whole).save(unfinished / TEACHER)
                (unfinished / TEACHER).chmod(0o600)
    warnings = [*draws.warnings, *same_for_all(key.blanks, [of.answers for of in drawn])]
    return Made(key, refused, again, warnings)


def write_file(
    assignment: Assignment, student: str, typed: dict[str, Any], answers: dict[str, list[float]], path: Path
) -> str:
    """Writes a student's file, the same bytes whenever it is written; returns the SHA-256 of its bytes."""
    book = Book(assignment.handed_out(student, typed, answers))
    take_formulas(book.layout, assignment.first)
    book.save(path)
    return digest(path)


def _write(draws: Draws, task: tuple[str, dict[str, Any], dict[str, list[float]], Path]) -> str:
    return write_file(draws.assignment, *task)


@contextmanager
def working(draws: Draws, students: int) -> Iterator[Each]:
    """Gives what does a task for each student, in their order: in a process for each core, where there are many.

    Processes are begun anew (spawn), and make the worksheet once, each for itself: what it has computed does not travel.
    """
    if students < FEW or cores() < 2:
        yield lambda work, given: map(partial(work, draws), given)
        return
    given = (replace(draws.assignment), draws.always)
    with ProcessPoolExecutor(cores(), get_context("spawn"), _begin, given) as pool:

        def shared(work: Work, given: Sequence[Any]) -> Iterator[Any]:
            with interrupted.unheard():  # processes that begin now do not hear Ctrl-C, which ends them through this one
                return pool.map(partial(_work, work), given, chunksize=2)

        try:
            yield shared
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_draws: list[Draws] = []


def _begin(assignment: Assignment, always: set[Finding]) -> None:
    """Begins a process, which works on one assignment. always: what the first process has found."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends it through the one process that hears it
    _draws[:] = [Draws(assignment, always)]
    _ = assignment.first, _draws[0].screen
    gc.freeze()  # what every task needs is walked through by no collection


def _work(work: Work, given: Any) -> Any:
    return work(_draws[0], given)
