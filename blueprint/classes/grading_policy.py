"""What a teacher lays down for grading: the policy (`policy.toml`), marks set by hand (`override.csv`), and when files came.

Everything in the policy may be left out; the overrides are read and, once begun, never written.
"""

import tomllib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, FiniteFloat, ValidationError

from blueprint.classes import ClassError, bytes_of, first_fault
from blueprint.classes.csv_cells import read_csv, records, save_csv
from blueprint.classes.key import Key, KeyBlank, Record
from blueprint.classes.platforms import GradingWorksheet
from blueprint.classes.results import Mark, Result, Results, Status
from blueprint.page import parse_cell
from blueprint.quoting import unquoted

Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
Above0 = Annotated[FiniteFloat, Field(gt=0, le=1e9)]
"""Points and weights: so large that their sum is still a number."""
LARGEST = 1_000_000
"""Bytes of a grading policy."""


class Carried(Record):
    """Error carried forward: a step that is right with the student's own earlier numbers."""

    cap: Share = Field(default=1.0, description="share of a blank's points that a carried step gets; 0: none")
    guard: bool = Field(default=True, description="no carried marks where the student's numbers make the step trivial")


class Late(Record):
    """What is lost by being late, by the platform's time."""

    due: datetime = Field(description="the deadline, such as 2026-03-06T23:59:00+01:00")
    grace_minutes: Annotated[FiniteFloat, Field(ge=0, le=1e6)] = Field(
        default=0.0, description="minutes that do not count"
    )
    per_day: Share = Field(default=0.1, description="share of the total that each day begun costs")
    most: Share = Field(default=1.0, description="share that is lost at most")

    def days(self, submitted: datetime) -> float:
        """Returns how many days after the deadline something came, 0 in time."""
        due = self.due if self.due.tzinfo else self.due.replace(tzinfo=submitted.tzinfo)
        here = submitted if submitted.tzinfo or not due.tzinfo else submitted.replace(tzinfo=due.tzinfo)
        return max((here - due - timedelta(minutes=self.grace_minutes)) / timedelta(days=1), 0.0)

    def penalty(self, days: float) -> float:
        """Returns the share that is lost so many days after the deadline; a day that has begun counts whole."""
        return min(self.per_day * -(-days // 1), self.most)


class Excused(Record):
    """A student to whom a blank does not count, or all of them do not."""

    student: str
    blank: str = Field(default="all", description="id or title of a blank, or all")
    why: str = ""


class GradingPolicy(Record):
    """What marks come to. Blanks go by their id (b03) or their title."""

    points: Above0 | None = Field(
        None, description="what the whole worksheet is worth; left out: the sum of the weights"
    )
    weights: dict[str, Above0] = Field(default={}, description="weights of blanks; left out: those of the key")
    tolerance: dict[str, Annotated[FiniteFloat, Field(ge=0)]] = Field(
        default={},
        description="how far a number may be off; left out: the key's, or half a unit of the last digit shown",
    )
    carried: Carried = Carried()
    constants: Share = Field(
        default=1.0, description="share that a number gets which stands where a formula was asked for"
    )
    attempts: Literal["first", "last", "best"] = Field(
        default="last", description="which of several files of a student counts"
    )
    late: Late | None = None
    excused: list[Excused] = Field(default=[])

    def fitted(self, key: Key) -> "GradingPolicy":
        """Returns the policy with ids for titles. Raises ClassError for a blank or a student that the key has not."""
        for each in self.excused:
            key.student(each.student)
        ids = {"all": "all"} | {
            said: _id_of(said, key, f"grading policy, {where}")
            for where, named in (
                ("weights", self.weights),
                ("tolerance", self.tolerance),
                ("excused", [each.blank for each in self.excused if each.blank != "all"]),
            )
            for said in named
        }
        return self.model_copy(
            update={
                "weights": {ids[said]: weight for said, weight in self.weights.items()},
                "tolerance": {ids[said]: number for said, number in self.tolerance.items()},
                "excused": [each.model_copy(update={"blank": ids[each.blank]}) for each in self.excused],
            }
        )

    def weight(self, blank: KeyBlank) -> float:
        """Returns what a blank counts beside the others."""
        return self.weights.get(blank.id, blank.weight)

    def tolerance_of(self, blank: KeyBlank) -> float | None:
        """Returns how far a number may be off; None: half a unit of the last digit that the sheet shows."""
        return self.tolerance.get(blank.id, blank.tolerance)

    def excuses(self, student: str, blank: str) -> Excused | None:
        """Returns why a blank does not count for a student; None if it does."""
        return next((e for e in self.excused if e.student == student and e.blank in (blank, "all")), None)


def read_policy(path: Path | None, key: Key) -> GradingPolicy:
    """Reads a `policy.toml`; without one everything is as its schema says. Raises ClassError in a sentence."""
    if path is None:
        return GradingPolicy.model_validate({})
    raw = bytes_of(path, "a grading policy", LARGEST, "name a TOML file")
    try:
        policy = GradingPolicy.model_validate(tomllib.loads(raw.decode("utf-8-sig")))
    except ValidationError as error:
        where, says, kind = first_fault(error)
        known = f"it is unknown; known are {', '.join(GradingPolicy.model_fields)}"
        raise ClassError(
            f"{path}: {unquoted(where)}: {known if kind == 'extra_forbidden' else unquoted(says)}"
        ) from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise ClassError(f"{path} is no TOML: {unquoted(error, 120)}") from None
    return policy.fitted(key)


def _id_of(said: str, key: Key, where: str) -> str:
    """Returns the id of the blank that has this id or title."""
    found = next((blank.id for blank in key.blanks if said in (blank.id, blank.title)), None)
    if found is None:
        raise ClassError(
            f"{where}: the key has no blank {unquoted(said)}; write an id, {key.blanks[0].id} to {key.blanks[-1].id}, "
            f"or a title such as {unquoted(key.blanks[0].title)}"
        )
    return found


def schema() -> dict[str, Any]:
    """Returns the JSON schema of a `policy.toml`, by which editors complete and check it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **GradingPolicy.model_json_schema()}


OVERRIDES = "override.csv"
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
    for number, line in enumerate(records(table), 2):
        where, student = f"{path}, row {number}", key.student(line["student"]).id
        if file := line.get("file", ""):
            assigned[file] = student
        if line["blank"] or line["mark"] or not file:
            blank, share = _id_of(line["blank"], key, where), _share_meant(line["mark"], where)
            marks.append(Override(student, blank, share, line.get("why", "")))
    return Overrides(tuple(marks), assigned)


def _share_meant(said: str, where: str) -> float:
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
    if not (folder / OVERRIDES).exists():
        save_csv(folder / OVERRIDES, [COLUMNS])


STUDENT_HEADS, SUBMITTED_HEADS = ("student", "id"), ("submitted", "time")
"""What the columns of a table of times may be called."""


def times_in(path: Path, key: Key) -> dict[str, datetime]:
    """Reads a table of times, `student,submitted` (2026-03-06T23:59), by the id of a student. Raises ClassError."""
    table = read_csv(path, "times")
    columns = [[name for name in names if table.column(name) is not None] for names in (STUDENT_HEADS, SUBMITTED_HEADS)]
    if not all(columns):
        raise ClassError(f"{path} is no table of times: its first line is student,submitted")
    found: dict[str, datetime] = {}
    for number, row in enumerate(records(table), 2):
        student, said = (row[names[0]] for names in columns)
        try:
            if said:
                found[key.student(student).id] = datetime.fromisoformat(said)
        except ClassError:
            raise
        except ValueError:
            where = f"{path}, row {number}: found the time {unquoted(said)}"
            raise ClassError(f"{where}; write it as 2026-03-06T23:59:00+01:00") from None
    return found


def times_of_moodle(worksheet: GradingWorksheet, key: Key) -> dict[str, datetime]:
    """Returns the times of a grading worksheet by the id of a student, and by the number of who is known by that alone."""
    by_number = worksheet.times()
    nobody = [Result(student=each.id, name=each.name, email=each.email) for each in key.students]
    known = worksheet.participants(Results(assignment=key.assignment, points=1, blanks=[], results=nobody))
    return by_number | {id: by_number[each.number] for id, each in known.items() if each.number in by_number}
