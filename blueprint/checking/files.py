"""Files to be checked: every number that they hold, and how their blocks depend on each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.page.grid import letters
from blueprint.page.read import Found, ReadError, array_of, noted, opened, places
from blueprint.page.recalculate import Cells, with_ironcalc
from blueprint.page.slim import slimmed

Array = npt.NDArray[Any]

BEGINNINGS = {"old.W", "reference.logits", "reference.logprobs"}
"""Blocks of which a workbook has one from which the witness can start."""


@dataclass(frozen=True)
class Checked:
    """A workbook as it was saved.

    places: where each block stands. arrays: its cells, edges included, as the file shows them (NaN or "" is blank).
    recalculated: the file held formulas without their numbers, so that these were computed first.
    """

    path: Path
    places: Mapping[str, Found]
    arrays: Mapping[str, Array]
    facts: Mapping[str, str]
    recalculated: bool

    @cached_property
    def computed(self) -> Cells:
        """The value of every formula, as the embedded engine computes it from the file alone."""
        return recalculated(self.path)

    @cached_property
    def formulas(self) -> Any:
        """The file, opened for its formulas."""
        return opened(self.path, formulas=True)

    def address(self, name: str, at: tuple[int, ...]) -> str:
        """Returns the address of a block's cell (edge cells counted), without its sheet."""
        return next(address_of(r, c) for index, r, c in self.places[name].cells() if index == at)

    def range(self, name: str) -> str:
        """Returns sheet and range of a block."""
        found = self.places[name]
        cells = [(row, column) for _, row, column in found.cells()]
        first, last = address_of(*cells[0]), address_of(*cells[-1])
        return f"{found.sheet}!{first}" + (f":{last}" if last != first else "")

    def followers(self, name: str) -> set[str]:
        """Returns every block that reads this one, directly or through others."""
        reached, waiting = set(), [name]
        while waiting:
            read = waiting.pop()
            new = [reader for reader, found in self.places.items() if read in found.reads and reader not in reached]
            reached.update(new)
            waiting += new
        return reached


def address_of(row: int, column: int) -> str:
    """Returns the address of a cell given by its 1-based row and column."""
    return f"{letters(column - 1)}{row}"


def read_checked(path: Path) -> Checked:
    """Reads a workbook, edited or not, whichever program saved it.

    Raises ReadError, in a sentence, for a missing file, one that is no workbook of ours or has a password, and one whose
    blocks cannot be found whole.
    """
    book = opened(path)
    found = places(book, path)
    _refuse_unknown(path, found)
    arrays = {name: array_of(block, book) for name, block in found.items()}
    empty = _without_numbers(found, arrays)
    if empty:
        cells = recalculated(path)
        arrays |= {name: _filled(found[name], arrays[name], cells) for name in empty}
    return Checked(path, found, arrays, noted(book), bool(empty))


def recalculated(path: Path) -> Cells:
    """Returns every formula's value by the embedded engine. Raises ReadError where it cannot open the file."""
    with TemporaryDirectory() as folder:
        try:
            return with_ironcalc(slimmed(path, Path(folder) / "slim.xlsx"))
        except RuntimeError as error:
            raise ReadError(f"{path} has formulas without numbers, and cannot be recalculated: {error}") from error


def _refuse_unknown(path: Path, found: Mapping[str, Found]) -> None:
    """Refuses a workbook of a kind that torch has no numbers for, such as classic PPO."""
    if not found.keys() & BEGINNINGS:
        raise ReadError(
            f"{path} is of a kind that check does not know: it knows RLHF PPO that begins at weights, logits or log-probs"
        )


def _without_numbers(found: Mapping[str, Found], arrays: Mapping[str, Array]) -> list[str]:
    """Lists the computed blocks of numbers that hold a blank: their formulas were saved without numbers."""
    computed = [name for name, block in found.items() if block.kind != "typed"]
    blank = [name for name in computed if not found[name].words and np.isnan(arrays[name].astype(float)).any()]
    return computed if blank else []


def _filled(found: Found, array: Array, cells: Cells) -> Array:
    """Returns a block's cells with the engine's values where there is a formula."""
    filled = array.copy()
    for at, row, column in found.cells():
        key = found.sheet, address_of(row, column)
        if key in cells:
            value = cells[key]
            if not found.words and not isinstance(value, int | float):
                raise ReadError(f"{found.name} on {found.sheet} should hold numbers, but {key[1]} comes to {value}")
            filled[at] = value if value is not None else ""
    return filled
