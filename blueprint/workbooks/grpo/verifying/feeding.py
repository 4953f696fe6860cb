"""What the formulas are fed with: the responses of a dump, those to a prompt side by side, as tensors of torch in float64."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array
from blueprint.verifying import Settings
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.formulas import Asked, Responses
from blueprint.workbooks.grpo.verifying.replayed import Ways

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
