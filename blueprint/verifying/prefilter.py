"""A look at a few responses first: most neighbours are ruled out there, without going through a large batch."""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import torch

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.file_inputs import cut
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.settings import number_of
from blueprint.verifying.tiled_passes import one_thread
from blueprint.witness import Options, Texts
from blueprint.witness.ppo import signal

ROWS, FEW = 32, 8
"""Responses that are looked at for a slip, and for a convention; a batch of fewer than four times as many is taken whole."""

AT_ONCE = 64
"""So many conventions are computed side by side at most, as files that have the same responses."""


def looked_at(deviation: Deviation, most: int = ROWS) -> Array:
    """Returns so many responses, the first that deviates among them; all of them where there are not many more."""
    size, slots = deviation.batch.mask.shape
    fit = max(1, deviation.local.work.tile_tokens // slots)
    spot = deviation.compared.spot
    if spot is None or size <= min(4 * most - 1, fit):
        return np.arange(size)
    return np.unique([spot.episode, *np.linspace(0, size - 1, min(most, fit)).astype(int)])


def possible(deviation: Deviation, neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    """Returns the neighbours that a few responses do not rule out for a tensor, the first that deviates among them.

    Advantages are compared before whitening, which needs no statistics of the batch: whatever whitening did, the file's
    must then be a straight line of them. Rewards that are whitened, and microbatches, are not ruled out here.
    """

    def whitens_rewards(neighbour: Neighbour) -> bool:
        return bool(number_of("reward.whiten", neighbour.over(deviation.settings)["reward.whiten"]))

    rows = looked_at(deviation, FEW)
    few = cut(deviation.batch, rows)
    tested = [each for each in neighbours if not each.microbatch and not whitens_rewards(each)]
    height = int(np.clip(deviation.local.work.tile_tokens // few.mask.size, 1, AT_ONCE))
    out = set[int]()
    for start in range(0, len(tested), height):
        some = tested[start : start + height]
        found = zip(some, _side_by_side(deviation, few, some), strict=True)
        out |= {id(each) for each, ours in found if apart(deviation, ours, rows) > deviation.allowed}
    return [each for each in neighbours if id(each) not in out]


def _side_by_side(deviation: Deviation, few: Minibatch, neighbours: Sequence[Neighbour]) -> list[Array]:
    """Returns the row that each neighbour makes of a few responses, before whitening."""
    inputs = [
        deviation.work(each.of(few), each.over(deviation.settings)).inputs(slice(0, len(few.slots)))
        for each in neighbours
    ]
    texts, options, given = zip(*inputs, strict=True)
    with one_thread():
        found = signal(
            Texts(**{each.name: torch.cat([getattr(one, each.name) for one in texts]) for each in fields(Texts)}),
            Options({name: torch.cat([one.values[name] for one in options]) for name in options[0].values}),
            {name: torch.cat([one[name] for one in given]) for name in given[0]},
        )
    row = found["advantages" if deviation.quantity.whitened else deviation.compared.row].cpu().numpy()
    if deviation.quantity.name == "scores":
        row = row * np.nan_to_num(np.asarray(few.tensors["scores"], dtype=np.float64)).sum(axis=1, keepdims=True)
    return list(row)


def apart(deviation: Deviation, ours: Array, chosen: Array) -> float:
    """Returns how far the file's tensor is from chosen responses of a row; where it is whitened, from the nearest straight
    line of the row before whitening."""
    cells = np.asarray(deviation.cells)[chosen]
    theirs = np.asarray(deviation.batch.tensors[deviation.quantity.name][chosen], dtype=np.float64)[cells]
    seen = ours[:, : cells.shape[1]][cells]
    if deviation.quantity.whitened or deviation.settings["reward.whiten"] == "on":
        line = np.stack([seen, np.ones_like(seen)], axis=1)
        seen = line @ np.linalg.lstsq(line, theirs, rcond=None)[0]
    return float(np.abs(seen - theirs).max(initial=0.0))
