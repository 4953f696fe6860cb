"""The book of a file: it computes with what is typed there, and says where the file shows something else."""

from collections.abc import Mapping
from copy import copy
from math import nan
from typing import Any

import numpy as np

from blueprint.book import Book
from blueprint.explaining import block_at, parse_address
from blueprint.inputs.setting import STORED_OFF
from blueprint.language import (
    Block,
    Cell,
    Ended,
    NotationError,
    Read,
    Step,
    Values,
    equation,
    filled_by,
    printed,
    reads,
    schedule,
)
from blueprint.page import filled_in
from blueprint.page.filled_in import FilledIn
from blueprint.page.outline import Blueprint
from blueprint.page.parse_cell import is_error
from blueprint.page.place import Address, Spot
from blueprint.page.read import Opened
from blueprint.reopening.worksheet import entered, places_at

SAME = 1e-9
"""What a file shows may differ by this much, relative to numbers above 1: programs round exp and ln differently."""


class SavedBook(Book):
    """A book made from the typed cells of a file; its cells stand where they stand in that file.

    computes: whether what is not typed is computed anew, or else is what the file shows.
    filled:   the blanks of a worksheet. hidden: what is empty, and what waits for it, is blank, so that no answer is told.
    held:     what is filled in stands in its cell whatever the equation says, and all that hangs on it goes on with it.
    """

    computes = True

    def __init__(
        self,
        blueprint: Blueprint,
        file: Opened,
        filled: FilledIn | None = None,
        held: bool = True,
        hidden: bool = True,
    ):
        self.file, self.filled, self.hidden = file, filled or FilledIn(file), hidden
        numbers = entered(blueprint, self.filled) if held and self.computes else {}
        super().__init__(blueprint, beyond=bool(numbers) and hidden, held=numbers)
        self.behind = self.values
        if hidden:
            self._leave_open()

    @property
    def spots(self) -> Mapping[str, Spot]:
        """Where the blocks stand in the file."""
        return self.file.places

    def stands(self, block: Block, places: tuple[int, ...], values: Values) -> str:
        """Returns where a cell stands in the file."""
        return self.file.address(block.name, _index(Cell(block, places), values))

    def derivation(self) -> tuple[Step, ...]:
        """Returns the blocks in the order in which they are computed."""
        return schedule(self.blueprint.blocks())

    def cell_at(self, name: str, at: tuple[int, ...]) -> Cell:
        """Returns the cell of a block by its index in the block's array, in which edge cells are counted."""
        return Cell(self.blocks[name], places_at(at, self.blocks[name], self.values))

    def _leave_open(self) -> None:
        """Makes blank what is empty, and what waits for it; which cell reads which is seen in the numbers behind it."""
        self.values = copy(self.values)
        self.values.arrays = dict(self.values.arrays)
        for name, cells in self.filled.open.items():
            if name in self.blocks:
                block = self.blocks[name]
                array = self.values.arrays[block] = self.values.arrays[block].copy()
                array[tuple(zip(*cells, strict=True))] = "" if block.text else nan

    @property
    def sheets(self) -> list[str]:
        """The names of the file's sheets."""
        return self.file.sheets

    def said(self, cell: Cell) -> float | str | None:
        """Returns what the file shows in a cell, where that is not its value; None also where it shows nothing."""
        shown, value = self._shown(cell), self.values.cell(cell.block, *cell.places)
        if shown is None or self.blank(cell) or (isinstance(value, Ended) and is_error(shown)):
            return None
        if isinstance(value, str) or not isinstance(shown, int | float):
            return None if shown == value else str(shown)
        return None if abs(shown - value) <= SAME * max(1, abs(value)) else float(shown)

    def doubts(self, cell: Cell) -> str:
        """Says that the file shows another value than its inputs give, or none; nothing where it shows the same.

        A cell in which one types is what it is: only how it is understood is said, if it is blank, text or a formula.
        """
        shown, value = self._shown(cell), self.values.cell(cell.block, *cell.places)
        if cell.block.typed and shown is None:
            return "blank, counted as 0" if value == 0 else ""
        if self.blank(cell):
            told = not self.hidden and shown is not None and shown != value
            return f"{printed(shown)} was filled in" if told else ""
        if cell.block.typed:
            return self._remark(cell.block, _index(cell, self.values)) if cell.block.name in self.file.places else ""
        given, said = printed(value), self.said(cell)
        if said is not None:
            return (
                f"the file says {printed(said)}, its inputs give {given}: "
                "it was saved without recalculation, or a formula on the way was overwritten"
            )
        if shown is None and given not in (printed(nan), printed("")):
            return f"the file says nothing here, its inputs give {given}: it was saved without recalculation"
        return ""

    def blank(self, cell: Cell) -> str:
        """Says of a cell that it is a blank, or waits for one; "" of any other."""
        if not self.filled.cells:
            return ""
        spot = filled_in.Spot(cell.block.name, _index(cell, self.values))
        if spot in self.filled.cells:
            return "a blank, not filled in" if spot in self.filled.empty else "a blank, filled in"
        return "waits for a blank" if spot in self.filled.waiting else ""

    def reads(self, cell: Cell) -> tuple[Read, ...]:
        """Returns what the equation of a cell reads, in its order; of a worksheet as if every blank were filled in."""
        return reads(cell, self.behind)

    def spelled(self, cell: Cell) -> tuple[str, str]:
        """Returns the equation of a cell, and the same with the numbers put in, but for a blank and for what waits."""
        if not (self.hidden and self.blank(cell)):
            return super().spelled(cell)
        filled = filled_by(*cell, self.behind)
        return equation(cell.block, filled.definition) if filled else "", ""

    def remarks(self) -> list[str]:
        """Lists the typed cells that are text or formulas, each with its place and how it is understood."""
        typed = [(block, array.shape) for block, array in self.values.arrays.items() if block.typed]
        remarks = ((block.name, at, self._remark(block, at)) for block, shape in typed for at in np.ndindex(shape))
        answers = ((name, at, self._answered(name, at)) for name, at in sorted(self.filled.cells - self.filled.empty))
        return [f"{self.file.where(name, at)}: {text}" for name, at, text in (*remarks, *answers) if text]

    def _remark(self, block: Block, at: tuple[int, ...]) -> str:
        """Says how a typed cell is understood where that is not plain, or not what stands there; else nothing."""
        found = self.file.places[block.name]
        if block.limit and self.file.value(found.sheet, *found.address(at)) == STORED_OFF:
            return f"typed as {STORED_OFF:.0f}, which older versions wrote for off, read as off"
        return self.file.remark(block.name, at)

    def _answered(self, name: str, at: tuple[int, ...]) -> str:
        """Says how what was filled into a blank is understood where that is no plain number."""
        if at in self.filled.numbers.get(name, {}):
            return self.file.remark(name, at)
        return "what was filled in is no number, and counts as nothing"

    def formula(self, address: Address) -> str | None:
        """Returns the formula that stands at an address of the file, or None."""
        return self.file.formula(*address)

    def linked(self, address: Address) -> bool:
        """Says whether a link to a block stands in the row of an address."""
        return any(map(self._leads, self.file.links(address.sheet, address.row)))

    def _leads(self, target: str) -> bool:
        try:
            return block_at(parse_address(target.partition(":")[0], self.sheets), self.spots) is not None
        except NotationError:  # the sheet was renamed, the link was not
            return False

    def _shown(self, cell: Cell) -> Any:
        spot = self.spots.get(cell.block.name)
        return self.file.value(*spot.stands(cell.places)) if spot else None


def _index(cell: Cell, values: Values) -> tuple[int, ...]:
    """Returns the index of a cell in its block's array, in which edge cells are counted."""
    return tuple(
        place + values.before(cell.block, axis) for place, axis in zip(cell.places, cell.block.axes, strict=True)
    )
