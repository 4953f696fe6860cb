"""A simulated class goes the whole round: made, filled in, handed in, graded; and what must hold of its marks is counted.

    python -m tests.classes.simulated 300 --keep FOLDER --office 24

Every right blank must have full marks, at least 95 of 100 planted misconceptions must be named, at least 95 of 100 blanks that
follow rightly from a slip carried, and nothing that is right may be called a misconception.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.classes.csv_cells import save_csv
from blueprint.classes.key import Key
from blueprint.classes.results import Result, Results
from tests.classes.filling import canvas_gradebook, fill_all, job, moodle_worksheet, moodle_zip
from tests.classes.students import OF_TEN, Class, Does, Filled, found_otherwise, name_of

NAMED = 0.95
"""Share of the planted misconceptions that must be named rightly."""
CARRIED = 0.95
"""Share of what follows rightly from a slip that must be carried; a slip may make a step trivial."""


def write_roster(count: int, path: Path) -> None:
    """Writes a roster whose names are as hostile as names get."""
    rows = [[f"s{4711 + number}", name_of(number), f"s{number}@example.org"] for number in range(count)]
    save_csv(path, [["id", "name", "email"], *rows])


def hand_in(key: Key, handed_out: Path, room: Path, by_office: int = 0, of: Sequence[Does] = OF_TEN) -> list[Filled]:
    """Has every student fill a file in, packs them into `submissions.zip`, and writes what the platforms export."""
    known = Class(key, of=of)
    filled = [known.fills_in(number) for number in range(len(key.students))]
    (room / "filled").mkdir()
    jobs = [job(key, number, each, handed_out, room / "filled") for number, each in enumerate(filled)]
    fill_all(jobs, by_office)
    moodle_zip(key, {number: each.target for number, each in enumerate(jobs)}, room / "submissions.zip")
    moodle_worksheet(key, room / "worksheet.csv")
    canvas_gradebook(key, room / "gradebook.csv")
    return filled


class Verdict:
    """What grading made of a class, beside what its students did."""

    def __init__(self, key: Key, filled: Sequence[Filled], results: Results):
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        of = {each.student: each for each in results.results}
        for student, each in zip(key.students, filled, strict=True):
            self._student(of[student.id], each)

    def _student(self, result: Result, filled: Filled) -> None:
        if result.refused or not result.marks:
            self.faults.append(f"{result.student} was refused: {result.refused or 'no marks'}")
            return
        found = {blank: mark.status for blank, mark in result.marks.items()}
        otherwise = found_otherwise(filled.expects, found)
        for blank, status in filled.expects.items():
            mark = result.marks[blank]
            self.counts[status] += 1
            self.counts[f"{status} as expected"] += blank not in otherwise
            if status == "right" and (blank in otherwise or mark.points != 1 or mark.misconception):
                self.faults.append(
                    f"{result.student} {blank}: right, but {mark.status}: {mark.why} ({mark.misconception})"
                )
            elif blank in otherwise:
                self.counts[f"{filled.does}: {status} found {mark.status}"] += 1
                self.faults += [f"{result.student} {blank}: nonsense got points"] * (
                    filled.does == "nonsense" and mark.points > 0
                )
        for blank, name in filled.named.items():
            self.counts["planted"] += 1
            self.counts["named"] += result.marks[blank].misconception == name
            if result.marks[blank].misconception != name:
                self.counts[f"{name} called {result.marks[blank].misconception} ({result.marks[blank].status})"] += 1

    @property
    def named(self) -> float:
        """The share of the planted misconceptions that were named rightly."""
        return self.counts["named"] / self.counts["planted"] if self.counts["planted"] else 1.0

    @property
    def holds(self) -> bool:
        """Whether the class was graded as it must be."""
        carried = self.counts["carried as expected"] >= CARRIED * self.counts["carried"]
        return not self.faults and self.named >= NAMED and carried


def run(*arguments: str) -> float:
    """Runs a command and returns the seconds that it took; ends where it fails."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "blueprint", *arguments], check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"blueprint {' '.join(arguments)} ended with {done.returncode}")
    return time.perf_counter() - start


def main() -> None:
    """Runs a class of the size that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("students", type=int)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--office", type=int, default=24, help="how many files LibreOffice fills in")
    parser.add_argument("--make", nargs=argparse.REMAINDER, default=["--numbers", "default", "--blanks", "12"])
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        room = asked.keep or Path(folder)
        room.mkdir(parents=True, exist_ok=True)
        write_roster(asked.students, room / "roster.csv")
        took = {
            "make": run(
                "class", "make", str(room / "roster.csv"), "-o", str(room / "hw1"), "--seed", "2026", *asked.make
            )
        }
        key = Key.load(room / "hw1" / "key.json")
        start = time.perf_counter()
        filled = hand_in(key, room / "hw1", room, min(asked.office, asked.students))
        took["fill in"] = time.perf_counter() - start
        took["grade"] = run(
            "class", "grade", str(room / "submissions.zip"), "--key", str(room / "hw1" / "key.json"), "-o", str(room / "graded"),
            "--canvas", str(room / "gradebook.csv"), "--moodle", str(room / "worksheet.csv"),
        )  # fmt: skip
        found = Verdict(key, filled, Results.load(room / "graded"))
    for what, seconds in took.items():
        print(f"{what:10} {seconds:6.1f} s")
    print(f"largest process {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB")
    for what, count in sorted(found.counts.items()):
        print(f"{count:6} {what}")
    print(f"named: {found.named:.1%}", *found.faults[:40], sep="\n")
    sys.exit(0 if found.holds else 1)


if __name__ == "__main__":
    main()
