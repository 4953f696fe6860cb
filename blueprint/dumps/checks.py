"""What must hold of a minibatch inside its mask, or the sentence where it does not: finite numbers, log-probs at most 0, entropies
at least 0; and what is said of one: that its responses end in pads, that it has nothing of a critic."""

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


def check_numbers(batch: Minibatch, empty: bool, above_zero: bool) -> tuple[str, ...]:
    """Checks every tensor of numbers inside the mask.

    One empty response among others is computed as the library computes it; empty: also where all of them are. above_zero:
    whether log-probs above 0 are accepted; then they are returned, in sentences. Raises MinibatchError for no token at all, NaN
    or infinity, a log-prob above 0 by more than rounding, or an entropy below it.
    """
    every = "the one response is" if len(batch.mask) == 1 else f"all {len(batch.mask)} responses are"
    require(
        empty or bool(batch.mask.any()),
        f"{every} empty: the mask is 0 throughout; find out where it comes from first.",
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
    are = "log-prob above 0 is" if many == 1 else "log-probs above 0 are"
    return [f"{of}: {many} {are} accepted as asked (up to {largest:.3g}): no model gave them"] * (many > 0)


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


FEWEST_ROWS, MOST_ROWS_LISTED = 2, 8


def behind_the_end(batch: Minibatch) -> tuple[str, ...]:
    """Says where several responses end in one and the same token, written again and again, all inside the mask, as pads are.

    One response alone may end so by itself, but for a token that prompts are padded with.
    """
    ids = batch.tensors.get("response_ids")
    if ids is None or len(ids) != len(batch.mask):
        return ()
    width = min(ids.shape[1], batch.mask.shape[1])
    ends = [_last_run(row[mask]) for row, mask in zip(np.asarray(ids)[:, :width], batch.mask[:, :width], strict=True)]
    repeated = [token for token, times in ends if times > 1]
    if not repeated:
        return ()
    token = max(dict.fromkeys(repeated), key=repeated.count)
    rows = [row for row, (each, times) in enumerate(ends) if each == token and times > 1]
    if len(rows) < FEWEST_ROWS and token not in _pads(batch):
        return ()
    listed = ", ".join(str(batch.file_row(row)) for row in rows[:MOST_ROWS_LISTED])
    more = " …" if len(rows) > MOST_ROWS_LISTED else ""
    return (
        f"{len(rows)} of {len(ends)} responses end in token {token} several times over, all inside the mask (row {listed}{more}): "
        "if that is the pad or the end token, tokens behind the first end token are counted",
    )


def _last_run(tokens: Array) -> tuple[int, int]:
    """Returns the last token of a response, and how often it stands there without another between; −1 where there is none."""
    if not len(tokens):
        return -1, 0
    others = np.flatnonzero(tokens != tokens[-1])
    return int(tokens[-1]), len(tokens) - (int(others[-1]) + 1 if len(others) else 0)


def _pads(batch: Minibatch) -> set[int]:
    """Returns with what prompts begin twice and more, where others do not begin with it: what they are padded with."""
    prompts = batch.tensors.get("prompt_ids")
    if prompts is None or prompts.ndim != 2 or prompts.shape[1] < 2:
        return set()
    firsts = prompts[:, 0]
    twice = {int(each) for each in firsts[firsts == prompts[:, 1]]}
    return {each for each in twice if (firsts != each).any()}
