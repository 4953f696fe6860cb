"""Several axes downwards lie one inside the other: each member of an outer one has a heading, and below it the inner ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from blueprint.language import Axis, Block, Values
from blueprint.page.place import Place, extent_of


class Heading(NamedTuple):
    """A row that names a member of an outer axis."""

    row: int
    axis: Axis
    member: int


class Nest:
    """The rows of one block. `across`: the axes that run to the right."""

    def __init__(self, block: Block, across: Sequence[Axis], values: Values):
        self.block, self.values = block, values
        self.axes = [axis for axis in block.axes if axis not in across]
        self.steps, high = dict[Axis, tuple[int, int]](), 1
        for axis in reversed(self.axes):
            self.steps[axis] = (high, 0)
            high = 1 + high * extent_of(block, axis, values)

    @property
    def outer(self) -> list[Axis]:
        """The axes whose members have headings, the outermost first."""
        return self.axes[:-1]

    def above(self, depth: int = 0) -> int:
        """Returns how many rows stand above the first member of all axes from a depth on: edges, and headings."""
        edges = sum(self.values.before(self.block, axis) * self.steps[axis][0] for axis in self.axes[depth:])
        return edges + len(self.outer[depth:])

    def headings(self, place: Place) -> Iterator[Heading]:
        """Yields the headings of a block that has its place."""
        for depth, axis in enumerate(self.outer):
            for members in product(*(range(self.values.size(each)) for each in self.outer[: depth + 1])):
                first = self._row(place, dict(zip(self.outer, members, strict=False)))
                yield Heading(first - self.above(depth + 1) - 1, axis, members[-1])

    def members(self, place: Place) -> Iterator[tuple[int, int]]:
        """Yields the row and the number of each member of the innermost axis."""
        for members in product(*(range(self.values.size(axis)) for axis in self.axes)):
            yield self._row(place, dict(zip(self.axes, members, strict=True))), members[-1]

    def _row(self, place: Place, at: dict[Axis, int]) -> int:
        return place.cell(self.block, tuple(at.get(axis, 0) for axis in self.block.axes))[0]
