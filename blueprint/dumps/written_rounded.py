"""Numbers that were written with fewer digits than they were computed with: how many, and by how many decimals all of a step."""

from collections.abc import Iterable
from decimal import Decimal

import numpy as np

FEWEST_DECIMALS, MOST_DIGITS = 2, 7
"""A number of so many decimals, and of no more digits than float32 has, may have been rounded when it was written."""
FEWEST_ROUNDED, MOST_DECIMALS = 3, 6
"""Where so many numbers of a step may have been, and none has more decimals than so many, all were: 0 and 0.5, too."""


def written_with(value: float) -> int:
    """Returns the decimals of a number that may have been rounded when it was written, else 0.

    0, 1 and 0.5 may well be what they say; NaN has no digit.
    """
    decimals, digits = _counted(value)
    return decimals if value != 0 and decimals >= FEWEST_DECIMALS and digits <= MOST_DIGITS else 0


def decimals_of_all(values: Iterable[float]) -> int:
    """Returns to how many decimals all numbers that a step logged were rounded, as the longest of them has; 0: not all were."""
    rounded = set[float]()
    for value in values:
        decimals, digits = _counted(value)
        if decimals and digits > MOST_DIGITS:
            return 0
        rounded |= {value} if written_with(value) else set()
    most = max(map(written_with, rounded), default=0)
    return most if len(rounded) >= FEWEST_ROUNDED and most <= MOST_DECIMALS else 0


def _counted(value: float) -> tuple[int, int]:
    """Returns how many decimals, and how many digits, a number was written with; none of one that is not finite."""
    if not np.isfinite(value):
        return 0, 0
    digits = Decimal(repr(float(value))).normalize().as_tuple()
    return max(0, -int(digits.exponent)), len(digits.digits)
