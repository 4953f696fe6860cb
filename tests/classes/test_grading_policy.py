"""What marks come to: weights, lateness, attempts, overrides; and what is refused in a sentence."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from blueprint.classes import ClassError
from blueprint.classes.grading import Handed, flags_of, total_of
from blueprint.classes.grading_policy import GradingPolicy, Late, read_overrides, read_policy, schema, times_in
from blueprint.classes.key import Key, KeyBlank, KeyStudent
from blueprint.classes.results import Mark, Result, Results
from blueprint.classes.results_folder import changes
from blueprint.classes.submissions_folder import Stored
from blueprint.classes.worker import Worked
from tests.commands import run_command


def _key() -> Key:
    """Makes a key of two blanks and three students; nothing is computed with it."""
    blanks = [
        KeyBlank(
            id=f"b{i:02}", title=f"height@t={i}", block="height", cells=[[i]], sheet="S", addresses=["A1"], decimals=4
        )
        for i in (1, 2)
    ]
    students = [
        KeyStudent(
            id=id, name=f"Name {id}", variant=f"{i:08x}", token=f"t{id}", file=f"{id}.xlsx", sha256="0" * 64, typed={},
            answers={"b01": [0.5 + i], "b02": [1.25 + i]},
        )
        for i, id in enumerate(("1", "2", "3"))
    ]  # fmt: skip
    given: dict[str, Any] = {
        "assignment": "hw1",
        "seed": 1,
        "secret": "5a" * 32,
        "level": 1,
        "kind": "toy",
        "numbers": "",
    }
    return Key(**given, blanks=blanks, students=students)


KEY = _key()
WHOLE = """
points = 20
attempts = "best"
constants = 0.5
[weights]
"height@t=2" = 3
[tolerance]
b01 = 0.01
[carried]
cap = 0.8
[late]
due = 2026-03-06T23:59:00+01:00
grace_minutes = 10
per_day = 0.1
most = 0.25
[[excused]]
student = "2"
blank = "b01"
why = "was ill"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_policy_says_what_marks_come_to(tmp_path: Path) -> None:
    policy = read_policy(written(tmp_path, WHOLE), KEY)
    marks = {"b01": Mark(points=1, status="right"), "b02": Mark(points=0.5, status="carried")}
    assert total_of(marks, KEY, policy) == 12.5  # 1 · 1 and 3 · ½, of 4, times 20
    excused = {"b01": Mark(points=0, status="excused"), "b02": Mark(points=0.5, status="carried")}
    assert total_of(excused, KEY, policy) == 10
    assert total_of({"b01": excused["b01"]}, KEY, policy) is None
    assert total_of(marks, KEY, read_policy(None, KEY)) == 1.5
    assert policy.excuses("2", "b01") is not None
    assert policy.excuses("2", "b02") is None


@pytest.mark.parametrize(
    ("submitted", "days", "lost"),
    [
        ("2026-03-06T23:59:00+01:00", 0, 0),
        ("2026-03-07T00:09:00+01:00", 0, 0),
        ("2026-03-06T23:09:00+00:00", 0, 0),
        ("2026-03-07T00:10:00+01:00", 1 / 1440, 0.1),
        ("2026-03-08T00:09:00+01:00", 1, 0.1),
        ("2026-03-08T12:09:00", 1.5, 0.2),
        ("2026-03-20T00:09:00+01:00", 13, 0.25),
    ],
)
def test_a_day_that_has_begun_costs_whole_up_to_the_most(
    tmp_path: Path, submitted: str, days: float, lost: float
) -> None:
    late = read_policy(written(tmp_path, WHOLE), KEY).late
    assert late is not None
    found = late.days(datetime.fromisoformat(submitted))
    assert found == pytest.approx(days)
    assert late.penalty(found) == pytest.approx(lost)
    naive = Late(due=datetime(2026, 3, 6), grace_minutes=0, per_day=0.1, most=1)
    assert naive.days(datetime.fromisoformat("2026-03-07T00:00:00+05:00")) == 1


@pytest.mark.parametrize("year", [1, 9999])
@pytest.mark.parametrize("zone", ["", "+14:00", "-12:00"])
def test_the_largest_grace_and_any_year_come_to_a_number(tmp_path: Path, year: int, zone: str) -> None:
    text = f"[late]\ndue = {year:04}-12-31T23:59:00{zone}\ngrace_minutes = 1e6\nper_day = 1"
    late = read_policy(written(tmp_path, text), KEY).late
    assert late is not None
    assert late.penalty(late.days(datetime(2026, 1, 1))) == (year == 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("weight = 1", "weight: it is unknown; known are points, weights, tolerance"),
        ("[carried]\ncap = 2", "carried.cap: Input should be less than or equal to 1"),
        (
            "[weights]\nb09 = 1",
            "grading policy, weights: the key has no blank b09; write an id, b01 to b02, or a title",
        ),
        ('[[excused]]\nstudent = "9"', "student 9: the key has none of that id"),
        ("points = ", "is no TOML"),
        ("[weights]\nb01 = nan", "weights.b01: Input should be"),
        ("[weights]\nb01 = 1e308\nb02 = 1e308", "weights.b01: Input should be less than or equal to 1000000000"),
        (f"points = 1{'0' * 400}", "points: Input should be"),
        (
            "[late]\ndue = 2026-03-06\ngrace_minutes = 1e300",
            "late.grace_minutes: Input should be less than or equal to",
        ),
    ],
)
def test_a_wrong_policy_is_refused_in_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ClassError) as refused:
        read_policy(written(tmp_path, text), KEY)
    assert says in str(refused.value)


