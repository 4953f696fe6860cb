"""Define what numbers are once they are loaded: everything explicit, nothing left to draw."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Settings = dict[str, float | str]


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers:
    """Hold all numbers of a workbook.

    Attributes:
        kind, level: the kind of workbook, and the word for the level at which its numbers begin.
        name: that of the file or of the built-in set. title, about: what heads the workbook.
        ppo: the settings the file gives, and only those; the rest is the preset's.
        parts: everything else that was given, by its key in the file, such as `rollout.rewards`: arrays of numbers, tuples of
            words and of rows of different lengths.
        drawn_anew: the built-in parts that no longer fitted the overrides, and were drawn from the seed instead.
    """

    kind: str
    level: str
    name: str
    title: str
    about: str
    ppo: Settings = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    drawn_anew: tuple[str, ...] = ()

    @property
    def preset(self) -> str | None:
        """The name of the preset that a user chose, where there is a choice."""
        return self.parts.get("preset")

    def __getitem__(self, key: str) -> Any:
        """Return a part by its key in the file."""
        return self.parts[key]
