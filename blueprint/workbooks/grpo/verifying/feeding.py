"""What a step of GRPO is computed again from: its files put together, group by group, as tensors of torch; and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array, MinibatchError, joined, key_of
from blueprint.verifying import Settings
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.formulas import Asked, Responses

Given = Mapping[str, Array]
NOTHING: Given = MappingProxyType({})
Ways = Mapping[str, Any]
"""What is done otherwise than in every library: known mistakes, and conventions that no setting names.

factor: by quantity, what it is multiplied by, −1 for the other sign; in_loss is that of the advantages in the loss alone.
parts: losses are means over so many parts of the rows, one below the other. share: False where losses are means over the file,
not its share of those over a larger batch. padded: losses are means over all slots, those behind a response with the loss 0.
swap: by tensor, which one stands in its place. moved: tensors whose columns stand one later (1) or earlier (−1).
groups: "interleaved" where row i answers prompt i modulo the number of prompts; "rows" where groups are rows side by side.
mask: "all" where pads count, too; "no_last" without the last token of each response; "one_more" with the one behind.
inverted: the ratio is old over new.
"""
PLAIN: Ways = MappingProxyType({})


@dataclass(frozen=True)
class Whole:
    """The step of which a file is a part: the rows of all its files, one file below the other, and which of them are the file's."""

    step: GroupedStep
    rows: slice


@dataclass
class Replayed:
    """A step computed again, and what came of it.

    left: [B], 0 for responses whose group was taken out. rows: [B, T]; numbers: of the step; both as computed. sizes: by number,
    the mean size of the terms that it sums. room: by row of tensors, how much further than rounding of the number itself a number
    may be off, [B, 1] or [B, T]; infinite where rounding decides it altogether. lacks: by quantity, what the file has not that it
    takes. started: the tensors of the file in which the computation begins.
    """

    batch: GroupedStep
    settings: Settings
    left: Array
    rows: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    room: dict[str, Array] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    started: tuple[str, ...] = ()

    @property
    def options(self) -> Settings:
        """The conventions in force."""
        return self.settings


def whole_of(batch: GroupedStep, steps: Sequence[GroupedStep]) -> Whole | None:
    """Returns the files of the same pass over the rollout as one step; None where the file is alone, or its own groups are whole
    and nothing is shared with other files."""
    same = [each for each in steps if each is batch or _of_one_pass(each, batch)]
    if len(same) < 2:
        return None
    try:
        step = together(same)
    except MinibatchError:
        return None
    at = next(place for place, each in enumerate(same) if each is batch)
    before = sum(len(each.mask) for each in same[:at])
    return Whole(step, slice(before, before + len(batch.mask)))


def together(steps: Sequence[GroupedStep]) -> GroupedStep:
    """Returns the files of the first pass over a rollout as one step. Raises MinibatchError where they cannot be joined."""
    first = [each for each in steps if each is steps[0] or _of_one_pass(each, steps[0])]
    if len(first) == 1:
        return first[0]
    found = joined(first, first[0].path)
    assert isinstance(found, GroupedStep)
    return replace(found, tensors=dict(found.tensors) | _apart(first) | _written(first, found.mask.shape[1]))


def _written(steps: Sequence[GroupedStep], width: int) -> dict[str, np.ndarray]:
    """Returns the tokens of the responses, which stand in workbooks; shorter rows are padded at the right."""
    if any("response_ids" not in each.tensors for each in steps):
        return {}
    ids = [np.asarray(each.tensors["response_ids"])[:, :width] for each in steps]
    return {"response_ids": np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in ids])}


def _of_one_pass(one: GroupedStep, other: GroupedStep) -> bool:
    return one.place is not None and other.place is not None and key_of(one)[1] == key_of(other)[1]


def _apart(steps: Sequence[GroupedStep]) -> dict[str, np.ndarray]:
    """Returns groups of which those that are told by rows side by side are of their own file."""
    if any("group" not in each.tensors for each in steps):
        return {}
    moved = 1 << 40
    found = [
        np.asarray(each.tensors["group"])
        + (at * moved if "side by side" in each.by and "row_index" not in each.by else 0)
        for at, each in enumerate(steps)
    ]
    return {"group": np.concatenate(found)}


STAND_IN = {
    "logprobs_new": "logprobs_old", "logprobs_ref": "logprobs_old", "logprobs_rollout": "logprobs_old",
}  # fmt: skip
"""What stands for log-probs that a file has not; what is made of them is not compared."""


@dataclass(frozen=True)
class Fed:
    """Responses by group. order: [B], which row of the dump each is; sizes: responses of each group, in that order."""

    of: Responses
    order: Tensor
    sizes: tuple[int, ...]

    @property
    def back(self) -> Tensor:
        """By row of the dump, its place."""
        return self.order.argsort()

    @property
    def even(self) -> bool:
        """Whether all groups are of one size."""
        return len(set(self.sizes)) == 1

    def some(self, places: slice | Tensor, size: int) -> Responses:
        """Returns some of the responses, so many to each prompt."""
        one = {name: getattr(self.of, name)[places] for name in _EACH}
        return replace(self.of, **one, greedy=self.of.greedy[:0], size=size, sizes=())

    def by_group(self) -> list[Responses]:
        """Returns the responses of each group by themselves."""
        ends = np.cumsum((0, *self.sizes)).tolist()
        found = [self.some(slice(a, b), b - a) for a, b in pairwise(ends)]
        return [replace(each, greedy=self.of.greedy[at : at + 1]) for at, each in enumerate(found)]


_EACH = ("score", "truncated", "mask", "new", "old", "reference", "rollout", "entropy")


