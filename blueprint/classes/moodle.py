"""Moodle: the grading worksheet of an assignment comes back with its grades, and a ZIP gives each student a feedback file.

The rules are those by which Moodle reads both again (github.com/moodle/moodle, mod/assign/feedback/offline/importgradeslib.php
and locallib.php, mod/assign/feedback/file/importziplib.php):

- A worksheet has the columns `Identifier` (`Participant 12345`), `Grade` and `Last modified (grade)`, in the language of
  whoever reads it; without one of them it is refused as a whole. A blank grade is passed over, and so is one that is below 0
  or above `Maximum Grade`, and, unless told otherwise, one given in Moodle a minute or more after `Last modified (grade)`.
- `Feedback comments` replaces the comment there.
- In a ZIP a file is a student's by its folder, `Full Name_12345_assignsubmission_file_`, split at `_`: so no name may have one.
  What begins with `.` or `~` is passed over.

Moodle knows no excused grade; such a student's is left blank, and said.
"""

import html
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from blueprint.classes.csv_cells import Csv, read_csv, save_csv
from blueprint.classes.errors import ClassError
from blueprint.classes.platforms import (
    Filled,
    decimals_with_comma,
    filled,
    is_excused,
    number_in,
    rows_of,
    score,
    several,
    written,
)  # fmt: skip
from blueprint.classes.results import Result, Results
from blueprint.quoting import unquoted
from blueprint.saving import saved_whole

IDENTIFIER, GRADE, GRADED = "Identifier", "Grade", "Last modified (grade)"
NEEDED = (IDENTIFIER, GRADE, GRADED)
MOST, MAY_CHANGE, COMMENTS = "Maximum Grade", "Grade can be changed", "Feedback comments"
NAME, SUBMITTED = "Full name", "Last modified (submission)"
WHOSE = ("ID number", "Email address", "Username", IDENTIFIER)
"""Columns in which ids of a roster may stand."""
PARTICIPANT = re.compile(r"(\d+)\s*$")
FOLDER = re.compile(r"(?P<name>[^_/]*)_(?P<participant>\d+)_(assignsubmission|assignfeedback)_\w+")
"""How Moodle calls the folder of a submission, in its ZIP of all submissions."""
FORMATS = (
    "%A, %d %B %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%d %B %Y, %I:%M %p",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S",
)
"""How Moodle writes a time in English (langconfig.php, strftimedaydatetime), and how people do."""
_MADE_BY = "in Moodle: the assignment, View all submissions, Download grading worksheet, with English as your language"


@dataclass(frozen=True)
class Participant:
    """A student, as Moodle knows one: the full name, and the number that stands behind it in names of folders."""

    name: str
    number: str

    @property
    def folder(self) -> str:
        """The folder of the student's files."""
        name = re.sub(r'[_/\\:*?"<>|\x00-\x1f]+', " ", self.name).strip(" .~") or "Participant"
        return f"{name}_{self.number}_assignsubmission_file_"


def fill(source: Path, results: Results, target: Path) -> Filled:
    """Writes a grading worksheet anew, with the grades of a class, and a line of comment. Raises ClassError, SaveError."""
    done = filled_worksheet(worksheet(source), results)
    save_csv(target, done.table.rows, done.table.delimiter, done.table.bom)
    return done


def worksheet(source: Path) -> Csv:
    """Reads a grading worksheet; short rows end in empty cells. Raises ClassError for a file that Moodle would not take."""
    table = read_csv(source, f"a grading worksheet that was made {_MADE_BY}")
    if lost := [each for each in NEEDED if table.column(each) is None]:
        raise ClassError(f"{source} has no column {several(lost)}, and Moodle would refuse it: download it {_MADE_BY}")
    columns = len(table.rows[0])
    return replace(table, rows=[[*row, *[""] * (columns - len(row))] for row in table.rows])


