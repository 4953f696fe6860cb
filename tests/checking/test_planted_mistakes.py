"""Every mistake planted in the mathematics is seen by the outside witness, which names the equation that is wrong."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.checking.deviations import TOLERANCES, Deviation, compare, widened
from blueprint.inputs import Numbers, load
from blueprint.language import NotationError
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.registry import witness_of as witness
from tests.workbooks.planted import MISTAKES, Planted
from tests.workbooks.random_numbers import random_numbers

NUMBERS: list[Numbers] = [
    load("default"),
    load("very-very-sleepy"),
    *map(random_numbers, range(12)),
]
# Within the loop of drawing everything depends on everything: with another distribution another word is drawn, and the
# mask, which comes first in the order of derivation, differs too.
IN_THE_LOOP = {"old.logsumexp": "mask"}


def deviations(book: Book) -> list[Deviation]:
    """Lists the quantities in which a book and torch differ, in the order of derivation."""
    arrays = {block.name: array for block, array in book.values.arrays.items()}
    theirs = witness([arrays])[0]
    wider = widened(
        theirs, {"advantage.whitened": arrays}
    )  # every row, since a planted mistake may stand before or after the whitening
    return [each for each in compare(arrays, theirs, TOLERANCES["float64"], wider) if not each.agrees]


def planted(mistake: Planted, numbers: Numbers) -> Book | None:
    """Builds a book with the mistake; None where the notation refuses to compute it, which also catches it."""
    blueprint = blueprint_of(numbers)
    mistake.plant({block.name: block for block in blueprint.blocks()})
    try:
        return Book(blueprint)
    except NotationError:
        return None


def test_the_blueprint_as_it_is_agrees() -> None:
    for numbers in NUMBERS:
        assert deviations(Book(blueprint_of(numbers))) == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_planted_mistake_is_seen_and_named(mistake: Planted) -> None:
    for numbers in NUMBERS:
        book = planted(mistake, numbers)
        if book is None:
            return
        found = deviations(book)
        if found:
            assert found[0].name == IN_THE_LOOP.get(mistake.block, mistake.block)
            assert mistake.block in {each.name for each in found}
            assert np.isfinite(found[0].allowed)
            return
    pytest.fail(f"torch agrees with {mistake.name}")


@pytest.mark.parametrize("mask", [[1, 1, 0], [0, 1, 1], [1, 0, 0]])
def test_nothing_behind_a_response_leaks_into_it(mask: list[float]) -> None:
    """On the per-token level too V counts on the response alone: the last δ is r − V, whatever stands behind it."""
    book = Book(blueprint_of(load("very-very-sleepy")))
    cut = Book(book.blueprint.with_typed({"mask": [mask]}))
    assert deviations(cut) == []
    if mask == [1, 1, 0]:
        assert float(cut.values.cell(cut.blocks["td_errors"], 0, 1)) == pytest.approx(0.15 - 3.5, abs=1e-12)
