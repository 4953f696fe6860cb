"""Types into saved workbooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl

from blueprint.page.found import Found
from tests.page.workshop import located


def places(path: Path) -> dict[str, Found]:
    """Returns where the blocks of a file stand."""
    return located(path)


def typed_into(path: Path, target: Path, name: str, at: tuple[int, ...], value: object) -> Path:
    """Types into a cell of a block with openpyxl; edge cells are counted, as `read` returns them."""
    return _typed(path, target, {(name, at): value})


def all_typed_into(path: Path, target: Path, edits: Mapping[str, object]) -> Path:
    """Types into the first cell of each of several blocks."""
    return _typed(path, target, {(name, (0,) * len(places(path)[name].shape)): value for name, value in edits.items()})


def all_cells_typed_into(path: Path, target: Path, edits: Mapping[str, Any]) -> Path:
    """Types the whole of several blocks of numbers."""
    cells = {(name, at): float(array[at]) for name, array in edits.items() for at in np.ndindex(array.shape)}
    return _typed(path, target, cells)


def _typed(path: Path, target: Path, edits: Mapping[tuple[str, tuple[int, ...]], object]) -> Path:
    loaded = openpyxl.load_workbook(path)
    for (name, at), value in edits.items():
        found = places(path)[name]
        row, column = next((row, column) for here, row, column in found.cells() if here == at)
        loaded[found.sheet].cell(row, column).value = value
    loaded.save(target)
    return target
