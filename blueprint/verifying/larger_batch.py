"""Numbers that were whitened over a larger batch than the file: a straight line of those before, whatever batch mean and deviation
are of."""

from dataclasses import dataclass, replace

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.alone import Explained
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.settings import number_of

FEWEST = 8
"""Numbers below which a straight line through them proves nothing."""


@dataclass(frozen=True)
class Straight:
    """Â = slope·A + constant, and how far off the farthest number then is. keeps_mean: the mean is added back afterwards."""

    slope: float
    constant: float
    largest: float
    keeps_mean: bool = False

    def apart(self, raw: Array, logged: Array) -> float:
        """Returns how far off the farthest of some numbers is."""
        return float(np.abs(self.slope * raw + self.constant - logged).max(initial=0.0))

    @property
    def mean(self) -> float:
        """The mean μ that was taken off: (A − μ)/σ, or (A − μ)/σ + μ."""
        at_zero = 1 - self.slope if self.keeps_mean else -self.slope
        return self.constant / at_zero if at_zero else 0.0

    def __str__(self) -> str:
        """Names mean and deviation."""
        return f"a mean of {self.mean:.6g} and a deviation of {1 / self.slope:.6g}"


def straight(raw: Array, logged: Array, keeps_mean: bool = False, fewest: int = FEWEST) -> Straight | None:
    """Returns the line of logged numbers over raw ones, by least squares; None where there are too few, or it does not rise."""
    if len(raw) < fewest or np.ptp(raw) == 0:
        return None
    line = np.stack([raw, np.ones_like(raw)], axis=1)
    slope, constant = np.linalg.lstsq(line, logged, rcond=None)[0]
    if not slope > 0:
        return None
    found = Straight(float(slope), float(constant), 0.0, keeps_mean)
    return replace(found, largest=found.apart(raw, logged))


def whitened_elsewhere(deviation: Deviation) -> Explained | None:
    """Returns the mean and deviation that explain whitened advantages.

    Â = (A − μ)/σ is a straight line of the raw advantages whatever batch μ and σ are of: it is fitted by least squares, and
    named only if every word agrees. None where advantages are not what deviates, or are not whitened.
    """
    switch = "whiten_advantages"
    whitened = number_of(switch, deviation.settings[switch]) == number_of(switch, "on")
    if deviation.quantity.name != "advantages" or not whitened or deviation.cells is None:
        return None
    theirs = np.asarray(deviation.batch.tensors["advantages"], dtype=np.float64)
    slots, cells = theirs.shape[1], deviation.cells
    ours = np.concatenate([rows["advantages"][:, :slots] for _, rows in deviation.local.tiles(("advantages",))])
    raw, logged = ours[cells], theirs[cells]
    line = straight(raw, logged)
    if line is None or not line.largest <= deviation.allowed:
        return None
    said = f"{line} in the whitening (fitted: those of a larger batch than this file has, or of other words)"
    compared = replace(deviation.compared, deviating=0, largest=line.largest, spot=None)
    return Explained(said, compared, Neighbour(said, rank=1, beyond=True))
