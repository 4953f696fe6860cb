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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from blueprint import interrupted
from blueprint.book import Book
from blueprint.classes import ClassError, cores
from blueprint.classes.assignment import RULES, Assignment, Drawn, Draws, Finding, Refused
from blueprint.classes.csv_cells import save_csv
from blueprint.classes.html_page import WIDTH, Content, element, histogram, page, table, tiles
from blueprint.classes.key import Key, KeyBlank, KeyStudent
from blueprint.classes.roster import Student
from blueprint.classes.variants import variant_id
from blueprint.files import SaveError, saved_whole
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
    return {id: f"{STUDENTS}/{_safe(id)}.xlsx" for id in ids}


def _safe(id: str) -> str:
    kept = re.sub(r"[^A-Za-z0-9_-]+", "_", id)[:_LONGEST]
    if id and kept == id and not _RESERVED.fullmatch(id) and not id.startswith(("-", "_")):
        return id
    return f"{kept.strip('_-') or 'student'}-{sha256(id.encode()).hexdigest()[:8]}"


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
            _move(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
            with suppress(OSError):  # of a folder in which nothing stands, nothing is left
                folder.rmdir()
    except OSError as error:
        if isinstance(error, SaveError):
            raise
        raise SaveError(f"{folder} cannot be written: {(error.strerror or str(error)).lower()}") from error


def _move(unfinished: Path, folder: Path) -> None:
    (folder / STUDENTS).mkdir(exist_ok=True)
    for path in _in_order(unfinished.rglob("*")):
        path.replace(folder / path.relative_to(unfinished))


def _in_order(paths: Iterable[Path]) -> list[Path]:
    """Returns the files of a class, the key first."""
    return sorted((path for path in paths if path.is_file()), key=lambda path: (path.name != KEY, path))


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hex."""
    return sha256(path.read_bytes()).hexdigest()


BINS, MOST_CELLS, DOWN, LEFT, RIGHT = 12, 40, 18, 90, 80
"""Columns of a histogram; cells of a blank of which the range is drawn, how far apart, and where they begin and end."""


def stress_page(draws: Draws, key: Key, refused: Refused, again: int) -> str:
    """Returns the page as HTML that needs no other file. again: how many draws were refused."""
    title = f"{key.assignment}: how the answers are spread"
    lead = (
        f"For the teacher: answers of {len(key.students):,} variants, and not whose they are. Level {key.level}, seed {key.seed}; "
        f"what varies: {', '.join(key.vary)}."
    )
    return page(
        title,
        element("h1", title),
        element("p", lead, class_="lead"),
        _stress_tiles(key, again),
        element("h2", "What was drawn again"),
        *_drawn_again(key, refused),
        element("h2", "The blanks"),
        _table_of_blanks(key),
        *(
            part
            for number, blank in enumerate(key.blanks)
            for part in _stress_of_blank(draws, key, refused, number, blank)
        ),
    )


def _stress_tiles(key: Key, again: int) -> Element:
    shared = sum(times for times in Counter(student.variant for student in key.students).values() if times > 1)
    least = min(different(key, blank) for blank in key.blanks)
    return tiles(
        {
            "students": f"{len(key.students):,}",
            "share their inputs with another": f"{shared:,}",
            "draws refused and drawn again": f"{again:,}",
            "different answers in the blank with the fewest": f"{least:,}",
        }
    )


def _drawn_again(key: Key, refused: Refused) -> Iterator[Element]:
    if not refused:
        yield element("p", "Nothing: the first draw was a good exercise for every student.")
        return
    yield element(
        "p",
        "A variant is handed out only if it is a good exercise in all blanks. A draw that is bad in several ways counts in each.",
    )
    rows = (
        (
            f"{times:,}",
            "the whole" if blank is None else f"{key.blanks[blank].id} {key.blanks[blank].title}",
            RULES[rule],
        )
        for (rule, blank), times in sorted(refused.items(), key=lambda item: -item[1])
    )
    yield table({"draws": True, "blank": False, "why": False}, rows)


def _table_of_blanks(key: Key) -> Element:
    rows: list[Sequence[Content]] = []
    for blank in key.blanks:
        found = [number for student in key.students for number in student.answers[blank.id]]
        ends = (rounded_as_blank(number, blank.decimals) for number in (min(found), median(found), max(found)))
        rows.append((element("a", blank.id, href=f"#{blank.id}"), blank.title, f"{different(key, blank):,}", *ends))
    return table({"blank": False, "what": False, "different": True, "least": True, "median": True, "most": True}, rows)


def different(key: Key, blank: KeyBlank) -> int:
    """Returns how many different answers a class has in a blank, to the digits that the sheet shows."""
    return len(
        {tuple(round(number, blank.decimals) for number in student.answers[blank.id]) for student in key.students}
    )


def _stress_of_blank(draws: Draws, key: Key, refused: Refused, number: int, blank: KeyBlank) -> Iterator[Element]:
    about = draws.assignment.worksheet.blanks[number].block.about
    where = blank.addresses[0] if len(blank.addresses) == 1 else f"{blank.addresses[0]} … {blank.addresses[-1]}"
    bad = sum(count for (_, which), count in refused.items() if which == number)
    again = f" {bad:,} times a draw was bad here." if bad else ""
    yield element("h2", f"{blank.id}  {blank.title}", id=blank.id)
    yield element("p", f"{about.symbol}: {about.meaning} ({blank.sheet}, {where}).{again}", class_="note")
    if different(key, blank) == 1 < len(key.students):
        yield element("p", "⚠ All students have the same answer: what varies does not reach this blank.")
    yield from (element("p", f"⚠ {line}") for line in draws.warnings if line.startswith(f"{blank.id} "))
    answers = [student.answers[blank.id] for student in key.students]
    yield spread([each[0] for each in answers], blank) if len(blank.cells) == 1 else ranges(answers, blank)


def spread(numbers: Sequence[float], blank: KeyBlank) -> Element:
    """Draws how many answers fall where."""
    counts, edges = np.histogram(numbers, bins=min(BINS, max(1, len(set(numbers)))))
    return histogram(
        counts.tolist(), [rounded_as_blank(edge, blank.decimals) for edge in edges.tolist()], blank.title, "students"
    )


def ranges(answers: Sequence[Sequence[float]], blank: KeyBlank) -> Element:
    """Draws, for each cell of a blank, from where to where its answers reach, and a dot at their median."""
    columns = [sorted(cells) for cells in zip(*answers, strict=True)][:MOST_CELLS]
    low, high = min(cells[0] for cells in columns), max(cells[-1] for cells in columns)
    across, height = (WIDTH - LEFT - RIGHT) / (high - low or 1.0), DOWN * len(columns) + 40
    parts = [element("title", f"where the answers of {len(columns)} cells lie, least to most, with their median")]
    for place, cells in enumerate(columns):
        y, (least, middle, most) = (
            DOWN * place + 14,
            (LEFT + (at - low) * across for at in (cells[0], median(cells), cells[-1])),
        )
        parts += [
            element("text", blank.addresses[place], x=0, y=y + 4, class_="soft"),
            element(
                "line",
                x1=f"{least:.1f}",
                x2=f"{most:.1f}",
                y1=y,
                y2=y,
                stroke="#4a78b5",
                stroke_width=4,
                stroke_linecap="round",
            ),
            element("circle", cx=f"{middle:.1f}", cy=y, r=4, fill="#1f2430"),
        ]
    for number, x in ((low, LEFT), (high, WIDTH - RIGHT)):
        parts.append(
            element(
                "text", rounded_as_blank(number, blank.decimals), x=x, y=height - 8, class_="soft", text_anchor="middle"
            )
        )
    if len(blank.cells) > MOST_CELLS:
        parts.append(
            element("text", f"and {len(blank.cells) - MOST_CELLS} more cells", x=WIDTH / 2, y=height - 8, class_="soft")
        )
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", width=WIDTH, height=height, role="img")


def rounded_as_blank(number: float, decimals: int) -> str:
    """Prints a number as a sheet does, with a minus sign of its own."""
    return f"{number + 0.0:.{decimals}f}".replace("-", "−")


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
