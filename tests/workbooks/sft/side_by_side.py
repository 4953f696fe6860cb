"""Workbooks of fine-tuning against the witness in torch: every row of a built file, computed from what is typed in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.registry import witness_of
from tests.witness.stage import Array, arrays

UNSEEN = ("reads", "writes", ".yours", ".low", ".high", ".tolerance", ".words", ".numbers")


def built(name: str, *overrides: str) -> dict[str, Array]:
    """Returns the rows of built-in numbers."""
    return arrays(Book(blueprint_of(load(name, overrides))))


def compared(file: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Returns the computed rows that torch computed too, and those of them that are not the same.

    1e-12 of the largest of a row: both add and multiply the same numbers in another order.
    """
    found = witness_of([file], device="cpu")[0]
    shared = [name for name in file if name in found and file[name].dtype != object]
    return shared, [name for name in shared if not _same(np.asarray(found[name], float), np.asarray(file[name], float))]


def _same(ours: Array, theirs: Array) -> bool:
    size = np.abs(theirs).max(initial=1.0)
    return ours.shape == theirs.shape and bool((np.abs(ours - theirs) <= 1e-12 * size).all())
