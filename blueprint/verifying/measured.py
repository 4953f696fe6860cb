"""By how much rounding moves what was logged, measured: the batch computed again with its numbers moved as rounding moves them.

Each number is moved at random within half a unit in the last place of its dtype. Through whichever conventions a quantity is made
of such numbers, what it then moves by is what rounding does to it: in a mean of many words it nearly cancels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.clip_edges import NAMES as SHARES
from blueprint.verifying.compare import Compared, Rows, compared_cells, ours_of
from blueprint.verifying.judge import SUPPORT, Judge
from blueprint.verifying.prefilter import cut
from blueprint.verifying.recompute import Replay, replay
from blueprint.verifying.tolerances import HALF, half_unit

SAMPLES = 6
DEVIATIONS, PEAKS = 5.0, 2.0
"""A number may be so many standard deviations off, a word of a tensor so many times the largest that was seen."""

WORDS = 1 << 17
"""Of a larger batch, so many words are enough: what rounding does to a mean only shrinks with more."""


def judged(batch: Minibatch, found: Replay, factor: float) -> tuple[Judge, dict[str, Compared]]:
    """Compares everything; what the dtype alone cannot tell is compared again, with what rounding was seen to do to it."""
    judge = Judge(batch, found, factor)
    straight = judge.compared()
    doubts = [each for each in straight.values() if asked(each)]
    if not doubts:
        return judge, straight
    finer = Judge(batch, found, factor, measured(judge, doubts))
    return finer, straight | finer.compared([each.name for each in doubts])


def asked(compared: Compared) -> bool:
    """Tells whether it must be measured: by the dtype alone nothing could be told, or a clean quantity might be accused."""
    open_ = compared.doubtful and (compared.largest != 0 or compared.size != 0)
    return open_ or (not compared.agrees and compared.dtype in HALF)


@dataclass
class Moved:
    """How far samples moved a quantity: the sum of squares of a number, the largest of any word of a tensor."""

    compared: Compared
    squares: float = 0.0
    largest: float = 0.0


def measured(judge: Judge, doubts: Sequence[Compared]) -> dict[str, float]:
    """Returns by name how far rounding moves some quantities, times the factor of the judge."""
    moved = {each.name: Moved(each) for each in doubts}
    if any(name not in SHARES for name in moved):
        _sample(judge, moved)
    return {name: _width(judge, each) for name, each in moved.items()}


def _width(judge: Judge, moved: Moved) -> float:
    """Returns what its words' rounding does to a quantity, what it was itself rounded by, and what the arithmetic may do."""
    compared = moved.compared
    if compared.logged is not None:
        return judge.factor * DEVIATIONS * float((moved.squares / SAMPLES) ** 0.5) + compared.arithmetic
    largest = judge.found.largest.get(compared.row, 0.0)
    own = half_unit(largest, judge.dtypes.get(compared.name, compared.dtype)) if compared.name != "scores" else 0.0
    return judge.factor * (PEAKS * moved.largest + own) + compared.arithmetic


def _sample(judge: Judge, moved: Mapping[str, Moved]) -> None:
    """Computes a batch again and again, and keeps how far each quantity was moved."""
    part, work, drawn = _part(judge.batch), judge.found.work, np.random.default_rng(0)
    base = judge.found if part is judge.batch else replay(part, work.settings, tile_tokens=work.tile_tokens)
    tensors = [each for each in moved.values() if each.compared.logged is None]
    numbers = [each for each in moved.values() if each not in tensors and each.compared.name not in SHARES]
    names = {*SUPPORT, *(f"{prefix}{each.compared.row}" for each in tensors for prefix in ("", "computed."))}
    tiles = list(base.tiles(names)) if tensors else []
    for _ in range(SAMPLES):
        other = replay(_jittered(part, judge.dtypes, drawn), work.settings, tile_tokens=work.tile_tokens)
        for each in numbers:
            each.squares += (_number(other, each.compared.row) - _number(base, each.compared.row)) ** 2
        for (start, one), (_, two) in zip(tiles, other.tiles(names) if tensors else (), strict=True):
            for each in tensors:
                each.largest = max(each.largest, _apart(part, each.compared, start, one, two))


def _part(batch: Minibatch) -> Minibatch:
    responses, slots = batch.mask.shape
    height = max(1, WORDS // slots)
    return batch if responses <= height else cut(batch, np.linspace(0, responses - 1, height).astype(int))


def _jittered(batch: Minibatch, dtypes: Mapping[str, str], drawn: np.random.Generator) -> Minibatch:
    narrow = {name: dtype for name, dtype in dtypes.items() if dtype != "float64"}
    return replace(
        batch, tensors={**batch.tensors, **{name: _moved(batch.tensors[name], narrow[name], drawn) for name in narrow}}
    )


def _moved(values: Array, dtype: str, drawn: np.random.Generator) -> Array:
    """Returns numbers moved at random within half a unit in their last place; 0, which is exact in every dtype, stays."""
    wide = np.asarray(values, dtype=np.float64)
    known = np.where(np.isfinite(wide), wide, 0.0)
    half = np.where(known == 0, 0.0, 2.0 ** (np.frexp(known)[1] - 2)) * torch.finfo(getattr(torch, dtype)).eps
    return np.asarray(wide + half * drawn.uniform(-1, 1, wide.shape))


def _number(found: Replay, row: str) -> float:
    return found.whole.get(f"computed.{row}", found.whole[row])


def _apart(batch: Minibatch, compared: Compared, start: int, one: Rows, two: Rows) -> float:
    """Returns the largest difference of a tile, where a tensor is compared."""
    here = slice(start, start + len(one["response"]))
    theirs = np.asarray(batch.tensors[compared.name][here], dtype=np.float64)
    where = compared_cells(compared.name, one, theirs, batch.mask[here])
    ours = (ours_of(compared.name, compared.row, rows, theirs) for rows in (one, two))
    apart = np.abs(next(ours) - next(ours))
    return float(np.nan_to_num(apart[where], nan=0.0).max(initial=0.0))
