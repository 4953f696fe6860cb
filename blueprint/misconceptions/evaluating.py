"""What a row comes to under a misconception, on the numbers at hand: made in the step alone, or throughout the row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from blueprint.language import Block, Definition, Expr, NotationError, Step, Values, again, fill, filled_by, schedule
from blueprint.language.trees import letters_of
from blueprint.language.vectorise import compiled

Cells = Sequence[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class WrongRow:
    """A row with a misconception in its equations.

    written: whether somebody wrote the sentence; the others follow from how the equation is built.
    instead: the wrong right-hand side of each of its equations that has one. circle: the blocks that need each other,
    this one among them, where the row is a recursion.
    """

    name: str
    says: str
    written: bool
    block: Block
    instead: Mapping[Definition, Expr]
    circle: tuple[Block, ...] = ()

    def in_the_step(self, cells: Cells, values: Values) -> list[float]:
        """Returns what cells come to if each is computed wrongly, from what all others hold; NaN where that is no number."""
        made: dict[Definition, Any] = {}
        with np.errstate(all="ignore"):
            return [self._cell(cell, values, made) for cell in cells]

    def _cell(self, cell: tuple[int, ...], values: Values, made: dict[Definition, Any]) -> float:
        filled = filled_by(self.block, cell, values)
        if filled is None:
            return float("nan")
        definition, members = filled
        frame = tuple(letters_of(definition.target))
        if definition not in made:
            wrong = compiled(self.instead.get(definition, definition.expr), frame, values)({})
            made[definition] = np.broadcast_to(wrong, tuple(map(values.size, frame)))
        return float(made[definition][tuple(members[axis] for axis in frame)])

    def throughout(self, cells: Cells, values: Values) -> list[float] | None:
        """Returns what cells come to if the whole recursion is computed wrongly; None where the row is none, or cannot be."""
        if self._again is None:
            return None
        copy, steps = self._again
        made = Values(values.sizes, beyond=True)
        made.arrays = dict(values.arrays)
        fill(steps, made)
        return [float(made.cell(copy, *cell)) for cell in cells]

    @cached_property
    def _again(self) -> tuple[Block, tuple[Step, ...]] | None:
        if not self.circle:
            return None
        copies = again(self.circle, {}, equations=self.instead)
        try:
            return copies[self.block], schedule([copies[block] for block in self.circle])
        except NotationError:  # a cell would need itself
            return None
