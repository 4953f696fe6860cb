"""A saved workbook, opened to look at single cells: what is typed, what its formulas show, what it says about itself."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from openpyxl.utils.cell import get_column_letter

from blueprint.page.read import Found, ReadError, noted, opened, places

_PLAIN = re.compile(r"=(?P<reference>(?:'(?:[^']|'')+'!|[^'!(),:+*/<>&\"^ -]+!)?[$\w.]+)")


class Opened:
    """A workbook and where its blocks stand. Raises ReadError, as `locate` does, for a file that is none of ours."""

    def __init__(self, path: Path):
        self.path = path
        self._shown = opened(path)
        self.places: dict[str, Found] = places(self._shown, path)

    @cached_property
    def _written(self) -> Any:
        return opened(self.path, formulas=True)

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the file says about itself, such as its seed; programs that drop document properties leave it empty."""
        return noted(self._shown)

    @property
    def title(self) -> str:
        """The title of the document."""
        return str(self._shown.properties.title or self.path.stem)

    @property
    def sheets(self) -> list[str]:
        """The names of the sheets."""
        return list(self._shown.sheetnames)

    def array(self, name: str) -> npt.NDArray[Any]:
        """Returns a block's cells, edges included; blank is NaN among numbers and "" among words.

        Raises ReadError where the file has no such block, or text stands among its numbers.
        """
        if name not in self.places:
            raise ReadError(f"{self.path} has no block {name}: it was made by another version of this program")
        found = self.places[name]
        cells = np.empty(tuple(along.cells for along in found.shape), dtype=object)
        for at, row, column in found.cells():
            cells[at] = self.value(found.sheet, row, column)
            if found.words and cells[at] is None:
                cells[at] = ""
            elif not found.words:
                cells[at] = _number(cells[at], f"{self.path}, {found.sheet}!{get_column_letter(column)}{row} ({name})")
        return cells if found.words else cells.astype(float)

    def value(self, sheet: str, row: int, column: int) -> Any:
        """Returns what a cell shows; None for a blank one, and for a formula that was saved without its number."""
        return self._shown[sheet].cell(row, column).value

    def repeats(self, sheet: str, row: int, column: int) -> str | None:
        """Returns the cell or name that a cell's formula repeats, `Loss!N40` of `=Loss!N40`; None for any other cell."""
        match = _PLAIN.fullmatch(str(self._written[sheet].cell(row, column).value))
        return match["reference"] if match else None


def _number(value: Any, where: str) -> float:
    """Returns a cell's number; raises ReadError for text."""
    if value is None or isinstance(value, bool | int | float):
        return np.nan if value is None else float(value)
    raise ReadError(f"{where}: found {value!r}, expected a number")
