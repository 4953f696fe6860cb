"""Which misconception a number comes from: what it gives, never what is right, and nothing that chance may have given."""

from __future__ import annotations

import pytest

from blueprint.misconceptions import Diagnosis, Wrong, diagnose

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
