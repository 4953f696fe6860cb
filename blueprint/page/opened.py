"""A saved workbook, opened to look at single cells: what is typed, what its formulas show, what it says about itself."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from openpyxl import load_workbook
from openpyxl.utils.cell import get_column_letter

from blueprint.page import grid
from blueprint.page.read import Found, ReadError, noted, opened, places


class Opened:
    """A workbook and where its blocks stand. Raises ReadError, as `locate` does, for a file that is none of ours."""

    def __init__(self, path: Path):
        self.path = path
        self._shown = opened(path)
        self.places: dict[str, Found] = places(self._shown, path)
        self._formulas: dict[str, dict[tuple[int, int], str]] = {}

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

    def block(self, name: str) -> Found:
        """Returns where a block stands. Raises ReadError where the file has no such block."""
        if name not in self.places:
            raise ReadError(f"{self.path} has no block {name}: it was made by another version of this program")
        return self.places[name]

    def array(self, name: str) -> npt.NDArray[Any]:
        """Returns a block's cells, edges included; blank is NaN among numbers and "" among words.

        Raises ReadError where the file has no such block, where text stands among its numbers, and where a formula was
        saved without its value.
        """
        found = self.block(name)
        cells = np.empty(tuple(along.cells for along in found.shape), dtype=object)
        for at, row, column in found.cells():
            value = self.value(found.sheet, row, column)
            if wrong := self._wrong(value, found, row, column):
                raise ReadError(f"{self.where(name, at)}: {wrong}")
            cells[at] = value if value is not None else "" if found.words else np.nan
        return cells if found.words else cells.astype(float)

    def where(self, name: str, at: tuple[int, ...]) -> str:
        """Returns the file, address and block of a cell, as a sentence begins; edge cells are counted."""
        found = self.places[name]
        row, column = next((row, column) for index, row, column in found.cells() if index == at)
        return f"{self.path}, {grid.quoted(found.sheet)}!{get_column_letter(column)}{row} ({name})"

    def value(self, sheet: str, row: int, column: int) -> Any:
        """Returns what a cell shows; None for a blank one, and for a formula that was saved without its number."""
        return self._shown[sheet].cell(row, column).value

    def formula(self, sheet: str, row: int, column: int) -> str | None:
        """Returns the formula of a cell; None for a cell without."""
        if sheet not in self._formulas:
            self._formulas[sheet] = self._formulas_on(sheet)
        return self._formulas[sheet].get((row, column))

    def links(self, sheet: str, row: int) -> list[str]:
        """Returns where the links in a row lead: `Loss!N51` or `Loss!N14:X14`."""
        linked = (cell.hyperlink for cell in self._shown[sheet][row])
        return [link.location for link in linked if link is not None and link.location]

    def _wrong(self, value: Any, found: Found, row: int, column: int) -> str:
        """Says what is wrong with a cell of a block; nothing where it can be computed with."""
        if value is None and (formula := self.formula(found.sheet, row, column)):
            return f"{formula} was saved without recalculation; open and save it in a spreadsheet program"
        if value is None or found.words or isinstance(value, bool | int | float):
            return ""
        return f"found {value!r}, expected a number"

    def _formulas_on(self, sheet: str) -> dict[tuple[int, int], str]:
        """Reads the formulas of one sheet, and of no other: a file may be large."""
        with self.path.open("rb") as file:
            page = load_workbook(file, read_only=True)[sheet]
            page.reset_dimensions()
            written = (cell for row in page.iter_rows() for cell in row if cell.data_type == "f")
            return {(cell.row, cell.column): str(getattr(cell.value, "text", cell.value)) for cell in written}
