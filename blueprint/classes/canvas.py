"""Canvas: the exported gradebook comes back with one column filled, all else as it was.

The rules are those by which Canvas reads the file again (github.com/instructure/canvas-lms, lib/gradebook_importer.rb):

- The header begins `Student,ID` or `LastName,FirstName,ID`; `Section` is the last column about the student; own columns of
  the teacher follow, then a column for each assignment, `Title (1234)`. The number decides, else the whole title; a heading
  that is neither would make a new assignment, so that none is ever added or changed here.
- `Points Possible` in the first cell marks a row that is no student's, and so does a row of `Manual Posting`; `(read only)` in
  the former marks a column that is not imported.
- `EX` is excused; blank or `-` is no score, and so is not 0. Scores are compared at two decimals.
- The delimiter is `;` where that splits the first three lines into equally many, and more, cells than `,` does; a decimal comma
  is understood.
"""

import re
from pathlib import Path

from blueprint.classes.csv_cells import Csv, read_csv, save_csv
from blueprint.classes.errors import ClassError
from blueprint.classes.platforms import (
    EXCUSED,
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

SECTION, POINTS, READ_ONLY, NOT_ASSIGNED = "Section", "Points Possible", "read only", "N/A"
TITLE_AND_ID = re.compile(r"(.*)\s\((\d+)\)", re.DOTALL)
"""How an assignment is headed (app/models/assignment.rb, title_and_id)."""
TOTALS = re.compile("(Current|Final|Override) (Score|Points|Grade|Status)")
"""Columns that Canvas computes; it passes them over when it reads a file."""
_MUTED = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)
_MADE_BY = "in Canvas: Grades, Export, Export Entire Gradebook"


def fill(source: Path, results: Results, target: Path, column: str | None = None) -> Filled:
    """Writes an exported gradebook anew, with the scores of a class in one column.

    column: the id or the title of the assignment; None: the one of the class's name, or the only one. A student without a
    submission keeps what stands there, and so does one who is excused or not assigned there. Raises ClassError, SaveError.
    """
    done = filled_gradebook(read_csv(source, f"a gradebook that was exported {_MADE_BY}"), results, column)
    save_csv(target, done.table.rows, done.table.delimiter, done.table.bom)
    return done


def filled_gradebook(table: Csv, results: Results, column: str | None = None) -> Filled:
    """Fills a column of a gradebook, and says which, and who stands in no row of it. Raises ClassError."""
    section = _section(table)
    place = _assignment(table, section, results.assignment, column)
    points = _points(table)
    possible = number_in(points[place]) if points and place < len(points) else None
    most = results.points if possible is None else possible
    comma = decimals_with_comma(table)
    students = [n for n, row in enumerate(table.rows) if n and not _is_no_student(row)]
    names = range(2) if table.rows[0][0].lstrip("\ufeff").startswith("LastName") else range(1)
    rows = rows_of(table, students, range(len(names), section), names, results)

    def cell_of(result: Result, row: list[str]) -> str | None:
        if place < len(row) and row[place].strip().upper() in (NOT_ASSIGNED, EXCUSED):
            return None  # a teacher's own word, which an import of a score would take back
        if is_excused(result):
            return EXCUSED
        found = score(result, results, most)
        return None if found is None else written(found, comma)

    return filled(table, place, rows, cell_of, results)


def _section(table: Csv) -> int:
    """Returns where `Section` stands; refuses what Canvas would not take for a gradebook."""
    heads = [each.lstrip("\ufeff") for each in table.rows[0]]
    named = len(heads) > 3 and "Student" in heads[0] and "ID" in heads[1]
    apart = len(heads) > 4 and "LastName" in heads[0] and "FirstName" in heads[1] and "ID" in heads[2]
    if not (named or apart) or SECTION not in heads:
        raise ClassError(
            f"the header {unquoted(', '.join(heads[:4]))} is not that of a gradebook, which begins Student, ID: "
            f"export it {_MADE_BY}"
        )
    return heads.index(SECTION)


def _is_no_student(row: list[str]) -> bool:
    return POINTS in row[0] or all(_MUTED.fullmatch(cell) for cell in row)


def _points(table: Csv) -> list[str] | None:
    return next((row for row in table.rows[1:] if POINTS in row[0]), None)


def _assignment(table: Csv, section: int, assignment: str, column: str | None) -> int:
    """Returns the column to fill. Raises ClassError where it is not clear which, or where Canvas would pass it over."""
    points = _points(table) or []
    graded = {place for place, cell in enumerate(points) if number_in(cell) is not None}
    offered = {
        place: head
        for place, head in enumerate(table.rows[0])
        if place > section and not TOTALS.search(head) and (TITLE_AND_ID.fullmatch(head) or place in graded)
    }
    wanted = column or assignment
    found = [place for place, head in offered.items() if wanted.strip() in _names(head)]
    found = found or [place for place, head in offered.items() if _plain(wanted) in map(_plain, _names(head))]
    if not found and column is None and len(offered) == 1:
        found = [*offered]
    if len(found) != 1:
        raise ClassError(
            f"the gradebook has {len(found)} columns for {unquoted(wanted)}: name one by its number or title with "
            f"--canvas-column, of {several(offered.values()) or 'which it has none: make the assignment in Canvas first'}"
        )
    if READ_ONLY in "".join(points[found[0] : found[0] + 1]):
        raise ClassError(
            f"{unquoted(table.rows[0][found[0]])} is read-only, and Canvas would pass it over: name another column"
        )
    return found[0]


def _names(head: str) -> list[str]:
    """Returns what a column may be called by: all of its heading, its title, its number."""
    parts = TITLE_AND_ID.fullmatch(head)
    return [head.strip(), *(parts.groups() if parts else ())]


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())
