"""Check digits: two digits beside a blank by which a student sees whether a number is right, and from which it does not follow."""

from collections.abc import Iterable
from math import floor, isfinite

from blueprint.page.blanks import MODULUS, SCALE

EDGE = 1e-3
"""How near to a rounding boundary an answer is not used, in units of the last digit that counts."""
LARGEST = 1e15
"""From here on a program keeps no digit that could be checked."""


def can_be_checked(answers: Iterable[float]) -> bool:
    """Tells whether the check digits of a blank are the same however its answers were rounded on the way, and do not tell it.

    They are those of the sum of its cells. Below 97 units of their last digit they are the answer itself.
    """
    scaled = abs(sum(answers)) * SCALE
    if not isfinite(scaled):
        return False
    return MODULUS - 1 / 2 <= scaled < LARGEST and abs(scaled - floor(scaled) - 1 / 2) >= EDGE
