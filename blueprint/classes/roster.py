"""The students of a class, read from a table of one's own or from what a learning platform exports.

Canvas: the exported gradebook (`Student, ID, SIS User ID, SIS Login ID, Section`, then assignments; a row *Points Possible*).
Moodle: the grading worksheet of an assignment (`Identifier, Full name, Email address`, …) or a list of participants.
"""

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from blueprint.classes import ClassError
from blueprint.classes.csv_cells import bare, read_csv
from blueprint.inputs import nearest
from blueprint.quoting import quoted, unquoted

MOST, LONGEST = 2_000, 200
"""Students of a class, and letters of what stands in a cell of theirs."""
IDS = (
    "id",
    "student id",
    "matriculation number",
    "sis user id",
    "id number",
    "idnumber",
    "identifier",
    "sis login id",
    "username",
)
NAMES = ("name", "full name", "student")
HALVES = (("first name", "last name"), ("firstname", "lastname"), ("firstname", "surname"))
EMAILS = ("email", "email address", "e-mail")
"""What the columns are called, the more telling names first; capitals do not count."""
NO_STUDENTS = ("points possible", "student, test", "test student")
"""Canvas writes such rows, which are nobody's."""


class Student(NamedTuple):
    """A student: what identifies one, and the name and address that stand beside it, "" where there are none."""

    id: str
    name: str = ""
    email: str = ""


def plain(text: str) -> str:
    """Returns a text by which two that read alike are the same."""
    return unicodedata.normalize("NFKC", text).casefold()


def letters_of(text: str) -> str:
    """Returns the letters and digits of a name or a heading, however it is written."""
    return re.sub(r"[\W_]+", "", plain(text))


def words_of(name: str) -> str:
    """Returns the words of a name in one order, so that `Doe, Jane` is `Jane Doe`."""
    return " ".join(sorted(re.findall(r"[\w'’-]+", plain(name))))


class _Line(NamedTuple):
    """A row of the table, by its columns, and the line where it begins."""

    number: int
    cells: dict[str, str]


def read_roster(path: Path, match: str | None = None) -> list[Student]:
    """Reads 1 to 2,000 students, in the order of the file.

    match: the column that identifies a student; else it is found by its name, and one that is empty somewhere is passed over.
    Raises ClassError for what is no such table, for two students of one id, with their lines, and for an id that is missing.
    """
    columns, lines = _table(path)
    held = {name for name in columns if all(line.cells[name] for line in lines)}
    column = _column(path, match, columns) if match else _first(IDS, columns, held) or _first(EMAILS, columns, held)
    if column is None:
        raise ClassError(
            f"{path}: no column identifies a student ({_named(columns)}): name one with --match, or call it id and fill it in"
        )
    if columns.count(column) > 1:
        raise ClassError(f"{path}: found two columns called {quoted(column)}, which identifies a student: rename one")
    whole = _first(NAMES, columns)
    named = [whole] if whole else _halves(columns)
    mail = _first(EMAILS, columns)
    students: list[Student] = []
    first: dict[str, int] = {}
    for number, cells in lines:
        name = " ".join(filter(None, (cells[each] for each in named)))
        found = Student(cells[column], name, cells[mail] if mail else "")
        _refuse_illegible(found, column, f"{path}, line {number}")
        if (
            before := first.setdefault(found.id.casefold(), number)
        ) != number:  # capitals do not count, as in names of files
            raise ClassError(
                f"{path}, lines {before} and {number}: both have {unquoted(found.id)}; give each student an id of their own"
            )
        students.append(found)
    return students


def _table(path: Path) -> tuple[list[str], list[_Line]]:
    table = read_csv(path, "a roster")
    columns, lines = [_clean(cell) for cell in table.rows[0]], list[_Line]()
    for number, row in zip(table.lines[1:], table.rows[1:], strict=True):
        cells = [_clean(cell) for cell in row]
        if any(cell.casefold() in NO_STUDENTS for cell in cells[:2]) or not any(cells[:4]):
            continue
        if any(cells[len(columns) :]):
            found = f"{path}, line {number}: found {len(cells)} cells, expected {len(columns)}"
            raise ClassError(f"{found}; put what holds a comma in quotes")
        missing = [""] * (len(columns) - len(cells))
        lines.append(_Line(number, dict(zip(columns, [*cells, *missing], strict=False))))
        if len(lines) > MOST:  # no further: a table of a million rows is no class
            break
    if not 1 <= len(lines) <= MOST:
        raise ClassError(
            f"{path}: found {f'more than {MOST:,}' if lines else 'no'} students, expected 1 to {MOST:,}, a row for each "
            "below the names of the columns"
        )
    return columns, lines


def _clean(cell: str) -> str:
    """Returns what stands in a cell, its letters composed, without the blanks around it."""
    return unicodedata.normalize("NFC", bare(cell)).strip()


def _halves(columns: Sequence[str]) -> list[str]:
    """Returns the columns of first and last name; none where one of them is missing."""
    pairs = ([_first((half,), columns) for half in pair] for pair in HALVES)
    return next(([first, last] for first, last in pairs if first and last), [])


def _refuse_illegible(found: Student, column: str, where: str) -> None:
    if not found.id:
        raise ClassError(
            f"{where}: {quoted(column)} is empty, which identifies a student: fill it in, or name another with --match"
        )
    if stray := next((each for each in found if len(each) > LONGEST or not each.isprintable()), None):
        raise ClassError(
            f"{where}: found {quoted(stray)}, expected at most {LONGEST} letters, each of which can be seen"
        )


def _first(names: Sequence[str], columns: Sequence[str], among: set[str] | None = None) -> str | None:
    """Returns the column that has the first of some names; among: where it must be."""
    known = {column.casefold(): column for column in reversed(columns) if among is None or column in among}
    return next((known[name] for name in names if name in known), None)


def _column(path: Path, match: str, columns: Sequence[str]) -> str:
    found = _first((match.strip().casefold(),), columns)
    if found is None:
        plain = {column.casefold(): column for column in reversed(columns)}
        meant = plain.get(nearest(match.casefold(), list(plain)) or "")
        hint = f", did you mean {unquoted(meant)}?" if meant else ""
        raise ClassError(f"--match {unquoted(match)}: {path} has no such column ({_named(columns)}){hint}")
    return found


def _named(columns: Sequence[str]) -> str:
    shown = ", ".join(unquoted(each) for each in columns[:8] if each)
    return f"its columns: {shown}{', …' if len(columns) > 8 else ''}" if shown else "it has no columns"
