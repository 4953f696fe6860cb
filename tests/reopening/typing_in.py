"""Types into saved workbooks, as XML; nothing is recalculated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

from blueprint.page.read import Found, ReadError
from blueprint.reopening import SavedBook, book_of
from tests.checking.cells import change_sheets
from tests.page.workshop import located


def places(path: Path) -> dict[str, Found]:
    """Returns where the blocks of a file stand."""
    return located(path)


def untouched(path: Path) -> SavedBook:
    """Returns the book of a file that no test writes anew; for asking, not for changing."""
    found = path.stat()
    return _untouched(path, found.st_mtime_ns, found.st_size, found.st_ino)


@lru_cache(maxsize=10)
def _untouched(path: Path, *_: int) -> SavedBook:
    return book_of(path)


def typed_into(path: Path, target: Path, name: str, at: tuple[int, ...], value: object) -> Path:
    """Types into a cell of a block; edge cells are counted, as `read` returns them."""
    return _typed(path, target, {(name, at): value})


def all_typed_into(path: Path, target: Path, edits: Mapping[str, object]) -> Path:
    """Types into the first cell of each of several blocks."""
    return _typed(path, target, {(name, (0,) * len(places(path)[name].shape)): value for name, value in edits.items()})


def all_cells_typed_into(path: Path, target: Path, edits: Mapping[str, Any]) -> Path:
    """Types the whole of several blocks of numbers."""
    cells = {(name, at): float(array[at]) for name, array in edits.items() for at in np.ndindex(array.shape)}
    return _typed(path, target, cells)


def _typed(path: Path, target: Path, edits: Mapping[tuple[str, tuple[int, ...]], Any]) -> Path:
    sheets: dict[str, dict[str, tuple[str | None, Any]]] = {}
    for (name, at), value in edits.items():
        found = places(path)[name]
        is_formula = isinstance(value, str) and value.startswith("=")
        sheets.setdefault(found.sheet, {})[found.cell(at)] = (value[1:], None) if is_formula else (None, value)
    change_sheets(path, target, sheets)
    return target


def typed_and_saved(path: Path, target: Path, name: str, at: tuple[int, ...], value: object) -> Path:
    """Types into a cell with openpyxl, which saves the file in its own way, and formulas without their numbers."""
    loaded = openpyxl.load_workbook(path)
    loaded[places(path)[name].sheet][places(path)[name].cell(at)].value = value
    loaded.save(target)
    return target


def refusal(path: Path) -> str:
    """Returns the sentence with which a file is refused, without its path, with which it begins."""
    with pytest.raises(ReadError) as refused:
        book_of(path)
    assert str(refused.value).startswith(str(path))
    return str(refused.value).removeprefix(str(path)).lstrip(",: ")
