"""The record of one setting: its value, what may stand there instead, a limit that is off, and all that is said of it.

A folder has its settings in `conventions.toml`, whose keys are explained at the head of `workbooks/common/conventions.toml`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

OFF = inf
"""A limit that is off, which no number is; in cells and files it is the word off."""

STORED_OFF = 1e9
"""What older versions wrote for off."""

LARGEST_LIMIT = 1e8
"""The largest number for a limit, far beyond any that is used; what shall limit nothing is off."""


@dataclass(frozen=True)
class Setting:
    """Describe one setting: a number from `low` to `high`, or, where `words` is not empty, one of those words.

    A limit, which may be off, has no highest number: off is infinite.

    Attributes:
        value: what the default preset does.
        whole: only whole numbers make sense.
        symbol, meaning, decimals: how sheets show it.
        phrase, phrases: what a value does, in a few words with {} for it; and words of its own for some values.
        source, note: where it was read, and what its note says.
        follows: the setting that means this one too, where only that one is given.
        part_of: the setting without which this one says nothing.
        tuned: every user sets it anew, so that it is no rule of a library.
        called: its names by library, separated by blanks; a name with ? yields to others that say the same, one with ! goes
            before them. `values` says what a library's values mean; a setting has several where they mean different things.
    """

    value: float | str
    low: float = 0.0
    high: float = 1.0
    words: tuple[str, ...] = ()
    whole: bool = False
    symbol: str = ""
    meaning: str = ""
    decimals: int = 3
    phrase: str = ""
    phrases: Mapping[str, str] = field(default_factory=dict, compare=False)
    source: str = ""
    note: str = ""
    follows: str = ""
    part_of: str = ""
    tuned: bool = False
    called: tuple[Mapping[str, str], ...] = field(default=(), compare=False)

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


def in_groups(keys: Iterable[str], titles: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Sort keys of settings by their groups: the title of each that has any, and its keys; the first has those without a dot."""
    found: dict[str, list[str]] = {group: [] for group in titles}
    for key in keys:
        found[key.partition(".")[0] if "." in key else next(iter(titles))].append(key)
    return [(titles[group], listed) for group, listed in found.items() if listed]


def dotted(key: str) -> str:
    """Return the key as numbers files have it: one that stands alone is of the table [ppo]."""
    return key if "." in key else f"ppo.{key}"


def shown_value(value: float | str, minus: str = "−") -> str:
    """Print what stands for a setting: a word, a number, or off."""
    if isinstance(value, str):
        return value
    return "off" if value == OFF else f"{minus * (value < 0)}{abs(value):g}"
