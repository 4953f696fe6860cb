"""Reading: every block of a saved workbook as a named array, wherever the blocks have been moved to, and its single cells."""

from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.page import grid, parse_cell, refusals
from blueprint.page.found import Found, located, noted
from blueprint.page.opening import Workbook
from blueprint.page.refusals import ReadError as ReadError
from blueprint.page.written import Written
from blueprint.quoting import quoted


def read(path: str | PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """Returns every block's array by name, edge cells included; blank cells are NaN among numbers and "" among words.

    A limit that is off is infinite.

    Raises ReadError for a file that is no blueprint workbook, or for a block whose range was deleted, cut or widened.
    """
    file = Opened(Path(path))
    return {name: file.array(name, unsaved=True) for name in file.places}


class Opened:
    """A workbook and where its blocks stand.

    Raises ReadError for a file that is no blueprint workbook, or for a block whose range was deleted, cut or widened.
    """

    def __init__(self, path: Path):
        self.path, self._book = path, Workbook(path)
        self.places: dict[str, Found] = located(self._book, path)

    @cached_property
    def noted(self) -> dict[str, str]:
        """What the file says about itself, such as its seed; programs that drop document properties leave it empty."""
        return noted(self._book)

    @property
    def title(self) -> str:
        """The title of the document."""
        return str(self._book.properties.title or self.path.stem)

    def named(self, name: str) -> str | None:
        """Returns what a defined name stands for, such as `Inputs!$D$8`; None if there is no such name."""
        return self.names.get(name.casefold())

    @cached_property
    def names(self) -> dict[str, str]:
        """What every defined name stands for, by the name in small letters."""
        return {str(name).casefold(): str(defined.attr_text) for name, defined in self._book.names.items()}

    def words_on(self, sheet: str, rows: int) -> Iterator[tuple[int, int, str]]:
        """Yields row, column and text of the words in the first rows of a sheet; a chart of its own has none."""
        values = self._book.cells[sheet].values if sheet in self._book.cells else {}
        words = ((*at, value) for at, value in values.items() if at[0] <= rows and isinstance(value, str))
        yield from sorted(words)

    @property
    def sheets(self) -> list[str]:
        """The names of the sheets."""
        return self._book.sheets

    def block(self, name: str) -> Found:
        """Returns where a block stands. Raises ReadError where the file has no such block."""
        refusals.require(
            name in self.places, f"{self.path} has no block {name}: it was made by another version of this program"
        )
        return self.places[name]

    def array(
        self, name: str, odd: dict[tuple[int, ...], str] | None = None, unsaved: bool = False
    ) -> npt.NDArray[Any]:
        """Returns a block's cells, edges included; blank is NaN among numbers and "" among words, off is infinite.

        odd: where given, text among numbers is put there by index, and its cell is NaN. unsaved: a formula that was saved
        without its value is a blank. Raises ReadError, with the cell, for these otherwise, and for a block that is not there.
        """
        found = self.block(name)
        cells = np.empty(tuple(along.cells for along in found.shape), dtype=object if found.words else float)
        for at, row, column in found.cells():
            value = self.value(found.sheet, row, column)
            if value is None and not unsaved and (formula := self.formula(found.sheet, row, column)):
                raise ReadError(
                    f"{self.where(name, at)}: {formula} was saved without recalculation; open and save it in a "
                    "spreadsheet program"
                )
            try:
                cells[at] = found.parsed(value)
            except parse_cell.NoNumber as error:
                if odd is None:
                    raise ReadError(f"{self.where(name, at)}: {error}") from error
                cells[at], odd[at] = np.nan, str(value)
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
        return self._book.cells[sheet].values.get((row, column))

    def formula(self, sheet: str, row: int, column: int) -> str | None:
        """Returns the formula of a cell; None for a cell without."""
        written = self.written.get(sheet, {}).get((row, column))
        return None if written is None else f"={written}"

    @cached_property
    def written(self) -> Written:
        """Every formula of the file, without its sign =; taken apart when the first is asked for."""
        return {title: sheet.formulas for title, sheet in self._book.cells.items()}

    def remark(self, name: str, at: tuple[int, ...]) -> str:
        """Says how a typed cell is understood where it is not a plain number or word: text that is one, or a formula.

        at: the cell's index, edge cells counted. Returns "" where there is nothing to say.
        """
        found = self.places[name]
        row, column = found.address(at)
        value = self.value(found.sheet, row, column)
        if value is not None and (formula := self.formula(found.sheet, row, column)):
            return f"typed as the formula {formula}, of which the saved value counts"
        if isinstance(value, str) and not found.words and not (found.limit and parse_cell.is_off(value)):
            number = f"counted as {parse_cell.number_in(value):.15g}; to the sheet itself it is no number"
            return f"typed as text {quoted(value)}, {number}"
        return ""

    def links(self, sheet: str, row: int) -> list[str]:
        """Returns where the links in a row lead: `Weeks!N51` or `Weeks!N14:X14`."""
        return self._book.cells[sheet].links.get(row, [])
