"""Picking: what stands in the chosen column, as numbers and as formulas that follow the choice.

A row of the page runs over all groups, so one number says where the chosen column is in it, in every row of every
sheet: `INDEX(row, 1, chosen_place)`. The next member is one place further.
"""

import numpy as np

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Ended,
    Expr,
    Lookup,
    NotationError,
    Op,
    Position,
    Reduce,
    Ref,
    picked,
    places_of,
    require,
)
from blueprint.page import byhand, digits, grid, names, outline, steps
from blueprint.page.layout import Layout, Live, Pen


class Picker:
    """Reads the chosen column; the first values are those of the column chosen by the blueprint's own numbers.

    finder: sheet and row of the two lines that find the column.
    constants, levels: the cells of the constants, and those of the decimals that are tried.
    dec, least: the name of the cell that says the fewest decimals, and how many these are.
    """

    def __init__(self, layout: Layout, choice: outline.Choice, finder: tuple[str, int]):
        self.layout, self.values, self.choice, self.pen = layout, layout.values, choice, Pen(finder[0], layout)
        self.stride = grid.address(finder[1], steps.VALUE)
        self.constants, self.levels = byhand.cells_of(finder[1])
        *self.outer, self.time = choice.across
        self.dec, self.least = names.defined_name(choice.decimals.name), int(float(self.values.cell(choice.decimals)))
        self.at = {axis: self._chosen(axis, n) for axis, n in zip(choice.across, choice.numbers, strict=True)}

    def _chosen(self, axis: Axis, number: Block) -> int:
        """Returns the place that a typed number means; raises NotationError if there is none."""
        typed, last = float(self.values.cell(number)), axis.start + self.values.size(axis) - 1
        require(
            typed in range(axis.start, last + 1),
            f"{number.name} is {typed:g}: {axis.meaning}s run {axis.start} … {last}",
        )
        return int(typed) - axis.start

    def tried_levels(self) -> list[tuple[str, int]]:
        """Returns the decimals that are tried, each with the cell that says so."""
        return [(cell, self.least + more) for cell, more in zip(self.levels, byhand.MORE, strict=False)]

    def enough(self, row: int, cells: list[tuple[str, float]]) -> tuple[str, int]:
        """Writes what comes out with more and more decimals; spells the fewest that are enough, and returns which these are."""
        for column, cell in enumerate(cells, steps.TRIED):
            self.pen.live(row, column, *cell, "as print")
        due, first = grid.address(row, steps.DUE), grid.address(row, steps.TRIED)
        formula = f"={picked(f'{self.levels[0]}:{self.levels[-1]}', f'MATCH({due},{first}:{due},0)')}"
        return formula, [number for _, number in cells].index(cells[-1][1])

    def enough_for_sum(
        self, row: int, values: list[float | str], column: int, whole: digits.Operand | None
    ) -> int | Ended:
        """Spells how many decimals listed numbers need to add up as displayed; returns how many, or the end among them.

        column: where the first of the numbers stands; the others stand right of it.
        """
        places = [grid.address(row, each) for each in range(column, column + len(values))]
        cells = byhand.sums(values, places, whole, self.constants, self.tried_levels())
        formula, number = self.enough(row, cells)
        due = cells[-1][1]
        decimals = due if isinstance(due, Ended) else self.least + byhand.LEVELS[number]
        self.pen.live(
            row, steps.DIGITS, formula, decimals if isinstance(decimals, Ended) else float(decimals), "as print"
        )
        return decimals

    def place(self) -> tuple[str, float]:
        """Spells the one number that says where the chosen column is; returns it, too."""
        *outer, time = (names.defined_name(number.name) for number in self.choice.numbers)
        if not outer:
            return f"={time}+1", float(self.at[self.time] + 2)
        place = self.at[self.outer[0]] * grid.stride(self.values.size(self.time)) + self.at[self.time] + 2
        return f"=({outer[0]}-1)*{self.stride}+{time}+1", float(place)

    def spread(self, block: Block) -> None:
        """Spells the cells of a block that has one number per member, in the chosen column."""
        sheet, top, last, column = self.layout.spread[block]
        for member in range(last - top + 1):
            value = self.values.cell(block, *(self.at.get(axis, member) for axis in block.axes))
            formula = f"={picked(self.rows(block, self.layout.places[block].row + member), names.CHOSEN_PLACE)}"
            self.layout.lives.append(Live(sheet, top + member, column, formula, value, f"live {block.about.decimals}"))

    def value(self, leaf: steps.Leaf) -> float | str:
        """Returns the number that a line holds; 0 where a sheet's empty cell is read, beyond the last member."""
        if isinstance(leaf, Reduce):
            ended = (end for block in steps.blocks_of(leaf) for end in self.values.ended.get(block, {}).values())
            found = np.sum(np.prod([self.values[block] for block in steps.blocks_of(leaf)], axis=0))
            return next(ended, float(found))
        places = places_of(leaf, self.at, self.values)
        known = all(place in span for place, span in zip(places, self.values.spans(leaf.block), strict=True))
        return self.values.cell(leaf.block, *places) if known else 0.0

    def formula(self, leaf: steps.Leaf) -> str:
        """Spells the formula that brings a number to its line."""
        if isinstance(leaf, Reduce):
            of, ends = (
                steps.blocks_of(leaf),
                self.time not in leaf.axes,
            )  # what has no place in time stands in a Σ column
            ranges = [self.rows(block, self.layout.places[block].row, ends=int(ends)) for block in of]
            return f"={'SUMPRODUCT' if len(ranges) > 1 else 'SUM'}({','.join(ranges)})"
        if not leaf.at:
            return f"={names.defined_name(leaf.block.name)}"
        if not set(self.choice.across) & set(leaf.block.axes):
            return f"={self._weight(leaf)}"
        if self.time in leaf.block.axes:
            return self._of_column(leaf)
        # The Σ column of the chosen group, as `chosen_place` counts, is the one before the next group's start.
        place = f"{names.CHOSEN_PLACE}-{names.defined_name(self.choice.numbers[-1].name)}+{self.stride}-2"
        return f"={picked(self.rows(leaf.block, self.layout.places[leaf.block].row, ends=1), place)}"

    def member_name(self, axis: Axis, member: int) -> tuple[str, str]:
        """Returns what a member is called, as a formula and as text."""
        called = self.layout.blueprint.names[axis]
        if isinstance(called, Block):
            return self.layout.address(called, (member,), fixed=True), str(self.values.cell(called, member))
        text = called.format(axis.start + member)
        return f'"{text}"', text

    def _of_column(self, leaf: Ref) -> str:
        """Spells how a number of the chosen column, or of one beside it, is brought to its line."""
        by, (first, id) = shift(leaf), self._member(leaf)
        place = f"{names.CHOSEN_PLACE}{by:+}" if by else names.CHOSEN_PLACE
        row, _ = self.layout.places[leaf.block].cell(leaf.block, (*(0 for _ in self.choice.across), *first))
        if id is not None:
            height = self.values.size(leaf.block.axes[-1]) - 1
            return f"=INDEX({self.rows(leaf.block, row, height)},{self.cell_of(id)}+1,{place})"
        formula = f"={picked(self.rows(leaf.block, row), place)}"
        return formula + '&""' if leaf.block.text and leaf.block.typed else formula  # INDEX takes a blank for a 0

    def _member(self, leaf: Ref) -> tuple[tuple[int, ...], Ref | None]:
        """Returns which member's row is meant, and the id that counts from there on, where it is computed."""
        match leaf.at[len(self.choice.across) :]:
            case ():
                return (), None
            case (Lookup(_, Constant(int() as member)),):
                return (member,), None
            case (Lookup(_, Ref() as id),):
                return (0,), id
            case (Lookup(_, Op("sub", (Ref() as id, _))),):
                return (-1,), id
        raise NotationError(f"{leaf} is no cell of one column")

    def cell_of(self, leaf: Expr) -> str:
        """Returns the address of the cell that holds a number on the walk."""
        return grid.address(*self.layout.numbered[steps.name(leaf if isinstance(leaf, Reduce) else steps.origin(leaf))])

    def _weight(self, leaf: Ref) -> str:
        """Spells the cell of a weight; the member whose weights are meant is the one of a line."""
        place, block, at = self.layout.places[leaf.block], leaf.block, places_of(leaf, self.at, self.values)
        for number, (axis, index) in enumerate(zip(block.axes, leaf.at, strict=True)):
            if isinstance(index, Lookup) and isinstance(index.id, Ref):
                ends = ((*at[:number], end, *at[number + 1 :]) for end in (0, self.values.size(axis) - 1))
                first, last = (grid.address(*place.cell(block, end), fixed=True) for end in ends)
                return picked(f"{grid.quoted(place.sheet)}!{first}:{last}", f"{self.cell_of(index.id)}+1")
        return self.layout.address(block, at, fixed=True)

    def rows(self, block: Block, top: int, height: int = 0, ends: int = 0) -> str:
        """Returns the range of whole rows, from the first group's start column to the last one's end column, or Σ column.

        ends: how many columns farther than the end column.
        """
        groups, members = self.values.size(self.outer[0]) if self.outer else 1, self.values.size(self.time)
        last = grid.start_column(groups - 1, members) + members + 1 + ends
        area = grid.area(top, grid.GROUPS, top + height, last, fixed=True)
        return f"{grid.quoted(self.layout.places[block].sheet)}!{area}"


def shift(leaf: steps.Leaf) -> int:
    """Returns how many columns beside the chosen one a leaf stands."""
    indices = () if isinstance(leaf, Reduce) else leaf.at
    return next((index.by for index in indices if isinstance(index, Position) and index.by), 0)
