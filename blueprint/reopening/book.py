"""The book of a file: it computes with what is typed there, and says where the file shows something else. Of a worksheet, with
its blanks; of a blueprint that no kind knows, with what the file's formulas read and its cells show.
"""

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from os import PathLike
from typing import Any

import numpy as np

from blueprint.book import Book
from blueprint.explaining import block_at, parse_address
from blueprint.language import (
    Array,
    Axis,
    Block,
    Cell,
    Ended,
    Held,
    NotationError,
    Position,
    Read,
    Ref,
    Step,
    Values,
    components,
    equation,
    filled_by,
    printed,
    reads,
    schedule,
    typed,
)
from blueprint.page.grid import Address, Spot
from blueprint.page.outline import Blank, Blueprint, Entry, Section, Sheet
from blueprint.page.parse_cell import is_error
from blueprint.page.read import FilledIn, Found, Opened, Told
from blueprint.page.read import Spot as FilledSpot
from blueprint.page.saved_file import Area, read_by
from blueprint.reopening.saved import NO_KIND
from blueprint.worksheets import USED, Asked, in_use, read, without, worksheet

FACTS = ("worksheet", "token", USED)
"""What a worksheet says of itself that another workbook of its numbers does not: its level, whose it is, what is in use."""
SENTENCE, BEGINNING, MOST_ROWS = 8, 24, 5_000
"""Letters that a sentence has at least, and by which one is known, since lines are broken; and rows in which it is sought."""
Places = tuple[int, ...]


@dataclass(frozen=True)
class Cut:
    """What makes a worksheet of a workbook, as a file says it; of a file without blanks it changes nothing.

    blanks: what is told of each, its block, by its name, and its cells by 0-based places. there: the blocks that the file has.
    computed: those among them that are not typed. words: those that stand in the file, where sentences are left out
    of it. facts: what it says of itself.
    """

    blanks: tuple[tuple[Told, str, tuple[Places, ...]], ...] = ()
    there: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    facts: tuple[tuple[str, str], ...] = ()

    def of(self, blueprint: Blueprint) -> Blueprint:
        """Returns a blueprint with the blanks of a file, and without the blocks that were left out of it because of them."""
        if not self.blanks:
            return blueprint
        used = in_use(blueprint, read(dict(self.facts).get(USED, ""), blueprint))
        made = without(used, self.left_out(used), self._unsaid(used))
        blocks = {block.name: block for block in made.blocks()}
        blanks = tuple(
            Blank(told.title, blocks[name], cells, told.weight, told.asks, told.check)
            for told, name, cells in self.blanks
            if name in blocks
        )
        return replace(made, blanks=blanks, facts={**made.facts, **dict(self.facts)})

    def _unsaid(self, blueprint: Blueprint) -> list[str]:
        """Returns a sentence of each row of words of which the file has none: it was left out, and with it what it shows."""
        items = (item for sheet in blueprint.sheets if self.words for item in sheet.items())
        said = ([text for text in item.cells if isinstance(text, str) and len(text) >= SENTENCE]
                for item in items if isinstance(item, Entry))  # fmt: skip
        return [texts[0] for texts in said if texts and self.words.isdisjoint(text[:BEGINNING] for text in texts)]

    def again(self, blueprint: Blueprint) -> Blueprint:
        """Returns the worksheet of the same blanks that is made of a whole blueprint anew: what gives away none of its answers.

        Raises WorksheetError where there is none: somebody typed numbers with which a blank says nothing, or is given away.
        """
        if not self.blanks:
            return blueprint
        level = min(int(dict(self.facts).get("worksheet", "1")), 2)  # a section is its rows, each of which is named
        asked = [Asked(told.title, told.weight) for told, _, _ in self.blanks]
        check, fixed = any(told.check is not None for told, _, _ in self.blanks), USED in dict(self.facts)
        made = worksheet(blueprint, asked, level, check, fixed=fixed).blueprint
        return replace(made, facts={**made.facts, **dict(self.facts)})

    def left_out(self, blueprint: Blueprint) -> set[str]:
        """Returns the names of the blocks that were left out; none where the file has a name that nobody knows.

        Then somebody wrote into its Contents, and a name that is missing may be that one.
        """
        known = {block.name for block in blueprint.blocks()}
        return set() if self.computed - known else known - self.there


def cut_of(file: Opened, filled: FilledIn | None = None) -> Cut:
    """Returns what makes a file the worksheet that it is."""
    filled = filled or FilledIn(file)
    if not filled.blanks:
        return Cut()
    found = []
    for called, spots in filled.blanks.items():
        for name in dict.fromkeys(spot.name for spot in spots):
            starts = [along.start for along in file.places[name].shape]
            cells = (spot.at for spot in spots if spot.name == name)
            found.append(
                (
                    filled.told[called],
                    name,
                    tuple(tuple(i - s for i, s in zip(at, starts, strict=True)) for at in cells),
                )
            )
    computed = frozenset(name for name, place in file.places.items() if place.kind != "typed")
    spoken = (file.words_on(sheet, MOST_ROWS) for sheet in file.sheets if filled.lacks_words)
    words = frozenset(text[:BEGINNING] for found in spoken for *_, text in found)
    facts = tuple((name, file.noted[name]) for name in FACTS if name in file.noted)
    return Cut(tuple(found), frozenset(file.places), computed, words, facts)


def entered(blueprint: Blueprint, filled: FilledIn) -> Held:
    """Returns what is filled in, by block and 0-based places."""
    named, sized = {block.name: block for block in blueprint.blocks()}, Values(blueprint.sizes)
    return {
        named[name]: {places_at(at, named[name], sized): number for at, number in cells.items()}
        for name, cells in filled.numbers.items()
        if name in named
    }


def places_at(at: tuple[int, ...], block: Block, values: Values) -> tuple[int, ...]:
    """Returns the 0-based places of a cell by its index in the block's array, in which edge cells are counted."""
    return tuple(i - values.before(block, axis) for i, axis in zip(at, block.axes, strict=True))


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
            return (
                self.file.remark(cell.block.name, _index(cell, self.values))
                if cell.block.name in self.file.places
                else ""
            )
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
        spot = FilledSpot(cell.block.name, _index(cell, self.values))
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
        remarks = (
            (block.name, at, self.file.remark(block.name, at)) for block, shape in typed for at in np.ndindex(shape)
        )
        answers = ((name, at, self._answered(name, at)) for name, at in sorted(self.filled.cells - self.filled.empty))
        return [f"{self.file.where(name, at)}: {text}" for name, at, text in (*remarks, *answers) if text]

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
        groups: dict[Block, list[Cell]] = {}
        for at in area.among(self._cells):
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
