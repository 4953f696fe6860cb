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

from blueprint.checking.formulas import Compared, formulas_of
from blueprint.page.apart import recalculated_apart
from blueprint.page.grid import letters
from blueprint.page.read import Found, ReadError, array_of, formula_in, names_in, noted, opened, places
from blueprint.page.recalculate import Cells
from blueprint.page.slim import slimmed, without_values
from blueprint.page.spelled import NoNumber
from blueprint.quoting import unquoted

Array = npt.NDArray[Any]

BEGINNINGS = {"old.W", "reference.logits", "reference.logprobs", "values.old", "responses.kl"}
"""Blocks of which a workbook has one from which the witness can start."""


At = tuple[int, ...]
"""Index of a block's cell, edge cells counted."""


@dataclass(frozen=True)
class Checked:
    """A workbook as it was saved.

    places: where each block stands. arrays: its cells, edges included, as the file shows them (NaN or "" is blank).
    odd: what computed cells show that should hold numbers, such as an error; they are NaN in `arrays`.
    recalculated: the file held formulas without their numbers, so that these were computed first.
    compared: its formulas against those of a fresh workbook.
    """

    path: Path
    places: Mapping[str, Found]
    arrays: Mapping[str, Array]
    odd: Mapping[str, Mapping[At, str]]
    facts: Mapping[str, str]
    recalculated: bool
    compared: Compared

    @cached_property
    def computed(self) -> Cells | None:
        """The value of every formula, as the embedded engine computes it from the file alone; None where it cannot."""
        try:
            return recalculated(self.path)
        except ReadError:
            return None

    @cached_property
    def formulas(self) -> Any:
        """The file, opened for its formulas."""
        return opened(self.path, formulas=True)

    def formula(self, sheet: str, row: int, column: int) -> str | None:
        """Returns the formula of a cell, with its `=`; None for a cell without."""
        return formula_in(self.formulas, sheet, row, column)

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {name.casefold(): text for name, text in names_in(self.formulas).items()}

    def named(self, name: str) -> str | None:
        """Returns what a defined name stands for, such as `Inputs!$D$8`; None if there is no such name."""
        return self._names.get(name.casefold())

    def shown(self, name: str, at: At) -> float | str:
        """Returns what the file shows in a block's cell: its number or word, or what stands there instead of one."""
        value = self.odd.get(name, {}).get(at, self.arrays[name][at])
        return value if isinstance(value, str) else float(value) if isinstance(value, int | float) else str(value)

    def address(self, name: str, at: At) -> str:
        """Returns the address of a block's cell, without its sheet."""
        return address_of(*self.places[name].address(at))

    def range(self, name: str) -> str:
        """Returns sheet and range of a block."""
        found = self.places[name]
        first, last = (address_of(*found.address(at)) for at in ends_of(found))
        return f"{unquoted(found.sheet)}!{first}" + (f":{last}" if last != first else "")

    def followers(self, name: str) -> set[str]:
        """Returns every block that reads this one, directly or through others."""
        reached, waiting = set(), [name]
        while waiting:
            read = waiting.pop()
            new = [reader for reader, found in self.places.items() if read in found.reads and reader not in reached]
            reached.update(new)
            waiting += new
        return reached


def cell_of(file: Checked, name: str, at: At) -> str:
    """Returns sheet and address of a block's cell, as messages name it."""
    return f"{unquoted(file.places[name].sheet)}!{file.address(name, at)}"


def ends_of(found: Found) -> tuple[At, At]:
    """Returns the index of a block's first and of its last cell."""
    return tuple(0 for _ in found.shape), tuple(along.cells - 1 for along in found.shape)


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
    odd: dict[str, dict[At, str]] = {name: {} for name, block in found.items() if block.kind != "typed"}
    arrays = {name: array_of(block, book, odd.get(name)) for name, block in found.items()}
    lacking = _lacks_numbers(found, arrays, odd) or _lacks_typed(path, found, arrays)
    if lacking:
        cells = recalculated(path)
        for name, block in found.items():
            _fill(block, arrays[name], odd.get(name), cells)
    _refuse_mask(path, found, arrays)
    _refuse_actions(path, found, arrays)
    return Checked(path, found, arrays, odd, noted(book), lacking, formulas_of(path, book, found))


