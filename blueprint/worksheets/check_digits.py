"""Check digits: two digits beside a blank by which a student sees whether a number is right, and from which it does not follow."""

from math import floor, isfinite

SCALE, BASE = 1e4, 97
"""They are `MOD(ROUND(x*1E4,0),97)`."""
EDGE = 1e-3
"""How near to a rounding boundary an answer is not used, in units of the last digit that counts."""
LARGEST = 1e15
"""From here on a program keeps no digit that could be checked."""


def check_digits(answer: float) -> int:
    """Returns the check digits of an answer, 0 … 96, as a program computes them: half is rounded away from 0."""
    size = floor(abs(answer) * SCALE + 0.5)
    return (size if answer >= 0 else -size) % BASE


def can_be_checked(answer: float) -> bool:
    """Tells whether check digits are the same however an answer was rounded on the way, and do not tell the answer."""
    if not isfinite(answer):
        return False
    scaled = abs(answer) * SCALE
    return BASE - 0.5 <= scaled < LARGEST and abs(scaled - floor(scaled) - 0.5) >= EDGE
