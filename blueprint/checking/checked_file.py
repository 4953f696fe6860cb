"""Files to be checked: every number that they hold, how their blocks depend on each other, and their formulas, one by one and
wherever they stand, against those of a fresh workbook of their kind and sizes.

The witness sees numbers; a formula of the same value, and one on a sheet that no quantity stands on, it does not see.
Files of one kind and size have nearly the same formulas, and to load them takes an engine four times as long as to compute them:
so the embedded engine loads one of them, and types into it what the others have.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from blueprint.language import Array, Axis, Values
from blueprint.page import grid
from blueprint.page.engine import Cells, Others, alike_apart, recalculated_apart, without_values
from blueprint.page.grid import FORMULAS, ONE_PAGE, Address, is_of_one_page, with_one_part
from blueprint.page.moved_cells import Moved
from blueprint.page.outline import Blueprint
from blueprint.page.parse_cell import NoNumber, respelled, same_formula, same_in_place
from blueprint.page.read import FilledIn, Found, Opened, ReadError
from blueprint.page.saved_file import Written
from blueprint.quoting import LONGEST_FORMULA, quoted, unquoted
from blueprint.reopening import book_in, typed_of
from blueprint.reopening.fresh import Fresh, Like, Off
from blueprint.reopening.saved import known_as, numbers_of
from blueprint.workbooks.kind import Kind, imported
from blueprint.workbooks.registry import blueprint_of, kinds

MARGIN = 1
"""The column of the watches, which tell a limit that was delivered as off from a number."""
OFF = "off"
OVERWRITTEN = ("!", "≠")
"""What a watch shows where a number stands in place of a formula, and where another formula does."""
FEWEST_BLOCKS = 0.9
"""Part of the blocks that a file shares with a fresh one; of fewer the formulas are those of another version."""
ANOTHER_VERSION = "another version of this program wrote it (blueprint rebuild writes it anew)"
_AGAIN = re.compile(r"(?<![A-Za-z0-9$!])([A-Z]{1,3}[0-9]+)=\(")

Value = Callable[[Address], Any]
"""What a cell of the file shows."""


class Other(NamedTuple):
    """A cell in which not the formula of a fresh workbook stands: what does, and what should."""

    cell: str
    stands: str
    meant: str

    def __str__(self) -> str:
        return f"{self.cell}: found {self.stands}, a fresh workbook has {self.meant}"


@dataclass(frozen=True)
class Compared:
    """What a comparison of all formulas came to.

    expected: how many formulas a fresh workbook has. open: of how many it is not sure where they stand in the file, or
    where a cell that they read does. why: why none could be compared, else "". axes: along which axes the blocks of such a
    workbook lie, by their names. cells: where the formulas stand that are those of a fresh workbook.
    """

    others: tuple[Other, ...] = ()
    expected: int = 0
    open: int = 0
    why: str = ""
    axes: Mapping[str, tuple[Axis, ...]] = field(default_factory=dict)
    cells: tuple[Address, ...] = ()

    @property
    def compared(self) -> int:
        """How many formulas were compared."""
        return self.expected - self.open

    def at(self, cell: str) -> Other | None:
        """Returns what stands in a cell instead of its formula; None where that is not known to be another."""
        return next((other for other in self.others if other.cell == cell), None)


def formulas_of(file: Opened) -> Compared:
    """Compares the formulas of a file."""
    try:
        like = Like(file)
    except ReadError as error:
        return Compared(why=str(error).removeprefix(f"{file.path}: "))
    version = file.noted.get("formulas", "none") if file.noted else ""
    compared = against_fresh(like, file.places, file.written, lambda cell: file.value(*cell), version)
    marked = () if compared.why else tuple(_marked_rows(file))
    return replace(compared, axes=like.fresh().axes, others=(*compared.others, *marked))


def _marked_rows(file: Opened) -> Iterator[Other]:
    """Yields the rows of One page whose own mark says that a formula there is not as delivered, once they are recalculated."""
    for row, column in file.written.get(ONE_PAGE, {}):
        if column == MARGIN and file.value(ONE_PAGE, row, MARGIN) in OVERWRITTEN:
            marked = f"{ONE_PAGE}!{grid.address(row - 1, MARGIN - 1)}"
            yield Other(marked, "the mark of an overwritten formula in this row", "no mark")


def against_fresh(like: Like, places: dict[str, Found], file: Written, value: Value, version: str = "") -> Compared:
    """Compares formulas with those of a fresh workbook.

    Which limits were off when the file was made its watches tell, or, where one of them was overwritten, what it shows.
    version: the fingerprint of the formulas with which the file was written; "" where the file has lost it.
    """
    plain = like.fresh()
    formulas = {
        sheet: cells for sheet, cells in plain.formulas.items() if sheet != ONE_PAGE
    }  # whose columns hang on numbers
    moved = Moved(formulas, plain.blocks, file, places)
    if moved.known < FEWEST_BLOCKS:
        return Compared(why=ANOTHER_VERSION)
    there = ((limit, moved.to_file(place)) for limit, place in plain.limits.items())
    limits = [(limit, at) for limit, at in there if at]
    shown_off = frozenset(limit for limit, at in limits if value(at) == OFF)
    made = [like.fresh(off) for off in dict.fromkeys((_told_off(limits, file), shown_off))]
    both = (_formulas_compared(fresh, moved, file, value) for fresh in made if version in ("", fresh.fingerprint))
    return min(both, key=lambda each: len(each.others), default=Compared(why=ANOTHER_VERSION))


def _formulas_compared(fresh: Fresh, moved: Moved, file: Written, value: Value) -> Compared:
    others: list[Other] = []
    cells: list[Address] = []
    unsure = 0
    meant = [
        (Address(sheet, *cell), text)
        for sheet, formulas in fresh.formulas.items()
        for cell, text in formulas.items()
        if not is_of_one_page(sheet, text)  # its columns and decimals follow from the numbers; its own marks watch it
    ]
    loose = {row for (row, _), text in fresh.formulas.get(FORMULAS, {}).items() if is_of_one_page(FORMULAS, text)}
    for place, text in meant:
        at = moved.to_file(place)
        written = file.get(at.sheet, {}).get(at[1:]) if at else None
        if written is not None and place.sheet == FORMULAS and place.row in loose:
            written, text = with_one_part(written), with_one_part(text)
        agrees = _agrees(written, at, text, place, moved) if at else None
        unsure += agrees is None
        if at and agrees:
            cells.append(at)
        if at and agrees is False:
            others.append(_other_formula(at, written, respelled(text, place.sheet, moved.to_file), value))
    return Compared(tuple(others), len(meant), unsure, cells=tuple(cells))


def _agrees(written: str | None, at: Address, meant: str, place: Address, moved: Moved) -> bool | None:
    """Says whether what stands in a cell is what should; None where that is not sure."""
    if written is None or (written == meant and moved.nowhere):
        return written is not None
    if moved.nowhere:
        return same_in_place(written, meant, place.sheet)
    return same_formula(written, at, meant, place, moved.to_fresh)


def _other_formula(at: Address, written: str | None, meant: str, value: Value) -> Other:
    text = "" if written is None else f"={written}".replace("_xlfn.", "")
    stands = unquoted(text, LONGEST_FORMULA) if text else printed_value(value(at))
    return Other(f"{unquoted(at.sheet)}!{at.cell}", stands, unquoted(f"={meant}", LONGEST_FORMULA))


def printed_value(value: object) -> str:
    """Prints what a cell shows: a number, a text in quotes, or nothing."""
    return f"{value:.10g}" if isinstance(value, int | float) else quoted(str(value)) if value else "nothing"


def _told_off(limits: Sequence[tuple[tuple[str, int], Address]], file: Written) -> Off:
    """Returns which computed limits, each with its cell, the watches compute a second time, as they do with words."""
    again: dict[str, set[str]] = {at.sheet: set() for _, at in limits}
    for sheet, found in again.items():
        watches = (text for (_, column), text in file.get(sheet, {}).items() if column == MARGIN)
        found.update(*map(_AGAIN.findall, watches))
    return frozenset(limit for limit, at in limits if at.cell in again[at.sheet])


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

    computing: Callable[[], Cells] | None = None
    """Waits for an engine that was asked for the values of all formulas (`compute_together`)."""

    def __init__(self, path: Path):
        super().__init__(path)
        self.kind = kind = _kind_of(self)
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
            with suppress(RuntimeError):
                if self.computing:
                    return self.computing()
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
            not found.words
            and any(
                not _is_corner(found, at)
                for at in {*_blanks(self.arrays[name])} - odd.keys() - self.blanks.open.get(name, set())
            )
            for name, odd in self.odd.items()
            for found in (self.places[name],)
        )

    def _lacks_typed(self) -> bool:
        """Says whether somebody typed a formula, of which the file does not say what it comes to."""
        typed = (found for found in self.places.values() if found.kind == "typed")
        unsaid = [
            found.cell(at)
            for found in typed
            for at, row, column in found.cells()
            if _blank(self.arrays[found.name][at]) and self.formula(found.sheet, row, column)
        ]
        return bool(unsaid) and not without_values(self.path).isdisjoint(unsaid)

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
    try:
        return recalculated_apart(path)
    except RuntimeError as error:
        raise ReadError(f"{path} has formulas without numbers, and cannot be recalculated: {error}") from error


def _blank(value: object) -> bool:
    return value == "" or value != value  # NaN alone is not itself


def _is_corner(found: Found, at: At) -> bool:
    """Says whether a cell is at an edge of two axes at once, where no equation reaches and nothing stands."""
    edges = (
        (along.start and index == 0) or (along.end and index == along.cells - 1)
        for along, index in zip(found.shape, at, strict=True)
    )
    return sum(edges) > 1


def _blanks(array: Array) -> Iterator[At]:
    """Yields the cells that show nothing."""
    yield from (tuple(at) for at in np.argwhere(np.isnan(array)).tolist())


MOST_TOGETHER = 16
"""Files that one process computes at most; the others may be computed beside it."""
MOST_REWRITTEN = 200
"""Formulas of a sheet in which such files may differ; on One page 35 hang on how small the numbers are."""


def compute_together(files: Sequence[Checked], pool: Executor) -> None:
    """Has the embedded engine compute the formulas of files while other work goes on; `Checked.computed` waits for it."""
    left = [*files]
    while left:
        first, alike, places = left[0], list[Checked](), set[Address]()
        for file in left:
            if len(alike) < MOST_TOGETHER and (found := differing(first, file)) is not None:
                alike.append(file)
                places |= found
        alike = alike or [first]  # which alone may have what none can share
        others = Others([*places], [[stands(file, at) for at in places] for file in alike[1:]])
        made = pool.submit(alike_apart, first.path, others)
        for number, file in enumerate(alike):
            file.computing = partial(_values, made, number)
        left = [file for file in left if file not in alike]


def _values(made: Future[list[Cells]], number: int) -> Cells:
    """Waits for the values of one of several files; raises RuntimeError where the engine has none."""
    return made.result()[number]


def differing(first: Opened, other: Opened) -> set[Address] | None:
    """Returns the cells in which another file has another formula, or something else typed.

    None if it has other names or sheets, or more than a few other formulas; also where one of them has a formula for several
    cells at once, or where an error or a date is typed.
    """
    if first.sheets != other.sheets or first.names != other.names or first.cells.keys() != other.cells.keys():
        return None
    found: set[Address] = set()
    for title, here in first.cells.items():
        there = other.cells[title]
        typed = {
            at
            for at in here.values.keys() | there.values.keys()
            if not _same(here.values.get(at), there.values.get(at))
        }
        formulas, written = here.formulas, there.formulas
        rewritten = {at for at in formulas.keys() | written.keys() if formulas.get(at) != written.get(at)}
        found.update(Address(title, *at) for at in rewritten | (typed - formulas.keys()))
        if len(rewritten) > MOST_REWRITTEN or not (here.ordinary and there.ordinary):
            return None
    return found if all(_plain(stands(file, at)) for file in (first, other) for at in found) else None


def stands(file: Opened, at: Address) -> Any:
    """Returns what stands in a cell: its value, or a list of its formula, without the sign =."""
    written = file.written.get(at.sheet, {}).get((at.row, at.column))
    return file.value(*at) if written is None else [written]


def _same(value: object, other: object) -> bool:
    """Says whether two cells hold the same; TRUE is not the number 1."""
    return value == other and type(value) is type(other)


def _plain(value: object) -> bool:
    """Says whether in a cell stands a number, a word, a formula or nothing."""
    if isinstance(value, int | float):
        return isfinite(value)
    return value is None or isinstance(value, list) or (isinstance(value, str) and not value.startswith("#"))
