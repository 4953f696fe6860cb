"""Marks: right within what the sheet shows, carried from the student's own numbers, wrong with the reason; the guard."""

from collections.abc import Mapping
from typing import Any

import pytest

from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.key import KeyStudent
from blueprint.classes.marking import Course, Marking, carried_from, half_a_unit, marks_of
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


def test_blanks_are_named_in_a_sentence() -> None:
    assert carried_from(["b04"]) == "right with the number in your blank 4, which is wrong"
    assert carried_from(["b04", "b05"]) == "right with the numbers in your blanks 4 and 5, which are wrong"
    assert carried_from(["b01", "b04", "b10"]) == "right with the numbers in your blanks 1, 4 and 10, which are wrong"


def test_a_chain_of_carried_errors_names_the_nearest(course: Course) -> None:
    wrong = answer(course, "b01") + 1
    second = advantage(course, wrong)
    third = answer(course, "b03") + (second - answer(course, "b02")) * decay(course)
    found = marks(course, {"b01": [wrong], "b02": [second], "b03": [third]})
    assert (found["b03"].status, found["b03"].came_from) == ("carried", ["b02"])


def decay(course: Course) -> float:
    """Returns γ·λ, by which an advantage reads the next one."""
    values = Marking(course, course.key.students[0], {}).true
    named = {block.name: block for block in values.arrays}
    return float(values[named["gamma"]]) * float(values[named["gae_lambda"]])


def test_rounding_of_ones_own_is_no_error(course: Course) -> None:
    """Who goes on with a rounded number is right, also where the sheet's own digits say otherwise."""
    tight = {"tolerance": {"b02": 1e-9}, "carried": {"cap": 0}}
    rounded = round(answer(course, "b01"), 4)
    found = marks(course, {"b01": [rounded], "b02": [advantage(course, rounded)]}, tight)
    assert rounded != answer(course, "b01")
    assert (found["b02"].status, found["b02"].points) == ("right", 1)


def test_nothing_is_carried_from_an_empty_blank(course: Course) -> None:
    found = marks(course, {"b01": [None], "b02": [advantage(course, 0)]})
    assert found["b02"].status == "wrong"
    assert found["b02"].why == "wrong; there is no number in your blank 1, on which it hangs"


@pytest.mark.parametrize(
    ("ratio", "says"),
    [
        (0.0, "there the step comes to 0, whatever it is"),
        (1.0, "there a minimum, a maximum or a choice falls otherwise"),
        (0.5, ""),
        (5.0, ""),
    ],
)
def test_a_number_that_makes_a_step_trivial_is_not_carried(course: Course, ratio: float, says: str) -> None:
    """The surrogate is the smaller of ratio · advantage and clipped ratio · advantage (0.71 is clipped there)."""
    used = answer(course, "b05") / answer(course, "b04")
    found = marks(course, {"b04": [ratio], "b05": [min(ratio, max(0.8, min(1.2, ratio))) * used]})
    assert found["b05"].status == ("wrong" if says else "carried")
    assert says in found["b05"].why
    free = {"carried": {"guard": False}}
    assert marks(course, {"b04": [ratio], "b05": [min(ratio, 1.2) * used]}, free)["b05"].status == "carried"


def test_a_clip_that_is_no_longer_reached_is_not_carried(course: Course) -> None:
    used = answer(course, "b05") / answer(course, "b04")
    found = marks(course, {"b04": [1.1], "b05": [1.1 * used]})
    assert found["b05"].status == "wrong"
    assert "a minimum, a maximum or a choice falls otherwise" in found["b05"].why


def test_a_clip_that_is_reached_only_now_is_carried() -> None:
    """The step has become longer: of two terms that were the same the smaller is the clipped one."""
    asked: list[Asked] = [("ratio", [(0, 3)], "number"), ("surrogate", [(0, 3)], "number")]
    course = Course(key_of("default", asked, {"1": {}}), GradingPolicy.model_validate({}))
    ratio, surrogate = answer(course, "b01"), answer(course, "b02")
    assert 0.8 < ratio < 1.2
    used = surrogate / ratio
    wrong = 1.5 if used > 0 else 0.5
    found = marks(course, {"b01": [wrong], "b02": [min(max(wrong, 0.8), 1.2) * used]})
    assert found["b02"].status == "carried"


def test_a_number_that_swallows_what_is_added_is_not_carried(course: Course) -> None:
    found = marks(course, {"b01": [-7e7], "b02": [-7e7]})["b02"]
    assert (found.status, found.points) == ("wrong", 0)
    assert "only repeats a number that it reads" in found.why


