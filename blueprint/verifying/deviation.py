"""A quantity that deviates by itself, everything that is known when its cause is looked for, and the neighbouring conventions: what
else it may have been computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.inputs import OFF, Catalogue
from blueprint.verifying.compare import Compared, compare_number
from blueprint.verifying.formulas import WORDS
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import ALL, TENSORS, Quantity, before
from blueprint.verifying.recompute import Replay, replay
from blueprint.verifying.settings import MEANINGS, TOGETHER, VALUES, Setting, Settings, laid_over, number_of, shown
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


Change = Callable[[Minibatch], Minibatch]


@dataclass(frozen=True, eq=False)
class Neighbour:
    """Something that may have been done otherwise. said: how a report puts it, behind "matches with".

    changes: settings over the ones in force. altered: what the tensors may have been instead.
    microbatch: so many responses at a time, each with statistics and losses of its own, and the mean of those.
    factor: what a logged number may have been multiplied by.
    rank: how far-fetched it is: 0 one setting or one slip, 1 a coefficient that was fitted, 2 a whole factor, 3 another
        library altogether, 4 two conventions at once.
    beyond: mean and deviation of another batch than the file is, which may well be the one that it is a part of.
    """

    said: str
    changes: Settings = field(default_factory=dict)
    altered: Change | None = None
    microbatch: int = 0
    factor: float = 1.0
    rank: int = 0
    beyond: bool = False

    def of(self, batch: Minibatch) -> Minibatch:
        """Returns a minibatch as it may have been instead."""
        return self.altered(batch) if self.altered else batch

    def over(self, settings: Settings) -> Settings:
        """Returns settings with those that it changes."""
        return laid_over(settings, self.changes)


@dataclass(frozen=True)
class Explained:
    """Something with which the quantity agrees; neighbour: what it is, if no slip."""

    said: str
    compared: Compared
    neighbour: Neighbour | None = None


def by_conventions(names: Iterable[str], settings: Settings, known: Catalogue) -> Iterator[Neighbour]:
    """Yields every other value of the named conventions, one at a time."""
    for name in dict.fromkeys(names):
        keys = TOGETHER.get(name, (name,))
        instead = " and ".join(dict.fromkeys(shown(settings[key]) for key in keys))
        for value in values_of(keys[0], known):
            changes = dict.fromkeys(keys, value)
            if _moves(settings, changes):
                said = " and ".join(f"{key} = {shown(value)}" for key in keys)
                means = MEANINGS.get((keys[0], "off" if value == OFF else value))
                yield Neighbour(f"{said} instead of {instead}{f' ({means})' if means else ''}", changes)


def values_of(name: str, known: Catalogue) -> list[Setting]:
    """Returns what may stand for a convention: the words of a switch, for a number the presets' and some beside them."""
    if name in WORDS:
        return [word for word in WORDS[name] if word != "full"]
    listed = (*(preset.values[name] for preset in known.presets.values()), *VALUES.get(name, ()))
    return list(dict.fromkeys(number_of(name, each) for each in listed))


def by_presets(settings: Settings, own: str, known: Catalogue, moving: Collection[str]) -> Iterator[Neighbour]:
    """Yields the other presets altogether, as far as they move something."""
    keys = [key for name in moving for key in TOGETHER.get(name, (name,)) if key in settings]
    for name, preset in known.presets.items():
        changes = {key: preset.values[key] for key in keys}
        if name != own and _moves(settings, changes):
            yield Neighbour(f"preset {name} altogether", changes, rank=3)


def _moves(settings: Settings, changes: Settings) -> bool:
    """Tells whether changes are other values than those of settings."""
    return any(number_of(key, settings[key]) != number_of(key, value) for key, value in changes.items())


def _with(batch: Minibatch, **tensors: Array) -> Minibatch:
    return replace(batch, tensors={**batch.tensors, **tensors})


def _moved(name: str, by: int, batch: Minibatch) -> Minibatch:
    """Moves a tensor by a column; what comes in at the edge is 0."""
    after = np.roll(batch.tensors[name], by, axis=1)
    after[:, 0 if by > 0 else -1] = 0
    return _with(batch, **{name: np.where(np.isfinite(after), after, 0)})


def _swapped(one: str, other: str, batch: Minibatch) -> Minibatch:
    return _with(batch, **{one: batch.tensors[other], other: batch.tensors[one]})


def _longer(batch: Minibatch) -> Minibatch:
    """Lets every mask cover one slot more."""
    mask = batch.mask.astype(bool)
    mask[:, 1:] |= batch.mask[:, :-1].astype(bool)
    return _with(batch, response_mask=mask & (np.arange(mask.shape[1]) < np.asarray(batch.slots)[:, None]))


def _shorter(batch: Minibatch) -> Minibatch:
    """Lets every mask end one token earlier."""
    mask = batch.mask.astype(bool)
    return _with(batch, response_mask=mask & (np.cumsum(mask[:, ::-1], axis=1)[:, ::-1] > 1))


SHIFTED = ("values_old", "values_new", "logprobs_old", "logprobs_ref", "logprobs_new")
SWAPPED = {
    ("logprobs_old", "logprobs_new"): ": the ratio is inverted",
    ("logprobs_old", "logprobs_ref"): "",
    ("values_old", "values_new"): "",
}
"""Pairs of tensors that may have been swapped, and what that means."""


def by_alignment(batch: Minibatch, read: Collection[str]) -> Iterator[Neighbour]:
    """Yields tensors shifted by a column, swapped, and masks that are a token longer or shorter; only those that are read."""
    for name in SHIFTED:
        if name in read and name in batch.tensors and batch.mask.shape[1] > 1:
            for where, by, side in (("before", 1, "right"), ("behind", -1, "left")):
                yield Neighbour(
                    f"{name} of the position {where} (shifted by one column to the {side})",
                    altered=partial(_moved, name, by),
                )
    for (one, other), means in SWAPPED.items():
        if {one, other} & set(read) and {one, other} <= batch.tensors.keys():
            yield Neighbour(f"{one} and {other} swapped{means}", altered=partial(_swapped, one, other))
    yield Neighbour("a mask that covers one position more behind each token", altered=_longer)
    yield Neighbour("a mask that ends one token earlier", altered=_shorter)


def by_microbatches(responses: int, most: int = 64) -> Iterator[Neighbour]:
    """Yields the divisions of a batch into equal runs of responses, at most so many of them."""
    for size in range(1, responses // 2 + 1):
        if responses % size == 0 and responses // size <= most:
            yield Neighbour(f"microbatches of {size}", microbatch=size)


def by_factors(responses: int, most: int = 64) -> Iterator[Neighbour]:
    """Yields what a number may have been multiplied by: −1, 2, and how many microbatches there may be, or the inverse."""
    counts = [2, *(count for count in range(3, min(responses, most) + 1) if responses % count == 0)]
    yield Neighbour("the opposite sign", factor=-1.0)
    for count in counts:
        yield Neighbour(f"everything multiplied by {count}", factor=float(count), rank=2)
        yield Neighbour(f"everything divided by {count}", factor=1 / count, rank=2)
