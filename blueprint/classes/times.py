"""When files were handed in, as the platform says it: in a table of one's own, or in Moodle's grading worksheet."""

from datetime import datetime
from pathlib import Path

from blueprint.classes import moodle
from blueprint.classes.csv_cells import read_csv, records
from blueprint.classes.errors import ClassError
from blueprint.classes.key import Key
from blueprint.classes.results import Result, Results
from blueprint.quoting import unquoted

STUDENT, SUBMITTED = ("student", "id"), ("submitted", "time")
"""What the columns of a table of times may be called."""


def times_in(path: Path, key: Key) -> dict[str, datetime]:
    """Reads a table of times, `student,submitted` (2026-03-06T23:59), by the id of a student. Raises ClassError."""
    table = read_csv(path, "times")
    columns = [next((name for name in names if table.column(name) is not None), None) for names in (STUDENT, SUBMITTED)]
    if None in columns:
        raise ClassError(f"{path} is no table of times: its first line is student,submitted")
    found: dict[str, datetime] = {}
    for number, row in enumerate(records(table), 2):
        student, said = (row[_named(row, str(name))].strip() for name in columns)
        if said:
            found[key.student(student).id] = _time(said, f"{path}, row {number}")
    return found


def _named(row: dict[str, str], name: str) -> str:
    return next(head for head in row if head.casefold() == name)


def _time(said: str, where: str) -> datetime:
    try:
        return datetime.fromisoformat(said)
    except ValueError:
        raise ClassError(f"{where}: found the time {unquoted(said)}; write it as 2026-03-06T23:59:00+01:00") from None


def times_of_moodle(path: Path, key: Key) -> dict[str, datetime]:
    """Reads the times of a grading worksheet, by the id of a student, and by the number of who is known by that alone."""
    table = moodle.worksheet(path)
    by_number = moodle.times(table)
    nobody = [Result(student=each.id, name=each.name, email=each.email) for each in key.students]
    known = moodle.participants(table, Results(assignment=key.assignment, points=1, blanks=[], results=nobody))
    return by_number | {id: by_number[each.number] for id, each in known.items() if each.number in by_number}