def test_the_schema_knows_every_key() -> None:
    printed = json.loads(run_command("class", "grade", "--schema").output)
    assert printed == schema()
    jsonschema.validate({"points": 3, "late": {"due": "2026-03-06T23:59:00"}, "weights": {"b01": 2}}, printed)
    wrongs: list[dict[str, Any]] = [{"weight": 1}, {"carried": {"cap": 2}}, {"attempts": "all"}, {"late": {}}]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, printed)
    assert set(printed["properties"]) == set(GradingPolicy.model_fields)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1,b09,1,", "row 2: the key has no blank b09; write an id, b01 to b02, or a title"),
        ("1,b01,1.5,", "row 2: the mark is 1.5; write a share of the blank's points, 0 to 1"),
        ("1,b01,much,", "row 2: mark: found 'much', expected a number"),
        ("9,b01,1,", "student 9: the key has none of that id"),
    ],
)
def test_a_wrong_override_is_refused_with_its_row(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "override.csv"
    path.write_text(f"student,blank,mark,why\n{line}\n", encoding="utf-8")
    with pytest.raises(ClassError) as refused:
        read_overrides(path, KEY)
    assert says in str(refused.value)


def test_overrides_are_shares_or_percentages_and_ids_or_titles(tmp_path: Path) -> None:
    path = tmp_path / "override.csv"
    path.write_text("student;blank;mark;why\n1;b01;0,5;\n2;height@t=2;75 %;asked\n", encoding="utf-8")
    assert [each[:3] for each in read_overrides(path, KEY).marks] == [("1", "b01", 0.5), ("2", "b02", 0.75)]
    assert read_overrides(tmp_path / "none.csv", KEY).marks == ()


def test_times_are_read_by_student(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("Student,Submitted\n1,2026-03-06T12:00+01:00\n2,\n", encoding="utf-8")
    assert times_in(path, KEY) == {"1": datetime.fromisoformat("2026-03-06T12:00+01:00")}
    path.write_text("student,submitted\n1,yesterday\n", encoding="utf-8")
    with pytest.raises(ClassError, match="row 2: found the time yesterday; write it as"):
        times_in(path, KEY)


def _result(student: str, *numbers: float, **mark: Any) -> Result:
    marks = {f"b0{i}": Mark(points=0, status="wrong", given=[x], **mark) for i, x in enumerate(numbers, 1)}
    return Result(student=student, marks=marks)


def _handed(student: str, name: str, saved_by: str) -> Handed:
    stored = Stored(names=[name], sha256="0", stored=name)
    return Handed(stored, Worked({"name": "t"}, (student,), {}, saved_by=("RLHF Blueprint", saved_by)))


def test_the_same_wrong_number_is_flagged_unless_it_says_nothing() -> None:
    results = [_result("1", 7.7123, 2.0), _result("2", 7.7123, 2.0), _result("3", 7.7124, 2.0)]
    (flag,) = flags_of(KEY, [], results)
    assert (flag.kind, flag.students) == ("identical wrong numbers", ["1", "2"])  # 2.0 may well be chance
    assert flag.says == "the same wrong number in b01 (7.7123)"
    explained = [_result(id, 7.7123, misconception="sign", says="the sign is turned") for id in ("1", "2")]
    assert flags_of(KEY, [], explained) == []


def test_who_saves_the_files_of_others_is_flagged_and_programs_are_not() -> None:
    files = [_handed("1", "a", "Name 2"), _handed("2", "b", "Name 2"), _handed("3", "c", "LibreOffice")]
    (flag,) = flags_of(KEY, files, [])
    assert (flag.kind, flag.students, flag.files) == ("saved by another", ["1", "2"], ["a", "b"])
    assert flags_of(KEY, [_handed(id, id, "openpyxl") for id in "123"], []) == []
    assert flags_of(KEY, [_handed("2", "b", "Name 2")], []) == []


def test_a_foreign_token_is_told_by_what_is_foreign() -> None:
    def foreign(token: str) -> str:
        worked = Worked({"name": token})
        (flag,) = flags_of(KEY, [Handed(Stored(names=["a"], sha256="0", stored="a"), worked)], [])
        assert flag.kind == "foreign token"
        return flag.says

    assert "is of the assignment hw2, and this is hw1" in foreign("v1.hw2.0a0a0a0a.0b0b0b0b.0c0c0c0c")
    assert "was not made with this key" in foreign("v1.hw1.0a0a0a0a.0b0b0b0b.0c0c0c0c")


def test_who_changes_is_said_with_the_blank_and_why() -> None:
    def of(total: float | None, points: float) -> Results:
        mark = Mark(points=points, status="right" if points else "wrong", why="set by hand")
        return Results(
            assignment="hw1", points=2, blanks=[], results=[Result(student="1", marks={"b01": mark}, total=total)]
        )

    (changed,) = changes(of(0, 0), of(1, 1))
    assert str(changed) == "1: 0 → 1: b01 wrong 0 → right 1 (set by hand)"
    assert list(changes(of(1, 1), of(1, 1))) == []
