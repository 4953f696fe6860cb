"""Right numbers of which somebody typed too few digits: they are no misconception, whatever else gives the same."""

from math import floor, isfinite, log10
from typing import Literal

FEWEST = 2
"""Significant digits that a rounded number has at least: with one alone, 1 for 1.09, it may stand for anything."""
TELLING = 3
"""Significant digits that a number which was cut off has at least, unless it is cut at the last digit shown or one before it."""
HAIR = 1e-6
"""What half a unit may be off, as a part of a unit: halves are not exact in binary."""
Shortened = Literal["rounded", "cut"]


def shortened(number: float, right: float, decimals: int) -> Shortened | None:
    """Tells whether a number is the right one, rounded to fewer digits than are shown, or cut off instead of rounded.

    A number with one digit less than the sheet shows may have a single significant one; a number that is 0 says nothing.
    """
    if not number or not right or not (isfinite(number) and isfinite(right)):
        return None
    leading = -floor(log10(abs(right)))  # decimals up to the first digit that counts
    fewest = min(leading + FEWEST - 1, decimals - 1)
    units = [10.0**-kept for kept in range(decimals, fewest - 1, -1)]
    off, typed = abs(number - right), [unit for unit in units if _has_no_more(number, unit)]
    if any(off <= (1 / 2 + HAIR) * unit for unit in typed):
        return "rounded"
    farthest = 10.0 ** -min(leading + TELLING - 1, decimals - 1)
    nearer_0 = number * right > 0 and abs(number) < abs(right)
    return "cut" if nearer_0 and any(off <= (1 + HAIR) * unit for unit in typed if unit <= 1.5 * farthest) else None


def _has_no_more(number: float, unit: float) -> bool:
    """Tells whether a number has no digits below a unit."""
    return abs(number - round(number / unit) * unit) <= HAIR * unit
