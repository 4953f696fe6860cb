"""The files of a step, one below the other: groups are looked for over all of them, since libraries shuffle and divide rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from blueprint.dumps import MinibatchError, joined, key_of
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.replayed import Whole


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
