"""Many files as one computation: files of equal model sizes side by side, shorter ones padded; and what was computed of them.

A tensor has the axes [F, N, T, …]: file, episode, position. Padded episodes and positions lie outside every mask and
are cut off again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from blueprint.witness.options import DEFAULTS, WORDS, Options
from blueprint.witness.settings import (
    Array,
    File,
    Setting,
    WitnessError,
    block,
    numbers,
    place_of,
    settings_of,
    single,
)

LOWER, UPPER = "clip_range", "loss.clip_range_high"
"""The clip of the ratio on either side; a file that has no upper one has one ε for both."""


@dataclass(frozen=True)
class Batch:
    """Files that are computed together, with how many episodes and positions each has.

    frame: a typed block that has a cell for each episode and position.
    """

    files: Sequence[File]
    frame: str
    dtype: torch.dtype
    device: torch.device

    @cached_property
    def settings(self) -> list[dict[str, Setting]]:
        """The settings that each file uses, and what goes with them: see `settings_of`."""
        return [settings_of(file) for file in self.files]

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """Episodes and positions of each file; a frame of one axis has one position each."""
        return [(shape[0], (*shape, 1)[1]) for shape in (block(file, self.frame).shape for file in self.files)]

    @cached_property
    def exists(self) -> torch.Tensor:
        """Ones where a file has that episode and position, [F, N, T]."""
        return self.padded([np.ones(size) for size in self.sizes])

    def padded(self, arrays: Sequence[Array], fill: float = 0.0) -> torch.Tensor:
        """Returns arrays of one rank as one tensor, the smaller ones filled up at their ends."""
        shape = tuple(max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True))
        together = np.full((len(arrays), *shape), fill)
        for number, array in enumerate(arrays):
            corner: Any = (number, *(slice(size) for size in array.shape))
            together[corner] = array
        return torch.as_tensor(together).to(device=self.device, dtype=self.dtype)

    def typed(self, name: str, fill: float = 0.0) -> torch.Tensor:
        """Returns a typed block of every file as one tensor."""
        return self.padded([numbers(file, name) for file in self.files], fill)

    def mask(self, name: str = "mask") -> torch.Tensor:
        """Returns the typed mask; it may have holes. Raises WitnessError for anything but 0 and 1."""
        mask = self.typed(name)
        if bool(((mask != 0) & (mask != 1)).any()):
            raise WitnessError(
                "a cell of the mask is neither 0 nor 1: write 1 for a response token and 0 for any other"
            )
        return mask

    def filled(self, values: Iterable[float]) -> torch.Tensor:
        """Returns a number of every file as a tensor [F]."""
        return torch.tensor(list(values), dtype=self.dtype, device=self.device)

    def used(self, name: str) -> list[Setting]:
        """Returns a setting of every file. Raises WitnessError where a file has none of that name."""
        return [
            settings[name] if name in settings else single(file, f"{name}.yours")
            for file, settings in zip(self.files, self.settings, strict=True)
        ]

    def setting(self, name: str) -> torch.Tensor:
        """Returns a setting, or for a switch the number of its option in the file, of every file as [F, 1, 1]."""
        number = f"{name}.number" if f"{name}.number" in self.settings[0] else name
        return self.filled(map(float, self.used(number))).view(-1, 1, 1)

    def option(self, name: str, words: Sequence[str]) -> torch.Tensor:
        """Returns the place of a switch's option among options, for every file [F, 1, 1]."""
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

    @property
    def outside_all(self) -> torch.Tensor:
        """By how much all settings of a file together leave their ranges, [F]."""
        *_, last = (name for name in self.settings[0] if name.endswith(".outside"))
        return self.filled(map(float, self.used(last)))


class Rows(dict[str, torch.Tensor]):
    """What was recomputed, by the name of its block and in the order of derivation; arrays of words stand among the tensors."""

    def __init__(self, batch: Batch) -> None:
        """Starts with nothing computed."""
        super().__init__()
        self._batch, self._whole, self._hidden = batch, set[str](), set[str]()

    def add(self, tensors: Mapping[str, torch.Tensor], whole: bool = False) -> None:
        """Takes quantities: [F], [F, N], [F, N, T (and edges), …]; whole: without episodes and positions, [F, …].

        What is typed stays as it is.
        """
        self.update({name: each for name, each in tensors.items() if name not in self._hidden or name not in self})
        self._whole |= tensors.keys() if whole else set()

    def know(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Takes what is typed, to be looked at and not to be shown."""
        self.add(tensors)
        self.hide(tensors)

    def hide(self, names: Iterable[str]) -> None:
        """Keeps quantities to be looked at which the files do not show."""
        self._hidden.update(names)

    def add_words(self, name: str, words: Iterable[Array | str]) -> None:
        """Takes one array of words, or one word, for each file."""
        self[name] = [np.asarray(each, dtype=object) for each in words]  # type: ignore[assignment]

    def of_each_file(self) -> list[dict[str, Array]]:
        """Returns the quantities of each file, cut to its own episodes and positions; edges keep their places."""
        columns = self._batch.exists.shape[-1]
        found: list[dict[str, Array]] = [{} for _ in self._batch.files]
        for name in (each for each in self if each not in self._hidden):
            together: Any = self[name]
            words = isinstance(together, list)
            arrays = together if words else together.cpu().numpy()
            for each, array, (episodes, positions) in zip(found, arrays, self._batch.sizes, strict=True):
                each[name] = array if words or name in self._whole else _cut(array, episodes, positions - columns)
        return found


def _cut(array: Array, episodes: int, padding: int) -> Array:
    if array.ndim < 2:
        return array[:episodes] if array.ndim else array
    return array[:episodes, : array.shape[1] + padding]


def add_settings(batch: Batch, rows: Rows) -> None:
    """Adds every setting that the files have, and what goes with it: see `settings_of`."""
    for name, first in batch.settings[0].items():
        if isinstance(first, str):
            rows.add_words(name, map(str, batch.used(name)))
        else:
            rows.add({name: batch.filled(map(float, batch.used(name)))})


def add_verdicts(batch: Batch, rows: Rows, distances: Mapping[str, torch.Tensor]) -> None:
    """Adds the checks that the files have, in their order: the distance, its largest, whether that is too large.

    Beside each stands how many checks failed so far.
    """
    failed = batch.filled([0.0] * len(batch.files))
    checks = (name.removesuffix(".tolerance") for name in batch.files[0] if name.endswith(".tolerance"))
    for name in (each for each in checks if each in distances):
        distance = distances[name]
        # What lies along pairs, say, is of one file alone, and nothing of it is padded.
        of_episodes = [each for each in (batch.exists[..., 0], batch.exists) if each.shape == distance.shape]
        inside = distance * of_episodes[0] if of_episodes else distance
        worst = inside.reshape(len(batch.files), -1).amax(dim=1)
        fails = worst > batch.typed(f"{name}.tolerance")
        failed = failed + fails
        rows.add({name: distance}, whole=not of_episodes)
        rows.add({f"{name}.worst": worst, f"{name}.failed": failed})
        rows.add_words(f"{name}.verdict", _verdicts(fails))
    rows.add_words("check.master", _verdicts(failed > 0))


def _verdicts(fails: torch.Tensor) -> list[str]:
    return ["LOOK" if each else "OK" for each in fails.tolist()]
