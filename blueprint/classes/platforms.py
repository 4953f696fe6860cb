"""Canvas and Moodle: a platform's table with a row for each student comes back with one column filled, all else as it was.

Which row is whose is found by the one column in which most ids of the roster stand, so that a number that happens to be
somebody else's in another column does no harm; who is left is found by e-mail, then by a name that nobody else has.

A gradebook keeps the rules by which Canvas reads it again (github.com/instructure/canvas-lms, lib/gradebook_importer.rb):

- The header begins `Student,ID` or `LastName,FirstName,ID`; `Section` is the last column about the student; own columns of
  the teacher follow, then a column for each assignment, `Title (1234)`. The number decides, else the whole title; a heading
  that is neither would make a new assignment, so that none is ever added or changed here.
- `Points Possible` in the first cell marks a row that is no student's, and so does a row of `Manual Posting`; `(read only)` in
  the former marks a column that is not imported.
- `EX` is excused; blank or `-` is no score, and so is not 0. Scores are compared at two decimals.
- The delimiter is `;` where that splits the first three lines into equally many, and more, cells than `,` does; a decimal comma
  is understood.

A grading worksheet, and a ZIP of feedback files, keep those of Moodle (github.com/moodle/moodle,
mod/assign/feedback/offline/importgradeslib.php and locallib.php, mod/assign/feedback/file/importziplib.php):

- A worksheet has the columns `Identifier` (`Participant 12345`), `Grade` and `Last modified (grade)`, in the language of
  whoever reads it; without one of them it is refused as a whole. A blank grade is passed over, and so is one that is below 0
  or above `Maximum Grade`, and, unless told otherwise, one given in Moodle a minute or more after `Last modified (grade)`.
- `Feedback comments` replaces the comment there.
- In a ZIP a file is a student's by its folder, `Full Name_12345_assignsubmission_file_`, split at `_`: so no name may have one.
  What begins with `.` or `~` is passed over.

Moodle knows no excused grade; such a student's is left blank, and said.
"""

import html
import math
import re
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from blueprint.classes import ClassError
from blueprint.classes.csv_cells import Csv, bare, harmless, read_csv, save_csv
from blueprint.classes.results import Result, Results
from blueprint.files import saved_whole
from blueprint.quoting import unquoted

EXCUSED = "EX"
SHOWN = 5
"""Names that a sentence gives, of however many."""
_COMMA, _POINT = re.compile(r"-?\d+,\d+"), re.compile(r"-?\d+\.\d+")


@dataclass(frozen=True)
class Filled:
    """A platform's table with one column filled.

    Attributes:
        table: all rows in the order in which they came. column: the heading of what was filled.
        filled: in how many rows. said: what a teacher should know, a sentence each.
        rows: the number of the row of each student who was found, by the student's id.
    """

    table: Csv
    column: str
    filled: int
    said: list[str] = field(default_factory=list)
    rows: Mapping[str, int] = field(default_factory=dict)


def filled(
    table: Csv,
    column: int,
    rows: Mapping[str, int],
    cell_of: Callable[[Result, list[str]], str | None],
    results: Results,
) -> Filled:
    """Fills a column. rows: by a student's id. cell_of: what belongs in a row, None to leave what is there."""
    cells = [[*row] for row in table.rows]
    count = 0
    for result in results.results:
        if result.student in rows:
            row = cells[rows[result.student]]
            text = cell_of(result, row)
            row += [""] * (column + 1 - len(row))
            row[column] = row[column] if text is None else text
            count += text is not None
    said = [*_absent(results, rows), *_guarded(table)]
    return Filled(replace(table, rows=cells), table.rows[0][column], count, said, rows)


