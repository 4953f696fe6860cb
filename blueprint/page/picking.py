"""Picking: what stands in the chosen column, as numbers and as formulas that follow the choice.

A row of the page runs over all groups, so one number says where the chosen column is in it, in every row of every
sheet: `INDEX(row, chosen_place)`. The next member is one place further.
"""

from __future__ import annotations

import numpy as np

from blueprint.language import Axis, Block, Constant, Index, Lookup, NotationError, Op, Position, Reduce, Ref
from blueprint.page import grid, reserved_names
from blueprint.page.layout import Copied, Layout, Live
from blueprint.page.names import defined_name
from blueprint.page.outline import Choice
from blueprint.page.place import spans
from blueprint.page.putting import origin
from blueprint.page.steps import VALUE, Leaf, blocks_of, name

PLACE = reserved_names.CHOSEN_PLACE
Value = float | str


class Picker:
    """Reads the chosen column; the first values are those of the column chosen by the blueprint's own numbers."""

    def __init__(self, layout: Layout, choice: Choice):
        self.layout, self.values, self.choice = layout, layout.values, choice
        self.at = {axis: self._chosen(axis, n) for axis, n in zip(choice.across, choice.numbers, strict=True)}

    def _chosen(self, axis: Axis, number: Block) -> int:
        """Returns the place that a typed number means; raises NotationError if there is none."""
        typed, last = float(self.values.cell(number)), axis.start + self.values.size(axis) - 1
        if typed not in range(axis.start, last + 1):
            raise NotationError(f"{number.name} is {typed:g}: {axis.meaning}s run {axis.start} … {last}")
        return int(typed) - axis.start

    def finder(self) -> None:
        """Spells the one number that says where the chosen column is."""
        if self.layout.finder is None:
            return
        sheet, row = self.layout.finder
        *outer, time = self.choice.across
        stride = grid.stride(self.values.size(time))
        names = [defined_name(number) for number in self.choice.numbers]
        formula, place = f"={names[-1]}+1", self.at[time] + 2
        if outer:
            formula = f"=({names[0]}-1)*{grid.letters(VALUE)}{row + 1}+{names[1]}+1"
            place += self.at[outer[0]] * stride
        self.layout.copies.append(Copied(sheet, row, VALUE, float(stride), "live 0"))
        self.layout.lives.append(Live(sheet, row + 1, VALUE, formula, float(place), "live 0"))

    def spread(self, block: Block) -> None:
        """Spells the cells of a block that has one number per member, in the chosen column."""
        sheet, top, last, column = self.layout.spread[block]
        for member in range(last - top + 1):
            row = self.layout.places[block].row + member
            value = self.values.cell(block, *(self.at.get(axis, member) for axis in block.axes))
            formula = f"=INDEX({self.rows(block, row)},{PLACE})"
            self.layout.lives.append(Live(sheet, top + member, column, formula, value, f"live {block.about.decimals}"))

    def value(self, leaf: Leaf) -> Value:
        """Returns the number that a line holds; 0 where a sheet's empty cell is read, beyond the last member."""
        if isinstance(leaf, Reduce):
            return float(np.sum(np.prod([self.values[block] for block in blocks_of(leaf)], axis=0)))
        places = self._places(leaf)
        known = all(place in span for place, span in zip(places, spans(leaf.block, self.values), strict=True))
        return self.values.cell(leaf.block, *places) if known else 0.0

    def formula(self, leaf: Leaf) -> str:
        """Spells the formula that brings a number to its line."""
        if isinstance(leaf, Reduce):
            ranges = [self.rows(block, self.layout.places[block].row) for block in blocks_of(leaf)]
            return f"={'SUMPRODUCT' if len(ranges) > 1 else 'SUM'}({','.join(ranges)})"
        if not leaf.at:
            return f"={defined_name(leaf.block)}"
        if not set(self.choice.across) & set(leaf.block.axes):
            return f"={self._weight(leaf)}"
        if self.choice.across[-1] not in leaf.block.axes:
            return f"=INDEX({self.rows(leaf.block, self.layout.places[leaf.block].row, ends=1)},{self._sum_place()})"
        return self._of_column(leaf)

    def member_name(self, axis: Axis, member: int) -> tuple[str, str]:
        """Returns what a member is called, as a formula and as text."""
        called = self.layout.blueprint.names[axis]
        if isinstance(called, Block):
            row, column = self.layout.places[called].cell(called, (member,))
            sheet = grid.quoted(self.layout.places[called].sheet)
            return f"{sheet}!${grid.letters(column)}${row + 1}", str(self.values.cell(called, member))
        text = called.format(axis.start + member)
        return f'"{text}"', text

    def _of_column(self, leaf: Ref) -> str:
        """Spells how a number of the chosen column, or of one beside it, is brought to its line."""
        by, (first, id) = shift(leaf), self._member(leaf)
        place = f"{PLACE}{by:+}" if by else PLACE
        row, _ = self.layout.places[leaf.block].cell(leaf.block, (*(0 for _ in self.choice.across), *first))
        if id:
            height = self.values.size(leaf.block.axes[-1]) - 1
            return f"=INDEX({self.rows(leaf.block, row, height)},{id}+1,{place})"
        picked = f"=INDEX({self.rows(leaf.block, row)},{place})"
        return picked + '&""' if leaf.block.text and leaf.block.typed else picked  # INDEX takes a blank for a 0

    def _member(self, leaf: Ref) -> tuple[tuple[int, ...], str]:
        """Returns which member's row is meant, and the cell of the id from there on, where it is computed."""
        match leaf.at[len(self.choice.across) :]:
            case ():
                return (), ""
            case (Lookup(_, Constant(int() as member)),):
                return (member,), ""
            case (Lookup(_, Ref() as id),):
                return (0,), self._id(id)
            case (Lookup(_, Op("sub", (Ref() as id, _))),):
                return (-1,), self._id(id)
        raise NotationError(f"{leaf} is no cell of one column")

    def _id(self, id: Ref) -> str:
        row, column = self.layout.walk.cells[name(origin(id))]
        return f"{grid.letters(column)}{row + 1}"

    def _weight(self, leaf: Ref) -> str:
        """Spells the cell of a weight; the member whose weights are meant is the one of a line."""
        place, block = self.layout.places[leaf.block], leaf.block
        looked_up = next((index for index in leaf.at if isinstance(index, Lookup) and isinstance(index.id, Ref)), None)
        members = [0 if index is looked_up else self._fixed(index) for index in leaf.at]
        ends = [members, [self.values.size(axis) - 1 if index is looked_up else member
                          for axis, index, member in zip(block.axes, leaf.at, members, strict=True)]]  # fmt: skip
        corners = (place.cell(block, tuple(end)) for end in ends)
        first, last = (f"${grid.letters(column)}${row + 1}" for row, column in corners)
        sheet = grid.quoted(place.sheet)
        if looked_up is None:
            return f"{sheet}!{first}"
        assert isinstance(looked_up.id, Ref)
        return f"INDEX({sheet}!{first}:{last},{self._id(looked_up.id)}+1)"

    @staticmethod
    def _fixed(index: Index) -> int:
        assert isinstance(index, Lookup)
        assert isinstance(index.id, Constant)
        return int(index.id.value)

    def _sum_place(self) -> str:
        """Spells where the Σ column of the chosen group is, as `chosen_place` counts: one before the next group's start."""
        assert self.layout.finder is not None
        stride = f"{grid.letters(VALUE)}{self.layout.finder[1] + 1}"
        return f"{PLACE}-{defined_name(self.choice.numbers[-1])}+{stride}-2"

    def rows(self, block: Block, top: int, height: int = 0, ends: int = 0) -> str:
        """Returns the range of whole rows, from the first group's start column to the last one's end column, or Σ column.

        ends: how many columns farther than the end column.
        """
        *outer, time = self.choice.across
        members, groups = self.values.size(time), self.values.size(outer[0]) if outer else 1
        last = grid.start_column(groups - 1, members) + members + 1 + ends
        left, right = grid.letters(grid.GROUPS), grid.letters(last)
        return f"{grid.quoted(self.layout.places[block].sheet)}!${left}${top + 1}:${right}${top + height + 1}"

    def _places(self, ref: Ref) -> tuple[int, ...]:
        """Returns the places of a cell in the chosen column, or beside it."""
        found = []
        for index in ref.at:
            match index:
                case Position(axis, by):
                    found.append(self.at[axis] + by)
                case Lookup(_, Constant(int() as member)):
                    found.append(member)
                case Lookup(_, Ref() as id):
                    found.append(self._id_of(id))
                case Lookup(_, Op("sub", (Ref() as id, _))):
                    found.append(self._id_of(id) - 1)
                case _:
                    raise NotationError(f"{ref} is no cell of one column")
        return tuple(found)

    def _id_of(self, id: Ref) -> int:
        return int(float(self.values.cell(id.block, *self._places(id))))


def shift(leaf: Leaf) -> int:
    """Returns how many columns beside the chosen one a leaf stands."""
    if isinstance(leaf, Reduce):
        return 0
    return next((index.by for index in leaf.at if isinstance(index, Position) and index.by), 0)
