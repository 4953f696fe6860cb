"""Limits: cells that hold a number, or the word off, with which nothing is ever calculated."""

import math
from collections.abc import Callable

import pytest

from blueprint.language import (
    Axis,
    Expr,
    NotationError,
    Sum,
    block,
    compute,
    equal,
    filled,
    is_off,
    maximum,
    minimum,
    typed,
    where,
)
from blueprint.language.cells import Cell, reads
from blueprint.language.spelling.excel import excel
from blueprint.language.spelling.numbers import explained
from tests.language.common import defined, refusal, result, t
from tests.language.expressions import Names, a, most

own = typed("own", limit=True)
column = typed("limits", (t,), limit=True)
OFF = math.inf


def clamped() -> Expr:
    return where(is_off(most), a, maximum(-most, minimum(most, a)))


@pytest.mark.parametrize(("limit", "value", "expected"), [(OFF, 1e30, 1e30), (3, 1e30, 3), (3, -4, -3), (0, 5, 0)])
def test_what_is_off_limits_nothing_however_large(limit: float, value: float, expected: float) -> None:
    assert result((), clamped(), {most: limit, a: value}) == expected


def test_off_is_the_word_in_a_formula() -> None:
    assert excel(clamped(), Names()) == 'IF(most="off",a,MAX(-most,MIN(most,a)))'
    assert excel(is_off(most), Names()) == 'IF(most="off",1,0)'


def test_a_choice_between_limits_is_a_limit() -> None:
    used = block("used", ())
    used[()] = where(filled(own), own, most)
    for given, expected in ((math.nan, 3.0), (OFF, "off"), (2.0, 2.0)):
        assert compute([most, own, used], {}, {most: 3.0, own: given}).cell(used) == expected
    assert (used.limit, used.text) == (True, False)


def test_a_choice_may_say_off_itself() -> None:
    used = defined("used", (), where(equal(a, 1), most, "off"))
    assert [compute([a, most, used], {}, {a: given, most: 3.0}).cell(used) for given in (1, 0)] == [3.0, "off"]


def test_where_it_is_on_a_limit_is_a_number() -> None:
    in_force = defined("in_force", (), where(is_off(most), a, most))
    assert not in_force.limit
    more = defined("more", (), in_force + 1)
    assert compute([a, most, in_force, more], {}, {a: 5, most: OFF}).cell(more) == 6.0


def test_equal_limits_are_equal_off_or_not() -> None:
    for one, other, same in ((OFF, OFF, 1), (OFF, 3, 0), (3, OFF, 0), (3, 3, 1)):
        assert result((), equal(most, own), {most: one, own: other}) == same


def test_numbers_put_in_are_those_of_the_branch_that_is_taken() -> None:
    made = defined("d", (), clamped())
    for limit, told in ((OFF, "5 = 5"), (3, "max(−3, min(3, 5)) = 3")):
        values = compute([a, most, made], {}, {a: 5, most: limit})
        assert explained(made, (), values) == told


def test_only_the_branch_that_is_taken_is_read() -> None:
    held = defined("held", (), where(is_off(most), a, most))
    for limit, names in ((OFF, ["most", "a"]), (3, ["most"])):
        values = compute([a, most, held], {}, {a: 5, most: limit})
        assert [read.ref.block.name for read in reads(Cell(held, ()), values)] == names


CALCULATED: list[Callable[[], object]] = [
    lambda: defined("y", (), most * a),
    lambda: defined("y", (), maximum(most, a)),
    lambda: defined("y", (), where(is_off(most), most + a, a)),
    lambda: defined("y", (), where(is_off(most), a, own + a)),
    lambda: defined("y", (), where(filled(most), a, most + a)),
    lambda: defined("y", (), Sum(t, column[t])),
]


@pytest.mark.parametrize("write", CALCULATED)
def test_nothing_is_calculated_with_what_may_be_off(write: Callable[[], object]) -> None:
    assert "which may be off: write where(is_off(" in refusal(write)


def test_only_a_limit_can_be_off() -> None:
    assert refusal(lambda: is_off(a)) == "is_off(a): only a limit can be off: make it with typed(…, limit=True)"
    assert refusal(lambda: is_off(most + 1)).startswith("is_off(most + 1): only a limit can be off")
    assert refusal(lambda: defined("y", (), where(equal(a, 1), most, "on"))) == (
        "y takes a word for a number in most if [a = 1] else “on”"
    )


def test_no_other_block_is_infinite() -> None:
    with pytest.raises(NotationError, match="a takes finite numbers"):
        compute([a], {}, {a: OFF})
    with pytest.raises(NotationError, match="most takes finite numbers"):
        compute([most], {}, {most: -OFF})
    row = Axis("r", "row", size=2)
    limits = typed("of_rows", (row,), limit=True)
    assert compute([limits], {}, {limits: [OFF, 2.0]}).cell(limits, 0) == "off"