def rows_by_student(
    table: Csv, numbers: Iterable[int], ids: Sequence[int], names: Sequence[int], results: Results
) -> dict[str, int]:
    """Finds the row of each student.

    numbers: of the rows that are students'. ids, names: the columns in which ids and e-mails, and names, may stand; the words
    of several columns of names make one. Raises ClassError where two rows are the same student's.
    """
    rows = {number: [bare(cell).strip() for cell in table.rows[number]] for number in numbers}
    known = {each.student.strip().casefold(): each.student for each in results.results}
    in_column = {c: {n: known[_key(row, c)] for n, row in rows.items() if _key(row, c) in known} for c in ids}
    best = max(in_column.values(), key=len, default={})
    found: dict[str, int] = {}
    for number, student in best.items():
        if student in found:
            raise ClassError(f"student {unquoted(student)} stands in two rows of the platform's file: keep one of them")
        found[student] = number
    mails = {each.email.strip().casefold(): each.student for each in results.results if each.email.strip()}
    for column in ids:
        _add(found, {n: mails[_key(row, column)] for n, row in rows.items() if _key(row, column) in mails})
    named = {each.student: _words(each.name) for each in results.results}
    written = {n: _words(" ".join(row[c] for c in names if c < len(row))) for n, row in rows.items()}
    once = {words for words, times in Counter(written.values()).items() if times == 1 and words}
    of_name = {words: student for student, words in named.items() if Counter(named.values())[words] == 1}
    _add(found, {n: of_name[words] for n, words in written.items() if words in once and words in of_name})
    return found


def _key(row: Sequence[str], column: int) -> str:
    return row[column].casefold() if column < len(row) else ""


def _words(name: str) -> str:
    """Returns the words of a name in one order, so that `Doe, Jane` is `Jane Doe`."""
    letters = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(sorted(re.findall(r"[\w'’-]+", letters)))


def _add(found: dict[str, int], more: Mapping[int, str]) -> None:
    """Adds students who have no row yet, in rows that are nobody's yet, where it is said of one row alone."""
    times = Counter(more.values())
    for number, student in more.items():
        if student not in found and number not in found.values() and times[student] == 1:
            found[student] = number


def is_excused(result: Result) -> bool:
    """Says whether all of a student's blanks are excused."""
    return bool(result.marks) and all(mark.status == "excused" for mark in result.marks.values())


def score(result: Result, results: Results, most: float) -> float | None:
    """Returns a total as the platform counts, where `most` points are the most; None where nothing is marked."""
    if result.total is None:
        return None
    return most * (result.total / results.points) if results.points else most


def number_in(text: str) -> float | None:
    """Reads a number as Canvas does: the last point or comma is the decimal one; None for what is none, or none that is finite."""
    text = text.strip().rstrip("%").strip()
    *groups, last = re.split("[.,]", text)
    try:
        found = float(f"{''.join(groups)}.{last}" if groups else last)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def decimals_with_comma(table: Csv) -> bool:
    """Says whether the file writes decimal commas: more of its numbers have one than a point; `;` decides between equals."""
    cells = [cell.strip() for row in table.rows[1:] for cell in row]
    commas, points = (sum(bool(kind.fullmatch(cell)) for cell in cells) for kind in (_COMMA, _POINT))
    return commas > points or (commas == points and table.delimiter == ";")


def written(number: float, comma: bool) -> str:
    """Writes a score with the two decimals that platforms keep."""
    return f"{number:.2f}".replace(".", "," if comma else ".")


def several(names: Iterable[str]) -> str:
    """Names some of many."""
    found = [*names]
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(unquoted(each) for each in found[:SHOWN]) + more


def _absent(results: Results, rows: Mapping[str, int]) -> list[str]:
    lost = [each.student for each in results.results if each.student not in rows]
    return [f"{len(lost)} students of the key stand in no row of the platform's file: {several(lost)}"] if lost else []


def _guarded(table: Csv) -> list[str]:
    cells = sum(harmless(cell) != cell for row in table.rows for cell in row)
    return [f"{cells} cells that a spreadsheet would compute begin with an apostrophe now"] if cells else []


SECTION, POINTS, READ_ONLY, NOT_ASSIGNED = "Section", "Points Possible", "read only", "N/A"
TITLE_AND_ID = re.compile(r"(.*)\s\((\d+)\)", re.DOTALL)
"""How an assignment is headed (app/models/assignment.rb, title_and_id)."""
TOTALS = re.compile("(Current|Final|Override) (Score|Points|Grade|Status)")
"""Columns that Canvas computes; it passes them over when it reads a file."""
_MUTED = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)
_EXPORTED = "in Canvas: Grades, Export, Export Entire Gradebook"


def fill_gradebook(source: Path, results: Results, target: Path, column: str | None = None) -> Filled:
    """Writes an exported gradebook anew, with the scores of a class in one column.

    column: the id or the title of the assignment; None: the one of the class's name, or the only one. A student without a
    submission keeps what stands there, and so does one who is excused or not assigned there. Raises ClassError, SaveError.
    """
    done = filled_gradebook(_gradebook(source), results, column)
    save_csv(target, done.table.rows, done.table.delimiter, done.table.bom)
    return done


