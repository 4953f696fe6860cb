"""Sums of a row from a place on, each number discounted once a place: what students take for a row that looks ahead."""

from collections.abc import Iterator

import numpy as np

from blueprint.language import Array, Block, Op, Position, Ref, walk
from blueprint.misconceptions.parts import is_setting
from blueprint.misconceptions.relatives import Relatives

DISCOUNTED = "discounted-"
"""How the names of mistakes begin in which a discounted sum is taken for a row."""


def discounted(block: Block, kin: Relatives, most: int) -> Iterator[tuple[Block, Block]]:
    """Yields rows of the same axes, and the settings by which each is discounted, once each.

    A row further up, up to most steps, adds the one to the other times what stands one place later. The TD error is
    r + γ·V_{t+1} − V_t: of r, discounted by γ, the sum from here on is the reward to go.
    """
    found = dict[tuple[Block, Block], None]()
    for above in kin.near(block, most):
        for definition in above.definitions if above.axes == block.axes else ():
            for node in walk(definition.expr):
                match node:
                    case Op("add", (Ref(other, at), Op("mul", (Ref(by), Ref(_, later))))) if is_setting(by):
                        if _ahead(at) == 0 and _ahead(later) == 1 and other.axes == block.axes:
                            found[kin.origin(other), by] = None
    yield from found


def to_go(numbers: Array, by: float) -> Array:
    """Returns the sum of the numbers from each place on, along the last axis: each is multiplied once a place."""
    total = np.nan_to_num(numbers.astype(float))
    for place in range(total.shape[-1] - 2, -1, -1):
        total[..., place] += by * total[..., place + 1]
    return np.asarray(total)


def _ahead(at: tuple[object, ...]) -> int | None:
    """Returns how many places after the cell's own one is read, along the last axis; None where none is."""
    return at[-1].by if at and isinstance(at[-1], Position) else None