def recalculated(path: Path) -> Cells:
    """Returns every formula's value by the embedded engine. Raises ReadError where it cannot open the file."""
    with TemporaryDirectory() as folder:
        try:
            return recalculated_apart(slimmed(path, Path(folder) / "slim.xlsx"))
        except RuntimeError as error:
            raise ReadError(f"{path} has formulas without numbers, and cannot be recalculated: {error}") from error


def _refuse_unknown(path: Path, found: Mapping[str, Found]) -> None:
    """Refuses a workbook of a kind that torch has no numbers for, such as one of a blueprint of somebody's own."""
    if not found.keys() & BEGINNINGS:
        raise ReadError(
            f"{path} is of a kind that check does not know: it knows RLHF PPO that begins at weights, logits or log-probs, "
            "classic PPO, and the adaptive KL controller"
        )


def _refuse_mask(path: Path, found: Mapping[str, Found], arrays: Mapping[str, Array]) -> None:
    """Refuses a typed mask of which a cell is neither 0 nor 1, which torch has no meaning for."""
    if "mask" not in found or found["mask"].kind != "typed" or found["mask"].words:
        return
    mask = np.nan_to_num(arrays["mask"], nan=0.0)
    for at in np.argwhere((mask != 0) & (mask != 1)).tolist()[:1]:
        cell = address_of(*found["mask"].address(tuple(at)))
        raise ReadError(
            f"{path}, {unquoted(found['mask'].sheet)}!{cell} (mask): found {mask[tuple(at)]:g}, expected 1 for a word of the "
            "response or 0 for any other"
        )


def _refuse_actions(path: Path, found: Mapping[str, Found], arrays: Mapping[str, Array]) -> None:
    """Refuses a typed action that is none of those there are, whose log-prob torch cannot look up."""
    if "actions" not in found or "old.logits" not in found or found["actions"].words:
        return
    actions, last = np.nan_to_num(arrays["actions"], nan=0.0), found["old.logits"].shape[-1].size - 1
    for at in np.argwhere((actions < 0) | (actions > last) | (actions != np.trunc(actions))).tolist()[:1]:
        cell = address_of(*found["actions"].address(tuple(at)))
        raise ReadError(
            f"{path}, {unquoted(found['actions'].sheet)}!{cell} (actions): found {actions[tuple(at)]:g}, expected a whole "
            f"number from 0 to {last}, as there are {last + 1} actions"
        )


def _lacks_numbers(
    found: Mapping[str, Found], arrays: Mapping[str, Array], odd: Mapping[str, Mapping[At, str]]
) -> bool:
    """Says whether a computed block of numbers holds a blank: its formulas were saved without numbers."""
    numbers = (name for name in odd if not found[name].words)
    return any(np.count_nonzero(np.isnan(arrays[name])) > len(odd[name]) for name in numbers)


def _lacks_typed(path: Path, found: Mapping[str, Found], arrays: Mapping[str, Array]) -> bool:
    """Says whether somebody typed a formula, of which the file does not say what it comes to."""
    unsaid = without_values(path)
    typed = (block for block in found.values() if block.kind == "typed")
    blank = ((each.sheet, r, c) for each in typed for at, r, c in each.cells() if _blank(arrays[each.name][at]))
    asked = [(sheet, row, column) for sheet, row, column in blank if address_of(row, column) in unsaid]
    if not asked:
        return False
    book = opened(path, formulas=True)
    return any(formula_in(book, *cell) is not None for cell in asked)


def _fill(found: Found, array: Array, odd: dict[At, str] | None, cells: Cells) -> None:
    """Puts the engine's values where a block has formulas: a typed one where it shows nothing, others everywhere."""
    for at, row, column in found.cells():
        key = found.sheet, address_of(row, column)
        if key not in cells or (odd is None and not _blank(array[at])):
            continue
        try:
            array[at] = found.told(cells[key])
        except NoNumber as error:
            if odd is None:
                raise ReadError(f"{found.sheet}!{key[1]} ({found.name}): {error}") from error
            array[at], odd[at] = np.nan, str(cells[key])


def _blank(value: object) -> bool:
    return value == "" or value != value  # NaN alone is not itself