@pytest.mark.parametrize(
    ("more", "off", "status"), [(0, 9e-5, "carried"), (0, 1.1e-4, "wrong"), (1.2e-5, 9e-5, "wrong")]
)
def test_a_wrong_number_may_be_typed_as_rounded_as_the_sheet_shows(
    course: Course, more: float, off: float, status: str
) -> None:
    """Half a unit of the earlier number and half of this one, unless the earlier one was typed with all of its digits."""
    wrong = round(answer(course, "b01") + 1, 4) + more
    assert marks(course, {"b01": [wrong], "b02": [advantage(course, wrong) + off]})["b02"].status == status


def test_a_misconception_is_named_and_nothing_right_is(course: Course) -> None:
    values = Marking(course, course.key.students[0], {}).true
    named = {block.name: block for block in values.arrays}
    now, after = (float(values.cell(named["signal.values"], 0, t)) for t in (4, 5))
    gamma = float(values[named["gamma"]])
    found = marks(course, {"b01": [round(answer(course, "b01") + gamma * (now - after), 4)]})
    assert (found["b01"].status, found["b01"].misconception) == ("wrong", "value-of-now-for-next")
    assert found["b01"].says in found["b01"].why
    assert {mark.misconception for id, mark in found.items() if id != "b01"} == {None}


def test_a_row_counts_by_its_cells_and_grey_ones_not_at_all(course: Course) -> None:
    row = right(course.key, course.key.students[0])["b06"]
    found = marks(course, {"b06": [9.87, *row[1:2], None, None, None]})["b06"]
    assert (found.status, found.points, found.right) == ("wrong", 0.5, 1)
    assert "1 of 2 cells are right" in found.why


def test_a_constant_for_a_formula_costs_what_the_policy_says(course: Course) -> None:
    who = course.key.students[0]
    cells = {id: [Given(float(each or 0)) for each in row] for id, row in right(course.key, who).items()}
    policy = GradingPolicy.model_validate({"constants": 0.25})
    found = marks_of(Marking(Course(course.key, policy), who, cells))
    assert found["b06"].points == 0.25
    assert "a number stands where a formula was asked for" in found["b06"].why
    assert found["b01"].points == 1


def test_who_is_excused_has_no_mark(course: Course) -> None:
    found = marks(course, {}, {"excused": [{"student": "1", "blank": "ratio@4", "why": "was ill"}]})
    assert (found["b04"].status, found["b04"].why) == ("excused", "was ill")
    assert found["b01"].status == "right"


@pytest.mark.parametrize(
    ("numbers", "block", "places"),
    [
        ("classic", "policy_loss", ()),
        ("kl-controller", "error", (3,)),
        ("epochs", "total_loss", ()),
        ("very-very-sleepy", "td_errors", (0, 1)),
    ],
)
def test_any_kind_of_workbook_is_marked(numbers: str, block: str, places: tuple[int, ...]) -> None:
    made = Course(key_of(numbers, [(block, [places], "number")], {"1": {}}), GradingPolicy.model_validate({}))
    assert marks(made, {})["b01"].status == "right"
    wrong = marks(made, {"b01": [answer(made, "b01") + 12.3456]})["b01"]
    assert (wrong.status, wrong.misconception) == ("wrong", None)


def test_a_right_answer_of_too_few_digits_is_wrong_with_its_reason_and_no_misconception(course: Course) -> None:
    exact = answer(course, "b01")
    for number, how in ((round(exact, 3), "rounded too far"), (round(exact, 2), "rounded too far")):
        mark = marks(course, {"b01": [number]})["b01"]
        assert (mark.status, mark.why) == ("wrong", f"wrong; right, but {how}: 4 decimals are wanted")
        assert mark.misconception is None
    row = course.key.students[0].answers["b06"]
    cut = marks(course, {"b06": [int(each * 1e4) / 1e4 for each in row]})["b06"]
    counting = [each for each in row if each]  # behind the last token nothing counts
    kept = sum(int(each * 1e4) == round(each * 1e4) for each in counting)
    assert kept < len(counting)
    assert (cut.status, cut.misconception) == ("wrong", None)
    reason = "right, but cut off instead of rounded: 4 decimals are wanted"
    assert cut.why == f"wrong; {reason}; {kept} of {len(counting)} cells are right"
    assert marks(course, {"b01": [0.0]})["b01"].why == "wrong"
    short = marks(course, {"b01": [round(exact, 1)]})["b01"]
    assert short.why == "wrong; too few digits to tell: 4 decimals are wanted"


def test_a_carried_answer_may_be_rounded_too_far_as_well(course: Course) -> None:
    wrong = answer(course, "b01") + 1
    mark = marks(course, {"b01": [wrong], "b02": [round(advantage(course, wrong), 2)]})["b02"]
    assert mark.why == "wrong; right, but rounded too far: 4 decimals are wanted"
