"""Rows in another order: a tensor, or the scores that rewards were made of, whose rows belong to other responses."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.alone import Explained
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.logged import TENSORS

FEWEST = 3
"""Responses below which another order says little."""


def permuted(deviation: Deviation) -> Iterator[Explained]:
    """Yields that rows stand in another order, if that explains every word of a tensor."""
    if deviation.quantity not in TENSORS or deviation.cells is None or len(deviation.cells) < FEWEST:
        return
    if (found := _rows(deviation)) is not None:
        yield _explained(deviation, f"{deviation.quantity.name} of other rows", *found)
    if deviation.compared.name == "rewards" and (found := _scores(deviation)) is not None:
        yield _explained(deviation, "scores of other rows", *found)


def _explained(deviation: Deviation, said: str, order: Array, largest: float) -> Explained:
    first = int((order != np.arange(len(order))).argmax())
    here, there = deviation.batch.file_row(first), deviation.batch.file_row(int(order[first]))
    compared = replace(deviation.compared, deviating=0, largest=largest, spot=None)
    return Explained(f"{said}: row {here} has what belongs to row {there}", compared)


def _rows(deviation: Deviation) -> tuple[Array, float] | None:
    """Returns whose row each is, matched by the first word, and how far off the farthest word then is."""
    row, theirs = f"computed.{deviation.compared.row}", _theirs(deviation)
    cells, width = np.asarray(deviation.cells), theirs.shape[1]
    ours = np.concatenate([rows[row][:, :width] for _, rows in deviation.local.tiles((row,))])
    some = np.flatnonzero(cells[:, 0])
    order = _matched(ours[some, 0], theirs[some, 0])
    if order is None:
        return None
    whose = np.arange(len(cells))
    whose[some] = some[order]
    both = cells & cells[whose]
    return _if_all(deviation, whose, np.abs(theirs - ours[whose])[both])


def _scores(deviation: Deviation) -> tuple[Array, float] | None:
    """Returns whose score each response has, and how far off the farthest reward then is."""
    names = ("reward.penalty", "score.place", "score.placed")
    parts = [[rows[name] for name in names] for _, rows in deviation.local.tiles(names)]
    penalty, place, placed = (np.concatenate(each) for each in zip(*parts, strict=True))
    left = _theirs(deviation) - penalty[:, : _theirs(deviation).shape[1]]
    scores, seen = placed.sum(axis=1), (left * place).sum(axis=1)
    order = _matched(scores, seen)
    if order is None:
        return None
    return _if_all(deviation, order, np.abs(left - place * scores[order][:, None])[np.asarray(deviation.cells)])


def _theirs(deviation: Deviation) -> Array:
    return np.nan_to_num(np.asarray(deviation.batch.tensors[deviation.compared.name], dtype=np.float64))


def _matched(ours: Array, theirs: Array) -> Array | None:
    """Returns the place of each of their numbers among ours, the smallest being the smallest; None where all are at home."""
    order = np.empty(len(ours), dtype=np.int64)
    order[theirs.argsort()] = ours.argsort()
    return None if (order == np.arange(len(order))).all() else order


def _if_all(deviation: Deviation, order: Array, apart: Array) -> tuple[Array, float] | None:
    largest = float(apart.max(initial=0.0))
    return (order, largest) if largest <= deviation.allowed else None
