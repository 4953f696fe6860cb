"""Formulas of a file against those of a fresh workbook of its kind and sizes, one by one, wherever they stand.

The witness sees numbers; a formula of the same value, and one on a sheet that no quantity stands on, it does not see.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from blueprint.language import Axis
from blueprint.page import grid
from blueprint.page.formula_parts import same, same_in_place, spelled
from blueprint.page.found import Found
from blueprint.page.moved import Moved
from blueprint.page.names import ONE_PAGE, is_of_one_page
from blueprint.page.place import Address
from blueprint.page.read import Opened, ReadError
from blueprint.page.written import Written
from blueprint.quoting import LONGEST_FORMULA, quoted, unquoted
from blueprint.reopening.fresh import Fresh, Like, Off

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
    moved = Moved(plain.formulas, plain.blocks, file, places)
    if moved.known < FEWEST_BLOCKS:
        return Compared(why=ANOTHER_VERSION)
    made = [like.fresh(off) for off in dict.fromkeys((_told_off(plain, moved, file), _shown_off(plain, moved, value)))]
    both = (_compared(fresh, moved, file, value) for fresh in made if version in ("", fresh.fingerprint))
    return min(both, key=lambda each: len(each.others), default=Compared(why=ANOTHER_VERSION))


def _compared(fresh: Fresh, moved: Moved, file: Written, value: Value) -> Compared:
    others: list[Other] = []
    cells: list[Address] = []
    unsure = 0
    meant = [
        (Address(sheet, *cell), text)
        for sheet, formulas in fresh.formulas.items()
        for cell, text in formulas.items()
        if not is_of_one_page(sheet, text)  # its columns and decimals follow from the numbers; its own marks watch it
    ]
    for place, text in meant:
        at = moved.to_file(place)
        written = file.get(at.sheet, {}).get(at[1:]) if at else None
        agrees = _agrees(written, at, text, place, moved) if at else None
        unsure += agrees is None
        if at and agrees:
            cells.append(at)
        if at and agrees is False:
            others.append(_other(at, written, spelled(text, place.sheet, moved.to_file), value))
    return Compared(tuple(others), len(meant), unsure, cells=tuple(cells))


def _agrees(written: str | None, at: Address, meant: str, place: Address, moved: Moved) -> bool | None:
    """Says whether what stands in a cell is what should; None where that is not sure."""
    if written is None or (written == meant and moved.nowhere):
        return written is not None
    if moved.nowhere:
        return same_in_place(written, meant, place.sheet)
    return same(written, at, meant, place, moved.to_fresh)


def _other(at: Address, written: str | None, meant: str, value: Value) -> Other:
    text = "" if written is None else f"={written}".replace("_xlfn.", "")
    stands = unquoted(text, LONGEST_FORMULA) if text else _shown(value(at))
    return Other(f"{unquoted(at.sheet)}!{_address(at)}", stands, unquoted(f"={meant}", LONGEST_FORMULA))


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    return f"{value:.10g}" if isinstance(value, int | float) else quoted(value)


def _told_off(fresh: Fresh, moved: Moved, file: Written) -> Off:
    """Returns the computed limits that the watches compute a second time, as they do with words."""
    watches = {
        sheet: (text for (_, column), text in cells.items() if column == MARGIN) for sheet, cells in file.items()
    }
    again = {sheet: {*chain.from_iterable(map(_AGAIN.findall, texts))} for sheet, texts in watches.items()}
    return frozenset(limit for limit, at in _limits(fresh, moved) if _address(at) in again.get(at.sheet, ()))


def _shown_off(fresh: Fresh, moved: Moved, value: Value) -> Off:
    """Returns the computed limits that the file shows as off."""
    return frozenset(limit for limit, at in _limits(fresh, moved) if value(at) == OFF)


def _limits(fresh: Fresh, moved: Moved) -> list[tuple[tuple[str, int], Address]]:
    """Lists the computed limits with their cells in the file."""
    there = ((limit, moved.to_file(place)) for limit, place in fresh.limits.items())
    return [(limit, at) for limit, at in there if at]


def _address(at: Address) -> str:
    return f"{grid.letters(at.column - 1)}{at.row}"
