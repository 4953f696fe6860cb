"""Every row of every step against torch's."""

from __future__ import annotations

import numpy as np

from blueprint.book import Book
from blueprint.page.outline import Blueprint
from tests.witness.stage import arrays

NEAR = 1e-12
"""Of the largest of a row: torch adds and multiplies the same numbers in another order, step after step."""


def assert_torch_agrees(outline: Blueprint) -> None:
    """Compares all that a workbook computes."""
    from blueprint.workbooks.registry import witness_of

    file = arrays(Book(outline))
    found = witness_of([file], device="cpu")[0]
    made = [each for each in outline.blocks() if each.definitions and not each.text]
    names = [each.name for each in made if not each.link or each.name.startswith("epochs.")]
    assert not [name for name in names if name not in found]
    with np.errstate(invalid="ignore"):
        for name in names:
            size = np.abs(file[name][np.isfinite(file[name])]).max(initial=1.0)
            off = np.where(file[name] == found[name], 0.0, np.abs(found[name] - file[name]))
            assert off.max(initial=0.0) <= NEAR * size, name
