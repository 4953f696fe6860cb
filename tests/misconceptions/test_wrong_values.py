"""What known misconceptions give in the cells of a blank, on the numbers at hand."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Values, compute
from blueprint.misconceptions import Wrong, wrong_values
from blueprint.page.outline import Blank
from blueprint.workbooks.registry import blueprint_of, kind_of

NUMBERS = load("default", {"ppo.gamma": 0.9, "ppo.gae_lambda": 0.8})


@pytest.fixture(scope="module")
def book() -> Book:
    return Book(blueprint_of(NUMBERS))


def known(book: Book, row: str, *cells: tuple[int, ...], values: Values | None = None) -> dict[str, list[Wrong]]:
    """Returns the misconceptions of a row by name."""
    found: dict[str, list[Wrong]] = {}
    blank = Blank(row, book.block_named(row), cells)
    for each in wrong_values(kind_of(NUMBERS), book.blueprint, values or book.values, blank):
        found.setdefault(each.name, []).append(each)
    return found


def row(book: Book, name: str, episode: int = 0) -> np.ndarray:
    return np.asarray(book.values[book.block_named(name)][episode], dtype=float)


def test_a_mistake_is_made_in_the_step_or_throughout_the_row(book: Book) -> None:
    delta, A = row(book, "td_errors"), row(book, "advantages")
    step, throughout = known(book, "advantages", (0, 4))["lambda-forgotten"]
    assert step.numbers == pytest.approx([delta[4] + 0.9 * A[5]])
    assert throughout.numbers == pytest.approx([delta[4] + 0.9 * delta[5] + 0.81 * delta[6]])


def test_it_is_made_on_the_numbers_at_hand(book: Book) -> None:
    """A student who had 2 for A_6 and forgets λ in A_5."""
    outline = book.blueprint
    values = compute(
        outline.blocks(), outline.sizes, outline.typed, held={book.block_named("advantages"): {(0, 5): 2.0}}
    )
    step, *_ = known(book, "advantages", (0, 4), values=values)["lambda-forgotten"]
    assert step.numbers == pytest.approx([row(book, "td_errors")[4] + 0.9 * 2])


def test_a_blank_of_a_whole_row_has_a_number_for_each_of_its_cells(book: Book) -> None:
    cells = tuple((0, t) for t in range(4, 7))
    (found,) = known(book, "td_errors", *cells)["value-of-now-for-next"]
    V, r = row(book, "old_critic.values"), row(book, "rewards")
    assert found.numbers == pytest.approx(r[4:7] + 0.9 * V[4:7] - V[4:7])
