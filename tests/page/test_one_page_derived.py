"""One page of a blueprint that has no file for it: found in its equations, or left out where there is nothing to show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.book import Book
from blueprint.notation import Axis, Sum, block, book, log, typed
from blueprint.page.grid import ONE_PAGE
from blueprint.page.outline.derived import with_derived_page
from blueprint.page.outline.items import PageRow
from tests.page.own_books import OWN, savings

t = Axis("t", "year", start=1)


def rows_of(made: Book) -> list[PageRow]:
    """Returns the lines of a page."""
    assert made.blueprint.one_page is not None
    return [row for panel in made.blueprint.one_page.panels for section in panel.sections for row in section.rows]


@pytest.mark.parametrize("name", OWN)
def test_it_is_proved_as_any_other_sheet(name: str, tmp_path: Path) -> None:
    made = OWN[name]()
    made.save(tmp_path / "own.xlsx")
    assert made.prove(tmp_path / "own.xlsx").failures == []
    assert {live.sheet for live in made.layout.lives} >= {ONE_PAGE}


def test_what_is_typed_stands_above_what_follows_and_each_line_claims_what_its_equation_says() -> None:
    rows = rows_of(savings())
    assert [row.called for row in rows] == [
        "plan", "paid_in", "applied", "before_of_balance", "interest", "balance", "total_paid",
    ]  # fmt: skip
    claims = {row.called: row.equals for row in rows if row.equals}
    assert claims == {
        "interest": "before_of_balance * applied",
        "balance": "(before_of_balance + interest) + paid_in",
        "total_paid": "sum(paid_in)",
    }
    assert [row.called for row in rows if row.sign == "×"] == ["before_of_balance"]
    assert {row.called for row in rows if row.result} == {"balance", "total_paid"}


def test_a_looked_up_number_is_no_claim() -> None:
    assert next(row.equals for row in rows_of(savings()) if row.block == "applied") == ""


def test_of_more_members_than_there_is_room_for_the_first_are_shown_and_their_sum_is_not_claimed() -> None:
    paid, total = typed("paid", (t,), "d"), block("total", (), "D")
    double = block("double", (t,), "d₂")
    double[t] = paid[t] + paid[t]
    total[()] = Sum(t, double[t])
    few, many = (book("Sum", [paid, double, total], t, {paid: [1.0] * size}, one_page=True) for size in (8, 9))
    assert [rows_of(each)[-1].equals for each in (few, many)] == ["sum(double)", ""]
    assert many.blueprint.one_page is not None
    assert many.blueprint.one_page.panels[0].head == "one column, one year: the first 8 of 9"


@pytest.mark.parametrize("title", ["Scalars", ONE_PAGE])
def test_a_blueprint_with_nothing_to_show_has_no_page(title: str, tmp_path: Path) -> None:
    """Single numbers have no columns; and a sheet may have the name of the page itself."""
    a, b, c = typed("a", (), "a"), block("b", (), "b"), typed("c", (t,), "c")
    b[()] = a + a
    made = book(title, [a, b, c], t, {a: 1.0, c: [1.0, 2.0]}, one_page=True)
    assert made.blueprint.one_page is None
    made.save(tmp_path / "own.xlsx")


def test_a_block_without_all_its_numbers_has_no_line(tmp_path: Path) -> None:
    """What the result does not read may end in an error; what reads it is left out with it."""
    a, ended, fine = typed("a", (t,), "a"), block("ended", (t,), "e"), block("fine", (t,), "f")
    total = block("total", (), "Σ")
    ended[t], fine[t] = log(a[t]), a[t] + 1
    total[()] = Sum(t, fine[t])
    plain = book("Ended", [a, fine, total], t, {a: [1.0, 0.0]}).blueprint
    section = replace(plain.sheets[0].sections[0], items=(a, fine, ended, total))
    outline = replace(plain, sheets=(replace(plain.sheets[0], sections=(section,)),), result=total)
    made = Book(with_derived_page(outline))
    assert [row.called for row in rows_of(made)] == ["a", "fine", "total"]
    made = Book(with_derived_page(replace(outline, result=ended, needed=())), beyond=True)
    assert made.layout.one_page is not None
    assert [line.row.called for line in made.layout.one_page.lines] == ["a"]


def test_a_book_has_none_unless_one_asks_for_it() -> None:
    a, b = typed("a", (t,), "a"), block("b", (t,), "b")
    b[t] = a[t] + 1
    assert book("Plain", [a, b], t, {a: [1.0]}).blueprint.one_page is None
    assert book("Plain", [a, b], t, {a: [1.0]}, one_page=True).blueprint.one_page is not None
