"""What Canvas and Moodle do with a file that is uploaded: their importers' rules in Python, written from their sources.

Canvas: lib/gradebook_importer.rb and app/models/assignment.rb of github.com/instructure/canvas-lms. Moodle:
mod/assign/feedback/offline/{importgradeslib,locallib}.php and mod/assign/feedback/file/importziplib.php of
github.com/moodle/moodle. Nothing of the package is used here.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path


@dataclass
class Canvas:
    """A course: assignments by their ids (title, whether it is published), students by theirs (name, SIS id, login)."""

    assignments: dict[int, str]
    students: dict[int, tuple[str, str, str]]
    custom: tuple[str, ...] = ()
    grades: dict[tuple[int, int], str] = field(default_factory=dict)
    new_assignments: list[str] = field(default_factory=list)
    new_students: list[str] = field(default_factory=list)

    def upload(self, raw: bytes) -> None:
        """Reads a gradebook; raises ValueError("Invalid header row")."""
        text = raw.decode("utf-8")
        delimiter = ";" if _semicolons(text) else ","
        lines = "".join(
            line for line in text.splitlines(keepends=True) if not re.fullmatch("[;, ]+", line.strip("\r\n"))
        )
        rows = [[*map(_period, row)] for row in csv.reader(io.StringIO(lines, newline=""), delimiter=delimiter)]
        header, *rows = rows
        columns, skipped = self._columns(header)
        points: list[str] = []
        for row in rows:
            if "Points Possible" in row[0]:
                points = row
            elif not all(re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", cell, re.I) for cell in row if cell):
                self._student(
                    row,
                    header,
                    {c: a for c, a in columns.items() if "read only" not in (points + [""] * 99)[c]},
                    skipped,
                )

    def _columns(self, header: list[str]) -> tuple[dict[int, int], int]:
        apart = header[0] == "LastName" and header[1] == "FirstName"
        named = len(header) > 3 and "Student" in header[0] and "ID" in header[1]
        if not (
            named or (len(header) > 4 and "LastName" in header[0] and "FirstName" in header[1] and "ID" in header[2])
        ):
            raise ValueError("Invalid header row")
        count = first = 4 if apart else 3
        if re.search(r"SIS\s+Login\s+ID", header[first - 1]):
            count += 1
        elif re.search(r"SIS\s+User\s+ID", header[first - 1]) and re.search(r"SIS\s+Login\s+ID", header[first]):
            integration = bool(re.search(r"Integration\s+ID", header[first + 1]))
            count += 2 + integration
            count += bool(re.search(r"Root\s+Account", header[first + 1 + integration]))
        if "Section" not in header[count - 1]:
            raise ValueError("Invalid header row")
        totals = "Current Score|Current Points|Current Grade|Final Score|Final Points|Final Grade|Override Score|Override Grade"
        found = {}
        for column, head in enumerate(header[count:], count):
            if re.search(totals + "|Override Status", head) or head in self.custom:
                continue
            parts = re.fullmatch(r"(.*)\s\((\d+)\)", head)
            number = int(parts[2]) if parts and int(parts[2]) in self.assignments else None
            number = number or next((each for each, title in self.assignments.items() if title == head), None)
            if number is None:
                self.new_assignments.append(head)
            else:
                found[column] = number
        return found, count

    def _student(self, row: list[str], header: list[str], columns: dict[int, int], count: int) -> None:
        apart = header[0] == "LastName"
        number = row[2 if apart else 1]
        student = int(number) if number.isdigit() and int(number) in self.students else None
        for head, place in (("SIS User ID", 1), ("SIS Login ID", 2)):
            if student is None and head in header[:count] and (said := row[header.index(head)]):
                student = next((each for each, known in self.students.items() if known[place] == said), None)
        if student is None:
            name = f"{row[1]} {row[0]}".strip() if apart else row[0]
            student = next((each for each, known in self.students.items() if known[0] == name), None)
        if student is None:
            self.new_students.append(row[0])
            return
        for column, assignment in columns.items():
            self.grades[student, assignment] = row[column].strip() if column < len(row) else ""


def _semicolons(text: str) -> bool:
    lines = text.splitlines()[:3]
    counts = {}
    for sign in ";,":
        sizes = [len(next(csv.reader([line], delimiter=sign), [])) for line in lines]
        counts[sign] = sizes[0] if len(set(sizes)) == 1 else 0
    return counts[";"] > counts[","]


def _period(cell: str) -> str:
    if not re.fullmatch(r"-?[0-9.,]+%?", cell):
        return cell
    *rest, last = re.split("[,.]", cell)
    return f"{''.join(rest)}.{last}" if rest else last


@dataclass
class Moodle:
    """An assignment: its maximum grade, participants by number, grades with the time at which they were given."""

    maximum: float
    participants: dict[int, str]
    graded: dict[int, tuple[float, datetime]] = field(default_factory=dict)
    comments: dict[int, str] = field(default_factory=dict)
    files: dict[int, dict[str, bytes]] = field(default_factory=dict)

    def upload(self, raw: bytes, delimiter: str = ",", decimal: str = ".") -> int:
        """Reads a grading worksheet; returns how many grades changed. Raises ValueError where a column is lacking."""
        header, *rows = csv.reader(
            io.StringIO(raw.decode("utf-8").removeprefix("\ufeff"), newline=""), delimiter=delimiter
        )
        if any(len(row) != len(header) for row in rows):
            raise ValueError("csvweirdcolumns")
        if not {"Identifier", "Grade", "Last modified (grade)"} <= {*header}:
            raise ValueError("invalidgradeimport")
        changed = 0
        for row in rows:
            record = dict(zip(header, row, strict=True))
            number = int(record["Identifier"][len("Participant ") :])
            if number in self.participants:
                changed += self._row(number, record, decimal)
        return changed

    def _row(self, number: int, record: dict[str, str], decimal: str) -> bool:
        before, when = self.graded.get(number, (None, None))
        modified = _strtotime(record["Last modified (grade)"])
        stale = when is not None and (modified is None or (when - modified).total_seconds() > 60)
        if not stale and "Feedback comments" in record:
            self.comments[number] = record["Feedback comments"]
        text = record["Grade"].replace(" ", "").replace(decimal, ".")
        if text in ("", "-") or stale:
            return False
        grade = float(re.match(r"-?\d*\.?\d*", text)[0] or 0)  # type: ignore[index]
        if grade == before or not 0 <= grade <= self.maximum:
            return False
        self.graded[number] = (grade, datetime(2026, 11, 22))
        return True

    def upload_zip(self, path: Path) -> None:
        """Reads a ZIP of feedback files."""
        with zipfile.ZipFile(path) as packed:
            for name in packed.namelist():
                self._file(name, packed.read(name))

    def _file(self, path: str, content: bytes) -> None:
        parts = ["", "import", *path.split("/")]
        if parts[-1].startswith((".", "~")) or not parts[-1]:
            return
        while parts:
            part, *parts = parts
            info = part.split("_", 4)
            if len(info) < 4 or not info[1].isdigit() or int(info[1]) not in self.participants:
                continue
            if (info[2], info[3]) != ("assignsubmission", "file"):
                continue
            self.files.setdefault(int(info[1]), {})["/".join([*info[4:], *parts]).lstrip("/")] = content
            return


def _strtotime(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%A, %d %B %Y, %I:%M %p")
    except ValueError:
        return None
