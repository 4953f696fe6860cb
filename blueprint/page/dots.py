"""Words beside dots: on which side of its dot each one stands, so that no two are printed over each other."""

from typing import NamedTuple

SIDES = {"above": (0.0, 1.0), "below": (0.0, -1.0), "right": (1.0, 0.0), "left": (-1.0, 0.0)}
"""Where a word may stand, and which way that is from its dot."""
WIDE, HIGH = 460.0, 170.0
"""About how large the area is on which dots are drawn, in pixels."""
LETTER, LINE, AWAY = 6.0, 14.0, 7.0
"""Pixels of a letter's width, of a word's height, and from a dot to the word beside it."""


class Dot(NamedTuple):
    """Where a dot stands, and the word that belongs to it; one left of the picture is out of sight."""

    x: float
    y: float
    word: str


Box = tuple[float, float, float, float]
"""The area that a word takes, in pixels: its left, bottom, right and top."""


def sides(dots: list[Dot], ends: tuple[float | None, float | None]) -> list[str]:
    """Returns the side for each dot's word: the first one where nothing stands yet; `ends` are those of the picture.

    It is found for the numbers at hand. Dots that move later, or are out of sight now, have neighbouring words on
    different sides.
    """
    low, high = (0.0 if ends[0] is None else ends[0], 1.0 if ends[1] is None else ends[1])
    heights = [dot.y for dot in dots if dot.x >= low] or [0.0]
    bottom, tall = min(heights), max(max(heights) - min(heights), 1.0)
    boxes = list[Box]()
    found = []
    for number, dot in enumerate(dots):
        at = (dot.x - low) / (high - low) * WIDE, (dot.y - bottom) / tall * HIGH
        order = [*SIDES] if dot.x >= low else [[*SIDES][number % len(SIDES)]]
        near = {side: _box(at, dot.word, side) for side in order}
        side = next((side for side in order if not any(_meet(near[side], box) for box in boxes)), order[0])
        boxes += [near[side]] * (dot.x >= low)
        found.append(side)
    return found


def _box(at: tuple[float, float], word: str, side: str) -> Box:
    """Returns the area of a word on one side of its dot."""
    wide, (right, up) = LETTER * len(word), SIDES[side]
    x, y = at[0] + right * (AWAY + wide / 2), at[1] + up * (AWAY + LINE / 2)
    return x - wide / 2, y - LINE / 2, x + wide / 2, y + LINE / 2


def _meet(one: Box, other: Box) -> bool:
    """Tells whether two areas overlap."""
    return all(one[i] < other[i + 2] and other[i] < one[i + 2] for i in (0, 1))
