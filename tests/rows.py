"""Tools of the witness's tests: files as arrays, and where a witness and a workbook differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.book import Book
from tests.page.workshop import made

Array = npt.NDArray[Any]

# A word's share of the loss and what it adds up to are compared at the size of the shares that cancel in it.
SIZED_BY = {"check.total": "share", "check.total.worst": "share"}


@cache
def built_in(name: str, *overrides: str) -> dict[str, Array]:
    """Returns the blocks of a built-in workbook by name."""
    return arrays(made(*overrides, numbers=name))


def arrays(book: Book) -> dict[str, Array]:
    """Returns the blocks of a book by name, as `read` gives them of its file."""
    return {block.name: array for block, array in book.values.arrays.items()}


def differing(found: Mapping[str, Array], file: Mapping[str, Array], tolerance: float) -> list[str]:
    """Lists what differs by more than the tolerance times 1 + the row's largest number, or in shape or words."""
    spread = 1 / np.sqrt(file["advantage.variance"] + file["whiten_eps"])  # whitening enlarges every difference by 1/σ
    return [
        f"{name}: {_distance(array, file[name])}"
        for name, array in found.items()
        if not _same(array, file[name], tolerance * max(1.0, float(spread)), file[SIZED_BY.get(name, name)])
    ]


def _same(ours: Array, theirs: Array, tolerance: float, sized_by: Array) -> bool:
    if ours.shape != theirs.shape or (ours.dtype == object) != (theirs.dtype == object):
        return False
    if ours.dtype == object:
        return bool(np.array_equal(ours, theirs))
    finite = np.abs(sized_by)[np.isfinite(sized_by)]
    with np.errstate(invalid="ignore"):  # a limit that is off is infinite on both sides
        near = np.abs(ours - theirs) <= tolerance * (1 + finite.max(initial=0.0))
    return bool(np.all((ours == theirs) | near))


def _distance(ours: Array, theirs: Array) -> str:
    if ours.shape != theirs.shape or ours.dtype == object or theirs.dtype == object:
        return f"{ours.tolist()} is not {theirs.tolist()}"
    return f"largest difference {np.abs(ours - theirs).max():.1e}"
