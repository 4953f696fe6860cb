"""How far rounding alone may move what is made of log-probs: by the format that the file has them in, and by what the loss does."""

from collections.abc import Callable, Mapping

import numpy as np
from torch import Tensor

from blueprint.dumps import SIDES
from blueprint.verifying import Again, coarsest
from blueprint.workbooks.dpo.verifying.feeding import Fed

UNIT = {"float64": 1e-11, "float32": 1e-6, "float16": 2.0**-8, "bfloat16": 2.0**-6}
"""By dtype, what a log-prob of a response may be off, of 1 + its size: about 16 units in the last place. Pairwise sums
of thousands of tokens, and differences of two of them, stay below that."""
OF_LOGPROBS = ("logprobs", "logprobs_ref", "logp", "logp_ref")


def add_room(found: Again, of: Fed, losses: Callable[[Fed], Mapping[str, Tensor]]) -> None:
    """Adds the room of every row and number. of: what was fed; losses: makes them of something else that is fed."""
    unit = UNIT[coarsest(found.batch.dtypes, [f"{side}.{name}" for side in SIDES for name in OF_LOGPROBS])]
    sums = {name: (of[f"{name}.logprobs"] * of["response.tokens"]).sum(1).abs() for name in ("policy", "reference")}
    finite = [each[each.isfinite()].max().item() if each.isfinite().any() else 0.0 for each in sums.values()]
    off = unit * (1 + sum(finite))
    for name, row in found.rows.items():
        largest = float(np.abs(row[np.isfinite(row)]).max(initial=0.0))
        found.room[name] = off if ".logp" in name else unit * (1 + largest)
    _rewards(found, off)
    _losses(found, of, off, unit, losses)


def _rewards(found: Again, off: float) -> None:
    """Of rewards that is the room of log-probs times β; of an accuracy the share of pairs that are nearer than that to a tie."""
    beta = 1.0 if found.settings["watch.rewards"] == "no_beta" else abs(float(found.settings["beta"]))
    for name in (*(f"{side}.reward" for side in SIDES), "margin"):
        found.room[name] = 2 * beta * off
    for name in ("chosen", "rejected", "margins"):
        found.room[f"rewards.{name}"] = 2 * beta * off
    margin = np.abs(found.rows["margin"])
    found.room["rewards.accuracies"] = 1e-6
    found.extra["rewards.accuracies"] = float(((margin > 0) & (margin <= 4 * beta * off)).mean())
    for side in SIDES:
        found.room[f"logps.{side}"] = found.room[f"logps.{side}.mean"] = off


def _losses(found: Again, of: Fed, off: float, unit: float, losses: Callable[[Fed], Mapping[str, Tensor]]) -> None:
    """Of losses it is what comes of log-probs that are off by as much, either side at a time, up or down."""
    usual, mask = losses(of), of["response.tokens"]
    first = mask.new_zeros(mask.shape).scatter_(1, mask.argmax(1, keepdim=True), 1.0) * mask
    moved: dict[str, float] = {}
    for chosen in (1.0, 0.0):
        one_side = first * (of["response.chosen"][:, None] == chosen)
        both = [losses({**of, "policy.logprobs": of["policy.logprobs"] + sign * off * one_side}) for sign in (1, -1)]
        for name in usual:
            far = max(_apart(each[name], usual[name]) for each in both)
            moved[name] = moved.get(name, 0.0) + far
    for name, far in moved.items():
        size = _largest(usual[name])
        found.room[name] = far + unit * (1 + size)


def _apart(one: Tensor, other: Tensor) -> float:
    return _largest(one - other)


def _largest(row: Tensor) -> float:
    finite = row[row.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0
