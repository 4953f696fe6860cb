"""What must hold of a minibatch inside its mask, or the sentence where it does not: finite numbers, log-probs at most 0, entropies
at least 0; and that a file has nothing of a critic."""

from collections.abc import Collection

import numpy as np

from blueprint.dumps.batch import Minibatch
from blueprint.dumps.formats import Array, MinibatchError, require
from blueprint.dumps.shaping import said

LARGEST_LOGIT = 32.0
_EPS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}


def rounding(dtype: str) -> float:
    """Returns how far above 0 a log-prob may come to lie by rounding alone.

    log p = z − logsumexp(z) rounds logsumexp, which is as large as the largest logit: by at most half a unit in the last
    place, eps/2 · 32 for logits up to 32 (bfloat16: 0.125, float32: 1.9e-6). float64 gets float32's room, since programs
    that compute in float32 save float64, as JSON does. TRL's 1.0 for pads lies outside in every dtype.
    """
    return _EPS.get(dtype, _EPS["float32"]) / 2 * LARGEST_LOGIT


def check_numbers(batch: Minibatch, empty: bool = False, above_zero: bool = False) -> tuple[str, ...]:
    """Checks every tensor of numbers inside the mask.

    One empty response among others is computed as the library computes it; empty: also where all of them are. above_zero:
    whether log-probs above 0 are accepted; then they are returned, in sentences. Raises MinibatchError for no token at all, NaN
    or infinity, a log-prob above 0 by more than rounding, or an entropy below it.
    """
    require(
        empty or bool(batch.mask.any()),
        f"all {len(batch.mask)} responses are empty: the mask is 0 throughout; find out where it comes from first.",
    )
    accepted = list[str]()
    for name, array in ((name, each) for name, each in batch.tensors.items() if each.dtype.kind == "f"):
        room = rounding(batch.dtypes[name])
        _refuse(batch, name, ~np.isfinite(array), "NaN or infinity", "find out where it comes from first")
        if name.startswith("logprobs") and above_zero:
            accepted += _accepted(batch, name, array > room)
        elif name.startswith("logprobs"):
            advice = "these are no log-probs, or the mask is shifted by one; --above-zero accepts made-up ones"
            _refuse(batch, name, array > room, "log-probs above 0", advice)
        elif name == "entropy":
            _refuse(batch, name, array < -room, "entropies below 0", "an entropy is at least 0")
    return tuple(accepted)


def _accepted(batch: Minibatch, name: str, above: Array) -> list[str]:
    """Says how many log-probs above 0 were accepted; no probability is above 1, so that they are of no model."""
    inside = above & batch.mask
    many = int(inside.sum())
    largest = float(batch.tensors[name][inside].max(initial=0.0))
    of = said(name, batch.called.get(name, name))
    return [f"{of}: {many} log-probs above 0 are accepted as asked (up to {largest:.3g}): no model gave them"] * (
        many > 0
    )


def _refuse(batch: Minibatch, name: str, bad: Array, what: str, advice: str) -> None:
    """Refuses where anything is bad inside the mask: how many, and the first of them."""
    places = np.argwhere(bad & batch.mask if bad.ndim == 2 else bad)
    if len(places):
        at = tuple(places[0].tolist())
        row, first = batch.position(at[0])
        there = ", ".join([f"row {row}", *(f"column {slot + first}" for slot in at[1:])])
        raise MinibatchError(
            f"{said(name, batch.called.get(name, name))}: {what} in {len(places)} of its places inside the mask, "
            f"the first is {batch.tensors[name][at]:.6g} in {there}; {advice}."
        )


CRITIC = ("values_old", "values_new", "returns")

WITHOUT_CRITIC = (
    "no critic in it: GRPO, RLOO or REINFORCE? The advantages are taken as they stand; ratio, clip, KL and policy loss are "
    "computed from them, and how they arose is not"
)


def without_critic(tensors: Collection[str]) -> tuple[str, ...]:
    """Says that a file has advantages and nothing of a critic, if that is so."""
    return () if "advantages" not in tensors or set(CRITIC) & set(tensors) else (WITHOUT_CRITIC,)
