"""Files to be checked: every number that they hold, and how their blocks depend on each other."""

from collections.abc import Iterator, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np

from blueprint.checking.formulas import Compared, formulas_of
from blueprint.checking.older import by_todays_names
from blueprint.language import Array, Values
from blueprint.page.apart import recalculated_apart, slimmed, without_values
from blueprint.page.filled_in import FilledIn
from blueprint.page.found import Found
from blueprint.page.outline import Blueprint
from blueprint.page.parse_cell import NoNumber
from blueprint.page.read import Opened, ReadError
from blueprint.page.recalculate import Cells
from blueprint.quoting import unquoted
from blueprint.reopening import book_in, typed_of
from blueprint.reopening.fresh import Like
from blueprint.reopening.saved import known_as, numbers_of
from blueprint.workbooks.kind import Kind, imported
from blueprint.workbooks.registry import blueprint_of, kinds

At = tuple[int, ...]
"""Index of a block's cell, edge cells counted."""


class Checked(Opened):
    """A workbook as it was saved.

    arrays: the cells of its blocks, edges included, as the file shows them (NaN or "" is blank).
    odd: what computed cells show that should hold numbers, such as an error; they are NaN in `arrays`.
    recalculated: the file held formulas without their numbers, so that these were computed first.
    blanks: those of a worksheet, what was filled in, and which cells wait.
    compared: its formulas against those of a fresh workbook, or worksheet.
    book: of a worksheet what its definitions make of what was filled in.
    kind: the record of its kind.

    Raises ReadError, in a sentence, for a missing file, one that is no workbook of ours or has a password, one whose blocks
    cannot be found whole, and one that torch cannot compute again.
    """

    def __init__(self, path: Path):
        super().__init__(path)
        self.kind = kind = _kind_of(self)
        self.former = kind.former
        self.places = by_todays_names(self.places, kind.former)
        self.blanks = FilledIn(self)
        self.odd: dict[str, dict[At, str]] = {n: {} for n, found in self.places.items() if found.kind != "typed"}
        self.arrays = {name: self.array(name, self.odd.get(name), unsaved=True) for name in self.places}
        self.recalculated = self._lacks_numbers() or self._lacks_typed()
        if self.recalculated:
            cells = recalculated(path)
            for found in self.places.values():
                self._fill(found, cells)
        for name, (most, expected) in (imported(kind.whole) or {}).items():
            self._refuse_parts(name, most, expected)
        self.compared: Compared = formulas_of(self)
        self.book = book_in(self) if self.blanks.cells else None

    @cached_property
    def computed(self) -> Cells | None:
        """The value of every formula, as the embedded engine computes it from the file alone; None where it cannot."""
        try:
            return recalculated(self.path)
        except ReadError:
            return None

    def showing(self, arrays: Mapping[str, Array]) -> Self:
        """Returns the file as if its blocks showed something else."""
        made = copy(self)
        made.arrays = {**self.arrays, **arrays}
        return made

    @cached_property
    def outline(self) -> Blueprint:
        """The blueprint of the file's kind and sizes, of a worksheet with all that it leaves out; one for all files alike."""
        return Like(self).whole()

    @cached_property
    def given(self) -> dict[str, Array]:
        """What torch starts from: the file's blocks, and those that a worksheet leaves out.

        By what is there torch sees what there is to compute, such as how many steps an optimiser takes; so the computed ones,
        of which it reads no number, are there as zeros. Of the typed ones nothing in the worksheet reads a number.
        """
        if self.book is None:
            return self.arrays
        whole = blueprint_of(numbers_of(self))
        values = Values(whole.sizes)
        computed = {
            block.name: np.zeros(values.shape(block)) for block in whole.blocks() if not (block.typed or block.text)
        }
        return {**computed, **typed_of(whole), **self.arrays}

    def left_out(self, name: str) -> bool:
        """Says whether a quantity is not in a worksheet because of its blanks."""
        return self.book is not None and name not in self.book.blocks

    def says(self, name: str, at: At) -> float | str:
        """Returns what the file shows in a block's cell: its number or word, or what stands there instead of one."""
        value = self.odd.get(name, {}).get(at, self.arrays[name][at])
        return value if isinstance(value, str) else float(value) if isinstance(value, int | float) else str(value)

    def cell(self, name: str, at: At) -> str:
        """Returns sheet and address of a block's cell, as messages name it."""
        return f"{unquoted(self.places[name].sheet)}!{self.places[name].cell(at)}"

    def range(self, name: str) -> str:
        """Returns sheet and range of a block."""
        found = self.places[name]
        last = found.cell(tuple(along.cells - 1 for along in found.shape))
        first = self.cell(name, (0,) * len(found.shape))
        return first if first.endswith(f"!{last}") else f"{first}:{last}"

    def followers(self, name: str) -> set[str]:
        """Returns every block that reads this one, directly or through others."""
        found, queue = {name}, [name]
        for read in queue:  # which grows by what is found
            new = self._readers.get(read, set()) - found
            found |= new
            queue += new
        return found - {name}

    @cached_property
    def _readers(self) -> dict[str, set[str]]:
        """Every block that is read, with those that read it directly."""
        readers: dict[str, set[str]] = {}
        for reader, found in self.places.items():
            for read in found.reads:
                readers.setdefault(read, set()).add(reader)
        return readers

    def _lacks_numbers(self) -> bool:
        """Says whether a computed block of numbers holds a blank: its formulas were saved without numbers."""
        return any(
            not self.places[name].words
            and len({*_blanks(self.arrays[name])} - odd.keys() - self.blanks.open.get(name, set()))
            for name, odd in self.odd.items()
        )

    def _lacks_typed(self) -> bool:
        """Says whether somebody typed a formula, of which the file does not say what it comes to."""
        unsaid = without_values(self.path)
        typed = (found for found in self.places.values() if found.kind == "typed")
        return any(
            _blank(self.arrays[found.name][at]) and found.cell(at) in unsaid and self.formula(found.sheet, row, column)
            for found in typed
            for at, row, column in found.cells()
        )

    def _fill(self, found: Found, cells: Cells) -> None:
        """Puts the engine's values where a block has formulas: a typed one where it shows nothing, others everywhere."""
        array, odd = self.arrays[found.name], self.odd.get(found.name)
        for at, _, _ in found.cells():
            key = found.sheet, found.cell(at)
            if key not in cells or (odd is None and not _blank(array[at])):
                continue
            try:
                array[at] = found.parsed(cells[key])
            except NoNumber as error:
                if odd is None:
                    raise ReadError(f"{found.sheet}!{key[1]} ({found.name}): {error}") from error
                array[at], odd[at] = np.nan, str(cells[key])

    def _refuse_parts(self, name: str, most: int | str, expected: str) -> None:
        """Refuses a typed cell that holds no whole number from 0 to the most that torch has a meaning for."""
        found = self.places.get(name)
        if found is None or found.kind != "typed" or found.words or (isinstance(most, str) and most not in self.places):
            return
        last = most if isinstance(most, int) else self.places[most].shape[-1].size - 1
        numbers = np.nan_to_num(self.arrays[name], nan=0.0)
        for at in map(tuple, np.argwhere((numbers < 0) | (numbers > last) | (numbers != np.trunc(numbers))).tolist()):
            meant = expected.format(last=last, count=last + 1)
            raise ReadError(f"{self.path}, {self.cell(name, at)} ({name}): found {numbers[at]:g}, expected {meant}")


def _kind_of(file: Opened) -> Kind:
    """Returns a file's kind; refuses a blueprint that is of none, whose equations no file holds."""
    kind, _ = known_as(file) or (None, None)
    if kind is None:
        known = ", ".join(each.title for each in kinds() if each.saved)
        raise ReadError(
            f"{file.path} is of a kind that check does not know: it knows {known}; make a kind of its blueprint (add_kind) whose "
            "record says how numbers come back from a saved file"
        )
    return kind


def recalculated(path: Path) -> Cells:
    """Returns every formula's value by the embedded engine. Raises ReadError where it cannot open the file."""
    with TemporaryDirectory() as folder:
        try:
            return recalculated_apart(slimmed(path, Path(folder) / "slim.xlsx"))
        except RuntimeError as error:
            raise ReadError(f"{path} has formulas without numbers, and cannot be recalculated: {error}") from error


def _blank(value: object) -> bool:
    return value == "" or value != value  # NaN alone is not itself


def _blanks(array: Array) -> Iterator[At]:
    """Yields the cells that show nothing."""
    yield from (tuple(at) for at in np.argwhere(np.isnan(array)).tolist())
