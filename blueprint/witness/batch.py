"""Many files as one computation: files of equal model sizes side by side, shorter ones padded.

A tensor has the axes [F, N, T, …]: file, episode, decision. Padded episodes and decisions lie outside every mask and
are cut off again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blueprint.witness.options import DEFAULTS, WORDS, Options
from blueprint.witness.settings import (
    Array,
    File,
    Setting,
    WitnessError,
    alternative,
    block,
    numbers,
    outside,
    place_of,
    single,
    used,
)

LOWER, UPPER = "clip_range", "loss.clip_range_high"
"""The clip of the ratio on either side; a file that has no upper one has one ε for both."""


@dataclass(frozen=True)
class Batch:
    """Files that are computed together, with how many episodes and decisions each has.

    frame: a typed block that has a cell for each episode and decision.
    """

    files: Sequence[File]
    frame: str
    dtype: torch.dtype
    device: torch.device

    @cached_property
    def settings(self) -> list[dict[str, Setting]]:
        """The settings that each file uses. Raises WitnessError for a wrong one."""
        return [used(file) for file in self.files]

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """Episodes and decisions of each file."""
        return [(shape[0], shape[1]) for shape in (block(file, self.frame).shape for file in self.files)]

    @cached_property
    def exists(self) -> Tensor:
        """Ones where a file has that episode and decision, [F, N, T]."""
        return self.padded([np.ones(size) for size in self.sizes])

    def padded(self, arrays: Sequence[Array], fill: float = 0.0) -> Tensor:
        """Returns arrays of one rank as one tensor, the smaller ones filled up at their ends."""
        shape = tuple(max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True))
        together = np.full((len(arrays), *shape), fill)
        for number, array in enumerate(arrays):
            corner: Any = (number, *(slice(size) for size in array.shape))
            together[corner] = array
        return torch.as_tensor(together).to(device=self.device, dtype=self.dtype)

    def typed(self, name: str, fill: float = 0.0) -> Tensor:
        """Returns a typed block of every file as one tensor."""
        return self.padded([numbers(file, name) for file in self.files], fill)

    def mask(self, name: str = "mask") -> Tensor:
        """Returns the typed mask; it may have holes. Raises WitnessError for anything but 0 and 1."""
        mask = self.typed(name)
        if bool(((mask != 0) & (mask != 1)).any()):
            raise WitnessError("a cell of the mask is neither 0 nor 1: write 1 for a response word and 0 for any other")
        return mask

    def filled(self, values: Iterable[float]) -> Tensor:
        """Returns a number of every file as a tensor [F]."""
        return torch.tensor(list(values), dtype=self.dtype, device=self.device)

    def used(self, name: str) -> list[Setting]:
        """Returns a setting of every file. Raises WitnessError where a file has none of that name."""
        pairs = zip(self.files, self.settings, strict=True)
        return [settings[name] if name in settings else single(file, f"{name}.yours") for file, settings in pairs]

    def setting(self, name: str) -> Tensor:
        """Returns a setting, or for a switch the number of its word in the file, of every file as [F, 1, 1]."""
        pairs = zip(self.files, self.used(name), strict=True)
        return self.filled(
            alternative(file, name, value) if isinstance(value, str) else value for file, value in pairs
        ).view(-1, 1, 1)

    def option(self, name: str, words: Sequence[str]) -> Tensor:
        """Returns the place of a switch's word among words, for every file [F, 1, 1]."""
        return self.filled(place_of(value, words, name) for value in self.used(name)).view(-1, 1, 1)

    @cached_property
    def options(self) -> Options:
        """The options in use; those that the files do not have are the default ones."""
        has, same = self.settings[0], torch.ones(len(self.files), 1, 1, dtype=self.dtype, device=self.device)
        values = {name: value * same for name, value in (DEFAULTS | dict.fromkeys(WORDS, 0.0)).items()}
        values |= {name: self.option(name, words) for name, words in WORDS.items() if name in has}
        values |= {name: self.setting(name) for name in DEFAULTS if name in has}
        if UPPER not in has:
            values[UPPER] = values[LOWER]
        return Options(values)

    @cached_property
    def outside(self) -> list[dict[str, float]]:
        """By how much the settings of each file leave their ranges, by setting, each with all above it."""
        return [outside(file, settings) for file, settings in zip(self.files, self.settings, strict=True)]

    @property
    def outside_all(self) -> Tensor:
        """By how much all settings of a file together leave their ranges, [F]."""
        return self.filled(list(each.values())[-1] for each in self.outside)
