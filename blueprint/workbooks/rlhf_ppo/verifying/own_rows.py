"""What a mistake is made of: a file's own rows, what the definitions make of them, and its tensors as they are; moved by a row or a
column, and masks that are others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from blueprint.dumps import Array, Minibatch, require
from blueprint.verifying.settings import number_of
from blueprint.workbooks.rlhf_ppo.verifying.feeding import Fed, Memory


@dataclass(frozen=True)
class Own:
    """A file's own rows before a quantity, what the definitions make of them, by name, [B, T], and its tensors, pads and all.

    memory: what was computed of them before.
    """

    fed: Fed
    batch: Minibatch
    memory: Memory = field(default_factory=Memory)

    def __getitem__(self, name: str) -> Array:
        """Returns a row or a number; where the file has its own, that."""
        return self.memory.row(self.fed, name)

    @property
    def slots(self) -> Array:
        """1 in each slot that a response may fill, [B, T]."""
        return np.asarray(self.fed.known["slots"])[:, :-1]

    def number(self, key: str) -> float:
        """Returns a setting as a number, infinity for a limit that is off."""
        return number_of(key, self.fed.settings[key])

    def file(self, name: str) -> Array:
        """Returns a tensor as it is; 0 where it is not finite. Raises MinibatchError where the file does not have it."""
        require(name in self.batch.tensors, f"{self.batch.path} has no {name}")
        return np.nan_to_num(np.asarray(self.batch.tensors[name], np.float64), posinf=0.0, neginf=0.0)


Made = Callable[[Own], Array]


def across(row: Array, by: int, around: bool = False) -> Array:
    """Returns a row [B, T] so many columns to the right; what comes in at the edge is 0, or, around, what went out at the other."""
    found = np.roll(row, by, axis=1)
    if by and not around:
        found[:, slice(0, by) if by > 0 else slice(by, None)] = 0
    return found


BEFORE = "of the position before (shifted by one column to the right)"
BEHIND = "of the position behind (shifted by one column to the left)"
BESIDE: Mapping[str, tuple[Callable[[Array], Array], ...]] = {
    BEFORE: (lambda row: across(row, 1), lambda row: across(row, 1, around=True)),
    BEHIND: (lambda row: across(row, -1), lambda row: across(row, -1, around=True)),
    "of the row before": (lambda row: np.roll(row, 1, axis=0),), "of the row behind": (lambda row: np.roll(row, -1, axis=0),),
}  # fmt: skip
"""Where else a tensor may have been read; with roll, what goes out at one edge comes in at the other."""


MASKS: Mapping[str, Callable[[Array], Array]] = {
    # mll-lab-nu/VAGEN #8: the mask of the critic shifted against that of the actor
    "a mask that covers one position more behind each token": lambda mask: mask | across(mask, 1),
    "a mask that ends one token earlier": lambda mask: mask & (np.cumsum(mask[:, ::-1], axis=1)[:, ::-1] > 1),
    "a mask that begins one token later": lambda mask: mask & (np.cumsum(mask, axis=1) > 1),
    "a mask shifted by one column to the right": lambda mask: across(mask, 1),
    "a mask shifted by one column to the left": lambda mask: across(mask, -1),
}  # fmt: skip


def summed(row: Array) -> Array:
    """Returns the sum of each response, [B, 1]."""
    return np.asarray(row.sum(axis=1, keepdims=True))


def words_of(own: Own) -> Array:
    """Returns how many tokens each response has, at least 1, [B, 1]."""
    return np.maximum(summed(own["response"]), 1)
