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
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from blueprint.classes import ClassError
from blueprint.classes.csv_cells import Csv, bare, harmless, read_csv, save_csv
from blueprint.classes.results import Result, Results
from blueprint.classes.roster import letters_of, words_of
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

    def save(self, path: Path) -> None:
        """Writes the table as it came, but for what was filled. Raises SaveError."""
        save_csv(path, self.table.rows, self.table.delimiter, self.table.bom)


CellOf = Callable[[Result, list[str]], str | None]
"""What belongs into a student's row, None to leave what is there."""


def filled(table: Csv, column: int, rows: Mapping[str, int], cell_of: CellOf, results: Results) -> Filled:
    """Fills a column. rows: by a student's id."""
    cells = [[*row] for row in table.rows]
    count = 0
    for result in results.results:
        if result.student in rows:
            row = cells[rows[result.student]]
            text = cell_of(result, row)
            row += [""] * (column + 1 - len(row))
            row[column] = row[column] if text is None else text
            count += text is not None
    said = []
    if lost := [each.student for each in results.results if each.student not in rows]:
        said.append(f"{len(lost)} students of the key stand in no row of the platform's file: {several(lost)}")
    if guarded := sum(harmless(cell) != cell for row in table.rows for cell in row):
        said.append(f"{guarded} cells that a spreadsheet would compute begin with an apostrophe now")
    return Filled(replace(table, rows=cells), table.rows[0][column], count, said, rows)


def rows_by_student(
    table: Csv, numbers: Iterable[int], ids: Sequence[int], names: Sequence[int], results: Results
) -> dict[str, int]:
    """Finds the row of each student.

    numbers: of the rows that are students'. ids, names: the columns in which ids and e-mails, and names, may stand; the words
    of several columns of names make one. Raises ClassError where two rows are the same student's.
    """
    rows = {number: [bare(cell).strip() for cell in table.rows[number]] for number in numbers}
    columns = [{n: row[column].casefold() for n, row in rows.items() if column < len(row)} for column in ids]
    known = {each.student.strip().casefold(): each.student for each in results.results}
    best = max((_joined(column, known) for column in columns), key=len, default={})
    if twice := next((student for student, times in Counter(best.values()).items() if times > 1), None):
        raise ClassError(f"student {unquoted(twice)} stands in two rows of the platform's file: keep one of them")
    found = {student: number for number, student in best.items()}
    mails = {each.email.strip().casefold(): each.student for each in results.results if each.email.strip()}
    for column in columns:
        _add(found, _joined(column, mails))
    alike = Counter(words_of(each.name) for each in results.results)
    named = {words: each.student for each in results.results if alike[words := words_of(each.name)] == 1 and words}
    written = {n: words_of(" ".join(row[c] for c in names if c < len(row))) for n, row in rows.items()}
    _add(found, _joined(written, named))
    return found


def _joined(column: Mapping[int, str], known: Mapping[str, str]) -> dict[int, str]:
    """Returns by row the student whom its cell of a column means."""
    return {number: known[cell] for number, cell in column.items() if cell in known}


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


SECTION, POINTS, READ_ONLY, NOT_ASSIGNED = "Section", "Points Possible", "read only", "N/A"
TITLE_AND_ID = re.compile(r"(.*)\s\((\d+)\)", re.DOTALL)
"""How an assignment is headed (app/models/assignment.rb, title_and_id)."""
TOTALS = re.compile("(Current|Final|Override) (Score|Points|Grade|Status)")
"""Columns that Canvas computes; it passes them over when it reads a file."""
_MUTED = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)
_EXPORTED = "in Canvas: Grades, Export, Export Entire Gradebook"


class Gradebook:
    """A gradebook that was exported from Canvas, and the column of it that is to be filled."""

    def __init__(self, source: Path, assignment: str, column: str | None = None):
        """Reads it. column: the id or the title of the assignment; None: the one of the class's name, or the only one.

        Raises ClassError for what Canvas would not take for a gradebook, and where it is not clear which column is meant.
        """
        self.table = read_csv(source, f"a gradebook that was exported {_EXPORTED}")
        self.heads = [each.lstrip("\ufeff") for each in self.table.rows[0]]
        if (
            not (self._begins("Student", "ID") or self._begins("LastName", "FirstName", "ID"))
            or SECTION not in self.heads
        ):
            raise ClassError(
                f"the header {unquoted(', '.join(self.heads[:4]))} is not that of a gradebook, which begins Student, ID: "
                f"export it {_EXPORTED}"
            )
        self.section = self.heads.index(SECTION)
        self.points: list[str] = next((row for row in self.table.rows[1:] if POINTS in row[0]), [])
        self.place = self._place(assignment, column)

    def _begins(self, *heads: str) -> bool:
        return len(self.heads) > len(heads) + 1 and all(map(str.__contains__, self.heads, heads))

    def _place(self, assignment: str, column: str | None) -> int:
        graded = {place for place, cell in enumerate(self.points) if number_in(cell) is not None}
        offered = {
            place: head
            for place, head in enumerate(self.table.rows[0])
            if place > self.section and not TOTALS.search(head) and (TITLE_AND_ID.fullmatch(head) or place in graded)
        }
        wanted = (column or assignment).strip()
        found = [place for place, head in offered.items() if wanted in _headings(head)]
        found = found or [
            place for place, head in offered.items() if letters_of(wanted) in map(letters_of, _headings(head))
        ]
        if not found and column is None and len(offered) == 1:
            found = [*offered]
        if len(found) != 1:
            raise ClassError(
                f"the gradebook has {len(found)} columns for {unquoted(wanted)}: name one by its number or title with "
                f"--canvas-column, of {several(offered.values()) or 'which it has none: make the assignment in Canvas first'}"
            )
        if READ_ONLY in "".join(self.points[found[0] : found[0] + 1]):
            head = unquoted(self.table.rows[0][found[0]])
            raise ClassError(f"{head} is read-only, and Canvas would pass it over: name another column")
        return found[0]

    def filled(self, results: Results) -> Filled:
        """Fills the column with the scores of a class.

        A student without a submission keeps what stands there, and so does one who is excused or not assigned there.
        """
        place, comma = self.place, decimals_with_comma(self.table)
        possible = number_in(self.points[place]) if place < len(self.points) else None
        most = results.points if possible is None else possible
        students = [
            number
            for number, row in enumerate(self.table.rows)
            if number and POINTS not in row[0] and not all(map(_MUTED.fullmatch, row))
        ]
        names = range(2) if self.heads[0].startswith("LastName") else range(1)
        rows = rows_by_student(self.table, students, range(len(names), self.section), names, results)

        def cell_of(result: Result, row: list[str]) -> str | None:
            if place < len(row) and row[place].strip().upper() in (NOT_ASSIGNED, EXCUSED):
                return None  # a teacher's own word, which an import of a score would take back
            if is_excused(result):
                return EXCUSED
            found = score(result, results, most)
            return None if found is None else written(found, comma)

        return filled(self.table, place, rows, cell_of, results)


