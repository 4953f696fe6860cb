"""Overrides: marks that a teacher has set by hand, in `override.csv`, which is read and never written."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from blueprint.classes.csv_cells import read_csv, records, save_csv
from blueprint.classes.errors import ClassError
from blueprint.classes.key import Key
from blueprint.classes.results import Mark, Status
from blueprint.page import parse_cell
from blueprint.quoting import unquoted

FILE = "override.csv"
COLUMNS = ("student", "blank", "mark", "why", "file")
"""mark: the share of the blank's points, 0 to 1 or 0 % to 100 %. file: whose file that is, instead of a mark."""


class Override(NamedTuple):
    """A line of the file: the id of a student and of a blank, the share of its points, and why."""

    student: str
    blank: str
    mark: float
    why: str


class Overrides(NamedTuple):
    """All lines: marks, and by the name of a file the student whose it is."""

    marks: tuple[Override, ...] = ()
    assigned: Mapping[str, str] = {}


def read_overrides(path: Path, key: Key) -> Overrides:
    """Reads `override.csv`; none where there is no such file. Raises ClassError, with the line, for what is no override."""
    if not path.exists():
        return Overrides()
    table = read_csv(path, "overrides")
    if missing := [name for name in COLUMNS[:3] if table.column(name) is None]:
        raise ClassError(f"{path} has no column {missing[0]}: its first line is {','.join(COLUMNS)}")
    marks, assigned = [], {}
    for number, row in enumerate(records(table), 2):
        line = {name.casefold(): cell.strip() for name, cell in row.items()}
        where, student = f"{path}, row {number}", key.student(line["student"]).id
        if file := line.get("file", ""):
            assigned[file] = student
        if line["blank"] or line["mark"] or not file:
            marks.append(
                Override(student, _blank(line["blank"], key, where), _share(line["mark"], where), line.get("why", ""))
            )
    return Overrides(tuple(marks), assigned)


def _blank(said: str, key: Key, where: str) -> str:
    found = next((blank.id for blank in key.blanks if said in (blank.id, blank.title)), None)
    if found is None:
        raise ClassError(f"{where}: the key has no blank {unquoted(said)}; write an id such as {key.blanks[0].id}")
    return found


def _share(said: str, where: str) -> float:
    try:
        share = parse_cell.number_in(said.rstrip(" %")) / (100 if said.endswith("%") else 1)
    except parse_cell.NoNumber as error:
        raise ClassError(f"{where}: mark: {error}") from None
    if not 0 <= share <= 1:
        raise ClassError(f"{where}: the mark is {unquoted(said)}; write a share of the blank's points, 0 to 1")
    return share


def overridden(marks: Mapping[str, Mark], student: str, overrides: Iterable[Override]) -> dict[str, Mark]:
    """Returns the marks of a student with those that were set by hand; of two for one blank the later counts."""
    found = dict(marks)
    for each in overrides:
        if each.student == student:
            before = found.get(each.blank, Mark(points=0, status="empty"))
            status: Status = "right" if each.mark == 1 else "wrong" if before.status == "excused" else before.status
            why = f"set by hand{f': {each.why}' if each.why else ''}"
            new = {"points": each.mark, "status": status, "why": why, "overridden": True}
            found[each.blank] = before.model_copy(update=new)
    return found


def start_overrides(folder: Path) -> None:
    """Puts an `override.csv` with nothing but its headings into a folder that has none."""
    if not (folder / FILE).exists():
        save_csv(folder / FILE, [COLUMNS])
