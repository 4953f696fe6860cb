"""Numbers typed as text, and formulas as programs respell them, are understood where they can mean one thing only."""

from __future__ import annotations

from datetime import date, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint.page.parse_cell import ERRORS, NoNumber, number_in, number_or_blank, same_in_place, word_or_blank

UNDERSTOOD: list[tuple[object, float]] = [
    ("0,2", 0.2), ("0.2", 0.2), (" 0.2 ", 0.2), ("−0.2", -0.2), ("1e-8", 1e-8), ("0,2\u00a0", 0.2), ("\u202f7", 7),
    ("1E-8", 1e-8), ("+3", 3), (".5", 0.5), (",5", 0.5), ("5.", 5), ("1.234", 1.234), ("0,234", 0.234), ("00,123", 0.123),
    ("1234,567", 1234.567), ("1,23", 1.23), ("1,2345", 1.2345), ("-1,5e-3", -0.0015), (3, 3), (0.25, 0.25), ("\t4\n", 4),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "number"), UNDERSTOOD)
def test_one_number_is_understood(typed: object, number: float) -> None:
    assert number_in(typed) == number


THOUSANDS = "expected a number: write it without signs between thousands, such as 1234.5"
REFUSED: list[tuple[object, str]] = [
    ("1,234", "found '1,234', which may mean 1.234 or 1234: write one of these"),
    ("-12,345", "found '-12,345', which may mean -12.345 or -12345: write one of these"),
    ("1.234,5", f"found '1.234,5', {THOUSANDS}"),
    ("1,234.5", f"found '1,234.5', {THOUSANDS}"),
    ("1 234 567", f"found '1 234 567', {THOUSANDS}"),
    ("abc", "found 'abc', expected a number"),
    ("1/2", "found '1/2', expected a number"),
    ("20%", "found '20%', expected a number"),
    ("", "found '', expected a number"),
    (" ", "found ' ', expected a number"),
    (".", "found '.', expected a number"),
    ("1_000", "found '1_000', expected a number"),
    ("nan", "found 'nan', expected a number"),
    ("inf", "found 'inf', expected a number"),
    ("٣", "found '٣', expected a number"),
    ("0x10", "found '0x10', expected a number"),
    ("1e999", "found a number that is too large, or none: expected one below 1e+308"),
    (10**400, "found a number that is too large, or none: expected one below 1e+308"),
    (float("inf"), "found a number that is too large, or none: expected one below 1e+308"),
    (True, "found TRUE, expected a number: write 1 or 0"),
    (date(2026, 2, 1), "found the date or time 2026-02-01, expected a number: format the cell as a number, and type it again"),
    (datetime(2026, 2, 1), "found the date or time 2026-02-01 00:00:00, expected a number: format the cell as a number, "
     "and type it again"),
    (time(1, 2), "found the date or time 01:02:00, expected a number: format the cell as a number, and type it again"),
    ("#DIV/0!", "found the error #DIV/0!, expected a number: type one"),
    ("x" * 500, f"found '{'x' * 59}…', expected a number"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "sentence"), REFUSED)
def test_what_is_no_number_or_two_is_refused(typed: object, sentence: str) -> None:
    with pytest.raises(NoNumber) as refused:
        number_in(typed)
    assert str(refused.value) == sentence


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_understood_as_python_writes_it_with_a_point(number: float) -> None:
    assert number_in(f" {number!r} ".replace("-", "−")) == number


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        number = number_in(text)
    except NoNumber:
        return
    assert number == number
    assert any(sign.isdigit() for sign in text)


def test_text_counts_as_a_number_only_where_somebody_typed_it() -> None:
    assert number_or_blank("0,2", typed=True) == 0.2
    with pytest.raises(NoNumber, match=r"^found '0,2', expected a number$"):
        number_or_blank("0,2", typed=False)
    assert number_or_blank(None, typed=True) != number_or_blank(None, typed=True)  # NaN
    assert word_or_blank(None, typed=True) == ""


@pytest.mark.parametrize("error", sorted(ERRORS))
def test_an_error_is_no_word(error: str) -> None:
    with pytest.raises(NoNumber, match=r"expected a word: type one$"):
        word_or_blank(error, typed=True)
    assert word_or_blank(error, typed=False) == error


# What spreadsheet programs respell in a formula is the same formula, and nothing else is.


RESPELLED = [
    ('IF(_xlfn.ISFORMULA($B$2),"a b",TRUE)', 'if( ISFORMULA(B2) , "a b", TRUE())', True),
    ("Loss!$N$51+1E-9", "'Loss'!N51+0.000000001", True),
    ("N51", "Start!N51", True),
    ("SUM(A1:A3)", "sum($a$1:$a$3)", True),
    ("A1*-2", "A1*-2.0", True),
    ("+A1", "A1", True),
    ("LOG10(total_loss)", "Log10(Total_Loss)", True),
    ("A1+A2", "A1+A3", False),
    ("A1+A2", "A2+A1", False),
    ("A1-A2", "A1--A2", False),
    ("A1&A2", "A1 A2", False),
    ("A1", "Loss!A1", False),
    ("A1", "A1:A2", False),
    ('"a b"', '"ab"', False),
    ('"TRUE"', "TRUE", False),
    ("SUM(A1:A3)", "SUM(A1:A3)+0", False),
    ("A1", "A1#", False),
    ("1", "1%", False),
    ("A1", '"', False),
    ("A1", "'''!", False),
    ("A1", "A" * 100_000, False),
]


@pytest.mark.parametrize(("meant", "written", "same"), RESPELLED)
def test_what_programs_respell_is_the_same_and_nothing_else_is(meant: str, written: str, same: bool) -> None:
    assert same_in_place(written, meant, "Start") is same
