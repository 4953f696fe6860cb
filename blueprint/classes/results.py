"""Results: what grading found, as one file, `results.json`, from which scores, platforms' files, feedback and report are made."""

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from blueprint.classes import ClassError, bytes_of, first_fault
from blueprint.files import LARGEST, saved_whole
from blueprint.quoting import unquoted

FILE = "results.json"
Status = Literal["right", "carried", "wrong", "empty", "unreadable", "excused"]
"""Of a blank. right: with the true numbers, within the tolerance; carried: with the student's own earlier numbers;
unreadable: something stands there that is no number; excused: it counts neither for nor against."""


class Record(BaseModel):
    """A part of the file: nothing in it is left unsaid, and nothing unknown stands there."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Mark(Record):
    """What a student gets for one blank.

    Attributes:
        points: the share of the blank's weight, 0 to 1, after every cap of the grading policy.
        why: one sentence for the student, without the answer.
        misconception: the name of the known misconception that gives the student's number; None if there is none.
        says: what that misconception is, in a sentence.
        given: what stood in the blank's cells; None for an empty one, and for what is no number.
        right: of a blank of several cells, how many of them are right or carried.
        came_from: the ids of the earlier blanks from which a carried mark took its numbers.
        overridden: whether a line of `override.csv` has set it.
    """

    points: float = Field(ge=0, le=1)
    status: Status
    why: str = ""
    misconception: str | None = None
    says: str = ""
    given: list[float | None] = []
    right: int = 0
    came_from: list[str] = []
    overridden: bool = False


class Flag(Record):
    """Something that a teacher may want to look at; never a verdict.

    Attributes:
        kind: in a few words, the same for all flags of a sort. says: one sentence.
        students: the ids of those whom it is about. files: the files, as they were handed in.
    """

    kind: str
    says: str
    students: list[str] = []
    files: list[str] = []


class Result(Record):
    """One student.

    Attributes:
        file: what is marked, as its platform called it; None where nothing was handed in.
        stored: the same below the folder of results. participant: the platform's number in the name of its folder.
        attempt, attempts: which of how many files of this student is marked.
        submitted: the platform's time. late: days after the deadline, 0 in time. penalty: the share that is lost by it.
        marks: by the id of a blank. raw: the total before the penalty; total: after it; both None where nothing is marked.
        refused: why the file could not be read, one sentence.
    """

    student: str
    name: str = ""
    email: str = ""
    variant: str = ""
    file: str | None = None
    stored: str | None = None
    participant: str | None = None
    attempt: int = 0
    attempts: int = 0
    submitted: datetime | None = None
    late: float = 0.0
    penalty: float = 0.0
    marks: dict[str, Mark] = {}
    raw: float | None = None
    total: float | None = None
    refused: str = ""


class Marked(Record):
    """A blank, as results know it: its id, title, sheet and cells, weight after the grading policy, and what it asks for.

    words: the title as one says it. hint: where to look again, for those whose mistake is not known; neither holds an answer.
    """

    id: str
    title: str
    words: str = ""
    hint: str = ""
    sheet: str = ""
    cells: list[str] = []
    weight: float = 1.0
    asks: str = "number"


class Results(Record):
    """A class: its assignment, its blanks, a result for each student of the key, in the key's order, and what was flagged.

    points: what all blanks together are worth; totals lie between 0 and that.
    """

    version: Literal[1] = 1
    assignment: str
    points: float
    blanks: list[Marked]
    results: list[Result]
    flags: list[Flag] = []

    def of(self, student: str) -> Result | None:
        """Returns the result of a student, None for an id that is not in the key."""
        return next((each for each in self.results if each.student == student), None)

    def save(self, folder: Path) -> Path:
        """Writes `results.json` into a folder, whole or not at all, and returns its path."""
        path = folder / FILE
        with saved_whole(path) as unfinished:
            unfinished.write_text(self.model_dump_json(indent=1), encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Reads `results.json`, or that of a folder. Raises ClassError in a sentence for what is none."""
        path = path / FILE if path.is_dir() else path
        raw = bytes_of(path, "results", LARGEST, "name a folder that `class grade` has written")
        try:
            return cls.model_validate_json(raw)
        except ValidationError as error:
            where, says, _ = first_fault(error)
            fault = unquoted(": ".join(filter(None, (where, says))), 120)
            raise ClassError(f"{path} holds no results: {fault}; grade again, or take an older copy") from None
