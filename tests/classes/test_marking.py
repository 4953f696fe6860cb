"""Marks: right within what the sheet shows, carried from the student's own numbers, wrong with the reason; the guard."""

from collections.abc import Mapping
from typing import Any

import pytest

from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.key import KeyStudent
from blueprint.classes.marking import Course, Marking, half_a_unit
from blueprint.classes.marks import marks_of
from blueprint.classes.results import Mark
from blueprint.classes.submission import Given
from tests.classes.handing_in import Asked, key_of, right

ASKED: list[Asked] = [
    ("td_errors", [(0, 4)], "number"),
    ("advantages", [(0, 4)], "number"),
    ("advantages", [(0, 3)], "number"),
    ("ratio", [(0, 4)], "number"),
    ("surrogate", [(0, 4)], "number"),
    ("td_errors", [(1, t) for t in range(3, 8)], "formula"),
]


@pytest.fixture(scope="module")
def course() -> Course:
    key = key_of("default", ASKED, {"1": {}, "2": {"gamma.yours": 0.9}})
    return Course(key, GradingPolicy.model_validate({}))


def marks(
    course: Course, given: Mapping[str, Any], policy: Mapping[str, Any] | None = None, student: int = 0
) -> dict[str, Mark]:
    """Returns the marks of a student who has some numbers otherwise than right."""
    who: KeyStudent = course.key.students[student]
    answers = right(course.key, who) | dict(given)
    cells = {id: [Given(None) if each is None else Given(each, "", "1") for each in row] for id, row in answers.items()}
    if policy is not None:
        course = Course(course.key, GradingPolicy.model_validate(policy).fitted(course.key))
    return marks_of(Marking(course, who, cells))


def answer(course: Course, id: str) -> float:
    return course.key.students[0].answers[id][0]


def test_what_the_sheet_shows_is_right_for_each_variant(course: Course) -> None:
    for student in range(2):
        found = marks(course, {}, student=student)
        assert {id: (mark.status, mark.points) for id, mark in found.items()} == dict.fromkeys(found, ("right", 1.0))


def test_nothing_and_no_number(course: Course) -> None:
    found = marks(course, {"b01": [None]})
    assert (found["b01"].status, found["b01"].points) == ("empty", 0)


def test_half_a_unit_of_the_last_digit_decides(course: Course) -> None:
    exact = answer(course, "b01")
    assert marks(course, {"b01": [exact + 0.00005]})["b01"].status == "right"
    assert marks(course, {"b01": [exact + 0.000051]})["b01"].status == "wrong"
    assert marks(course, {"b01": [exact + 0.009]}, {"tolerance": {"td_errors@1": 0.01}})["b01"].status == "right"
    assert half_a_unit(12.3, 4) == 0.00005
    assert half_a_unit(1.234e8, 4) == 5000


def advantage(course: Course, td_error: float) -> float:
    """Returns the advantage of position 5 that follows from another TD error there."""
    return answer(course, "b02") - answer(course, "b01") + td_error


def test_an_error_is_carried_forward(course: Course) -> None:
    wrong = answer(course, "b01") + 1
    given = {"b01": [wrong], "b02": [advantage(course, wrong)]}
    found = marks(course, given)
    assert found["b01"].status == "wrong"
    assert (found["b02"].status, found["b02"].points, found["b02"].came_from) == ("carried", 1.0, ["b01"])
    assert found["b02"].why == "right with the number in your blank 1, which is wrong"
    assert found["b03"].status == "right"
    assert marks(course, given, {"carried": {"cap": 0.8}})["b02"].points == 0.8
