"""Hold the default preset as data: for each setting its value and what may stand there instead."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType

Told = Mapping[str, Mapping[str, str]]
"""What each setting means, by level and by its key in the file, such as `ppo.gamma`."""


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


# A coefficient may be any size that still leaves the other terms of the loss visible.
_LARGEST_COEFFICIENT = 100.0

PRESET_DEFAULT = MappingProxyType(
    {
        "gamma": Setting(0.9),
        "gae_lambda": Setting(0.8),
        "kl_coef": Setting(0.1, high=_LARGEST_COEFFICIENT),
        "clip_range": Setting(0.2),
        "value_clip_range": Setting(0.2, high=_LARGEST_COEFFICIENT),
        "vf_coef": Setting(0.5, high=_LARGEST_COEFFICIENT),
        "ent_coef": Setting(0.01, high=_LARGEST_COEFFICIENT),
        "policy_kl_coef": Setting(0.0, high=_LARGEST_COEFFICIENT),
        "update_step": Setting(1.0, low=-10.0, high=10.0),
        "kl_estimator": Setting("k1", words=("k1", "k2", "k3")),
        "whiten_advantages": Setting("on", words=("on", "off")),
        # Not 0: one response word alone has variance 0, and 0/0 would stand in its cell.
        "whiten_eps": Setting(1e-8, low=1e-12),
    }
)
