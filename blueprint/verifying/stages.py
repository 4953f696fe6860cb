"""The stages in which rows of definitions are computed: a block, several in a loop, or cells that are picked where others stand; in
torch, where a device is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
import torch

from blueprint.dumps import Array
from blueprint.language import Axis, Block, Op, Reduce, Ref, Step
from blueprint.language.evaluate_torch import Tensors


class Selection(NamedTuple):
    """A typed block of 0 and 1 that says where something stands, as in [q, i, n]; nothing is added up where it picks.

    to: by [q, i] the place of n that is read. back: by n the place that is read of [q, i], counted row by row.
    """

    to: Array
    back: Array


class Pick(NamedTuple):
    """A row whose equation is a sum over such a block: of which row it takes cells, by which block, and which way."""

    row: Block
    read: Block
    by: Block
    back: bool


class Stage(NamedTuple):
    """What is computed next, and the blocks that nothing reads any more then."""

    step: Step | Pick
    dead: list[Block]


def pick_of(row: Block, chosen: Collection[Block]) -> Pick | None:
    """Returns how a row takes cells of another one by a block of 0 and 1; None where it does not."""
    match [each.expr for each in row.definitions]:
        case [Reduce("sum", axes, Op("mul", (Ref() as one, Ref() as other)))]:
            for by, read in ((one, other), (other, one)):
                if by.block in chosen:
                    return Pick(row, read.block, by.block, [axis.extent for axis in axes] != [by.block.axes[-1].extent])
    return None


def places_in(pick: Pick, chosen: Mapping[Block, Selection]) -> Array:
    """Returns the places that a row takes its cells from."""
    return chosen[pick.by].back if pick.back else chosen[pick.by].to


class OnDevice(Tensors):
    """The same in torch, where a device is asked for."""

    def __init__(self, sizes: Mapping[Axis, int], device: str):
        super().__init__([], sizes, [], device, "float64", (), (), beyond=True, near=0.0, single=True)

    def filled(
        self,
        plan: list[Stage],
        stood: Mapping[Block, Array],
        chosen: Mapping[Block, Selection],
        wanted: Collection[Block],
    ) -> dict[Block, Array]:
        """Returns the numbers of the blocks that are wanted, edges included."""
        for block, array in stood.items():
            self.arrays[block] = torch.as_tensor(np.asarray(array, np.float64), **self.of)[None]
        for step, dead in plan:
            if isinstance(step, Pick):
                at = torch.as_tensor(places_in(step, chosen), device=self.of["device"])
                self.arrays[step.row] = self.arrays[step.read].flatten()[at][None]
            else:
                self._run((step,), {})
            for block in dead:
                self.arrays.pop(block, None)
        return {block: self.numpy(block) for block in wanted}
