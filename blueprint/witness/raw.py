"""What a file holds before anything is masked or computed, as tensors: what a page of `papers` is fed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np
import torch
from torch import Tensor

from blueprint.witness.settings import File, Setting, WitnessError, block, ids, is_blank, numbers, settings_of


@dataclass(frozen=True)
class Raw:
    """One file: the typed numbers of a workbook by the names of its blocks, and the settings that it uses."""

    file: File
    dtype: torch.dtype = torch.float64
    device: torch.device | str = "cpu"

    def __contains__(self, name: str) -> bool:
        return name in self.file

    def tensor(self, name: str) -> Tensor:
        """Returns a block of numbers as it is typed, edges included; a blank cell is 0."""
        return torch.as_tensor(np.array(numbers(self.file, name))).to(device=self.device, dtype=self.dtype)

    def ids(self, name: str) -> Tensor:
        """Returns a block of whole numbers."""
        return self.tensor(name).long()

    def mask(self, name: str) -> Tensor:
        """Returns a block of ones and zeros as true and false. Raises WitnessError for anything else."""
        found = self.tensor(name)
        if bool(((found != 0) & (found != 1)).any()):
            raise WitnessError(f"{name} has a cell that is neither 0 nor 1")
        return found == 1

    def words(self, name: str) -> list[str]:
        """Returns the words of a block, row by row; a blank cell is ""."""
        return ["" if is_blank(word) else str(word) for word in block(self.file, name).ravel().tolist()]

    def tokens(self, name: str, *, blanks: bool = True) -> Tensor:
        """Returns the places of words in the vocabulary, from 0, and −1 for a blank cell. Raises WitnessError for another word."""
        found = ids(block(self.file, name), block(self.file, "vocabulary"), name, blanks=blanks)
        return torch.as_tensor(found).long().to(self.device)

    @cached_property
    def settings(self) -> Mapping[str, Setting]:
        """The settings in use, by key."""
        return settings_of(self.file)

    def word(self, key: str) -> str:
        """Returns the option of a switch, in small letters."""
        return str(self.settings[key]).lower()

    def number(self, key: str) -> float:
        """Returns a number among the settings; a limit that is off is infinite."""
        found = self.settings[key]
        return inf if isinstance(found, str) else float(found)


Named = dict[str, Tensor]


@dataclass(frozen=True)
class Page:
    """How a kind of workbook reads its file for a page of `papers`.

    results: the named results, by the blocks that hold them, in the file's shapes. masks: for those of them that say something
    only where a block is 1, that block.
    """

    results: Callable[[Raw], Named]
    masks: Mapping[str, str] = field(default_factory=dict)


def shown_slopes(raw: Raw, loss: Tensor, by: Named) -> Named:
    """Returns ∂L/∂x for each x of which the file has a row of slopes."""
    shown = {name: each for name, each in by.items() if f"{name}.grad" in raw}
    if not shown or not loss.requires_grad:
        return {}
    found = torch.autograd.grad(loss, [*shown.values()], materialize_grads=True)
    return {f"{name}.grad": each for name, each in zip(shown, found, strict=True)}
