"""Describe one setting of a numbers file: its value, what may stand there instead, and a limit that is off."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

Told = Mapping[str, Mapping[str, str]]
"""What each setting means, by level and by its key in the file, such as `ppo.gamma`."""


OFF = inf
"""A limit that is off, which no number is; in cells and files it is the word off."""

STORED_OFF = 1e9
"""What older versions wrote for off."""

LARGEST_LIMIT = 1e8
"""The largest number for a limit, far beyond any that is used; what shall limit nothing is off."""


@dataclass(frozen=True)
class Setting:
    """Describe one setting: a number from `low` to `high`, or, where `words` is not empty, one of those words.

    whole: only whole numbers make sense. A limit, which may be off, has no highest number: off is infinite.
    """

    value: float | str
    low: float = 0.0
    high: float = 1.0
    words: tuple[str, ...] = ()
    whole: bool = False

    @property
    def limit(self) -> bool:
        """Whether it is a limit: a number up to `largest`, or off."""
        return self.high == inf

    @property
    def largest(self) -> float:
        """The largest number that may stand there."""
        return LARGEST_LIMIT if self.limit else self.high

    def holds(self, number: float) -> bool:
        """Tell whether a number may stand there; infinity is a limit that is off."""
        return self.low <= number <= self.largest or (self.limit and number == inf)


def says_off(value: object) -> bool:
    """Tell whether a file says of a limit that it is off, in the word or in what older versions wrote for it."""
    return value in ("off", STORED_OFF, OFF)
