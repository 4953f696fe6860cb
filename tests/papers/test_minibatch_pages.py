"""Workbooks of a minibatch, by every preset and from every beginning, are what the page makes of what is typed in them."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the pages are torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.witness.ppo_pages import COUNTED
from blueprint.workbooks.rlhf_ppo.minibatch.paper import results
from tests.papers.held import TOLERANCE, held_against
from tests.replayed import window_book
from tests.windows import PRESETS, VARIANTS, retyped, variant


def off(book: Book) -> dict[str, float]:
    """Returns which results are not the book's."""
    found = held_against(book, results, COUNTED)
    assert len(found) >= 15
    return {each: far for each, far in found.items() if not far <= TOLERANCE}


@pytest.mark.parametrize("columns", [16, 24])
@pytest.mark.parametrize("preset", PRESETS)
def test_a_window_is_what_the_page_makes_of_it(preset: str, columns: int) -> None:
    assert off(window_book(preset, columns)) == {}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_beginning_is_the_pages(name: str) -> None:
    assert off(variant(name)) == {}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", VARIANTS)
def test_numbers_and_conventions_that_are_typed_are_followed(name: str, seed: int) -> None:
    """Masks with holes, and settings that no library has together."""
    assert off(retyped(name, seed)) == {}
