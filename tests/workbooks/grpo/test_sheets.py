"""Sheets of GRPO: the heads of columns say which response they hold, shares add up, curves go through the dots."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint import Book
from tests.page.workshop import made


@pytest.fixture(scope="module")
def book() -> Book:
    """Makes the workbook of one batch."""
    return made(numbers="grpo-batch")


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
