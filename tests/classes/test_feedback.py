"""What a student reads: words, symbols as they are, an equation where no mistake is known; and who has another's answers."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import openpyxl
import pytest

from blueprint.classes.grading import flags_of, grade, in_words
from blueprint.classes.grading_policy import GradingPolicy, Overrides
from blueprint.classes.key import Key, KeyStudent
from blueprint.classes.results import Mark, Marked, Result, Results
from blueprint.classes.results_folder import feedback_lines, feedback_page, feedback_workbook
from blueprint.classes.submissions_folder import Collected, Store
from tests.classes.handing_in import Answer, Asked, hand_in, key_of, right

ASKED: list[Asked] = [
    ("advantage.whitened", [(0, 4)], "number"),
    ("td_errors", [(0, t) for t in range(3, 7)], "formula"),
    ("policy_loss", [()], "number"),
]


@pytest.fixture(scope="module")
def key() -> Key:
    return key_of("default", ASKED, {"1": {}, "2": {"gamma.yours": 0.8}, "3": {"gamma.yours": 0.7}})


def why(mark: Mark, hint: str = "") -> str:
    """Returns the sentence on one blank."""
    blank = Marked(id="b01", title="row@n=1", words="a row, episode 1", hint=hint)
    result = Result(student="1", marks={"b01": mark})
    (line,) = feedback_lines(result, Results(assignment="hw1", points=1, blanks=[blank], results=[result]), None)
    return str(line.cells[-1])


@pytest.mark.parametrize("says", ["β is forgotten.", "λ is left out.", "e^… is forgotten.", "The sign is turned."])
def test_symbols_stay_as_they_are(says: str) -> None:
    mark = Mark(points=0, status="wrong", why=f"wrong: {says}", misconception="forgotten", says=says)
    assert why(mark) == says


def test_a_reason_of_ours_begins_with_a_capital() -> None:
    assert why(Mark(points=1, status="right", why="right; right with your own rounded numbers")).startswith(
        "Right with"
    )
    reason = "right, but rounded too far: 4 decimals are wanted"
    assert why(Mark(points=0, status="wrong", why=f"wrong; {reason}"), "The equation is x.") == f"R{reason[1:]}"


def test_where_no_mistake_is_known_the_equation_is_said_and_what_it_reads(key: Key) -> None:
    hint = in_words(key)["b01"].hint
    assert hint.startswith(
        "The equation is Â = A_c / √(σ² + ε_w); look again at A_c (advantage − its mean), σ² (variance"
    )
    assert why(Mark(points=0, status="wrong", why="wrong"), hint) == f"No known mistake gives this number. {hint}"
    of_a_row = Mark(points=0.25, status="wrong", why="wrong; 1 of 4 cells are right")
    assert why(of_a_row, hint) == f"1 of 4 cells are right. {hint}"
    assert why(Mark(points=0, status="empty", why="nothing was filled in"), hint) == "Nothing was filled in"


def test_blanks_are_said_in_words(key: Key) -> None:
    assert [each.asked for each in in_words(key).values()] == [
        "whitened advantage (Â), episode 1, position 5",
        "TD error: better than the critic expected (δ), episode 1, position 4 … 7",
        "policy loss: minus the mean of U_min (L_policy)",
    ]


def test_a_blank_in_the_head_of_a_sheet_is_said_in_words() -> None:
    key = key_of("reinforce", [("draws.reward", [(0,)], "number")], {"4711": {}})
    said = in_words(key)["b01"]
    assert said.asked == "reward of the token drawn (r_n), draw 1"
    assert said.hint.startswith("The equation is r_n = r[a]; look again at r (reward of the token")


def test_a_graded_file_speaks_in_words(key: Key, tmp_path: Path) -> None:
    who = key.students[0]
    path = hand_in(tmp_path / "a.xlsx", key, who, right(key, who) | {"b01": [7.7123]})
    store = Store(tmp_path)
    store.path("_unknown", "0" * 64).parent.mkdir(parents=True)
    store.add([Collected("a.xlsx", path.read_bytes(), None)])
    found = grade(store, key, GradingPolicy.model_validate({}), Overrides(), {}, 1)
    page = feedback_page(found.results[0], found, None)
    assert "whitened advantage (Â), episode 1, position 5" in page
    assert "advantage.whitened@" not in page
    assert "No known mistake gives this number. The equation is Â" in page


def test_of_a_file_that_was_not_read_no_blank_is_called_empty() -> None:
    blank = Marked(id="b01", title="row@n=1", words="a row, episode 1")
    result = Result(student="1", file="a.xlsx", refused="it is empty")
    results = Results(assignment="hw1", points=1, blanks=[blank], results=[result])
    page = feedback_page(result, results, None)
    assert "Your file could not be marked: it is empty." in page
    assert not re.search("<table|a row, episode 1", page)
    book = openpyxl.load_workbook(BytesIO(feedback_workbook(result, results, None)))
    said = [cell.value for row in book["Feedback"] for cell in row]
    assert said == ["hw1: 1", "Your file could not be marked: it is empty."]


def _number(answer: Answer) -> float | None:
    return answer if isinstance(answer, float) else None


def handed(key: Key, who: KeyStudent, numbers: dict[str, list[Answer]]) -> Result:
    marks = {
        id: Mark(points=0, status="right" if given == right(key, who)[id] else "wrong", given=[*map(_number, given)])
        for id, given in (right(key, who) | numbers).items()
    }
    return Result(student=who.id, marks=marks)


def test_who_has_the_right_answers_of_another_is_flagged(key: Key) -> None:
    one, other, third = key.students
    theirs = right(key, other)
    (flag,) = flags_of(
        key, [], [handed(key, one, {"b01": theirs["b01"], "b02": theirs["b02"]}), handed(key, other, {})]
    )
    assert (flag.kind, flag.students) == ("another's answers", ["1", "2"])
    assert flag.says == "the right answers of 2 in b01, b02"
    assert (
        flags_of(key, [], [handed(key, one, {"b01": theirs["b01"]})]) == []
    )  # one number of four digits may be chance
    in_full: list[Answer] = [*other.answers["b01"]]
    (flag,) = flags_of(key, [], [handed(key, one, {"b01": in_full})])
    assert flag.says == "the right answers of 2 in b01"
    assert flags_of(key, [], [handed(key, third, {"b01": [7.7123], "b03": [3.1415]})]) == []
