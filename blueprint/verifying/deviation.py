"""A quantity that deviates by itself, and everything that is known when its cause is looked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.compare import Compared
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import ALL, TENSORS, Quantity, before
from blueprint.verifying.needs import reads
from blueprint.verifying.recompute import Replay
from blueprint.verifying.settings import Settings
from blueprint.verifying.tiled_passes import passes


@dataclass(frozen=True)
class Deviation:
    """Which quantity deviates, and from what it is computed.

    given: by tensor of the file, the row that it stands for. local: the replay in which all of them stand in place of
    computed rows. judge: what the file was compared with, for its tolerances. cells: where a tensor is compared, [B, T].
    others: what else deviates from the file's own rows before it.
    """

    batch: Minibatch
    settings: Settings
    preset: str
    compared: Compared
    given: Mapping[str, str]
    local: Replay
    judge: Judge
    cells: Array | None
    others: tuple[Compared, ...]
    tile_tokens: int
    device: str

    @property
    def quantity(self) -> Quantity:
        """What deviates."""
        return ALL[self.compared.name]

    def about(self, other: Compared) -> Deviation:
        """Returns the same deviation about something else that deviates."""
        cells = self.judge.cells(other.name) if ALL[other.name] in TENSORS else None
        return replace(self, compared=other, cells=cells, others=())

    @property
    def made_of(self) -> tuple[str, ...]:
        """The file's own tensors that stand before the quantity, by the names of `given.PLACES`."""
        return as_given({name: row for name, row in self.given.items() if name in before(self.quantity.name)})

    @property
    def numbers(self) -> dict[str, float]:
        """The file's own parts of the loss that stand before the quantity."""
        return {name: value for name, value in self.local.work.numbers.items() if name in before(self.quantity.name)}

    @property
    def reads(self) -> set[str]:
        """The tensors that the quantity is made of, not counting what the file's own rows before it are made of."""
        return reads(self.quantity.needs, {name.partition(".")[0] for name in self.made_of} | set(self.numbers))

    @cached_property
    def allowed(self) -> float:
        """What is allowed for a tensor, by the larger of the file's row and the one that was computed again."""
        theirs = np.asarray(self.batch.tensors[self.compared.name])[np.asarray(self.cells)]
        largest = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0))
        return max(self.compared.allowed, self.judge.tolerance(self.quantity) * (1 + largest))

    @property
    def moves(self) -> tuple[str, ...]:
        """The conventions that move the quantity, also through what it is made of where the file has not logged that."""
        known = {name.partition(".")[0] for name in self.made_of} | set(self.numbers)
        return tuple(dict.fromkeys(_moves(self.quantity.name, known)))

    @property
    def negligible(self) -> float:
        """A difference as small as rounding of float64 makes it."""
        return 1e-3 * self.compared.allowed


def as_given(rows: Mapping[str, str]) -> tuple[str, ...]:
    """Returns tensors of a file, by the rows that they are, under the names of `given.PLACES`."""
    return tuple(name if row == ALL[name].rows[0][0] else f"{name}.raw" for name, row in rows.items())


def _moves(name: str, known: Collection[str]) -> Iterator[str]:
    yield from ALL[name].moves
    for each in ALL[name].after:
        if each not in known:
            yield from _moves(each, known)


TIMES = 4
"""Recomputations of the whole file that are spent on causes which ask for one each, at most …"""

FLOOR, OVERHEAD = 1 << 20, 1 << 14
"""… or so many words, a second or two; a file of few words takes as long as one of so many."""


@dataclass
class Budget:
    """Words that may still be gone through."""

    words: int

    @classmethod
    def of(cls, deviation: Deviation) -> Budget:
        """Returns what may be spent on a file."""
        return cls(max(TIMES * _cost(deviation), FLOOR))

    def allows(self, deviation: Deviation) -> bool:
        """Tells whether one more recomputation is within the budget, and takes it off."""
        self.words -= _cost(deviation)
        return self.words >= 0


def _cost(deviation: Deviation) -> int:
    return max(OVERHEAD, passes(deviation.settings) * int(deviation.batch.mask.size))
