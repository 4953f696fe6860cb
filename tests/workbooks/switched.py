"""A workbook with live conventions in an engine: types into its switches, and reads every block again."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from blueprint.book import Book
from blueprint.language.trees import OFF_WORD
from blueprint.page.contents import kind_of
from blueprint.page.read import Found, Opened
from tests.page.finished import Engine
from tests.page.workshop import Array, blocks_in, made, same

Given = Mapping[str, str | float]
# No library but one stands in the sheets beside: what is switched are the settings in use.
ONE = "compare=verl"


def asked(preset: str, given: Given, *more: str) -> list[str]:
    """Returns the overrides by which a workbook is built with a preset and other conventions."""
    keys = (f"{key if '.' in key else f'ppo.{key}'}={value}" for key, value in given.items())
    return [f"preset={preset}", ONE, "conventions=live", *more, *keys]


def built(preset: str, given: Given, *more: str) -> Book:
    """Builds the book of the libraries' batch with a preset and other conventions, each once."""
    return _made(*asked(preset, given, *more))


@cache
def _made(*overrides: str) -> Book:
    return made(*overrides, numbers="ten-libraries")


class Switchboard:
    """A saved workbook in ironcalc."""

    def __init__(self, book: Book):
        """Saves a workbook, made with the default preset, and opens it."""
        self.path = Path(mkdtemp()) / "switched.xlsx"
        self.book = book
        self.book.save(self.path)
        self.places: dict[str, Found] = Opened(self.path).places
        self.engine = Engine(self.path)
        self._clear_what_is_not_compared()

    def switched(self, preset: str, given: Given) -> dict[str, Array]:
        """Types a preset and settings, has everything recalculated, reads all blocks, and empties the settings again."""
        self._type("preset", preset)
        for key, value in given.items():
            self._type(f"{key}.yours", value)
        self.engine.evaluate()
        found = blocks_in(self.engine.model, self.places)
        for key in given:
            self._type(f"{key}.yours", None)
        return found

    def _clear_what_is_not_compared(self) -> None:
        """Empties the formulas that are no cells of blocks, such as those of the walk: two thirds of the time are theirs.

        A block that read one of them would no longer come to what the definitions give, and a test would say so.
        """
        sheets = self.engine.sheets
        kept = {(sheets[at.sheet], row, column) for at in self.places.values() for _, row, column in at.cells()}
        for cell in map(tuple, self.engine.model.get_all_cells()):
            if cell not in kept and self.engine.model.get_cell_formula(*cell) is not None:
                self.engine.model.clear_cell_contents(*cell)

    def _type(self, name: str, value: str | float | None) -> None:
        place = self.places[name]
        self.engine.type(place.sheet, place.top, place.left, value)


@cache
def switchboard(*more: str) -> Switchboard:
    """Returns the workbook that all tests of a session share."""
    return Switchboard(built("default", {}, *more))


def types(board: Switchboard, block: str, value: str | float) -> str:
    """Returns the line of Basic that types a word or a number, as a person does."""
    place, typed = board.places[block], f'.String = "{value}"' if isinstance(value, str) else f".Value = {value!r}"
    return f'book.Sheets.getByName("{place.sheet}").getCellByPosition({place.left - 1}, {place.top - 1}){typed}'


def blocks_of_tables(target: Path, places: Mapping[str, Found]) -> dict[str, Array]:
    """Returns every block as LibreOffice wrote its cells into tables, one for each sheet; see `tests.page.basic.Change`."""
    tables = {}
    for sheet in {found.sheet for found in places.values()}:
        with (target.parent / f"{target.stem}-{sheet}.csv").open(encoding="utf-8", newline="") as file:
            tables[sheet] = [*csv.reader(file)]
    return {name: _block_of(tables[found.sheet], found) for name, found in places.items()}


def _block_of(table: list[list[str]], found: Found) -> Array:
    array: Array = np.empty(tuple(along.cells for along in found.shape), dtype=object if found.words else float)
    for at, row, column in found.cells():
        text = table[row - 1][column - 1]
        plain = found.words or text == OFF_WORD
        array[at] = found.parsed(text if plain else float(text) if text else None)
    return array


NEAR = 1e-9
"""Times max(1, |number|), as engines are compared."""


def wrong(book: Book, found: Mapping[str, Array]) -> list[str]:
    """Lists the formulas of a book that were recalculated to something else, as engines are compared."""
    ours = {block.name: array for block, array in book.values.arrays.items() if kind_of(block) == "formula"}
    return [name for name, array in ours.items() if not same(array, found[name], NEAR)]
