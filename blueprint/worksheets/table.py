"""All numbers of a blueprint in one array, in which answers are looked for."""

from collections.abc import Iterable

import numpy as np

from blueprint.language import Array, Block, Cell, Values

SAME = 1e-9
"""How near two numbers are, as a share of them, that are taken for the same: what two ways to compute one may round."""


class Table:
    """The numbers of every block, edges included; `numbers[starts[block]:]` begins with those of a block."""

    def __init__(self, blocks: Iterable[Block], values: Values):
        self.values = values
        self.blocks = [block for block in blocks if not block.text]
        arrays = [values.arrays[block].astype(float).ravel() for block in self.blocks]
        self.starts = np.cumsum([0, *map(len, arrays)])
        self.numbers: Array = np.concatenate([*arrays, np.empty(0)])
        self.typed = np.repeat([block.typed for block in self.blocks], np.diff(self.starts))
        self._number = {block: i for i, block in enumerate(self.blocks)}

    def index(self, cell: Cell) -> int:
        """Returns where the number of a cell stands."""
        block, values = cell.block, self.values
        at = tuple(place + values.before(block, axis) for place, axis in zip(cell.places, block.axes, strict=True))
        return int(self.starts[self._number[block]] + np.ravel_multi_index(at, values.shape(block)) if at else
                   self.starts[self._number[block]])  # fmt: skip

    def cell(self, index: int) -> Cell:
        """Returns the cell whose number stands at an index."""
        number = int(np.searchsorted(self.starts, index, side="right")) - 1
        block, values = self.blocks[number], self.values
        at = np.unravel_index(index - self.starts[number], values.shape(block)) if block.axes else ()
        return Cell(block, tuple(int(i) - values.before(block, axis) for i, axis in zip(at, block.axes, strict=True)))

    def same(self, answer: float) -> Array:
        """Returns the indices of the numbers that are an answer, or its negative."""
        return np.flatnonzero(abs(abs(self.numbers) - abs(answer)) <= SAME * abs(answer))

    def shown_the_same(self, answer: float, decimals: int) -> Array:
        """Returns the indices of typed numbers that look like an answer, or its negative, as far as a page shows it."""
        size = abs(self.numbers)
        close = np.flatnonzero(self.typed & (abs(size - abs(answer)) <= 10.0**-decimals))
        # Only those are rounded: a number near the largest that there is, as e^709, would overflow on the way.
        found: Array = close[np.round(size[close], decimals) == round(abs(answer), decimals)]
        return found
