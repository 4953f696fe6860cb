"""The files of one training step: in their order, none twice, what is not there, and put together as one minibatch; where rows
have nothing to do with each other, below each other, columns as wide as the widest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from blueprint.dumps.batch import COUNTED_IN, Dump, Minibatch, Place
from blueprint.dumps.formats import Array, MinibatchError, require, same_numbers
from blueprint.inputs import counted

AnyDump = TypeVar("AnyDump", bound=Dump)
Key = tuple[int, int, int, int]
"""Rank, epoch, minibatch and microbatch; 0 where a file does not say it."""


def place_in(batch: Dump) -> Place:
    """Returns where in its step a file belongs, as far as it says it."""
    return batch.place or Place()


def key_of(batch: Dump) -> Key:
    """Returns where in its step a file belongs."""
    place = place_in(batch)
    return place.rank or 0, place.epoch or 0, place.minibatch or 0, place.microbatch or 0


def in_order(batches: Sequence[AnyDump]) -> tuple[list[AnyDump], list[str]]:
    """Returns files by rank, epoch, minibatch and microbatch, and notes on those that repeat another one and are left out.

    Raises:
        MinibatchError: files of two steps, that count ranks, epochs, minibatches or microbatches differently, or two with the
            same place and different numbers.
    """
    _check_counts(batches)
    found: dict[Key, AnyDump] = {}
    unplaced, notes = list[AnyDump](), list[str]()
    for batch in sorted(batches, key=lambda each: (key_of(each), each.path)):
        before = found.get(key_of(batch)) or _same_rows(batch, found.values())
        if batch.place is None or len(batches) == 1:
            unplaced.append(batch)
        elif before is None:
            found[key_of(batch)] = batch
        elif _repeats(before, batch):
            notes.append(f"{batch.path} repeats {before.path} and is left out")
        else:
            raise MinibatchError(_twice(before, batch))
    return [*found.values(), *unplaced], notes


def _repeats(one: Dump, other: Dump) -> bool:
    """Tells whether two files hold the same numbers."""
    return one.tensors.keys() == other.tensors.keys() and all(
        same_numbers(each, other.tensors[name]) for name, each in one.tensors.items()
    )


def _same_rows(batch: AnyDump, others: Iterable[AnyDump]) -> AnyDump | None:
    """Returns the file of another rank with the same rows of the rollout and the same numbers, as each rank of tensor parallelism
    writes them (miles); None where there is none.
    """
    if "row_index" not in batch.tensors:
        return None
    alike = (each for each in others if key_of(each)[1:] == key_of(batch)[1:])
    return next((each for each in alike if _repeats(each, batch)), None)


def _check_counts(batches: Sequence[Dump]) -> None:
    """Refuses files of different steps or runs; microbatches may differ, since their number follows the lengths when packed."""
    for what in ("step", "world_size", "epochs", "minibatches"):
        known = [(each.path, each.step if what == "step" else getattr(place_in(each), what)) for each in batches]
        known = [(path, number) for path, number in known if number is not None]
        for path, number in known[1:]:
            require(
                number == known[0][1],
                f"{known[0][0]} says {what} {known[0][1]} and {path} {what} {number}: give the files of one step of one run.",
            )


def _twice(one: Dump, other: Dump) -> str:
    place = place_in(one)
    unsaid = [name for name in COUNTED_IN if getattr(place, name) is None]
    advice = f"write {', '.join(unsaid)} into the metadata" if unsaid else "keep the one that belongs there"
    return f"{one.path} and {other.path} both say {str(place) or 'nothing of their place'}, and hold different numbers: {advice}."


def missing_in(batches: Sequence[Dump], ranks: bool, only: int | None = None) -> Iterator[str]:
    """Yields what is not there of one epoch, or of one rank of it, in sentences' parts.

    ranks: whether all ranks belong together. only: a single minibatch that is asked for.
    """
    here = {key_of(each): place_in(each) for each in batches}
    place = place_in(batches[0])
    for rank in range(place.world_size or 1) if ranks else sorted({key[0] for key in here}):
        mine = {key: each for key, each in here.items() if key[0] == rank}
        of_rank = f" of rank {rank}" if (place.world_size or 1) > 1 else ""
        if not mine:
            yield f"rank {rank} of {place.world_size}"
            continue
        all_of_them = range(place.minibatches or 1 + max(key[2] for key in mine))
        for minibatch in all_of_them if only is None else (only,):
            yield from (f"{each}{of_rank}" for each in _missing_parts(mine, minibatch, place.minibatches))


def _missing_parts(mine: Mapping[Key, Place], minibatch: int, minibatches: int | None) -> Iterator[str]:
    parts = {key[3]: each for key, each in mine.items() if key[2] == minibatch}
    if not parts:
        yield f"minibatch {minibatch} of {minibatches}" if minibatches else f"minibatch {minibatch}"
        return
    count = next(iter(parts.values())).microbatches or 1 + max(parts)
    of_minibatch = f" in minibatch {minibatch}" if (minibatches or 1) > 1 else ""
    yield from (f"microbatch {each} of {count}{of_minibatch}" for each in range(count) if each not in parts)


def unsaid(batches: Sequence[Dump], ranks: bool) -> tuple[str, ...]:
    """Returns which metadata would tell whether all files of a step are there, and are not in all of these.

    ranks: whether all ranks belong together.
    """
    keys = ("world_size", "minibatches", "microbatches") if ranks else ("minibatches", "microbatches")
    return tuple(key for key in keys if any(getattr(place_in(each), key) is None for each in batches))


def rows_twice(batches: Sequence[Dump]) -> str | None:
    """Says which row of the rollout stands in two places of the same epoch and rank; None where none does."""
    seen: dict[tuple[int, int, int], str] = {}
    for batch in batches:
        for row in batch.tensors.get("row_index", np.empty(0, np.int64)).tolist():
            place = (*key_of(batch)[:2], int(row))
            if place in seen:
                where = f"in {seen[place]} and {batch.path}" if seen[place] != batch.path else f"twice in {batch.path}"
                return f"row {row} of the rollout stands {where}, in the same epoch"
            seen[place] = batch.path
    return None


LEFT_ASIDE = ("prompt_ids", "response_ids", "tokens")
"""The tokens themselves: nothing is computed from them."""

DTYPES = ("bfloat16", "float16", "float32", "float64")
"""Dtypes of numbers, the coarsest first."""


def joined(batches: Sequence[Minibatch], path: str) -> Minibatch:
    """Returns the rows of several minibatches below each other, in their order, with the tensors that all of them have.

    Shorter rows are padded at the right, where no slot of theirs is. What was logged for each of them is not the whole's, and
    is left out, as are the places and shares.

    Raises:
        MinibatchError: scores that are one per response in one and one per token in another.
    """
    names = (name for name in batches[0].tensors if name not in LEFT_ASIDE)
    common = [name for name in names if all(name in each.tensors for each in batches)]
    held = {name: [each.dtypes[name] for each in batches] for name in common}
    return replace(
        batches[0],
        path=path,
        tensors={name: _stacked_alike(name, batches) for name in common},
        slots=np.concatenate([each.slots for each in batches]),
        first=np.concatenate([each.first for each in batches]),
        dtypes={name: next((each for each in DTYPES if each in some), some[0]) for name, some in held.items()},
        logged={},
        notes=(),
        rows=None,
        place=None,
        share=None,
    )


def _stacked_alike(name: str, batches: Sequence[Minibatch]) -> Array:
    arrays = [each.tensors[name] for each in batches]
    for batch, array in zip(batches, arrays, strict=True):
        require(
            array.ndim == arrays[0].ndim,
            f"{batches[0].path} and {batch.path} cannot be joined: {name} has {counted(arrays[0].ndim, 'axis', 'axes')} in one and "
            f"{array.ndim} in the other; save it alike in all files of a step.",
        )
    return _stacked(arrays)


def first_pass(steps: Sequence[AnyDump]) -> list[AnyDump]:
    """Returns the files of the same pass over the rollout as the first one."""
    return [each for each in steps if each is steps[0] or of_one_pass(each, steps[0])]


def of_one_pass(one: Dump, other: Dump) -> bool:
    """Whether two files say that they are of the same pass over a rollout, its epoch."""
    return one.place is not None and other.place is not None and key_of(one)[1] == key_of(other)[1]


def _written_together(steps: Sequence[Minibatch], width: int) -> dict[str, Array]:
    """Returns the tokens of the responses of all files, by which responses are told; shorter rows are padded at the right."""
    if any("response_ids" not in each.tensors for each in steps):
        return {}
    ids = [np.asarray(each.tensors["response_ids"])[:, :width] for each in steps]
    return {"response_ids": _stacked(ids, width)}


def joined_pass(steps: Sequence[Minibatch]) -> Minibatch:
    """Returns the files of the first pass over a rollout as one minibatch, with the tokens of its responses.

    Raises MinibatchError where they cannot be joined.
    """
    first = first_pass(steps)
    if len(first) == 1:
        return first[0]
    found = joined(first, first[0].path)
    return replace(found, tensors={**found.tensors, **_written_together(first, found.mask.shape[1])})


def together(steps: Sequence[AnyDump]) -> AnyDump:
    """Returns the rows of several files, with the tensors that all of them have; what was logged of each is left out."""
    if len(steps) == 1:
        return steps[0]
    common = [name for name in steps[0].tensors if all(name in each.tensors for each in steps)]
    tensors = {name: _stacked([each.tensors[name] for each in steps]) for name in common}
    return replace(steps[0], tensors=tensors, logged={}, notes=(), place=None)


def whole_of(dump: Dump, steps: Sequence[AnyDump]) -> AnyDump | None:
    """Returns the files of the step as one; None where the file is alone."""
    same = [each for each in steps if key_of(each)[1] == key_of(dump)[1]]
    return together(same) if len(same) > 1 else None


def _stacked(arrays: Sequence[Array], width: int = 0) -> Array:
    """Returns rows below each other, shorter ones padded at the right: to the longest, or to a width."""
    if arrays[0].ndim == 1:
        return np.concatenate(arrays)
    width = max(width, *(each.shape[1] for each in arrays))
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in arrays])
