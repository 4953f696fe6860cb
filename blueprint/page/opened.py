"""A saved workbook, opened to look at single cells: what is typed, what its formulas show, what it says about itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.page import grid
from blueprint.page.archive import refusing
from blueprint.page.found import Found
from blueprint.page.parse_cell import NoNumber, is_off, number_in
from blueprint.page.read import ReadError, loaded, names_in, noted, opened, places
from blueprint.quoting import quoted


class Opened:
    """A workbook and where its blocks stand. Raises ReadError, as `locate` does, for a file that is none of ours.

    shown, found: the file as `read.opened` gives it and where its blocks stand, where that is known.
    """

    def __init__(self, path: Path, shown: Any = None, found: dict[str, Found] | None = None):
        self.path = path
        self.shown = opened(path) if shown is None else shown
        self.places: dict[str, Found] = places(self.shown, path) if found is None else found
        self._cells: dict[str, Any] = {page.title: page for page in self.shown}  # openpyxl looks names up one by one
        self.formulas_by_sheet: dict[str, dict[tuple[int, int], str]] = {}

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the file says about itself, such as its seed; programs that drop document properties leave it empty."""
        return noted(self.shown)

    @property
    def title(self) -> str:
        """The title of the document."""
        return str(self.shown.properties.title or self.path.stem)

    def named(self, name: str) -> str | None:
        """Returns what a defined name stands for, such as `Inputs!$D$8`; None if there is no such name."""
        return self._names.get(name.casefold())

    @cached_property
    def _names(self) -> dict[str, str]:
        return {name.casefold(): text for name, text in names_in(self.shown).items()}

    def words_on(self, sheet: str, rows: int) -> Iterator[tuple[int, int, str]]:
        """Yields row, column and text of the words in the first rows of a sheet; a chart of its own has none."""
        for row in self._cells[sheet].iter_rows(max_row=rows) if sheet in self._cells else ():
            yield from ((cell.row, cell.column, cell.value) for cell in row if isinstance(cell.value, str))

    @property
    def sheets(self) -> list[str]:
        """The names of the sheets."""
        return list(self.shown.sheetnames)

    def block(self, name: str) -> Found:
        """Returns where a block stands. Raises ReadError where the file has no such block."""
        if name not in self.places:
            raise ReadError(f"{self.path} has no block {name}: it was made by another version of this program")
        return self.places[name]

    def array(self, name: str) -> npt.NDArray[Any]:
        """Returns a block's cells, edges included; blank is NaN among numbers and "" among words, off is infinite.

        Raises ReadError where the file has no such block, where text stands among its numbers, and where a formula was
        saved without its value.
        """
        found = self.block(name)
        cells = np.empty(tuple(along.cells for along in found.shape), dtype=object if found.words else float)
        for at, row, column in found.cells():
            value = self.value(found.sheet, row, column)
            if value is None and (formula := self.formula(found.sheet, row, column)):
                said = f"{formula} was saved without recalculation; open and save it in a spreadsheet program"
                raise ReadError(f"{self.where(name, at)}: {said}")
            try:
                cells[at] = found.told(value)
            except NoNumber as error:
                raise ReadError(f"{self.where(name, at)}: {error}") from error
        return cells

    def where(self, name: str, at: tuple[int, ...]) -> str:
        """Returns the file, address and block of a cell, as a sentence begins; edge cells are counted."""
        return f"{self.path}, {self.address(name, at)} ({name})"

    def address(self, name: str, at: tuple[int, ...]) -> str:
        """Returns sheet and cell of a block's cell, edge cells counted: `Weeks!N51`."""
        found = self.places[name]
        return f"{grid.quoted(found.sheet)}!{found.cell(at)}"

    def value(self, sheet: str, row: int, column: int) -> Any:
        """Returns what a cell shows; None for a blank one, and for a formula that was saved without its number."""
        return self._cells[sheet].cell(row, column).value

    def formula(self, sheet: str, row: int, column: int) -> str | None:
        """Returns the formula of a cell; None for a cell without."""
        if sheet not in self.formulas_by_sheet:
            self.formulas_by_sheet[sheet] = self._formulas_on(sheet)
        return self.formulas_by_sheet[sheet].get((row, column))

    def remark(self, name: str, at: tuple[int, ...]) -> str:
        """Says how a typed cell is understood where it is not a plain number or word: text that is one, or a formula.

        at: the cell's index, edge cells counted. Returns "" where there is nothing to say.
        """
        found = self.places[name]
        row, column = found.address(at)
        value = self.value(found.sheet, row, column)
        if value is not None and (formula := self.formula(found.sheet, row, column)):
            return f"typed as the formula {formula}, of which the saved value counts"
        if isinstance(value, str) and not found.words and not (found.limit and is_off(value)):
            return f"typed as text {quoted(value)}, counted as {number_in(value):.15g}; to the sheet itself it is no number"
        return ""

    def links(self, sheet: str, row: int) -> list[str]:
        """Returns where the links in a row lead: `Weeks!N51` or `Weeks!N14:X14`."""
        linked = (cell.hyperlink for cell in self._cells[sheet][row])
        return [link.location for link in linked if link is not None and link.location]

    def _formulas_on(self, sheet: str) -> dict[tuple[int, int], str]:
        """Reads the formulas of one sheet, and of no other: a file may be large."""
        with refusing(self.path):
            page = self._pages[sheet]
            page.reset_dimensions()
            written = (cell for row in page.iter_rows() for cell in row if cell.data_type == "f")
            return {(cell.row, cell.column): str(getattr(cell.value, "text", cell.value)) for cell in written}

    @cached_property
    def _pages(self) -> Any:
        """The file's sheets, each read when it is asked for; its bytes are held, so that no file stays open."""
        return loaded(BytesIO(self.path.read_bytes()), read_only=True)
