"""Axes, numbers and a loss to differentiate: cities, days and the units of a small network."""

from __future__ import annotations

import numpy as np

from blueprint.language import Axis, Block, Sum, block
from blueprint.language.gradient import Gradient

n, t = Axis("n", "city"), Axis("t", "day", start=1)
i, j, k = Axis("i", "input"), Axis("j", "unit"), Axis("k", "row")
one = Axis("1", "bias", size=1)
SIZES = {n: 2, t: 3, i: 4, j: 2, k: 5}


def squares(row: Block) -> Block:
    """Returns a loss: the sum of the squares of a block."""
    loss = block("loss", (), "L")
    loss[()] = Sum(row.axes, row[row.axes] * row[row.axes]) if row.axes else row * row
    return loss


def drawn(*blocks: Block) -> dict[Block, object]:
    """Draws numbers for typed blocks."""
    random = np.random.default_rng(7)
    return {each: random.normal(size=tuple(SIZES[axis] for axis in each.axes)) for each in blocks}


def equations(made: Gradient) -> list[str]:
    """Prints every equation that was made."""
    return [line for each in made.blocks for line in str(each).split("\n")]
