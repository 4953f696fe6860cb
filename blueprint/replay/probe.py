"""A look at a few responses first: most neighbours are ruled out there, without going through a large batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from blueprint.minibatch import Minibatch
from blueprint.minibatch.batch import Array
from blueprint.replay.neighbours import Neighbour
from blueprint.replay.passes import Work
from blueprint.replay.question import Question
from blueprint.replay.settings import laid_over, number_of

ROWS = 32
"""Responses that are looked at; a batch of fewer than four times as many is tried as a whole."""


def cut(batch: Minibatch, rows: slice | Array) -> Minibatch:
    """Returns some responses of a minibatch."""
    tensors = {name: each[rows] for name, each in batch.tensors.items()}
    return replace(batch, tensors=tensors, slots=batch.slots[rows], first=batch.first[rows], rows=None)


def ruled_out(question: Question, neighbour: Neighbour, allowed: float) -> bool:
    """Tells whether a tensor cannot be what the neighbour makes of a few responses, the first that deviates among them.

    Advantages are compared before whitening, which needs no statistics of the batch: whatever whitening did, the file's
    must then be a straight line of them. Rewards that are whitened, and microbatches, are not ruled out here.
    """
    settings = laid_over(question.settings, neighbour.changes)
    size, spot = len(question.batch.slots), question.compared.spot
    whitens_rewards = bool(number_of("reward.whiten", settings["reward.whiten"]))
    if size < 4 * ROWS or neighbour.microbatch or whitens_rewards or spot is None:
        return False
    rows = np.unique([spot.episode, *np.linspace(0, size - 1, ROWS).astype(int)])
    few = cut(question.batch, rows)
    work = Work(
        neighbour.altered(few) if neighbour.altered else few, settings, question.made_of, device=question.device
    )
    found = {
        name: row[0].cpu().numpy() for name, row in work.learnt_from(slice(0, len(rows))).items() if row.dim() == 3
    }
    return _apart(question, found, few, rows) > allowed


def _apart(question: Question, rows: Mapping[str, Array], few: Minibatch, chosen: Array) -> float:
    """Returns how far the file's tensor is from the rows, from the nearest straight line of them for advantages."""
    assert question.cells is not None
    cells = question.cells[chosen]
    theirs = np.asarray(few.tensors[question.quantity.name], dtype=np.float64)
    if question.quantity.name == "scores":
        return float(
            np.abs(rows["score.place"] * np.nan_to_num(theirs).sum(axis=1, keepdims=True) - theirs)[cells].max()
        )
    if not question.quantity.whitened:
        return float(np.abs(rows[question.compared.row] - theirs)[cells].max(initial=0.0))
    ours = rows["advantages"][:, : theirs.shape[1]][cells]
    line = np.stack([ours, np.ones_like(ours)], axis=1)
    fitted = line @ np.linalg.lstsq(line, theirs[cells], rcond=None)[0]
    return float(np.abs(fitted - theirs[cells]).max(initial=0.0))
