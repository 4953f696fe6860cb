"""Types into saved workbooks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import openpyxl

from blueprint.page.read import Found, locate


@cache
def places(path: Path) -> dict[str, Found]:
    """Returns where the blocks of a file stand."""
    return locate(path)


def typed_into(path: Path, target: Path, name: str, at: tuple[int, ...], value: object) -> Path:
    """Types into a cell of a block with openpyxl; edge cells are counted, as `read` returns them."""
    found = places(path)[name]
    loaded = openpyxl.load_workbook(path)
    row, column = next((row, column) for here, row, column in found.cells() if here == at)
    loaded[found.sheet].cell(row, column).value = value
    loaded.save(target)
    return target
