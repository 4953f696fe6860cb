"""A gradebook that was exported from Canvas comes back with one column filled, as Canvas's own importer reads it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from blueprint.classes import ClassError
from blueprint.classes.platforms import Filled, Gradebook
from tests.classes.importers import Canvas
from tests.classes.made import EXCUSED, RIGHT, WRONG, result, results

HEAD = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Notes", "HW 0 (70)", "hw1 (71)", "Final Score"]
ROWS = [
    ["    Points Possible", "", "", "", "", "", "5.00", "10.00", "(read only)"],
    ["Ångström, Bo", "901", "4711", "bo@x.se", "A, B", "asked for −, EX", "4.50", "", "45.00"],
    ["Doe, Jane", "902", "4712", "jd", "A", "", "-", "3.00", ""],
    ['O\'Neil, "Al"', "903", "4713", "al", "A", "", "", "2.00", ""],
    ['="=Eve"', "904", "4714", "eve", "A", "", "1.00", "", ""],
    ["Late, Ann", "905", "4715", "ann", "A", "", "", "7.00", ""],
    ["Student, Test", "906", "", "test", "A", "", "", "", ""],
]
COURSE = {int(row[1]): (row[0], row[2], row[3]) for row in ROWS[1:]}
CLASS = results(
    result("4714", "=Eve", 4, RIGHT, RIGHT),
    result("4711", "Bo Ångström", 1, RIGHT, WRONG),
    result("4712", "Jane Doe", None),
    result("4713", "Al O'Neil", None, EXCUSED, EXCUSED),
    result("4715", "Ann Late", 2.123, RIGHT, RIGHT),
    result("9999", "Nobody", 4, RIGHT, RIGHT),
)


def gradebook(rows: list[list[str]], delimiter: str = ",", bom: bool = False) -> bytes:
    page = io.StringIO(newline="")
    csv.writer(page, delimiter=delimiter).writerows(rows)
    return (("\ufeff" if bom else "") + page.getvalue()).encode()


def fill(tmp_path: Path, raw: bytes, column: str | None = None) -> tuple[Filled, bytes]:
    (tmp_path / "in.csv").write_bytes(raw)
    done = Gradebook(tmp_path / "in.csv", CLASS.assignment, column).filled(CLASS)
    done.save(tmp_path / "out.csv")
    return done, (tmp_path / "out.csv").read_bytes()


def uploaded(raw: bytes) -> Canvas:
    course = Canvas({70: "HW 0", 71: "hw1"}, COURSE, custom=("Notes",))
    course.upload(raw)
    assert (course.new_assignments, course.new_students) == ([], [])
    return course


def test_one_column_is_filled_and_all_else_is_as_it_was(tmp_path: Path) -> None:
    done, out = fill(tmp_path, gradebook([HEAD, *ROWS]))
    rows = [*csv.reader(io.StringIO(out.decode(), newline=""))]
    assert [row[7] for row in rows] == ["hw1 (71)", "10.00", "2.50", "3.00", "EX", "10.00", "5.31", ""]
    assert [row[:7] + row[8:] for row in rows] == [row[:7] + row[8:] for row in [HEAD, *ROWS]]
    assert (done.filled, done.column) == (4, "hw1 (71)")
    assert done.said == ["1 students of the key stand in no row of the platform's file: 9999"]


@pytest.mark.parametrize("bom", [False, True])
@pytest.mark.parametrize("comma", [False, True])
def test_canvas_reads_the_scores_and_nothing_else_changes(tmp_path: Path, comma: bool, bom: bool) -> None:
    rows = [[cell.replace(".", ",") if comma and cell[:1].isdigit() else cell for cell in row] for row in ROWS]
    before, raw = uploaded(gradebook([HEAD, *ROWS])), gradebook([HEAD, *rows], ";" if comma else ",", bom)
    _, out = fill(tmp_path, raw)
    after = uploaded(out)
    changed = {key: grade for key, grade in after.grades.items() if before.grades[key] != grade}
    assert changed == {(901, 71): "2.50", (903, 71): "EX", (904, 71): "10.00", (905, 71): "5.31"}
    assert out.startswith("\ufeff".encode()) == bom
    assert (b";" in out.splitlines()[0]) == comma


@pytest.mark.parametrize("roster", ["ID", "SIS Login ID", "e-mail", "name"])
def test_students_are_found_by_the_column_that_the_roster_has(tmp_path: Path, roster: str) -> None:
    place = {"ID": 1, "SIS Login ID": 3}
    ids = {row[2]: row[place[roster]] if roster in place else f"x{row[2]}" for row in ROWS[1:]}
    mails = {row[2]: row[3].upper() if roster == "e-mail" else "" for row in ROWS[1:]}
    changed = [
        each.model_copy(update={"student": ids[each.student], "email": mails[each.student]})
        for each in CLASS.results if each.student in ids
    ]  # fmt: skip
    (tmp_path / "in.csv").write_bytes(gradebook([HEAD, *ROWS]))
    known = CLASS.model_copy(update={"results": changed})
    Gradebook(tmp_path / "in.csv", known.assignment).filled(known).save(tmp_path / "out.csv")
    after = uploaded((tmp_path / "out.csv").read_bytes())
    assert [after.grades[number, 71] for number in (901, 903, 904, 905)] == ["2.50", "EX", "10.00", "5.31"]


def test_a_number_that_is_somebody_elses_in_another_column_does_no_harm(tmp_path: Path) -> None:
    rows = [["Points Possible", "", "", "", "", "4"], ["A", "2", "1", "a", "S", ""], ["B", "1", "2", "b", "S", ""],
            ["C", "7", "3", "c", "S", ""]]  # fmt: skip
    (tmp_path / "in.csv").write_bytes(
        gradebook([["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "hw1 (71)"], *rows])
    )
    of = results(*(result(str(n), "", n, RIGHT, RIGHT) for n in (1, 2, 3)))
    done = Gradebook(tmp_path / "in.csv", of.assignment).filled(of)
    assert [row[5] for row in done.table.rows[2:]] == ["1.00", "2.00", "3.00"]


@pytest.mark.parametrize("column", ["71", "hw1", "hw1 (71)", "HW-1", None])
def test_the_assignment_is_named_by_number_or_title(tmp_path: Path, column: str | None) -> None:
    assert fill(tmp_path, gradebook([HEAD, *ROWS]), column)[0].column == "hw1 (71)"


@pytest.mark.parametrize(
    ("change", "column", "says"),
    [
        ({}, "72", "the gradebook has 0 columns for 72: name one by its number or title with --canvas-column, of HW 0"),
        ({6: "hw1 (70)"}, None, "the gradebook has 2 columns for hw1"),
        ({7: "HW 2 (71)"}, None, "the gradebook has 0 columns for hw1"),
        ({0: "Name"}, None, "the header Name, ID, SIS User ID, SIS Login ID is not that of a gradebook"),
        ({4: "Group"}, None, "is not that of a gradebook"),
        ({}, "Final Score", "has 0 columns"),
    ],
)
def test_an_unclear_column_is_refused(tmp_path: Path, change: dict[int, str], column: str | None, says: str) -> None:
    with pytest.raises(ClassError) as refused:
        fill(tmp_path, gradebook([[change.get(n, head) for n, head in enumerate(HEAD)], *ROWS]), column)
    assert says in str(refused.value)
    assert not (tmp_path / "out.csv").exists()


def test_what_canvas_would_not_take_is_refused(tmp_path: Path) -> None:
    closed = [[*ROWS[0][:7], "(read only)", ""], *ROWS[1:]]
    with pytest.raises(ClassError, match="read-only, and Canvas would pass it over"):
        fill(tmp_path, gradebook([HEAD, *closed]))
    with pytest.raises(ClassError, match="student 4711 stands in two rows"):
        fill(tmp_path, gradebook([HEAD, *ROWS, ROWS[1]]))


def test_a_student_to_whom_it_is_not_assigned_and_hidden_rows_are_left_alone(tmp_path: Path) -> None:
    rows = [["", "", "", "", "", "", "", "Manual Posting", ""], *ROWS[:5], [*ROWS[5][:7], "N/A", ""]]
    done, out = fill(tmp_path, gradebook([HEAD, *rows]))
    assert done.table.rows[-1][7] == "N/A"
    assert [row[7] for row in done.table.rows[1:3]] == ["Manual Posting", "10.00"]
    assert uploaded(out).grades[901, 71] == "2.50"


def test_names_that_are_formulas_come_back_harmless_and_are_found_by_their_number(tmp_path: Path) -> None:
    done, out = fill(
        tmp_path, gradebook([HEAD, *ROWS[:-1], ["=cmd|' /C calc'!A0", "906", "9999", "x", "A", "", "", "", ""]])
    )
    assert uploaded(out).grades[906, 71] == "10.00"
    assert b"\n'=cmd" in out
    assert done.said == ["1 cells that a spreadsheet would compute begin with an apostrophe now"]


def test_who_is_excused_in_the_gradebook_stays_so_whatever_was_handed_in(tmp_path: Path) -> None:
    rows = [list(row) for row in ROWS]
    rows[1][7] = "EX"
    _, out = fill(tmp_path, gradebook([HEAD, *rows]))
    found = [*csv.reader(io.StringIO(out.decode(), newline=""))]
    assert (found[2][7], found[5][7]) == ("EX", "10.00")
