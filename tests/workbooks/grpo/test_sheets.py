"""Sheets of GRPO: charts draw rows that are in view, the heads of columns say which response they hold, Walk has every token."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint import Book
from blueprint.page.outline import Chart, Row, Sheet
from tests.page.workshop import made


@pytest.fixture(scope="module")
def book() -> Book:
    """Makes the workbook of one batch."""
    return made(numbers="grpo-batch")


def folded(sheet: Sheet) -> set[str]:
    """Returns the rows of a sheet that are hidden when the file is opened."""
    return {item.block.name for item in sheet.items() if isinstance(item, Row) and item.fold and sheet.closed}


def test_no_chart_draws_a_folded_row(book: Book) -> None:
    drawn = {
        block.name
        for sheet in book.blueprint.sheets
        for item in sheet.items()
        if isinstance(item, Chart)
        for series in item.series
        for block in (series.values, series.over)
    }
    hidden = set[str]().union(*map(folded, book.blueprint.sheets))
    assert len(drawn) > 15
    assert len(hidden) > 100
    assert drawn & hidden == set()


def test_the_heads_say_to_which_prompt_a_response_belongs(book: Book) -> None:
    ((_, heads),) = book.blueprint.heads.items()
    assert (heads[0], heads[5]) == ("1: prompt 1, response 1", "6: prompt 2, response 2")


def test_shares_of_tokens_add_up_and_those_that_do_not_count_say_so(book: Book) -> None:
    share, says, mask = (book.values[book.blocks[name]] for name in ("share", "seen.counts", "mask"))
    assert share.sum() == pytest.approx(book.show("total_loss").value, rel=1e-12)
    assert set(says[mask == 1]) == {"counts"}
    assert set(says[mask == 0]) == {"does not count"}
    assert np.all(share[mask == 0] == 0)


def test_the_curves_of_the_success_rate_go_through_the_dots_of_rewards_0_and_1(book: Book) -> None:
    p, right, wrong, A = (
        book.values[book.blocks[name]] for name in ("odds.p", "odds.right", "odds.wrong", "group.scaled")
    )
    at = list(p).index(0.25)
    eps = 0.5 / (0.5 + 1e-4)
    assert right[at] * eps == pytest.approx(A[0, 0], rel=1e-12)
    assert wrong[at] * eps == pytest.approx(A[0, 1], rel=1e-12)
