"""Central differences: what a gradient is held against, with nothing in common with it but the equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from blueprint.language import Axis, Block, compute
from blueprint.language.gradient import Gradient

NUDGE = 1e-6
# Central differences are off by NUDGE² times a third derivative, and by rounding / NUDGE: 1e-10 in numbers about 1.
NEAR = 2e-8
Array = npt.NDArray[np.float64]
Typed = Mapping[Block, object]


def slope(blocks: Sequence[Block], sizes: Mapping[Axis, int], typed: Typed, loss: Block, leaf: Block) -> Array:
    """Returns by how much the loss grows with each cell of a typed block."""
    start = np.asarray(typed[leaf], dtype=float)
    found = np.zeros_like(start)
    for at in np.ndindex(start.shape):
        ends = []
        for by in (NUDGE, -NUDGE):
            moved = start.copy()
            moved[at] += by
            ends.append(float(compute(blocks, sizes, {**typed, leaf: moved})[loss]))
        found[at] = (ends[0] - ends[1]) / (2 * NUDGE)
    return found


def check(made: Gradient, blocks: Sequence[Block], sizes: Mapping[Axis, int], typed: Typed) -> None:
    """Holds the gradient of every typed block that has one against central differences."""
    values = compute([*blocks, *made.blocks], sizes, typed)
    checked = [leaf for leaf in typed if leaf in made.found]
    assert checked
    for leaf in checked:
        wanted = slope(blocks, sizes, typed, made.total, leaf)
        assert np.abs(wanted).max() > 0, leaf.name
        np.testing.assert_allclose(values[made[leaf]], wanted, rtol=0, atol=NEAR * max(1, np.abs(wanted).max()))
