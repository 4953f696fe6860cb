"""Tensors that were read from elsewhere: of another column or row, tempered, swapped, of another model, wherever they are read or
for some rows alone; and masks that are longer or shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.verifying import Settings, Try
from blueprint.workbooks.rlhf_ppo.verifying.mistakes import WEIGHED
from blueprint.workbooks.rlhf_ppo.verifying.own_rows import BESIDE, MASKS

Altered = Callable[[Minibatch], Minibatch]


def _with(batch: Minibatch, **tensors: Array) -> Minibatch:
    return replace(batch, tensors={**batch.tensors, **tensors})


def _moved(name: str, move: Callable[[Array], Array], batch: Minibatch) -> Minibatch:
    """Returns a batch with a tensor that was read from elsewhere; what comes in is finite."""
    row = np.asarray(batch.tensors[name])
    return _with(batch, **{name: move(np.nan_to_num(row, posinf=0, neginf=0) if row.dtype.kind == "f" else row)})


def _taken(name: str, other: str, batch: Minibatch) -> Minibatch:
    return _with(batch, **{name: batch.tensors[other]})


def _swapped(one: str, other: str, batch: Minibatch) -> Minibatch:
    return _with(batch, **{one: batch.tensors[other], other: batch.tensors[one]})


def _masked(mask: Callable[[Array], Array], batch: Minibatch) -> Minibatch:
    there = np.arange(batch.mask.shape[1]) < np.asarray(batch.slots)[:, None]
    return _with(batch, response_mask=mask(np.asarray(batch.mask, bool)) & there)


TEMPERATURES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.2, 1.5, 2.0)
TAKEN = (
    ("the ratio against the reference, not the old policy", "logprobs_old", "logprobs_ref"),
    ("the ratio of the old policy to the reference", "logprobs_new", "logprobs_ref"),
    # thu-ml/tianshou #745 and higgsfield-ai/higgsfield #20: old log-probs of the policy as it is now
    ("the new log-probs for the old ones: a ratio of 1", "logprobs_old", "logprobs_new"),
    ("the log-probs of the generating engine for the old ones", "logprobs_old", "logprobs_rollout"),
    ("the new values, not the old ones", "values_old", "values_new"),
)  # fmt: skip
SWAPPED = {
    # openai/baselines #1218 and hill-a/stable-baselines #447 ask which is divided by which
    ("logprobs_old", "logprobs_new"): ": the ratio is inverted",
    ("logprobs_old", "logprobs_ref"): "",
    ("values_old", "values_new"): "",
}
"""Pairs of tensors that may have been swapped, and what that means."""
OF_RATIO = ("policy_loss", "ratio.mean", "loss.mean_ratio", "approx_kl.used", "clip_fraction.used")
SCOPES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(OF_RATIO, (("log_ratio.free", "log_ratio"),)),
    "rewards": (("rewards.raw",),), "value_loss": (("value.clipped",), ("value.word_loss",)),
    "advantages": (("advantages",), ("advantages", "returns")), "returns": (("returns",), ("advantages", "returns")),
}  # fmt: skip
"""By quantity the rows that alone may be made of a tensor as it was read; all else is of the tensor as it is."""


def of_tensors(batch: Minibatch, settings: Settings, name: str, read: Collection[str]) -> Iterator[Try]:
    """Yields tensors that were read from elsewhere, and masks that are longer or shorter.

    read: those that a quantity is made of.
    """
    uses = [settings]
    if settings["metrics.over"] == "all" and name in ("ratio.mean", "approx_kl.used"):  # then pads are read, too
        uses.append({**settings, "batch.response_mask": "all"})
    for said, altered in _altered(batch, read):
        for use in uses:
            for only in SCOPES.get(name, ()):
                yield Try(said, use, {"batch": altered, "only": only})
        yield Try(said, settings, {"batch": altered})
    numbers = name in WEIGHED
    for said, mask in MASKS.items():
        yield from [Try(said, settings, {"batch": partial(_masked, mask), "only": (name,)})] if numbers else ()
        yield Try(said, settings, {"batch": partial(_masked, mask)})


def in_scopes(each: Try, name: str) -> Iterator[Try]:
    """Yields that some rows alone are made of a batch as it was read."""
    scopes = SCOPES.get(name, ()) if "batch" in each.ways else ()
    yield from (each._replace(ways={**each.ways, "only": only}) for only in scopes)
    yield each


def _altered(batch: Minibatch, read: Collection[str]) -> Iterator[tuple[str, Altered]]:
    """Yields how a report puts it, and the batch with a tensor that was read from elsewhere."""
    there = [name for name in read if name in batch.tensors and np.ndim(batch.tensors[name]) == 2 and name != "scores"]
    for name in there:
        for place, moves in BESIDE.items():
            yield from ((f"{name} {place}", partial(_moved, name, move)) for move in moves)
        for each in TEMPERATURES if name in ("logprobs_old", "logprobs_new") else ():
            said = f"{name} divided by a temperature of {each:g}"
            yield said, partial(_moved, name, partial(lambda by, row: row / by, each))
    for said, name, other in TAKEN:
        if name in there and other in batch.tensors:
            yield said, partial(_taken, name, other)
    for (one, other), means in SWAPPED.items():
        if {one, other} & {*there} and {one, other} <= batch.tensors.keys():
            yield f"{one} and {other} swapped{means}", partial(_swapped, one, other)
