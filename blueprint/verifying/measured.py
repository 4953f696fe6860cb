"""By how much rounding moves what was logged, measured: the batch computed again with its numbers moved as rounding moves them.

Each number is moved at random within half a unit in the last place of its dtype. Through whichever conventions a quantity is made
of such numbers, what it then moves by is what rounding does to it: in a mean of many tokens it nearly cancels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.compare import Compared, Rows, ours_of, tile_of
from blueprint.verifying.file_inputs import cut
from blueprint.verifying.judge import SUPPORT, Judge
from blueprint.verifying.recompute import Replay, replay
from blueprint.verifying.tolerances import HALF, SHARES, half_unit

SAMPLES = 6
DEVIATIONS, PEAKS = 5.0, 2.0
"""A number may be so many standard deviations off, a token of a tensor so many times the largest that was seen."""

TOKENS = 1 << 17
"""Of a larger batch, so many tokens are enough: what rounding does to a mean only shrinks with more."""


def judged(batch: Minibatch, found: Replay, factor: float) -> tuple[Judge, dict[str, Compared]]:
    """Compares everything; what the dtype alone cannot tell is compared again, with what rounding was seen to do to it."""
    judge = Judge(batch, found, factor)
    straight = judge.compared()
    doubts = [each for each in straight.values() if in_doubt(each)]
    if not doubts:
        return judge, straight
    finer = Judge(batch, found, factor, measured(judge, doubts))
    return finer, straight | finer.compared([each.name for each in doubts])


def in_doubt(compared: Compared) -> bool:
    """Tells whether it must be measured: by the dtype alone nothing could be told, or a clean quantity might be accused."""
    return (compared.doubtful and (compared.largest != 0 or compared.size != 0)) or (
        not compared.agrees and compared.dtype in HALF
    )


def measured(judge: Judge, doubts: Sequence[Compared]) -> dict[str, float]:
    """Returns by name how far rounding moves some quantities, times the factor of the judge."""
    moved = _moved(judge, [each for each in doubts if each.name not in SHARES])
    return {each.name: _width(judge, each, moved.get(each.name, 0.0)) for each in doubts}


def _width(judge: Judge, compared: Compared, moved: float) -> float:
    """Returns what its tokens' rounding does to a quantity, what it was itself rounded by, and what the arithmetic may do."""
    if compared.logged is not None:
        return judge.factor * DEVIATIONS * float((moved / SAMPLES) ** 0.5) + compared.arithmetic
    largest = judge.found.largest.get(compared.row, 0.0)
    own = half_unit(largest, judge.dtypes.get(compared.name, compared.dtype)) if compared.name != "scores" else 0.0
    return judge.factor * (PEAKS * moved + own) + compared.arithmetic


def _moved(judge: Judge, doubts: Sequence[Compared]) -> dict[str, float]:
    """Computes a batch again and again; returns by how much a number was moved, the squares added up, a tensor at most."""
    part, work, drawn = _part(judge.batch), judge.found.work, np.random.default_rng(0)
    moved = dict.fromkeys((each.name for each in doubts), 0.0)
    if not moved:
        return moved
    base = judge.found if part is judge.batch else replay(part, work.settings, tile_tokens=work.tile_tokens)
    tensors = [each for each in doubts if each.logged is None]
    names = {*SUPPORT, *(f"{prefix}{each.row}" for each in tensors for prefix in ("", "computed."))}
    tiles = list(base.tiles(names)) if tensors else []
    for _ in range(SAMPLES):
        other = replay(_jittered(part, judge.dtypes, drawn), work.settings, tile_tokens=work.tile_tokens)
        for each in doubts:
            if each.logged is not None:
                moved[each.name] += (other.number(each.row) - base.number(each.row)) ** 2
        for (start, one), (_, two) in zip(tiles, other.tiles(names) if tensors else (), strict=True):
            for each in tensors:
                moved[each.name] = max(moved[each.name], _apart(part, each, start, one, two))
    return moved


def _part(batch: Minibatch) -> Minibatch:
    responses, slots = batch.mask.shape
    height = max(1, TOKENS // slots)
    return batch if responses <= height else cut(batch, np.linspace(0, responses - 1, height).astype(int))


def _jittered(batch: Minibatch, dtypes: Mapping[str, str], drawn: np.random.Generator) -> Minibatch:
    """Returns a batch whose numbers are moved at random within half a unit in their last place; 0, exact everywhere, stays."""

    def moved(values: Array, dtype: str) -> Array:
        wide = np.asarray(values, dtype=np.float64)
        known = np.where(np.isfinite(wide), wide, 0.0)
        half = np.where(known == 0, 0.0, 2.0 ** (np.frexp(known)[1] - 2)) * torch.finfo(getattr(torch, dtype)).eps
        return np.asarray(wide + half * drawn.uniform(-1, 1, wide.shape))

    narrow = {name: moved(batch.tensors[name], dtype) for name, dtype in dtypes.items() if dtype != "float64"}
    return replace(batch, tensors={**batch.tensors, **narrow})


def _apart(batch: Minibatch, compared: Compared, start: int, one: Rows, two: Rows) -> float:
    """Returns the largest difference of a tile, where a tensor is compared."""
    theirs, where = tile_of(batch, compared.name, start, one)
    ours = [ours_of(compared.name, compared.row, rows, theirs) for rows in (one, two)]
    return float(np.nan_to_num(np.abs(ours[0] - ours[1])[where], nan=0.0).max(initial=0.0))
