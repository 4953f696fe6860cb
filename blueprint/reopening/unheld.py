"""What is typed in a workbook and has no place among numbers, found by building anew from them and comparing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.inputs.result import Numbers
from blueprint.language import Values
from blueprint.page import own
from blueprint.page.outline import Blueprint
from blueprint.quoting import quoted
from blueprint.reopening.book import SavedBook
from blueprint.workbooks.registry import blueprint_of

Array = npt.NDArray[Any]


def unheld(book: SavedBook, numbers: Numbers) -> list[str]:
    """Lists the typed cells of a file that a workbook built from its numbers would not have, one line each.

    `Checks!F9 (check.sum.tolerance): 0.5, and 1e-09 in a workbook built from the numbers`
    """
    fresh = typed_of(blueprint_of(numbers))
    lines = [*witnessed(book), *overwritten(book)]
    for block, array in book.values.arrays.items():
        if block.typed:
            lines += _parted(book, block.name, array, fresh.get(block.name))
    return lines


def lost(book: SavedBook) -> list[str]:
    """Lists what a fresh workbook of a saved book will not have: an outside witness's numbers, sheets that somebody added."""
    ours = {*book.layout.body, *own.SHEETS}
    held = {found.sheet for found in book.file.places.values()}.union(ours)
    added = [name for name in book.sheets if name not in held] if len(book.sheets) > len(ours) else []
    sheets = (f"the sheet {name}: a build writes none of this name" for name in added)
    return [*witnessed(book), *overwritten(book), *sheets]


def overwritten(book: SavedBook) -> list[str]:
    """Lists the computed cells in which something else is typed than their formula came to, one line each."""
    lines = []
    for name, found in book.file.places.items():
        if found.kind != "typed" and name in book.blocks:
            array = book.values.arrays[book.blocks[name]]
            for at, row, column in found.cells():
                value = book.file.value(found.sheet, row, column)
                typed = value is not None and book.file.formula(found.sheet, row, column) is None
                if typed and value != array[at]:  # some cells hold a number in every build: a boundary value, a size
                    there = quoted(value) if isinstance(value, str) else repr(value)
                    lines.append(f"{book.file.address(name, at)} ({name}): {there} stands where its formula was")
    return lines


def witnessed(book: SavedBook) -> list[str]:
    """Says, in at most one line, that a file has typed blocks which no numbers have: those of an outside witness."""
    strange = [name for name, found in book.file.places.items() if found.kind == "typed" and name not in book.blocks]
    if not strange:
        return []
    first = book.file.address(strange[0], (0,) * len(book.file.places[strange[0]].shape))
    more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
    return [f"{first} ({strange[0]}){more}: only this file has them; `build --witness` types such numbers of torch"]


def typed_of(blueprint: Blueprint) -> dict[str, Array]:
    """Returns what is typed into a blueprint's workbook, by the names of its blocks, edges included."""
    values = Values(blueprint.sizes)
    for block in blueprint.blocks():
        if block.typed:
            values.fill(block, blueprint.typed)
    return {block.name: array for block, array in values.arrays.items()}


def _parted(book: SavedBook, name: str, typed: Array, fresh: Array | None) -> Iterator[str]:
    """Yields a line for every cell that is another one, or none, in a workbook built anew."""
    for at, value in np.ndenumerate(typed):
        there = (
            fresh is not None
            and len(at) == fresh.ndim
            and all(i < size for i, size in zip(at, fresh.shape, strict=True))
        )
        other: Any = fresh[at] if fresh is not None and there else None
        if not (_blank(value) if other is None else same(value, other)):
            told = "no such cell" if other is None else shown(other)
            yield f"{book.file.address(name, at)} ({name}): {shown(value)}, and {told} in a workbook built from the numbers"


def same(one: float | str, other: float | str) -> bool:
    """Says whether two cells are the same: blank is blank, and words are the same in small letters and capitals."""
    if isinstance(one, str) or isinstance(other, str):
        return str(one).casefold() == str(other).casefold()
    return bool(one == other) or (bool(np.isnan(one)) and bool(np.isnan(other)))


def shown(value: float | str) -> str:
    """Returns a cell's value in words and digits: `blank`, `'very'`, `0.25`."""
    if _blank(value):
        return "blank"
    return quoted(value) if isinstance(value, str) else f"{value:.15g}"


def _blank(value: float | str) -> bool:
    return value == "" if isinstance(value, str) else bool(np.isnan(value))
