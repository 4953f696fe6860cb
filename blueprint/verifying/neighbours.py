"""Neighbouring conventions: what else a deviating number may have been computed with, as data."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.inputs.catalogue import Catalogue
from blueprint.inputs.setting import OFF
from blueprint.verifying.meanings import MEANINGS
from blueprint.verifying.settings import Setting, Settings, number_of
from blueprint.witness import WORDS

VALUES: Mapping[str, tuple[Setting, ...]] = MappingProxyType(
    {
        "gamma": (0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1),
        "gae_lambda": (0, 0.9, 0.92, 0.95, 0.97, 0.98, 0.99, 1),
        "kl_coef": (0,),
        "loss.kl_coef": (0,),
        "clip_range": (0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4, "off"),
        "loss.clip_range_high": (0.1, 0.15, 0.2, 0.25, 0.28, 0.3, 0.4, "off"),
        "value_clip_range": (0.1, 0.2, 0.25, 0.3, 0.5, 1, "off"),
        "vf_coef": (0, 0.1, 0.25, 0.5, 1),
        "ent_coef": (0, 0.001, 0.01),
        "whiten_eps": (1e-8, 1e-6, 1e-5, 1e-4),
        "reward.kl_clamp_in": (10, 20, "off"),
        "reward.kl_clamp_out": (10, 20, "off"),
        "loss.kl_clamp_in": (10, 20, "off"),
        "loss.kl_clamp_out": (10, 20, "off"),
        "reward.score_clip": (1, 5, 10, "off"),
        "reward.missing_eos_value": (-10, -3, -1, 0, 1, 3),
        "advantage.tail_slots": (0, 1, 2),
        "advantage.ddof": (0, 1),
        "loss.dual_clip": (2, 3, 5, 10, "off"),
        "loss.log_ratio_clamp": (0.1, 0.2, 0.3, 0.5, 1, 10, 20, "off"),
        "loss.ratio_threshold": (2, 10, "off"),
        "value.factor": (0.25, 0.5, 1),
        "value.tail": (0, 1),
    }
)
"""Values of conventions that are numbers, beside those of the presets."""

TOGETHER = MappingProxyType({"clip": ("clip_range", "loss.clip_range_high")})
"""Conventions that are often one setting of a library."""

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


def by_conventions(names: tuple[str, ...], settings: Settings, known: Catalogue) -> Iterator[Neighbour]:
    """Yields every other value of the named conventions, one at a time."""
    for name in dict.fromkeys(names):
        keys = TOGETHER.get(name, (name,))
        for value in values_of(keys[0], known):
            changes = dict.fromkeys(keys, value)
            if any(number_of(key, settings[key]) != number_of(key, value) for key in keys):
                said = " and ".join(f"{key} = {shown(value)}" for key in keys)
                yield Neighbour(f"{said} instead of {_instead(keys, settings)}{_meaning(keys[0], value)}", changes)


def values_of(name: str, known: Catalogue) -> list[Setting]:
    """Returns what may stand for a convention: the words of a switch, for a number the presets' and some beside them."""
    if name in WORDS:
        return [word for word in WORDS[name] if word != "full"]
    listed = [*(preset.values[name] for preset in known.presets.values()), *VALUES.get(name, ())]
    return list(dict.fromkeys(number_of(name, each) for each in listed))


FINE = ("_eps", "whiten_eps", "ratio_threshold", "log_ratio_clamp", "kl_clamp_in", "kl_clamp_out", "kl_clamp_of")
"""Conventions, by how their names end, that move a number so little, or so rarely, that they are no part of pairs."""


def paired(names: tuple[str, ...], settings: Settings, known: Catalogue) -> list[Neighbour]:
    """Returns the other values of conventions that are tried two at a time."""
    return list(by_conventions(tuple(name for name in names if not name.endswith(FINE)), settings, known))


def _meaning(key: str, value: Setting) -> str:
    means = MEANINGS.get((key, "off" if value == OFF else value))
    return f" ({means})" if means else ""


def _instead(keys: tuple[str, ...], settings: Settings) -> str:
    return " and ".join(dict.fromkeys(shown(settings[key]) for key in keys))


def shown(value: Setting) -> str:
    """Returns a value as it is typed."""
    return value if isinstance(value, str) else "off" if value == OFF else f"{value:g}"


def by_presets(settings: Settings, own: str, known: Catalogue, moving: Collection[str]) -> Iterator[Neighbour]:
    """Yields the other presets altogether, as far as they move something."""
    keys = [key for name in moving for key in TOGETHER.get(name, (name,)) if key in settings]
    for name, preset in known.presets.items():
        changes = {key: preset.values[key] for key in keys}
        if name != own and any(
            number_of(key, settings[key]) != number_of(key, value) for key, value in changes.items()
        ):
            yield Neighbour(f"preset {name} altogether", changes, rank=3)


def _moved(name: str, by: int) -> Change:
    def change(batch: Minibatch) -> Minibatch:
        before = np.asarray(batch.tensors[name])
        after = np.zeros_like(before)
        if by > 0:
            after[:, by:] = before[:, :-by]
        else:
            after[:, :by] = before[:, -by:]
        return _with(batch, {name: np.where(np.isfinite(after), after, 0)})

    return change


def _swapped(one: str, other: str) -> Change:
    def change(batch: Minibatch) -> Minibatch:
        return _with(batch, {one: batch.tensors[other], other: batch.tensors[one]})

    return change


def _longer(batch: Minibatch) -> Minibatch:
    """Lets every mask cover one slot more."""
    mask = batch.mask.astype(bool)
    slots = np.arange(mask.shape[1]) < np.asarray(batch.slots)[:, None]
    after = mask.copy()
    after[:, 1:] |= mask[:, :-1]
    return _with(batch, {"response_mask": after & slots})


def _shorter(batch: Minibatch) -> Minibatch:
    """Lets every mask end one word earlier."""
    mask = batch.mask.astype(bool)
    behind = np.cumsum(mask[:, ::-1], axis=1)[:, ::-1]
    return _with(batch, {"response_mask": mask & (behind > 1)})


def _with(batch: Minibatch, tensors: Mapping[str, Array]) -> Minibatch:
    return replace(batch, tensors={**batch.tensors, **tensors})


SHIFTED = ("values_old", "values_new", "logprobs_old", "logprobs_ref", "logprobs_new")
SWAPPED = (("logprobs_old", "logprobs_new"), ("logprobs_old", "logprobs_ref"), ("values_old", "values_new"))


def by_alignment(batch: Minibatch, read: Collection[str]) -> Iterator[Neighbour]:
    """Yields tensors shifted by a column, swapped, and masks that are a word longer or shorter; only those that are read."""
    for name in SHIFTED:
        if name in read and name in batch.tensors and batch.mask.shape[1] > 1:
            yield Neighbour(f"{name} of the slot before (shifted by one column to the right)", altered=_moved(name, 1))
            yield Neighbour(f"{name} of the slot behind (shifted by one column to the left)", altered=_moved(name, -1))
    for one, other in SWAPPED:
        if {one, other} & set(read) and one in batch.tensors and other in batch.tensors:
            yield Neighbour(f"{one} and {other} swapped{_so(one, other)}", altered=_swapped(one, other))
    yield Neighbour("a mask that covers one slot more behind each word", altered=_longer)
    yield Neighbour("a mask that ends one word earlier", altered=_shorter)


def _so(one: str, other: str) -> str:
    return ": the ratio is inverted" if (one, other) == SWAPPED[0] else ""


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
