"""Which misconception a number comes from: what it gives, never what is right, and nothing that chance may have given."""

from __future__ import annotations

import pytest

from blueprint.misconceptions import Diagnosis, Wrong, diagnose, shortened

FORGOTTEN = Wrong("lambda-forgotten", "λ is forgotten.", (0.41234567,))
TURNED = Wrong("sign", "the sign is turned", (-0.31234567,), written=False)
KNOWN = (FORGOTTEN, TURNED, Wrong("baseline-forgotten", "V is forgotten.", (1.5,)))
RIGHT = (0.31234567,)


def named(given: float | None, known: tuple[Wrong, ...] = KNOWN, *carried: float, decimals: int = 4) -> str | None:
    found = diagnose([given], known, [RIGHT, *((each,) for each in carried)], decimals)
    return found.name if found else None


def test_a_number_within_half_a_unit_of_the_last_digit_shown_is_named() -> None:
    assert diagnose([0.4123], KNOWN, [RIGHT], 4) == Diagnosis("lambda-forgotten", "λ is forgotten.")
    assert named(0.41234567) == "lambda-forgotten"
    assert named(-0.3123) == "sign"
    assert named(0.4124) is None
    assert named(None) is None


def test_what_is_right_or_carried_is_no_misconception() -> None:
    known = (Wrong("near", "It is nearly right.", (0.31237,)), *KNOWN)
    assert named(0.3124, known) == "near"
    assert named(0.3123, known) is None
    assert named(0.4123, KNOWN, 0.41233) is None


def test_a_number_with_more_digits_than_are_typed_must_agree_in_all_of_them() -> None:
    assert named(0.412345670001) == "lambda-forgotten"
    assert named(0.412301234567) is None


def test_digits_beyond_those_shown_tell_of_more_mistakes_than_chance_would_let() -> None:
    """0.41 of a row that shows two digits may be any of many; 0.4123, off a calculator, is one."""
    many = tuple(Wrong(f"other-{i}", f"Mistake {i}.", (0.2 + 0.03 * i,), written=False) for i in range(9))
    known = (Wrong("lambda-forgotten", "λ is forgotten.", FORGOTTEN.numbers, written=False), *many)
    assert named(0.41, known, decimals=2) is None
    assert named(0.4123, known, decimals=2) == "lambda-forgotten"


def test_an_epsilon_that_is_left_out_of_a_divisor_hides_no_mistake() -> None:
    exact = FORGOTTEN.numbers[0]
    assert named(exact / (1 + 1e-8)) == "lambda-forgotten"
    assert named(exact / (1 + 1e-7)) is None


def test_a_written_one_comes_before_one_that_follows_from_the_equation_and_the_others_are_said() -> None:
    alike = (Wrong("factor", "λ is left out", FORGOTTEN.numbers, written=False), *KNOWN)
    assert diagnose([0.4123], alike, [RIGHT], 4) == Diagnosis("lambda-forgotten", "λ is forgotten.", ("factor",))


@pytest.mark.parametrize(("decimals", "name"), [(0, None), (1, None), (2, "lambda-forgotten")])
def test_where_chance_may_have_given_a_number_nothing_is_named(decimals: int, name: str | None) -> None:
    assert named(round(0.41234567, decimals), decimals=decimals) == name


def test_every_wrong_cell_of_a_row_has_to_be_what_the_misconception_gives() -> None:
    known = (
        Wrong("turned", "The sign is turned.", (-0.1111, -0.2222, -0.3333)),
        Wrong("other", "Another.", (2.0, 3.0, 4.0)),
    )
    right = [(0.1111, 0.2222, 0.3333)]
    assert diagnose([-0.1111, -0.2222, 0.3333], known, right, 4) == Diagnosis("turned", "The sign is turned.")
    assert diagnose([-0.1111, None, -0.3333], known, right, 4) == Diagnosis("turned", "The sign is turned.")
    assert diagnose([-0.1111, 3.0, 0.3333], known, right, 4) is None
    assert diagnose([0.1111, None, float("inf")], known, right, 4) is None


@pytest.mark.parametrize(
    ("number", "right", "decimals", "how"),
    [
        (0.123, 0.12349, 4, "rounded"),
        (-0.87, -0.8709, 4, "rounded"),
        (0.003, 0.0031, 4, "rounded"),
        (5.0, 5.0012, 4, "rounded"),
        (12.0, 12.34, 3, "rounded"),
        (0.1234, 0.12349, 4, "cut"),
        (0.123, 0.12399, 4, "cut"),
        (12.34, 12.3478, 4, "cut"),
        (1234.0, 1234.56, 0, "cut"),
        (1.0, 1.0965, 4, None),
        (0.1, 0.1234, 4, None),
        (0.0, 0.3, 4, None),
        (0.3, 0.0, 4, None),
        (0.124, 0.1231, 4, None),
        (-0.123, 0.12349, 4, None),
        (float("inf"), 0.3, 4, None),
    ],
)
def test_a_right_number_of_too_few_digits_is_told(number: float, right: float, decimals: int, how: str | None) -> None:
    assert shortened(number, right, decimals) == how


def test_neither_a_right_number_of_too_few_digits_nor_zeros_are_a_misconception() -> None:
    near = tuple(Wrong(f"near {number}", "It is near.", (number,)) for number in (0.312, 0.31, 0.0))
    for number in (0.312, 0.31, 0.0):
        assert named(number, (*near, *KNOWN)) is None
    assert named(0.41, (*KNOWN, Wrong("far", "It is far.", (0.41,))), 0.4149) is None


def test_a_row_is_named_by_its_other_cells_where_one_was_rounded_too_far() -> None:
    known = (Wrong("turned", "The sign is turned.", (-0.1111, -0.2222)), Wrong("other", "Another.", (2.0, 3.0)))
    assert diagnose([0.111, -0.2222], known, [(0.1111, 0.2222)], 4) == Diagnosis("turned", "The sign is turned.")
