"""Many files as one computation: files of equal model sizes side by side, shorter ones padded.

A tensor has the axes [F, N, T, …]: file, episode, decision. Padded episodes and decisions lie outside every mask and
are cut off again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blueprint.witness.errors import WitnessError
from blueprint.witness.live import presets
from blueprint.witness.settings import Array, File, alternative, block, is_controller, numbers, outside, used
from blueprint.workbooks.classic_ppo.witness.settings import is_classic
from blueprint.workbooks.minibatch.witness.kind import is_minibatch, kind_of


@dataclass(frozen=True)
class Batch:
    """Files that are computed together, with how many episodes and decisions each has."""

    files: Sequence[File]
    dtype: torch.dtype
    device: torch.device
    settings: list[dict[str, float | str]] = field(init=False)

    def __post_init__(self) -> None:
        """Reads the settings, so that a wrong one is refused before anything is computed."""
        settings = [presets.in_use(file) if presets.is_live(file) else used(file) for file in self.files]
        object.__setattr__(self, "settings", settings)

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """Episodes and decisions of each file."""
        return [(shape[0], shape[1]) for shape in (_decisions(file).shape for file in self.files)]

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

    def setting(self, name: str) -> Tensor:
        """Returns a setting, or the number of a switch's word, of every file as [F, 1, 1]."""
        return self.padded([np.full((1, 1), value) for value in self._values(name)])

    def filled(self, values: Sequence[Any]) -> Tensor:
        """Returns a number of every file as a tensor [F]."""
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    def _values(self, name: str) -> list[float]:
        found = []
        for file, settings in zip(self.files, self.settings, strict=True):
            value = settings[name]
            found.append(float(alternative(file, name, value) if isinstance(value, str) else value))
        return found

    @cached_property
    def outside(self) -> list[dict[str, float]]:
        """By how much the settings of each file leave their ranges, by setting, each with all above it."""
        return [outside(file, used) for file, used in zip(self.files, self.settings, strict=True)]


def _decisions(file: File) -> Array:
    if is_classic(file):
        return block(file, "actions")
    if is_controller(file):
        return block(file, "responses.kl")
    return block(file, "rollout.draw" if not is_minibatch(file) and is_weights(file) else "mask")


def is_weights(file: File) -> bool:
    """Returns whether a file starts at weights; else it starts at log-probs, values and scores. Refuses a third kind."""
    if "old.W" in file:
        return True
    if "mask" not in file or not {"old_critic.values", "old_critic.out"} & set(file):
        raise WitnessError("the file has neither weights (old.W) nor log-probs to start from: it is no workbook of PPO")
    return False


MODELS = ("old.E", "old.W", "old_critic.E", "old_critic.W")
OF_CLASSIC = ("actions", "old.logits", "policy.logits", "presets.names")
OF_MINIBATCH = ("mask", "presets.names")
OF_LIVE = ("rollout.draw", "mask", "old.logits", "vocabulary", "presets.names", "library.names")


def group_key(file: File) -> tuple[object, ...]:
    """Returns what files must share to be computed together: level, settings at hand, and sizes of the models.

    Files with live conventions, of classic PPO and of a KL controller must have the same shape throughout, and those of a
    minibatch the same blocks.
    """
    if is_classic(file):
        return ("classic", *(block(file, name).shape for name in OF_CLASSIC), str(block(file, "value_norm.built")))
    if is_controller(file):
        return ("controller", block(file, "responses.kl").shape)
    if is_minibatch(file):
        return ("minibatch", kind_of(file), *(block(file, name).shape for name in OF_MINIBATCH), presets.held(file))
    weights = is_weights(file)
    models = tuple(file[name].shape for name in MODELS) if weights else ()
    if presets.is_live(file):
        typed = OF_LIVE[:1] + OF_LIVE[3:] if weights else OF_LIVE[1:]
        shapes = (block(file, name).shape for name in typed if name != "library.names" or name in file)
        return ("live", *models, *shapes, presets.held(file))
    if weights:
        return ("weights", *models)
    return ("tokens", file["case.ratio"].shape if "case.ratio" in file else None)


class Rows:
    """What was recomputed, by the name of its block and in the order of derivation."""

    def __init__(self, batch: Batch) -> None:
        """Starts with nothing computed."""
        self._batch = batch
        self._found: dict[str, tuple[Tensor | list[Array], bool]] = {}

    def __getitem__(self, name: str) -> Tensor:
        """Returns a quantity computed earlier."""
        found = self._found[name][0]
        assert isinstance(found, Tensor), name
        return found

    def __contains__(self, name: str) -> bool:
        """Returns whether a quantity has been computed."""
        return name in self._found

    def add(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes quantities of the batch: [F], [F, N] or [F, N, T (and edges), …]."""
        self._found |= {name: (tensor, False) for name, tensor in tensors.items()}

    def add_whole(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes quantities without episodes and decisions, such as weights: [F, …]."""
        self._found |= {name: (tensor, True) for name, tensor in tensors.items()}

    def add_words(self, name: str, words: list[Array]) -> None:
        """Takes one array of words for each file."""
        self._found[name] = (words, True)

    def of_each_file(self) -> list[dict[str, Array]]:
        """Returns the quantities of each file, cut to its own episodes and decisions; edges keep their places."""
        columns = self._batch.exists.shape[-1]
        found: list[dict[str, Array]] = [{} for _ in self._batch.files]
        for name, (together, whole) in self._found.items():
            arrays = together.cpu().numpy() if isinstance(together, Tensor) else together
            for each, array, (episodes, decisions) in zip(found, arrays, self._batch.sizes, strict=True):
                each[name] = array if whole else _cut(array, episodes, decisions - columns)
        return found


def _cut(array: Array, episodes: int, padding: int) -> Array:
    if array.ndim < 2:
        return array[:episodes] if array.ndim else array
    return array[:episodes, : array.shape[1] + padding]
