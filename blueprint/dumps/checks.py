"""What must hold inside the mask, and what a file is that is no step of PPO: the sentence where something does not hold."""

from collections.abc import Collection

import numpy as np

from blueprint.dumps.batch import Minibatch
from blueprint.dumps.formats import Array, MinibatchError, require
from blueprint.dumps.given import said
from blueprint.dumps.recognise import Recognised
from blueprint.quoting import unquoted

LARGEST_LOGIT = 32.0
_EPS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}


def rounding(dtype: str) -> float:
    """Returns how far above 0 a log-prob may come to lie by rounding alone.

    log p = z − logsumexp(z) rounds logsumexp, which is as large as the largest logit: by at most half a unit in the last
    place, eps/2 · 32 for logits up to 32 (bfloat16: 0.125, float32: 1.9e-6). float64 gets float32's room, since programs
    that compute in float32 save float64, as JSON does. TRL's 1.0 for pads lies outside in every dtype.
    """
    return _EPS.get(dtype, _EPS["float32"]) / 2 * LARGEST_LOGIT


def check_numbers(batch: Minibatch) -> None:
    """Checks every tensor of numbers inside the mask.

    One empty response among others is computed as the library computes it.

    Raises:
        MinibatchError: no token at all, NaN or infinity, a log-prob above 0 by more than rounding, or an entropy below it.
    """
    require(
        bool(batch.mask.any()),
        f"all {len(batch.mask)} responses are empty: the mask is 0 throughout; find out where it comes from first.",
    )
    for name, array in batch.tensors.items():
        if array.dtype.kind != "f":
            continue
        room = rounding(batch.dtypes[name])
        _refuse(batch, name, ~np.isfinite(array), "NaN or infinity", "find out where it comes from first")
        if name.startswith("logprobs"):
            advice = "these are no log-probs, or the mask is shifted by one"
            _refuse(batch, name, array > room, "log-probs above 0", advice)
        elif name == "entropy":
            _refuse(batch, name, array < -room, "entropies below 0", "an entropy is at least 0")


def _refuse(batch: Minibatch, name: str, bad: Array, what: str, advice: str) -> None:
    """Refuses where anything is bad inside the mask: how many, and the first of them."""
    bad = bad & batch.mask if bad.ndim == 2 else bad
    count = int(np.count_nonzero(bad))
    if count:
        at = tuple(int(each) for each in np.unravel_index(int(np.argmax(bad)), bad.shape))
        row, first = batch.position(at[0])
        there = ", ".join([f"row {row}", *(f"column {slot + first}" for slot in at[1:])])
        raise MinibatchError(
            f"{said(name, batch.called.get(name, name))}: {what} in {count} of its places inside the mask, "
            f"the first is {batch.tensors[name][at]:.6g} in {there}; {advice}."
        )


CHOSEN, REJECTED = "chosen", "rejected"
CRITIC = ("values_old", "values_new", "returns")

WITHOUT_CRITIC = (
    "no critic in it: GRPO, RLOO or REINFORCE? The advantages are taken as they stand; ratio, clip, KL and policy loss are "
    "computed from them, and how they arose is not"
)


def refuse_pairs(found: Recognised) -> None:
    """Refuses a file of preference pairs, which has no step of PPO in it.

    Raises:
        MinibatchError: a tensor is called "chosen" whose counterpart is "rejected"; says DPO where both are log-probs.
    """
    names = [*found.called.values(), *found.unused, *found.unknown]
    pairs = [(name, name.replace(CHOSEN, REJECTED)) for name in names if CHOSEN in name]
    both = min((pair for pair in pairs if pair[1] in names), key=_not_logprobs, default=None)
    if both is not None:
        kind = "DPO or a relative of it" if not _not_logprobs(both) else "a reward model or DPO"
        raise MinibatchError(
            f"{unquoted(both[0])} and {unquoted(both[1])} are pairs of a preferred and another answer ({kind}), not a step of "
            "PPO: verify cannot compute them again."
        )


def _not_logprobs(pair: tuple[str, str]) -> bool:
    return "logp" not in pair[0].lower().replace("_", "")


def without_critic(tensors: Collection[str]) -> tuple[str, ...]:
    """Says that a file has advantages and nothing of a critic, if that is so."""
    return () if "advantages" not in tensors or set(CRITIC) & set(tensors) else (WITHOUT_CRITIC,)
