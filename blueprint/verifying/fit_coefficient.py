"""The one coefficient, or limit of the scores, that explains a deviation.

Of a tensor it is found by least squares, and named if every word then agrees. One logged number could be explained by any
coefficient; there it must be one that somebody may have typed: of at most three digits.
"""

from collections.abc import Iterator

import numpy as np

from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.recompute import Replay
from blueprint.verifying.settings import number_of

IN_REWARD, IN_LOSS = ("reward", "both"), ("loss", "both")
"""Words of `reward.kl_in` by which the KL is paid there."""

DIGITS, LARGEST = 3, 100.0
"""A coefficient that somebody typed has at most so many digits, and is at most as large."""


def fitted(local: Replay, name: str, logged: float | None) -> Iterator[Neighbour]:
    """Yields the coefficient that a quantity is linear in, as it would have to be."""
    if name == "rewards":
        yield from _kl_coef(local)
        yield from _score_clip(local)
    elif logged is not None and name == "total_loss":
        yield from _coefficient(local, "vf_coef", "value_loss", 1.0, logged)
        yield from _coefficient(local, "ent_coef", "entropy", -1.0, logged)
        if local.options["reward.kl_in"] in IN_LOSS:
            yield from _coefficient(local, "loss.kl_coef", "kl_loss", 1.0, logged)
    elif logged is not None and name == "value_loss":
        ours = local.whole.get("computed.value_loss", local.whole["value_loss"])
        factor = number_of("value.factor", local.options["value.factor"])
        if ours:
            yield from _typed("value.factor", factor * logged / ours)


def _kl_coef(local: Replay) -> Iterator[Neighbour]:
    """r = score − β·kl: β is Σ kl·(score − r) / Σ kl² over the words on which the KL is paid."""
    both = square = 0.0
    for start, rows in local.tiles(("kl.support", "kl.used", "score.placed", "response")):
        theirs = local.batch.tensors["rewards"][start : start + len(rows["response"])].astype(float)
        paid = rows["response"] * rows["kl.used"]
        both += float((paid * (rows["score.placed"] - theirs))[rows["response"] > 0].sum())
        square += float((paid**2).sum())
    if square and local.options["reward.kl_in"] in IN_REWARD:
        yield _said("kl_coef", both / square)


def _score_clip(local: Replay) -> Iterator[Neighbour]:
    """r = score + penalty: where scores were clipped to ±c, c is the largest of |r − penalty| in the slots of the scores."""
    largest = 0.0
    for start, rows in local.tiles(("reward.penalty", "score.place")):
        theirs = local.batch.tensors["rewards"][start : start + len(rows["score.place"])].astype(float)
        score = (theirs - rows["reward.penalty"][:, : theirs.shape[1]])[rows["score.place"][:, : theirs.shape[1]] > 0]
        largest = max(largest, float(np.abs(score).max(initial=0.0)))
    yield from _typed("reward.score_clip", largest)


def _coefficient(local: Replay, key: str, part: str, sign: float, logged: float) -> Iterator[Neighbour]:
    """L = rest + sign·c·part: c is (L − rest) / (sign·part)."""
    adds = f"adds.{part}"
    if local.whole[part]:
        rest = local.whole["total_loss"] - local.whole[adds]
        yield from _typed(key, (logged - rest) / (sign * local.whole[part]))


def _typed(key: str, value: float) -> Iterator[Neighbour]:
    rounded = float(f"{value:.{DIGITS}g}")
    if 0 < rounded <= LARGEST:
        yield _said(key, rounded)


def _said(key: str, value: float) -> Neighbour:
    return Neighbour(f"{key} = {value:.6g} (fitted: the one number that explains it)", {key: value}, rank=1)
