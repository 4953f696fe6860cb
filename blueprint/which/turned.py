"""How two gradients lie to each other: how much longer one is, and the angle between both."""

from math import cos, inf, isfinite, log, nan, radians, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.float64]


class Turn(NamedTuple):
    """A gradient beside another one: how many times as long it is, and by how many degrees it is turned; nan without one."""

    longer: float
    degrees: float

    @property
    def stretch(self) -> float:
        """How far the length is from that of the other, either way: 0 where both are as long."""
        return abs(log(self.longer)) if self.longer > 0 and isfinite(self.longer) else inf if self.longer == 0 else nan

    @property
    def distance(self) -> float:
        """How far apart both are, as a part of the other's length: 0 where they are the same."""
        return sqrt(max(0.0, 1 + self.longer**2 - 2 * self.longer * cos(radians(self.degrees))))


def turn(one: Row, other: Row) -> Turn:
    """Lays a gradient beside another one.

    The angle is exact where both all but agree, which an arc cosine is not. Source: Kahan 2006, How Futile are Mindless
    Assessments of Roundoff, section 12.
    """
    norms = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    if not (all(map(isfinite, norms)) and all(norms)):
        return Turn(norms[0] / norms[1] if norms[1] else nan, nan)
    u, v = one / norms[0], other / norms[1]
    return Turn(norms[0] / norms[1], float(np.degrees(2 * np.arctan2(np.linalg.norm(u - v), np.linalg.norm(u + v)))))
