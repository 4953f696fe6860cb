"""Where one block stands: the cell of its first member and the step to the next one along each axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.language import Axis, Block
from blueprint.language.values import Values


@dataclass(frozen=True)
class Place:
    """The 0-based cell of a block's members 0, 0, …, and the (rows, columns) from one member to the next per axis.

    groups: the axes of which each member has a group of columns of its own.
    """

    sheet: str
    row: int
    column: int
    steps: Mapping[Axis, tuple[int, int]]
    groups: tuple[Axis, ...] = ()

    def cell(self, block: Block, places: tuple[int, ...]) -> tuple[int, int]:
        """Returns row and column of a cell given by 0-based places; −1 and the size are the edges."""
        row, column = self.row, self.column
        for axis, member in zip(block.axes, places, strict=True):
            down, right = self.steps[axis]
            row, column = row + down * member, column + right * member
        return row, column

    def corners(self, block: Block, values: Values) -> tuple[int, int, int, int]:
        """Returns the first row and column and the last row and column of the block, edges included."""
        low = tuple(-values.before(block, axis) for axis in block.axes)
        high = tuple(values.size(axis) - 1 + int((axis, 1) in block.edges) for axis in block.axes)
        return *self.cell(block, low), *self.cell(block, high)


def extent_of(block: Block, axis: Axis, values: Values) -> int:
    """Returns how many cells a block has along an axis, edges included."""
    return values.before(block, axis) + values.size(axis) + int((axis, 1) in block.edges)


def spans(block: Block, values: Values) -> list[range]:
    """Returns the places that a block has along each of its axes, edges included."""
    return [
        range(-values.before(block, axis), values.size(axis) + int((axis, 1) in block.edges)) for axis in block.axes
    ]
