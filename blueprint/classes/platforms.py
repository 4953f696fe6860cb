"""What Canvas and Moodle have in common: a table with a row for each student, of which one column is filled.

Which row is whose is found by the one column in which most ids of the roster stand, so that a number that happens to be
somebody else's in another column does no harm; who is left is found by e-mail, then by a name that nobody else has.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blueprint.classes.csv_cells import Csv, bare, harmless
from blueprint.classes.errors import ClassError
from blueprint.classes.results import Result, Results
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


def rows_of(
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
