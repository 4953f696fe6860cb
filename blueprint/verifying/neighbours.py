"""Neighbouring conventions: what else a deviating number may have been computed with."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.inputs import OFF, Catalogue
from blueprint.verifying.compare import Compared
from blueprint.verifying.formulas import WORDS
from blueprint.verifying.meanings import MEANINGS, TOGETHER, VALUES
from blueprint.verifying.settings import Setting, Settings, laid_over, number_of, shown

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
