"""Advantages that were whitened over more responses than the file has: a microbatch cut from a larger batch, say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blueprint.replay.alone import Explained
from blueprint.replay.neighbours import Neighbour
from blueprint.replay.question import Question
from blueprint.replay.settings import number_of

FEWEST = 8
"""Words below which a straight line through them says nothing."""


def whitened_elsewhere(question: Question) -> Explained | None:
    """Returns the mean and deviation that explain whitened advantages.

    Â = (A − μ)/σ is a straight line of the raw advantages whatever batch μ and σ are of: it is fitted by least squares, and
    named only if every word agrees. None where advantages are not what deviates, or are not whitened.
    """
    switch = "whiten_advantages"
    whitened = number_of(switch, question.settings[switch]) == number_of(switch, "on")
    if question.quantity.name != "advantages" or not whitened or question.cells is None:
        return None
    theirs = np.asarray(question.batch.tensors["advantages"], dtype=np.float64)
    slots, cells = theirs.shape[1], question.cells
    ours = np.concatenate([rows["advantages"][:, :slots] for _, rows in question.local.tiles(("advantages",))])
    raw, logged = ours[cells], theirs[cells]
    if len(raw) < FEWEST or np.ptp(raw) == 0:
        return None
    slope, constant = np.linalg.lstsq(np.stack([raw, np.ones_like(raw)], axis=1), logged, rcond=None)[0]
    largest = float(np.abs(slope * raw + constant - logged).max())
    if slope <= 0 or not largest <= question.allowed:
        return None
    told = f"a mean of {-constant / slope:.6g} and a deviation of {1 / slope:.6g} in the whitening"
    said = f"{told} (fitted: those of a larger batch than this file has, or of other words)"
    compared = replace(question.compared, deviating=0, largest=largest, spot=None)
    return Explained(said, compared, Neighbour(said, rank=1))
