"""A class can be made of every kind of workbook; a typed number that looks like an answer is drawn again, where that helps."""

import pytest

from blueprint.classes.assignment import Assignment
from blueprint.classes.draws import Draws, Finding, always
from blueprint.inputs import given, load, tables_of, toml_of
from tests.page.workshop import MAINS

SECRET = "ab" * 32


def assignment(
    numbers: str, blanks: int = 12, level: int = 1, vary: tuple[str, ...] = (), equations: bool = True
) -> Assignment:
    """Returns what a class of built-in numbers is asked."""
    made = Assignment("hw", toml_of(load(numbers, [])), blanks, level, vary, 7, secret=SECRET, equations=equations)
    return made.settled()


GRIDS = {"value-iteration": "value-iteration", "q-learning": "by-hand-q-learning"}
"""A map has no number that could vary by itself; of two kinds of grids the numbers that are short enough."""
ELSEWHERE = {"default", "classic", "grpo"}
"""Of these whole classes are made in the files beside this one."""


@pytest.mark.parametrize(
    "numbers", [*(name for name in MAINS.values() if name not in GRIDS.keys() | ELSEWHERE), "reward-batch"]
)
def test_a_class_of_each_kind(numbers: str) -> None:
    draws = Draws(assignment(numbers))
    one, other = draws.drawn("1"), draws.drawn("2")
    assert len(one.answers) == 12
    assert one.answers != other.answers
    assert one.again + other.again < 60, "of two hundred draws each"


@pytest.mark.parametrize("numbers", GRIDS.values())
def test_a_class_of_a_grid_varies_by_its_settings(numbers: str) -> None:
    draws = Draws(assignment(numbers, 6, vary=("settings",)))
    assert draws.drawn("1").answers != draws.drawn("2").answers


@pytest.mark.parametrize("numbers", ["reward-model", "reward-batch", "grpo-batch", "classic"])
def test_given_numbers_are_a_file_again(numbers: str) -> None:
    """Whole numbers are whole there, and no limit is infinite."""
    found = load(numbers, [])
    again = load(tables_of(given(found)))
    assert given(again) == given(found)


def test_a_section_of_which_a_row_holds_only_zeros_is_asked_without_it() -> None:
    made = assignment("reward-model", 12, 3)
    rows = {blank.block.name for blank in made.worksheet.blanks}
    assert "preference_loss" in rows
    assert not rows & {"adds.center", "adds.l2"}
    Draws(made).drawn("1")


def test_what_looks_like_a_typed_number_in_many_variants_is_held_against_none() -> None:
    """A mean of four rewards is a half in most of them, and so is one of forty weights."""
    few, many, other = Finding("typed", 0), Finding("typed", 1), Finding("told", 2)
    found = [{few, many, other}, {many, other}, {many, other}, set[Finding](), set[Finding]()]
    assert always(found) == {many}


def test_what_a_varied_setting_chooses_stays_a_choice() -> None:
    fixed, varied = assignment("kl-controller", 3), assignment("kl-controller", 3, vary=("controller", "kl_stat"))
    assert "in use" in fixed.worksheet.blueprint.facts
    assert "in use" not in varied.worksheet.blueprint.facts


def test_a_key_remembers_whether_equations_are_printed() -> None:
    bare = assignment("kl-controller", 3, equations=False)
    draws = Draws(bare)
    drawn = draws.drawn("1")
    assert not any(blank.says for blank in bare.handed_out("1", drawn.typed, drawn.answers).blanks)
