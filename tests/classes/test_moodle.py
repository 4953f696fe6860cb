"""Moodle's grading worksheet and the ZIP of feedback files, as Moodle's own importers read them."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path

import pytest

from blueprint.classes import ClassError
from blueprint.classes.platforms import Filled, GradingWorksheet, feedback_zip
from blueprint.classes.results import Results
from tests.classes.importers import Moodle
from tests.classes.made import EXCUSED, RIGHT, WRONG, result, results

NEVER, GRADED = "-", "Friday, 20 November 2026, 9:00 AM"
SENT = "Thursday, 19 November 2026, 11:59 PM"
HEAD = ["Identifier", "Full name", "ID number", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed",
        "Last modified (submission)", "Online text", "Last modified (grade)", "Feedback comments"]  # fmt: skip
ROWS = [
    ["Participant 11", "Bo Ångström", "4711", "bo@x.se", "Submitted", "", "10.00", "Yes", SENT, "", NEVER, ""],
    ["Participant 12", "Jane Doe", "4712", "jd@x.se", "No submission", "", "10.00", "Yes", "-", "", NEVER, ""],
    [
        "Participant 13",
        "Al_O/Neil",
        "4713",
        "al@x.se",
        "Submitted",
        "7.00",
        "10.00",
        "Yes",
        SENT,
        "=1+1",
        GRADED,
        "old",
    ],
    ["Participant 14", "=Eve", "4714", "eve@x.se", "Submitted", "", "10.00", "No", SENT, "a\nb", NEVER, ""],
    ["Participant 15", "Twin, A", "", "", "Submitted", "", "10.00", "Yes", SENT, "", NEVER, ""],
]
CLASS = results(
    result("4713", "Al O'Neil", 4, RIGHT, RIGHT, penalty=0.1),
    result("4711", "Bo Ångström", 1, RIGHT, WRONG),
    result("4712", "Jane Doe", None),
    result("4714", "Eve", 4, RIGHT, RIGHT),
    result("s5", "A Twin", 2, WRONG, RIGHT),
)


def worksheet(rows: list[list[str]], head: list[str] = HEAD, delimiter: str = ",") -> bytes:
    page = io.StringIO(newline="")
    csv.writer(page, delimiter=delimiter).writerows([head, *rows])
    return ("\ufeff" + page.getvalue()).encode()


def fill(folder: Path, of: Results = CLASS) -> Filled:
    """Fills in.csv of a folder in, as out.csv."""
    done = GradingWorksheet(folder / "in.csv").filled(of)
    done.save(folder / "out.csv")
    return done


def course() -> Moodle:
    names = {int(row[0].split()[1]): row[1] for row in ROWS}
    return Moodle(10, names, {13: (7.0, datetime(2026, 11, 20, 9, 0, 30))}, {13: "old"})


def test_moodle_reads_the_grades_and_comments(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(worksheet(ROWS))
    done = fill(tmp_path)
    read = course()
    assert read.upload((tmp_path / "out.csv").read_bytes()) == 3
    assert {number: grade for number, (grade, _) in read.graded.items()} == {11: 2.5, 13: 10.0, 15: 5.0}
    assert read.comments == {
        11: "1 of 4 points: 1 right, 1 wrong", 12: "", 13: "4 of 4 points: 2 right; 10% less for being late", 14: "",
        15: "2 of 4 points: 1 right, 1 wrong",
    }  # fmt: skip
    assert done.filled == 3
    assert "grades that Moodle has locked are left as they were: 4714" in done.said
    kept = [place for place, head in enumerate(HEAD) if head not in ("Grade", "Feedback comments")]
    changed = {
        row[place]
        for row, old in zip(done.table.rows[1:], ROWS, strict=True)
        for place in kept
        if row[place] != old[place]
    }
    assert changed == set()
    assert b",=" not in (tmp_path / "out.csv").read_bytes()


@pytest.mark.parametrize("cells", range(1, len(HEAD)))
def test_short_rows_end_in_empty_cells(tmp_path: Path, cells: int) -> None:
    """A spreadsheet leaves out what is empty at the end of a row; the grade and the comment stand where they belong."""
    short = [ROWS[0][:cells], *ROWS[1:]]
    (tmp_path / "in.csv").write_bytes(worksheet(short))
    done = fill(tmp_path)
    assert {len(row) for row in done.table.rows} == {len(HEAD)}
    assert GradingWorksheet(tmp_path / "in.csv").participants(CLASS).keys() >= {"4712", "4713"}
    assert isinstance(GradingWorksheet(tmp_path / "in.csv").times(), dict)


@pytest.mark.parametrize("most", ["nan", "inf", "1e999", "1e308", ""])
def test_a_largest_grade_that_is_no_number_is_passed_over(tmp_path: Path, most: str) -> None:
    place = HEAD.index("Maximum Grade")
    rows = [[*row[:place], most, *row[place + 1 :]] for row in ROWS]
    (tmp_path / "in.csv").write_bytes(worksheet(rows))
    done = fill(tmp_path)
    grade = done.table.rows[1][HEAD.index("Grade")]
    assert float(grade) == (1 if most != "1e308" else pytest.approx(0.25e308))


def test_decimal_commas_and_semicolons_are_kept(tmp_path: Path) -> None:
    rows = [[cell.replace("10.00", "10,00").replace("7.00", "7,00") for cell in row] for row in ROWS]
    (tmp_path / "in.csv").write_bytes(worksheet(rows, delimiter=";"))
    fill(tmp_path)
    read = course()
    assert read.upload((tmp_path / "out.csv").read_bytes(), ";", ",") == 3
    assert read.graded[11][0] == 2.5


def test_what_moodle_graded_since_then_stays(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(worksheet(ROWS))
    fill(tmp_path)
    read = course()
    read.graded[13] = (8.0, datetime(2026, 11, 20, 9, 5))
    read.upload((tmp_path / "out.csv").read_bytes())
    assert (read.graded[13][0], read.comments[13]) == (8.0, "old")


def test_excused_students_get_no_grade(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(worksheet(ROWS))
    done = fill(tmp_path, results(result("4711", "", 0, EXCUSED, EXCUSED)))
    assert (done.filled, done.table.rows[1][5]) == (0, "")
    assert done.said[-1] == "Moodle knows no excused grade, so that none is given to 4711"


@pytest.mark.parametrize("lost", ["Identifier", "Grade", "Last modified (grade)"])
def test_what_moodle_would_refuse_is_refused(tmp_path: Path, lost: str) -> None:
    place = HEAD.index(lost)
    cut = [[*row[:place], *row[place + 1 :]] for row in [HEAD, *ROWS]]
    (tmp_path / "in.csv").write_bytes(worksheet(cut[1:], cut[0]))
    with pytest.raises(ClassError) as refused:
        fill(tmp_path)
    assert f"has no column {lost}, and Moodle would refuse it: download it in Moodle" in str(refused.value)
    with pytest.raises(ValueError, match="invalidgradeimport"):
        course().upload(worksheet(cut[1:], cut[0]))


def test_a_student_whom_no_column_tells_is_found_by_the_number_of_the_folder(tmp_path: Path) -> None:
    head, rows = [HEAD[0], *HEAD[5:]], [[row[0], *row[5:]] for row in ROWS]
    (tmp_path / "in.csv").write_bytes(worksheet(rows, head))
    done = fill(tmp_path, results(result("4711", "", 1, RIGHT, WRONG, participant="11")))
    assert done.rows == {"4711": 1}


def test_feedback_files_reach_their_students(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(worksheet(ROWS))
    who = GradingWorksheet(tmp_path / "in.csv").participants(CLASS)
    assert {student: each.number for student, each in who.items()} == {
        "4711": "11",
        "4712": "12",
        "4713": "13",
        "4714": "14",
        "s5": "15",
    }
    feedback_zip(tmp_path / "f.zip", [(who[each], {"feedback.html": each.encode(), ".x.xlsx": b""}) for each in who])
    read = course()
    read.upload_zip(tmp_path / "f.zip")
    assert {number: files["feedback.html"].decode() for number, files in read.files.items()} == {
        11: "4711", 12: "4712", 13: "4713", 14: "4714", 15: "s5",
    }  # fmt: skip
    assert {*read.files[11]} == {"feedback.html", "x.xlsx"}


def test_times_are_read_and_what_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(worksheet(ROWS))
    read = GradingWorksheet(tmp_path / "in.csv").times()
    assert read == dict.fromkeys(("11", "13", "14", "15"), datetime(2026, 11, 19, 23, 59))
    (tmp_path / "in.csv").write_bytes(
        worksheet([[each.replace("Thursday", "Donnerstag") for each in row] for row in ROWS])
    )
    with pytest.raises(ClassError, match="the time Donnerstag, 19 November 2026, 11:59 PM cannot be read"):
        GradingWorksheet(tmp_path / "in.csv").times()
