"""Addresses, as seen from a row of cells: a formula with holes where the column letters go, filled in column by column.

All cells of a row have one formula in relative form, so it is spelled once per row and not once per cell.
"""

from itertools import product
from typing import NamedTuple

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Definition,
    Edge,
    Index,
    Members,
    NotationError,
    Position,
    Reduce,
    Ref,
    excel,
    places_of,
    require,
    walk,
)
from blueprint.page import grid, names
from blueprint.page.layout import Layout

Cell = tuple[int, int]
HOLE = "\0"


class Hole(NamedTuple):
    """A column letter to be filled in: `shift` columns from the cell's own, or from the start of its group."""

    shift: int
    from_group: bool


class Template(NamedTuple):
    """A row's formula with HOLE for each hole; a word in it may hold any sign that one can type."""

    text: str
    holes: tuple[Hole, ...]

    def filled(self, column: int, group_start: int) -> str:
        """Returns the formula of the cell in a column (0-based)."""
        letters = (grid.letters((group_start if h.from_group else column) + h.shift) for h in self.holes)
        first, *others = self.text.split(HOLE)
        return first + "".join(letter + text for letter, text in zip(letters, others, strict=True))


def template(block: Block, definition: Definition, at: Members, layout: Layout) -> Template:
    """Spells the formula of one row of a block; `at` says which, by the members of the axes that run downwards."""
    for node in walk(definition.expr):
        if isinstance(node, Reduce) and len(node.axes) > 1:
            _refuse_open(node, layout)
    addresses = RowAddresses(block, definition.target, at, layout)
    return Template("=" + excel(definition.expr, addresses), tuple(addresses.holes))


def _refuse_open(node: Reduce, layout: Layout) -> None:
    """Refuses a sum over several groups unless one factor is empty or 0 between them and in their edge columns."""
    refs = [ref for ref in walk(node.body) if isinstance(ref, Ref)]
    over_groups = any(set(node.axes) & set(layout.places[ref.block].groups) for ref in refs)
    if over_groups and not any(_closed(ref.block) and not _shifted(ref) for ref in refs):
        raise NotationError(f"{node} would count edge cells: one factor must be 0 or empty there, such as the mask")


def _shifted(ref: Ref) -> bool:
    return any(isinstance(index, Position) and index.by for index in ref.at)


def _closed(block: Block) -> bool:
    edges = (d.expr for d in block.definitions if any(isinstance(index, Edge) for index in d.target))
    return not (block.typed and block.edges) and all(isinstance(e, Constant) and e.value == 0 for e in edges)


class RowAddresses:
    """Spells addresses as seen from a row; collects the holes in the order of spelling."""

    def __init__(self, target: Block, written: tuple[Index, ...], at: Members, layout: Layout):
        self.layout, self.values, self.at = layout, layout.values, at
        self.home = layout.places[target]
        along = zip(target.axes, written, strict=True)
        self.strides = {
            index.axis: self.home.steps[slot][1]
            for slot, index in along
            if isinstance(index, Position) and index.axis not in at
        }
        self.running = list(self.strides)
        self.here = self._corner(Ref(target, written), {})
        self.holes: list[Hole] = []

    def cell(self, ref: Ref) -> str:
        """Returns the address of one cell; a single number goes by its name."""
        if not ref.block.axes:
            return names.defined_name(ref.block.name)
        return self._sheet(ref) + self._address(ref, self._corner(ref, {}))

    def span(self, ref: Ref, axes: tuple[Axis, ...]) -> str:
        """Returns the range of a reference's cells along the axes, from the first member to the last."""
        self._refuse_between(ref, axes)
        first = self._corner(ref, dict.fromkeys(axes, 0))
        last = self._corner(ref, {axis: self.values.size(axis) - 1 for axis in axes})
        if len(axes) > 1 and set(axes) & set(self.layout.places[ref.block].groups):
            # A row over all groups is one plain range with their start and end columns, which `_refuse_open` watches.
            first, last = (first[0], first[1] - 1), (last[0], last[1] + 1)
        return f"{self._sheet(ref)}{self._address(ref, first, axes)}:{self._address(ref, last, axes)}"

    def _refuse_between(self, ref: Ref, axes: tuple[Axis, ...]) -> None:
        """Refuses a range in which cells of other members stand: one over groups, in whose columns other members are."""
        place = self.layout.places[ref.block]
        indices = zip(ref.block.axes, ref.at, strict=True)
        over = {slot for slot, index in indices if isinstance(index, Position) and index.axis in axes}
        for way, slot in product((0, 1), (slot for slot in ref.block.axes if slot not in over)):
            widest = max((place.steps[each][way] for each in over), default=0)
            if 0 < place.steps[slot][way] < widest and self.values.size(slot) > 1:
                raise NotationError(
                    f"{ref} over {' and '.join(map(str, axes))}: cells of other {slot.meaning}s stand between; "
                    f"sum over {slot.letter} as well, or link a block beside it that lies otherwise"
                )

    def number(self, axis: Axis) -> str:
        """Returns the address of the head's cell that holds the number of the member at hand; only columns have such a head."""
        sheet = next(sheet for sheet in self.layout.blueprint.sheets if sheet.title == self.home.sheet)
        require(
            sheet.across and sheet.across[-1] is axis,
            f"number({axis}) stands in the head of a sheet whose columns are {axis.plural}, and {sheet.title} has others: "
            "count them in a block of their own",
        )
        self.holes.append(Hole(0, from_group=False))
        return f"{HOLE}${grid.NUMBER_ROW + 1}"

    def changes(self) -> str:
        """Returns the name of the cell that counts the typed blocks that were changed."""
        return names.CHANGED_INPUTS

    def _sheet(self, ref: Ref) -> str:
        sheet = self.layout.places[ref.block].sheet
        return "" if sheet == self.home.sheet else grid.quoted(sheet) + "!"

    def _corner(self, ref: Ref, chosen: Members) -> Cell:
        """Returns row and column of a reference's cell for the first member of every running axis."""
        members = dict.fromkeys(self.running, 0) | dict(self.at) | dict(chosen)
        return self.layout.places[ref.block].cell(ref.block, places_of(ref, members, self.values))

    def _address(self, ref: Ref, corner: Cell, spanned: tuple[Axis, ...] = ()) -> str:
        """Spells a cell's address: with a hole if it moves along with the row's own cells, else fixed.

        spanned: axes along which it is the end of a range, which stays where it is.
        """
        row, column = corner
        place = self.layout.places[ref.block]
        read = {
            index.axis: slot for slot, index in zip(ref.block.axes, ref.at, strict=True) if isinstance(index, Position)
        }
        moving = set(read).intersection(self.running).difference(spanned)
        if across := next((axis for axis in read if axis in moving and place.steps[read[axis]][0]), None):
            raise NotationError(f"{ref} lies across {across.letter}'s direction: link a transposed block beside it")
        for axis in moving:
            stride, own = place.steps[read[axis]][1], self.strides[axis]
            if stride != own and self.values.size(axis) > 1:
                raise NotationError(
                    f"{ref} goes on by {stride} columns for each {axis.letter}, the cells that read it by {own}: "
                    "put it on a sheet that is laid out as theirs"
                )
        if not moving:
            return f"{'$' * bool(self.running)}{grid.letters(column)}{row + 1}"
        whole = moving == set(self.running)
        self.holes.append(Hole(column - (self.here[1] if whole else grid.GROUPS), from_group=not whole))
        return f"{'' if whole else '$'}{HOLE}{row + 1}"