def asked(settings: Settings) -> Asked:
    """Returns the conventions as the formulas take them."""
    return Asked(settings)


def fed(batch: GroupedStep, ways: Ways, device: str) -> Fed:
    """Returns the responses of a dump by group; where nothing tells the groups, each is one."""
    groups = _groups(batch, ways)
    order = torch.from_numpy(np.argsort(groups, kind="stable")).to(device)
    sizes = tuple(int(each) for each in np.bincount(groups))
    mask = torch.from_numpy(_mask(batch.mask, ways).astype(np.float64)).to(device)
    found = {name: _tokens(batch, name, mask, ways) for name in (*STAND_IN, "logprobs_old", "entropy")}
    score = torch.from_numpy(scores(batch)).to(mask)
    cut = torch.from_numpy(_cut_off(batch)).to(mask)
    greedy = torch.from_numpy(_greedy(batch, groups)).to(mask)
    of = Responses(
        score[order], cut[order], greedy, mask[order], found["logprobs_new"][order], found["logprobs_old"][order],
        found["logprobs_ref"][order], found["logprobs_rollout"][order], found["entropy"][order], sizes[0], sizes,
    )  # fmt: skip
    return Fed(of, order, sizes)


def _groups(batch: GroupedStep, ways: Ways) -> Array:
    """Returns the group of each row, from 0."""
    count, known = len(batch.mask), batch.groups
    if known is None:
        return np.arange(count)
    prompts = int(known.max()) + 1
    told = {"interleaved": np.arange(count) % prompts, "rows": np.arange(count) * prompts // count}
    return np.asarray(told.get(str(ways.get("groups", "")), known))


def _mask(mask: Array, ways: Ways) -> Array:
    if ways.get("mask") == "all":
        return np.ones_like(mask)
    if ways.get("mask") == "no_last":
        behind = np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1)
        return mask & (behind > 1)
    if ways.get("mask") == "one_more":
        return np.asarray(mask | np.pad(mask, ((0, 0), (1, 0)))[:, :-1])
    return mask


def _tokens(batch: GroupedStep, name: str, mask: Tensor, ways: Ways) -> Tensor:
    """Returns a tensor of tokens, 0 outside the mask; what stands for it where the file has it not, else 0."""
    called: Mapping[str, str] = ways.get("swap", {})
    own = called.get(name, name)
    there = own if own in batch.tensors else STAND_IN.get(own, "")
    if there not in batch.tensors:
        return torch.zeros_like(mask)
    array = np.nan_to_num(np.asarray(batch.tensors[there], dtype=np.float64))
    array = np.roll(array, ways.get("moved", {}).get(name, 0), axis=1)
    return torch.from_numpy(array).to(mask) * (mask > 0)


def scores(batch: GroupedStep) -> Array:
    """Returns the score of each response, [B]: the sum of what stands on its tokens; 0 where the file has none."""
    if batch.weights:
        return _normalised(batch)
    found = np.nan_to_num(np.asarray(batch.tensors.get("scores", np.zeros(len(batch.mask))), dtype=np.float64))
    return found if found.ndim == 1 else np.asarray((found * batch.mask).sum(axis=1))


FUNCTION_EPS = 1e-4
"""What TRL 1.16.0 adds to the deviation of each reward function within a group."""


def _normalised(batch: GroupedStep) -> Array:
    """Returns Σ weight·(reward − mean)/(deviation + ε), mean and deviation of each function within the group, [B].

    As TRL 1.16.0 has it with normalize_then_sum: where a function does not judge, or judges but one of a group, it counts 0.
    """
    functions, mean, deviation = _by_group(batch)
    return np.asarray(np.nan_to_num((functions - mean) / (deviation + FUNCTION_EPS)) @ np.asarray(batch.weights))


def rounding_of(batch: GroupedStep, unit: float) -> Array:
    """Returns how far those scores may be off where the mean of each function is rounded to a unit of its largest reward, [B]."""
    functions, _, deviation = _by_group(batch)
    largest = np.abs(np.nan_to_num(functions)).max(axis=0, initial=0.0)
    off = np.nan_to_num(unit * largest / (deviation + FUNCTION_EPS))
    return np.asarray(off @ np.abs(np.asarray(batch.weights)))


def _by_group(batch: GroupedStep) -> tuple[Array, Array, Array]:
    """Returns what the functions said, and of each mean and deviation within the group, [B, K]; NaN where there are none."""
    functions = np.asarray(batch.tensors["rewards_per_func"], np.float64)
    groups = np.arange(len(functions)) if batch.groups is None else batch.groups
    mean, deviation = np.full_like(functions, np.nan), np.full_like(functions, np.nan)
    for group in np.unique(groups):
        rows = groups == group
        for of, each in enumerate(functions[rows].T):
            judged = each[np.isfinite(each)]
            if len(judged) > 1:
                mean[rows, of], deviation[rows, of] = judged.mean(), judged.std(ddof=1)
    return functions, mean, deviation


def _cut_off(batch: GroupedStep) -> Array:
    """Returns 1 for responses that were cut off, as the file says, [B]."""
    if "truncated" in batch.tensors:
        return np.asarray(batch.tensors["truncated"] == 1, dtype=np.float64)
    return 1.0 - np.asarray(batch.tensors.get("ended", np.ones(len(batch.mask))), dtype=np.float64)


def _greedy(batch: GroupedStep, groups: Array) -> Array:
    """Returns the score of the greedy response to each prompt, [Q]; a file has it for each response."""
    each = np.asarray(batch.tensors.get("greedy", np.zeros(len(groups))), dtype=np.float64)
    first = np.unique(groups, return_index=True)[1]
    return np.asarray(each[first])
