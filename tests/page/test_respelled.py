"""What spreadsheet programs respell in a formula is the same formula, and nothing else is."""

import pytest

from blueprint.page.parse_cell import same_in_place

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
