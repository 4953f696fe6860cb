"""A workbook of somebody's own blueprint, which no kind knows: its formulas say what reads what, and its cells what came out."""

import re
from collections.abc import Iterable
from functools import cached_property
from os import PathLike

from blueprint.language import (
    Array,
    Axis,
    Block,
    Cell,
    NotationError,
    Position,
    Read,
    Ref,
    Step,
    components,
    printed,
    typed,
)
from blueprint.page.filled_in import FilledIn
from blueprint.page.found import Found
from blueprint.page.outline import Blueprint, Section, Sheet
from blueprint.page.place import Address
from blueprint.page.read import Opened
from blueprint.page.written import Area, read_by
from blueprint.reopening.book import SavedBook
from blueprint.reopening.saved import NO_KIND

SAID = re.compile(r"(\S+?)=([^;]+?) from (-?\d{1,9})(?=;|$)")


class OwnBook(SavedBook):
    """A book of what its file shows: the definitions are not known, so that nothing is computed anew."""

    computes = False

    def __init__(self, file: Opened):
        # the axes by letter and size, as the file says of them `t=year from 1; v=word from 0`
        said = {letter: (meaning, int(first)) for letter, meaning, first in SAID.findall(file.noted.get("axes", ""))}
        lie = {(along.letter, along.size): None for found in file.places.values() for along in found.shape}
        axes = {(letter, size): Axis(letter, *said.get(letter, (letter, 1))) for letter, size in lie}
        blocks = {name: _block(found, axes) for name, found in file.places.items()}
        standing = {
            sheet: tuple(blocks[name] for name, found in file.places.items() if found.sheet == sheet)
            for sheet in file.sheets
        }
        sheets = tuple(Sheet(sheet, "", (Section(sheet, items),)) for sheet, items in standing.items() if items)
        sizes = {axis: size for (_, size), axis in axes.items()}
        filled = FilledIn(file)
        shown = {block: _shown(file, name, filled) for name, block in blocks.items()}
        super().__init__(Blueprint(file.title, sheets, sizes, shown, facts=file.noted), file, filled)

    def save(self, path: str | PathLike[str]) -> int:
        """Refuses to write a workbook, which would hold no formulas."""
        raise NotationError(NO_KIND.format(path=self.file.path))

    def typed(self, block: Block) -> bool:
        """Says whether one types in a block, or else it has formulas."""
        return self.file.places[block.name].kind == "typed"

    def reads(self, cell: Cell) -> tuple[Read, ...]:
        """Returns what the formula of a cell reads: cells of blocks, range by range, in its order."""
        here = self.spots[cell.block.name].stands(cell.places)
        found: dict[tuple[Cell, ...], Read] = {}
        for area in read_by(self.formula(here) or "", here.sheet, self.file.named):
            for block, cells in self._inside(area).items():
                along = zip(block.axes, *(each.places for each in cells), strict=True)
                over = tuple(axis for axis, *places in along if len(set(places)) > 1)
                ref = Ref(block, tuple(map(Position, block.axes)))
                found.setdefault(tuple(cells), Read(ref, tuple(cells), over, len(cells), tuple(cells)))
        return tuple(found.values())

    def spelled(self, cell: Cell) -> tuple[str, str]:
        """Returns the equation that Contents says of a block, "" of a typed one, and a cell's own formula with its value."""
        equation = str(self.file.places[cell.block.name].line["equation"] or "")
        if self.blank(cell):
            return equation, ""
        formula = self.formula(self.spots[cell.block.name].stands(cell.places))
        shown = printed(self.values.cell(cell.block, *cell.places))
        return equation, f"{formula} = {shown}" if formula else shown

    def derivation(self) -> tuple[Step, ...]:
        """Returns the blocks, each behind those that it reads, as Contents says; in reading order where they go in a circle."""
        blocks, places = self.blocks, self.file.places
        reads = {
            block: [blocks[read] for read in places[name].reads if read in blocks] for name, block in blocks.items()
        }
        return tuple(block for component in components(reads) for block in component)

    def doubts(self, cell: Cell) -> str:
        """Says nothing: what else the inputs give is not known."""
        return ""

    @cached_property
    def _cells(self) -> dict[Address, Cell]:
        """The cells of the blocks by where they stand."""
        return {
            spot.stands(at): Cell(self.blocks[name], at) for name, spot in self.spots.items() for at in spot.places()
        }

    def _inside(self, area: Area) -> dict[Block, list[Cell]]:
        """Returns the cells of an area, block by block."""
        rows, columns = range(area.top, area.bottom + 1), range(area.left, area.right + 1)
        known: Iterable[Address] = self._cells  # an area may be a whole sheet
        if len(rows) * len(columns) < len(self._cells):
            known = (Address(area.sheet, row, column) for row in rows for column in columns)
        groups: dict[Block, list[Cell]] = {}
        for at in known:
            if at in self._cells and at.sheet == area.sheet and at.row in rows and at.column in columns:
                groups.setdefault(self._cells[at].block, []).append(self._cells[at])
        return groups


def _shown(file: Opened, name: str, filled: FilledIn) -> Array:
    """Returns what a file shows in a block; what waits for a blank shows nothing, and text in a blank is the number it means."""
    if name not in filled.touched:
        return file.array(name)
    array = file.array(name, {}, unsaved=True)
    for at, number in filled.numbers.get(name, {}).items():
        array[at] = number
    return array


def _block(found: Found, axes: dict[tuple[str, int], Axis]) -> Block:
    """Returns a block that holds what the file shows, with what Contents says of it."""
    symbol, meaning, unit, source = (
        str(found.line[column] or "") for column in ("symbol", "meaning", "unit or range", "source")
    )
    along = {axes[each.letter, each.size]: each for each in found.shape}
    edges = [axis.first - 1 for axis, each in along.items() if each.start]
    edges += [axis.last + 1 for axis, each in along.items() if each.end]
    return typed(
        found.name, tuple(along), symbol, meaning, unit=unit, source=source, text=found.words, limit=found.limit, edges=tuple(edges)
    )  # fmt: skip
