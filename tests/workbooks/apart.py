"""How far a workbook is from torch: the results from its kind's page, and every row of the way back from autograd.

The page of `papers` shares nothing with the definitions, and is fed what is typed: it sees what a definition has wrong. Autograd of
the equations sees what their way back has wrong (`test_in_torch` holds every cell of every built-in workbook against torch).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import numpy as np

from blueprint.book import Book
from blueprint.witness.raw import Page, Raw
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kinds
from tests.autograd import away, backward_of, roots, steps
from tests.page.workshop import Array
from tests.papers.pages import typed_alone

NEAR = 1e-12
"""Both compute in double precision, and sum in an order of their own."""


def apart(book: Book, results: int = 15) -> dict[str, float]:
    """Returns the rows in which torch and a book part by more than rounding, and by how much. results: the least of the page."""
    page, way = by_page(book), by_autograd(book)
    assert len(page) >= results
    assert bool(way) is any(name.endswith(".grad") and not block.typed for name, block in book.blocks.items())
    return {name: far for found in (page, way) for name, far in found.items() if not far <= NEAR}


def by_page(book: Book) -> dict[str, float]:
    """Returns how far each result of the kind's page is from the book, by "page: " and the name of its block."""
    page, cells = page_of(book), {block.name: array for block, array in book.values.arrays.items()}
    found = {}
    for name, tensor in page.results(Raw(typed_alone(book))).items():
        if name not in cells:  # a slope, of a workbook without gradients
            continue
        ours, theirs = np.asarray(cells[name], float), tensor.cpu().numpy().astype(float)
        assert ours.shape == theirs.shape, name
        counts = counted(cells[page.masks[name]], theirs.shape) if name in page.masks else np.ones(ours.shape, bool)
        found[f"page: {name}"] = distance(ours[counts], theirs[counts])
    return found


def by_autograd(book: Book) -> dict[str, float]:
    """Returns how far each row of the way back is from autograd, by its name."""
    if not any(name.endswith(".grad") for name in book.blocks):
        return {}
    of = backward_of(_kind(book))
    return {
        row: far
        for prefix, blocks in steps(book)
        for root in roots(of, blocks)
        for row, far in away(book, root, prefix, prefix + "{}.grad")
    }


def page_of(book: Book) -> Page:
    """Returns how the kind of a book reads it for its page."""
    page: Page = import_module(f"blueprint.workbooks.{_kind(book)}.paper").PAGE
    return page


def _kind(book: Book) -> str:
    """Returns the name of the kind that makes workbooks of a book's level; no numbers file holds the level `minibatch`."""
    level = book.blueprint.facts["level"]
    return next(kind.name for kind in kinds() if level in {**kind.levels, **_makers(kind)})


def _makers(kind: Kind) -> Mapping[str, str]:
    return kind.build if isinstance(kind.build, Mapping) else {}


def counted(mask: Array, shape: tuple[int, ...]) -> Array:
    """Returns where a row counts; a mask may have cells at its edges that the row has not."""
    edge = (mask.shape[-1] - shape[-1] + 1) // 2
    counts: Array = mask[..., edge : edge + shape[-1]] == 1
    return counts


def distance(ours: Array, theirs: Array) -> float:
    """Returns the largest distance of two arrays, relative to the largest number above 1; of words that differ it is 1.

    Where both are infinite alike, as a limit that is off, or both blank, they are the same.
    """
    if ours.dtype == object or theirs.dtype == object:
        return float(not np.array_equal(ours, theirs))
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    one, other = (np.where(same, 0.0, each) for each in (ours, theirs))
    largest = np.abs(ours[np.isfinite(ours)]).max(initial=1.0)
    return float(np.abs(one - other).max(initial=0.0) / largest)
