"""Advantages that were whitened over more responses than the file has: a microbatch cut from a larger batch, say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blueprint.verifying.alone import Explained
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.question import Question
from blueprint.verifying.settings import number_of
from blueprint.verifying.straight import straight


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
    line = straight(raw, logged)
    if line is None or not line.largest <= question.allowed:
        return None
    said = f"{line} in the whitening (fitted: those of a larger batch than this file has, or of other words)"
    compared = replace(question.compared, deviating=0, largest=line.largest, spot=None)
    return Explained(said, compared, Neighbour(said, rank=1, beyond=True))
