"""Numbers that a file itself gives away: what a setting must have been for a quantity to be what was logged, as people type it."""

from collections.abc import Callable, Iterator

import numpy as np

from blueprint.dumps import Array, Dump
from blueprint.verifying.in_memory import Given, Recompute
from blueprint.verifying.settings import Settings

DIGITS = 3
"""So many digits a number has that somebody typed; of one with more, nothing is said."""
ON_A_LINE, NO_CONSTANT = 5, 1e-5
"""Different numbers below which a straight line through them proves nothing; and a constant that is none."""


def typed(value: float, most: float = np.inf, digits: int = DIGITS) -> Iterator[float]:
    """Yields a number above 0, and not above the most that may stand there, as it would be typed."""
    if np.isfinite(value) and value > 0:
        rounded = float(f"{value:.{digits}g}")
        yield from [rounded] if rounded <= most else []


def off_by(
    recompute: Recompute, batch: Dump, settings: Settings, name: str, given: Given
) -> Callable[[str, float], float]:
    """Returns how far a logged number is off where a setting has another value. given: results of the file before it."""
    return lambda key, value: recompute(batch, {**settings, key: value}, given=given).numbers[name] - batch.logged[name]


def coefficient(off: Callable[[float], float]) -> float:
    """Returns what a coefficient must be for nothing to be off; what is off is straight in it. nan where it does not count."""
    none, one = off(0.0), off(1.0)
    return none / (none - one) if none != one else np.nan


def straight_line(ours: Array, theirs: Array, digits: tuple[int, int] = (DIGITS, DIGITS)) -> tuple[float, float] | None:
    """Returns slope and constant of the line of our numbers on which theirs lie nearest, [N] both, as somebody would type them.

    None where our numbers are too few or theirs are none, and where both are the same.
    """
    if len(np.unique(ours.round(9))) < ON_A_LINE or not np.isfinite(theirs).all():
        return None
    found = np.linalg.lstsq(np.stack([ours, np.ones_like(ours)], axis=1), theirs, rcond=None)[0]
    slope, constant = (
        float(f"{each:.{few}g}") if abs(each) > NO_CONSTANT else 0.0 for each, few in zip(found, digits, strict=True)
    )
    return (slope, constant) if slope and (slope, constant) != (1.0, 0.0) else None


def on_the_line(line: tuple[float, float], of: str) -> str:
    """Says a line: `2 times the right advantages, and 1`."""
    slope, constant = line
    return f"{slope:g} times the right {of}{f', and {constant:g}' if constant else ''}"