def filled_worksheet(table: Csv, results: Results) -> Filled:
    """Fills the column Grade, and Feedback comments where there is one."""
    columns = {
        head: place for head in (*NEEDED, MOST, MAY_CHANGE, COMMENTS) if (place := table.column(head)) is not None
    }
    rows = _rows(table, results)
    comma = decimals_with_comma(table)
    locked, excused = [], []

    def cell_of(result: Result, row: list[str]) -> str | None:
        if MAY_CHANGE in columns and row[columns[MAY_CHANGE]].strip().casefold() == "no":
            locked.append(result.student)
            return None
        if is_excused(result):
            excused.append(result.student)
            return None
        most = number_in(row[columns[MOST]]) if MOST in columns else None
        found = score(result, results, results.points if most is None else most)
        if found is not None and COMMENTS in columns:
            row[columns[COMMENTS]] = comment(result, results)
        return None if found is None else written(found, comma)

    done = filled(table, columns[GRADE], rows, cell_of, results)
    more = [f"grades that Moodle has locked are left as they were: {several(locked)}"] * bool(locked)
    more += [f"Moodle knows no excused grade, so that none is given to {several(excused)}"] * bool(excused)
    return replace(done, said=[*done.said, *more])


def _rows(table: Csv, results: Results) -> dict[str, int]:
    ids = [place for head in WHOSE if (place := table.column(head)) is not None]
    name = table.column(NAME)
    found = rows_of(table, range(1, len(table.rows)), ids, [] if name is None else [name], results)
    free = {number: row for row, number in _numbers(table).items() if row not in found.values()}
    for result in results.results:
        if result.student not in found and result.participant in free:
            found[result.student] = free.pop(result.participant)
    return found


def _numbers(table: Csv) -> dict[int, str]:
    """Returns by row the number of its participant."""
    column = table.column(IDENTIFIER)
    found = {
        n: PARTICIPANT.search(row[column or 0]) for n, row in enumerate(table.rows) if n and len(row) > (column or 0)
    }
    return {row: number[1] for row, number in found.items() if number}


def comment(result: Result, results: Results) -> str:
    """Sums a student's marks up in a line that holds no answer; Moodle takes it for HTML."""
    counts = {
        status: sum(mark.status == status for mark in result.marks.values())
        for status in ("right", "carried", "wrong", "empty")
    }
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    total = f"{result.total or 0:g} of {results.points:g} points"
    late = f"; {result.penalty:.0%} less for being late" if result.penalty else ""
    return html.escape(f"{total}: {told}{late}" if told else total)


def participants(table: Csv, results: Results) -> dict[str, Participant]:
    """Returns by a student's id who that is in Moodle, of all who stand in a worksheet."""
    name, numbers = table.column(NAME), _numbers(table)
    rows = _rows(table, results)
    return {
        student: Participant(table.rows[row][name] if name is not None else "", numbers[row])
        for student, row in rows.items()
        if row in numbers
    }


def times(table: Csv) -> dict[str, datetime]:
    """Returns by a participant's number when the submission was last changed, in the time zone of whoever made the worksheet.

    Who has not handed anything in is left out. Raises ClassError where a time is written as we do not know it.
    """
    column = table.column(SUBMITTED)
    if column is None:
        return {}
    written_as = {number: table.rows[row][column].strip() for row, number in _numbers(table).items()}
    return {number: _time(text) for number, text in written_as.items() if text not in ("", "-")}


def _time(text: str) -> datetime:
    for form in FORMATS:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise ClassError(f"the time {unquoted(text)} cannot be read: download the worksheet {_MADE_BY}")


def feedback_zip(path: Path, files: Iterable[tuple[Participant, Mapping[str, bytes]]]) -> None:
    """Writes the ZIP for `Upload multiple feedback files in a zip`: for each student files by their names. Raises SaveError."""
    with saved_whole(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as packed:
        for participant, of_student in files:
            for name, content in of_student.items():
                packed.writestr(f"{participant.folder}/{name.lstrip('.~')}", content)