def check_gradebook(source: Path, assignment: str, column: str | None = None) -> None:
    """Refuses what `fill_gradebook` would refuse, once all is marked. Raises ClassError."""
    table = _gradebook(source)
    _assignment(table, _section(table), assignment, column)


def _gradebook(source: Path) -> Csv:
    return read_csv(source, f"a gradebook that was exported {_EXPORTED}")


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
    rows = rows_by_student(table, students, range(len(names), section), names, results)

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
            f"export it {_EXPORTED}"
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
    found = [place for place, head in offered.items() if wanted.strip() in _headings(head)]
    found = found or [place for place, head in offered.items() if _letters(wanted) in map(_letters, _headings(head))]
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


def _headings(head: str) -> list[str]:
    """Returns what a column may be called by: all of its heading, its title, its number."""
    parts = TITLE_AND_ID.fullmatch(head)
    return [head.strip(), *(parts.groups() if parts else ())]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


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
_DOWNLOADED = (
    "in Moodle: the assignment, View all submissions, Download grading worksheet, with English as your language"
)


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


def fill_worksheet(source: Path, results: Results, target: Path) -> Filled:
    """Writes a grading worksheet anew, with the grades of a class, and a line of comment. Raises ClassError, SaveError."""
    done = filled_worksheet(grading_worksheet(source), results)
    save_csv(target, done.table.rows, done.table.delimiter, done.table.bom)
    return done


def grading_worksheet(source: Path) -> Csv:
    """Reads a grading worksheet; short rows end in empty cells. Raises ClassError for a file that Moodle would not take."""
    table = read_csv(source, f"a grading worksheet that was made {_DOWNLOADED}")
    if lost := [each for each in NEEDED if table.column(each) is None]:
        raise ClassError(
            f"{source} has no column {several(lost)}, and Moodle would refuse it: download it {_DOWNLOADED}"
        )
    columns = len(table.rows[0])
    return replace(table, rows=[[*row, *[""] * (columns - len(row))] for row in table.rows])


def filled_worksheet(table: Csv, results: Results) -> Filled:
    """Fills the column Grade, and Feedback comments where there is one."""
    columns = {
        head: place for head in (*NEEDED, MOST, MAY_CHANGE, COMMENTS) if (place := table.column(head)) is not None
    }
    rows = _rows_in_worksheet(table, results)
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


def _rows_in_worksheet(table: Csv, results: Results) -> dict[str, int]:
    ids = [place for head in WHOSE if (place := table.column(head)) is not None]
    name = table.column(NAME)
    found = rows_by_student(table, range(1, len(table.rows)), ids, [] if name is None else [name], results)
    free = {number: row for row, number in _participants_by_row(table).items() if row not in found.values()}
    for result in results.results:
        if result.student not in found and result.participant in free:
            found[result.student] = free.pop(result.participant)
    return found


def _participants_by_row(table: Csv) -> dict[int, str]:
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
    name, numbers = table.column(NAME), _participants_by_row(table)
    rows = _rows_in_worksheet(table, results)
    return {
        student: Participant(table.rows[row][name] if name is not None else "", numbers[row])
        for student, row in rows.items()
        if row in numbers
    }


def times_by_participant(table: Csv) -> dict[str, datetime]:
    """Returns by a participant's number when the submission was last changed, in the time zone of whoever made the worksheet.

    Who has not handed anything in is left out. Raises ClassError where a time is written as we do not know it.
    """
    column = table.column(SUBMITTED)
    if column is None:
        return {}
    written_as = {number: table.rows[row][column].strip() for row, number in _participants_by_row(table).items()}
    return {number: _time(text) for number, text in written_as.items() if text not in ("", "-")}


def _time(text: str) -> datetime:
    for form in FORMATS:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise ClassError(f"the time {unquoted(text)} cannot be read: download the worksheet {_DOWNLOADED}")


def feedback_zip(path: Path, files: Iterable[tuple[Participant, Mapping[str, bytes]]]) -> None:
    """Writes the ZIP for `Upload multiple feedback files in a zip`: for each student files by their names. Raises SaveError."""
    with saved_whole(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as packed:
        for participant, of_student in files:
            for name, content in of_student.items():
                packed.writestr(f"{participant.folder}/{name.lstrip('.~')}", content)