def _headings(head: str) -> list[str]:
    """Returns what a column may be called by: all of its heading, its title, its number."""
    parts = TITLE_AND_ID.fullmatch(head)
    return [head.strip(), *(parts.groups() if parts else ())]


IDENTIFIER, GRADE, GRADED = "Identifier", "Grade", "Last modified (grade)"
NEEDED = (IDENTIFIER, GRADE, GRADED)
MOST, MAY_CHANGE, COMMENTS = "Maximum Grade", "Grade can be changed", "Feedback comments"
NAME, SUBMITTED = "Full name", "Last modified (submission)"
WHOSE = ("ID number", "Email address", "Username", IDENTIFIER)
"""Columns in which ids of a roster may stand."""
KNOWN = (*NEEDED, MOST, MAY_CHANGE, COMMENTS, NAME, SUBMITTED, *WHOSE[:-1])
"""Columns of a grading worksheet that are looked for; all others stay as they are."""
PARTICIPANT = re.compile(r"(\d+)\s*$")
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


class GradingWorksheet:
    """Moodle's grading worksheet; short rows end in empty cells."""

    def __init__(self, source: Path):
        """Reads it. Raises ClassError for a file that Moodle would not take."""
        table = read_csv(source, f"a grading worksheet that was made {_DOWNLOADED}")
        self.columns = {head: place for head in KNOWN if (place := table.column(head)) is not None}
        if lost := [each for each in NEEDED if each not in self.columns]:
            raise ClassError(
                f"{source} has no column {several(lost)}, and Moodle would refuse it: download it {_DOWNLOADED}"
            )
        heads = len(table.rows[0])
        self.table = replace(table, rows=[[*row, *[""] * (heads - len(row))] for row in table.rows])
        identifiers = {n: PARTICIPANT.search(self._cell(n, IDENTIFIER)) for n in range(1, len(table.rows))}
        self.numbers = {n: number[1] for n, number in identifiers.items() if number}
        """By row the number of its participant."""

    def _cell(self, row: int, head: str) -> str:
        """Returns a cell; "" where there is no such column."""
        return self.table.rows[row][self.columns[head]] if head in self.columns else ""

    def rows(self, results: Results) -> dict[str, int]:
        """Returns the row of each student; who stands in no column is known by the number of the folder."""
        ids, names = ([self.columns[head] for head in heads if head in self.columns] for heads in (WHOSE, (NAME,)))
        found = rows_by_student(self.table, range(1, len(self.table.rows)), ids, names, results)
        free = {number: row for row, number in self.numbers.items() if row not in found.values()}
        for result in results.results:
            if result.student not in found and result.participant in free:
                found[result.student] = free.pop(result.participant)
        return found

    def filled(self, results: Results) -> Filled:
        """Fills the column Grade with the grades of a class, and Feedback comments, where there is one, with a line."""
        columns, comma = self.columns, decimals_with_comma(self.table)
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

        done = filled(self.table, columns[GRADE], self.rows(results), cell_of, results)
        more = [f"grades that Moodle has locked are left as they were: {several(locked)}"] * bool(locked)
        more += [f"Moodle knows no excused grade, so that none is given to {several(excused)}"] * bool(excused)
        return replace(done, said=[*done.said, *more])

    def participants(self, results: Results) -> dict[str, Participant]:
        """Returns by a student's id who that is in Moodle, of all who stand in the worksheet."""
        rows = self.rows(results).items()
        return {who: Participant(self._cell(n, NAME), self.numbers[n]) for who, n in rows if n in self.numbers}

    def times(self) -> dict[str, datetime]:
        """Returns by a participant's number when the submission was last changed, in the time zone of whoever made the worksheet.

        Who has not handed anything in is left out. Raises ClassError where a time is written as we do not know it.
        """
        written_as = {number: self._cell(row, SUBMITTED).strip() for row, number in self.numbers.items()}
        return {number: _time(text) for number, text in written_as.items() if text not in ("", "-")}


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
