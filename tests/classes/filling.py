"""Fills worksheets in with a program that is not ours, and packs them as learning platforms do."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from openpyxl import load_workbook

from blueprint.classes.csv_cells import csv_text
from blueprint.classes.key import Key
from tests.classes.students import Filled
from tests.page.basic import Change, edit

NAMES = ("My homework (final 2).xlsx", "hw.XLSX", "lösung_ß.xlsx", "=cmd.xlsx", "a b_c-d.xlsx", "4711_LATE_1_2_x.xlsx")
SENT = "Thursday, 19 November 2026, 11:59 PM"
PARTICIPANT = 70_000


class Job(NamedTuple):
    """A file, the copy to make of it, and what to write: (sheet, address) → value."""

    source: Path
    target: Path
    cells: Mapping[tuple[str, str], Any]


def job(key: Key, number: int, filled: Filled, handed_out: Path, folder: Path) -> Job:
    """Makes the job of one student."""
    cells = {
        (blank.sheet, address): value
        for blank in key.blanks
        for address, value in zip(blank.addresses, filled.writes[blank.id], strict=True)
        if value is not None
    }
    return Job(handed_out / key.students[number].file, folder / f"{number}.xlsx", cells)


def fill_all(jobs: Sequence[Job], by_office: int = 0) -> None:
    """Fills all files in: the last of them, as many as by_office says, in LibreOffice, the others with openpyxl."""
    plain = jobs[: len(jobs) - by_office]
    if len(plain) > 20:
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(fill, plain, chunksize=4))
    else:
        list(map(fill, plain))
    if by_office:
        with TemporaryDirectory() as room:
            edit([Change(each.source.absolute(), each.target.absolute(), [*map(_basic, each.cells, each.cells.values())])
                  for each in jobs[len(plain) :]], Path(room))  # fmt: skip


def fill(each: Job) -> None:
    """Fills one file in with openpyxl, which drops all cached values."""
    book = load_workbook(each.source)
    for (sheet, address), value in each.cells.items():
        book[sheet][address].value = value
    book.save(each.target)


def _basic(cell: tuple[str, str], value: Any) -> str:
    sheet, address = (part.replace('"', '""') for part in cell)
    kind = (
        "Formula"
        if isinstance(value, str) and value.startswith("=")
        else "String"
        if isinstance(value, str)
        else "Value"
    )
    written = '"' + value.replace('"', '""') + '"' if isinstance(value, str) else repr(float(value))
    return f'book.Sheets.getByName("{sheet}").getCellRangeByName("{address}").{kind} = {written}'


def moodle_zip(key: Key, files: Mapping[int, Path], path: Path) -> None:
    """Packs files as Moodle does: a folder for each participant, and the names that students gave."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as packed:
        for number, file in files.items():
            name = "".join(" " if letter in '_/"' else letter for letter in key.students[number].name)
            packed.write(file, f"{name}_{PARTICIPANT + number}_assignsubmission_file_/{NAMES[number % len(NAMES)]}")


def moodle_worksheet(key: Key, path: Path, most: float = 100) -> None:
    """Writes a grading worksheet as Moodle does."""
    head = ["Identifier", "Full name", "ID number", "Status", "Grade", "Maximum Grade", "Grade can be changed",
            "Last modified (submission)", "Last modified (grade)", "Feedback comments"]  # fmt: skip
    rows = [[f"Participant {PARTICIPANT + number}", each.name, each.id, "Submitted", "", f"{most:.2f}", "Yes", SENT, "-", ""]
            for number, each in enumerate(key.students)]  # fmt: skip
    path.write_text("\ufeff" + csv_text([head, *rows]), encoding="utf-8", newline="")


def canvas_gradebook(key: Key, path: Path, most: float = 100) -> None:
    """Writes a gradebook as Canvas does."""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", f"{key.assignment} (71)", "Final Score"]
    rows = [
        [each.name, 500 + number, each.id, f"login{number}", "A", "", ""] for number, each in enumerate(key.students)
    ]
    points = ["    Points Possible", "", "", "", "", f"{most:.2f}", "(read only)"]
    path.write_text(csv_text([head, points, *rows]), encoding="utf-8", newline="")
