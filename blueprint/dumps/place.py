"""Where in a run a file belongs: of which rank, epoch, minibatch and microbatch it is, and how many updates came before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from blueprint.dumps.batch import MinibatchError

COUNTED_IN = {"rank": "world_size", "epoch": "epochs", "minibatch": "minibatches", "microbatch": "microbatches"}
"""Numbers that count from 0, and the key that says how many there are."""

LARGEST = 2**53
"""A whole number that every JSON reader still knows exactly."""

MOST_DIGITS = 16
"""Of a number that stands in a text: as many as `LARGEST` has."""


@dataclass(frozen=True)
class Place:
    """What the metadata of a file say of its place within a step of the run; None where they do not say it.

    rank: the process that wrote it, of world_size. epoch: pass over the rollout, of epochs. minibatch: the optimiser step
    within the epoch, of minibatches. microbatch: the part of the minibatch that one forward pass took, of microbatches. All of
    these count from 0. optimizer_step: updates since the old log-probs of this rollout were computed.
    """

    rank: int | None = None
    world_size: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    minibatch: int | None = None
    minibatches: int | None = None
    microbatch: int | None = None
    microbatches: int | None = None
    optimizer_step: int | None = None

    @property
    def before_first_update(self) -> bool | None:
        """Whether the policy is still the one of the old log-probs; None where the file does not say it."""
        if self.optimizer_step is not None:
            return self.optimizer_step == 0
        minibatch = 0 if self.minibatches == 1 else self.minibatch
        epoch = 0 if self.epochs == 1 else self.epoch
        if epoch or minibatch:
            return False
        return True if epoch == minibatch == 0 else None

    def __str__(self) -> str:
        """Names what is known: rank 0 of 2, epoch 0, minibatch 1 of 4."""
        said = []
        for key, many in COUNTED_IN.items():
            if getattr(self, key) is not None:
                count = getattr(self, many)
                said.append(f"{key} {getattr(self, key)}" + ("" if count is None else f" of {count}"))
        return ", ".join(said + ([] if self.optimizer_step is None else [f"optimizer_step {self.optimizer_step}"]))


KEYS = tuple(each.name for each in fields(Place))
"""Metadata that say the place of a file."""


def place_of(metadata: Mapping[str, Any]) -> Place | None:
    """Returns the place that metadata say, None if they say none.

    Raises:
        MinibatchError: what is no whole number, or a number that is not below how many there are.
    """
    keys = [key for key in KEYS if metadata.get(key) is not None]
    said = {key: whole_number(metadata[key], key, int(key in COUNTED_IN.values())) for key in keys}
    for key, many in COUNTED_IN.items():
        if key in said and many in said and said[key] >= said[many]:
            raise MinibatchError(
                f"metadata, {key}: found {said[key]} of {many} {said[many]}, expected 0 … {said[many] - 1}: it counts from 0."
            )
    return Place(**said) if said else None


def whole_number(found: Any, key: str, least: int = 0) -> int:
    """Returns a whole number; the metadata of some formats are texts.

    Raises:
        MinibatchError: for anything else, and for a number below the least.
    """
    digits = isinstance(found, str) and len(found) <= MOST_DIGITS and found.isascii() and found.isdecimal()
    number = int(found) if digits or (isinstance(found, float) and found.is_integer()) else found
    if type(number) is not int or not least <= number <= LARGEST:
        raise MinibatchError(f"metadata, {key}: found {found!r:.40}, expected a whole number, {least} or more.")
    return number
