"""A quantity that deviates by itself, and everything that is known when its cause is looked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.compare import Compared, compare_number
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import ALL, TENSORS, Quantity, before
from blueprint.verifying.recompute import Replay, replay
from blueprint.verifying.settings import Settings
from blueprint.verifying.tiled_passes import Work, passes, unseen

OVERHEAD = 1 << 14
"""A file of few tokens takes as long as one of so many."""

ROWS, FEW = 32, 8
"""Responses that are looked at first for a slip, and for a convention; a batch of fewer than four times as many is taken whole."""


@dataclass(frozen=True)
class Deviation:
    """Which quantity deviates, and from what it is computed.

    judge: what the file was compared with, for its tolerances. given: by tensor of the file, the row that it stands for.
    local: the replay in which all of them stand in place of computed rows. others: what else deviates from the file's own rows
    before it.
    """

    judge: Judge
    local: Replay
    preset: str
    compared: Compared
    given: Mapping[str, str]
    others: tuple[Compared, ...] = ()

    @property
    def batch(self) -> Minibatch:
        """The file."""
        return self.judge.batch

    @property
    def settings(self) -> Settings:
        """The conventions in force."""
        return self.local.options

    @property
    def quantity(self) -> Quantity:
        """What deviates."""
        return ALL[self.compared.name]

    @cached_property
    def cells(self) -> Array | None:
        """Where a tensor is compared, [B, T]; None of a number."""
        return self.judge.cells(self.compared.name) if self.quantity in TENSORS else None

    def about(self, other: Compared) -> Deviation:
        """Returns the same deviation about something else that deviates."""
        return replace(self, compared=other, others=())

    def explained(self, largest: float) -> Compared:
        """Returns what is left of the deviation where something explains it."""
        return replace(self.compared, deviating=0, largest=largest, spot=None)

    def with_number(self, ours: float) -> Compared:
        """Compares the logged number with another than was computed again."""
        found = self.compared
        assert found.logged is not None
        return compare_number(found.name, found.row, "", (found.logged, ours), found.allowed)

    def work(self, batch: Minibatch, settings: Settings) -> Work:
        """Returns a minibatch to go through, with the file's own tensors before the quantity in place of computed rows."""
        work = self.local.work
        return Work(batch, settings, self.made_of, {}, work.tile_tokens, device=work.device)

    def again(
        self,
        batch: Minibatch,
        settings: Settings,
        given: Collection[str] = (),
        numbers: Mapping[str, float] | None = None,
    ) -> Replay:
        """Computes a minibatch again as the file was."""
        work = self.local.work
        return replay(batch, settings, unseen, work.tile_tokens, given, numbers, work.device)

    @property
    def made_of(self) -> tuple[str, ...]:
        """The file's own tensors that stand before the quantity, by the names of `file_inputs.PLACES`."""
        return as_given({name: row for name, row in self.given.items() if name in before(self.quantity.name)})

    @property
    def numbers(self) -> dict[str, float]:
        """The file's own parts of the loss that stand before the quantity."""
        return {name: value for name, value in self.local.work.numbers.items() if name in before(self.quantity.name)}

    @property
    def known(self) -> set[str]:
        """What the file itself has of what stands before the quantity."""
        return {name.partition(".")[0] for name in self.made_of} | set(self.numbers)

    @cached_property
    def allowed(self) -> float:
        """What is allowed for a tensor, by the larger of the file's row and the one that was computed again."""
        theirs = np.asarray(self.batch.tensors[self.compared.name])[np.asarray(self.cells)]
        largest = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0))
        return max(self.compared.allowed, self.judge.tolerance(self.quantity) * (1 + largest))

    def looked_at(self, most: int) -> Array:
        """Returns so many responses, the first that deviates among them; all of them where there are not many more."""
        size, slots = self.batch.mask.shape
        fit = max(1, self.local.work.tile_tokens // slots)
        spot = self.compared.spot
        if spot is None or size <= min(4 * most - 1, fit):
            return np.arange(size)
        return np.unique([spot.episode, *np.linspace(0, size - 1, min(most, fit)).astype(int)])

    def apart(self, ours: Array, chosen: Array) -> float:
        """Returns how far the file's tensor is from chosen responses of a row; where it is whitened, from the nearest straight
        line of the row before whitening."""
        cells = np.asarray(self.cells)[chosen]
        theirs = np.asarray(self.batch.tensors[self.quantity.name][chosen], dtype=np.float64)[cells]
        seen = ours[:, : cells.shape[1]][cells]
        if self.quantity.whitened or self.settings["reward.whiten"] == "on":
            line = np.stack([seen, np.ones_like(seen)], axis=1)
            seen = line @ np.linalg.lstsq(line, theirs, rcond=None)[0]
        return float(np.abs(seen - theirs).max(initial=0.0))

    @property
    def moves(self) -> tuple[str, ...]:
        """The conventions that move the quantity, also through what it is made of where the file has not logged that."""
        through = (self.quantity.name, *before(self.quantity.name, known=self.known))
        return tuple(dict.fromkeys(convention for name in through for convention in ALL[name].moves))

    @property
    def cost(self) -> int:
        """How many tokens are gone through to compute the file again."""
        return max(OVERHEAD, passes(self.settings) * int(self.batch.mask.size))


def as_given(rows: Mapping[str, str]) -> tuple[str, ...]:
    """Returns tensors of a file, by the rows that they are, under the names of `file_inputs.PLACES`."""
    return tuple(name if row == ALL[name].rows[0][0] else f"{name}.raw" for name, row in rows.items())
