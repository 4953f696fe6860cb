"""What a step of GRPO is computed again from: its files put together, in the blocks of the definitions; and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blueprint.dumps import Array, MinibatchError, first_pass, joined_pass, of_one_pass, require
from blueprint.language import Axis
from blueprint.verifying import Definitions, Known, Selection, Ways, counted
from blueprint.workbooks.grpo.definitions import derived
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import LABELS, i, n, o, q, t
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.schema import GRPO


@dataclass(frozen=True)
class Whole:
    """The step of which a file is a part: the rows of all its files, one file below the other, and which of them are the file's.

    made: the advantages of the step that were made last, which every file shares, by what they were made with.
    """

    step: GroupedStep
    rows: slice
    made: dict[object, Any] = field(default_factory=dict)


Wholes = dict[tuple[int, ...], Whole]
"""By the files of a pass, each by its identity, what they are together: the steps of one call of verify share it."""


def whole_of(batch: GroupedStep, steps: Sequence[GroupedStep], wholes: Wholes) -> Whole | None:
    """Returns the files of the same pass over the rollout as one step; None where the file is alone, or they cannot be joined."""
    same = [each for each in steps if each is batch or of_one_pass(each, batch)]
    if len(same) < 2:
        return None
    if (key := tuple(map(id, same))) not in wholes:
        try:
            wholes[key] = Whole(together(same), slice(None))
        except MinibatchError:
            return None
    at = next(place for place, each in enumerate(same) if each is batch)
    before = sum(len(each.mask) for each in same[:at])
    return replace(wholes[key], rows=slice(before, before + len(batch.mask)))


def together(steps: Sequence[GroupedStep]) -> GroupedStep:
    """Returns the files of the first pass over a rollout as one step. Raises MinibatchError where they cannot be joined."""
    first, found = first_pass(steps), joined_pass(steps)
    assert isinstance(found, GroupedStep)
    return found if len(first) == 1 else replace(found, tensors={**found.tensors, **_apart(first)})


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


OF_TOKENS = {
    "policy.logprobs": "logprobs_new", "old.logprobs": "logprobs_old", "reference.logprobs": "logprobs_ref",
    "engine.logprobs": "logprobs_rollout", "policy.entropy": "entropy",
}  # fmt: skip
"""By block the tensor that stands in it."""
TYPED = {
    **dict.fromkeys((*OF_TOKENS, "response.tokens"), (n, t)), **dict.fromkeys(("score", "truncated", "response.length"), (n,)),
    **dict.fromkeys(("count.prompts", "count.group", "count.responses"), ()), "greedy": (q,), "response.is": (q, i, o),
    "response.same": (o, n),
}  # fmt: skip
EQUATIONS = Definitions(
    GRPO,
    LABELS.labels,
    TYPED,
    lambda given, use: derived(given, use).rows,
    {"response.tokens": (t.last + 1,)},
    ("response.tokens", "loss.counted"),
    counts={"count.group": i, "count.prompts": q, "count.responses": n},
)
Fed = dict[str, Array]
"""What is known of each response, [B], and of each token, [B, T], by block; and under `group` whose response it is, from 0."""

Laid = tuple[dict[Axis, int], dict[str, Array | Selection]]
"""The sizes, and what stands in the blocks."""


PLACE = "place"
"""Under which the place of each response in the rollout stands among what is known of it, [B]; else its place in the file."""


def fed(batch: GroupedStep, ways: Ways) -> Fed:
    """Returns the responses of a dump; where nothing tells the groups, each is one. Raises MinibatchError where there is none."""
    require(
        len(batch.mask) > 0,
        f"{batch.path}: no response has a score that is a number; without scores a step is verified from its advantages on.",
    )
    mask = counted(batch.mask, str(ways.get("mask", ""))).astype(np.float64)
    found = {block: _tokens(batch, name, mask, ways) for block, name in OF_TOKENS.items()}
    greedy = np.asarray(batch.tensors.get("greedy", np.zeros(len(mask))), np.float64)
    places = np.asarray(batch.tensors.get("row_index", np.arange(len(mask)))).reshape(-1).astype(np.int64)
    return found | {
        "response.tokens": mask, "response.length": mask.sum(axis=1), "score": scores(batch), "truncated": cut_off(batch),
        "greedy": greedy, "group": _groups(batch, ways), PLACE: places,
    }  # fmt: skip


def order_of(of: Fed) -> Array:
    """Returns the responses group by group, each group in the order of the rollout, [B]."""
    return np.lexsort((of[PLACE], of["group"]))


def cells_of(of: Fed) -> tuple[Array, Array]:
    """Returns the group, from 0, and the place in it of each response of `order_of`, [B]."""
    groups = np.unique(of["group"], return_inverse=True)[1][order_of(of)]
    count = np.bincount(groups)
    return groups, np.arange(len(groups)) - np.repeat(np.cumsum(count) - count, count)


def laid_out(of: Fed) -> Laid:
    """Returns the sizes, and what stands in the blocks; groups of different sizes have places that are empty.

    With `left`, 1 on the responses that a filter leaves, also what the definitions have of it where they begin at advantages.
    """
    first, count = np.unique(of["group"], return_index=True, return_counts=True)[1:]
    (rows, columns), order, (groups, places) = of["response.tokens"].shape, order_of(of), cells_of(of)
    sizes = {q: len(count), i: int(count.max(initial=0)), n: rows, t: columns}
    where: Array | Selection
    if count.min() == count.max():
        where = Selection(order.reshape(sizes[q], -1), np.argsort(order))
    else:
        where = np.zeros((sizes[q], sizes[i], rows))
        where[groups, places, order] = 1.0
    known: Known = {
        **{name: each for name, each in of.items() if name not in ("group", PLACE, "left")}, "greedy": of["greedy"][first],
        "response.tokens": np.pad(of["response.tokens"], ((0, 0), (0, 1))), "response.is": where,
        "response.same": Selection(np.arange(rows), np.arange(rows)), "count.prompts": np.asarray(float(len(count))),
        "count.group": np.asarray(float(sizes[i])), "count.responses": np.asarray(float(rows)),
    }  # fmt: skip
    if "left" in of:
        left = np.zeros((sizes[q], sizes[i]))
        left[groups, places] = of["left"][order]
        known = {**known, "loss.left": of["left"], "group.left": left}
    return sizes, dict(known)


def _groups(batch: GroupedStep, ways: Ways) -> Array:
    """Returns the group of each row, from 0 in the order in which the rollout has them."""
    count, known = len(batch.mask), batch.groups
    if known is None:
        return np.arange(count)
    places = np.asarray(batch.tensors.get("row_index", np.arange(count))).reshape(-1)
    first = [places[known == group].min() for group in range(int(known.max()) + 1)]
    known = np.argsort(np.argsort(first, kind="stable"), kind="stable")[known]
    place = places.argsort(kind="stable").argsort(kind="stable")  # in the rollout
    way, prompts = ways.get("groups", ("", 0))
    prompts = prompts or int(known.max()) + 1
    told = {"interleaved": place % prompts, "rows": place * prompts // count}
    return np.asarray(told.get(way, known))


def _tokens(batch: GroupedStep, name: str, mask: Array, ways: Ways) -> Array:
    """Returns a tensor of tokens; what stands for it where the file has it not, else 0. Outside the mask it is what the file has
    there, as far as that may be a number of a token: another mask may count it."""
    called: Mapping[str, str] = ways.get("swap", {})
    own = called.get(name, name)
    there = own if own in batch.tensors else STAND_IN.get(own, "")
    if there not in batch.tensors:
        return np.zeros_like(mask)
    array = np.roll(np.asarray(batch.tensors[there], np.float64), ways.get("moved", {}).get(name, 0), axis=1)
    return np.where((mask > 0) | (np.abs(array) < LARGEST), np.nan_to_num(array), 0.0)


def wide(row: Any, mask: Array) -> Array:
    """Returns a row of responses, [B], or of tokens as one of tokens, [B, T]."""
    row = np.asarray(row, np.float64)
    return np.broadcast_to(row[:, None] if row.ndim == 1 else row, mask.shape)


LARGEST = 1e4
"""What is more is no log-prob and no entropy, but stands where nothing is."""


def scores(batch: GroupedStep) -> Array:
    """Returns the score of each response, [B]: the sum of what stands on its tokens; 0 where the file has none."""
    if batch.normalised:
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
    return np.asarray(
        np.nan_to_num((functions - mean) / (deviation + FUNCTION_EPS)) @ np.asarray(batch.function_weights)
    )


def rounding_of(batch: GroupedStep, unit: float) -> Array:
    """Returns how far those scores may be off where the mean of each function is rounded to a unit of its largest reward, [B]."""
    functions, _, deviation = _by_group(batch)
    largest = np.abs(np.nan_to_num(functions)).max(axis=0, initial=0.0)
    off = np.nan_to_num(unit * largest / (deviation + FUNCTION_EPS))
    return np.asarray(off @ np.abs(np.asarray(batch.function_weights)))


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


def cut_off(batch: GroupedStep) -> Array:
    """Returns 1 for responses that were cut off, as the file says, [B]."""
    if "truncated" in batch.tensors:
        return np.asarray(batch.tensors["truncated"] == 1, dtype=np.float64)
    return 1.0 - np.asarray(batch.tensors.get("ended", np.ones(len(batch.mask))), dtype=np.float64)
