"""How words become a number: per response what they add and how much they count, so that any runs of responses can follow."""

from __future__ import annotations

import numpy as np

from blueprint.dumps.batch import Array
from blueprint.verifying.slips.slip import Words


def shares(words: Words, by: str, most: float, seq_eps: float) -> Array:
    """Returns for each response what its words add, and what that is divided by in the end, [N, 2].

    by: an aggregation, where the words do not say theirs. most: the largest number of slots. seq_eps: what is added to the
    number of words of a response.
    """
    counted = words.counted
    added, count = (counted * words.each).sum(dim=-1)[0].cpu().numpy(), counted.sum(dim=-1)[0].cpu().numpy()
    wrote = (count != 0).astype(np.float64)
    below = {
        "token-mean": count,
        "token-sum": np.zeros_like(count),
        "seq-mean-token-sum": wrote,
        "seq-mean-token-sum-norm": wrote * most,
        "seq-mean-token-mean": wrote,
    }
    way = words.by or by
    above = added / np.where(count == 0, 1.0, count + seq_eps) if way == "seq-mean-token-mean" else added
    return np.stack([above, below[way]], axis=1)


def joined(parts: Array, eps: float) -> float:
    """Returns the number of some responses: what they add over what it is divided by and eps, by 1 if that is nothing."""
    above, below = parts.sum(axis=0)
    return float(above / (below + eps if below else 1.0))


def in_runs(parts: Array, size: int, eps: float) -> float:
    """Returns the mean over runs of so many responses of the number of each."""
    return float(np.mean([joined(parts[start : start + size], eps) for start in range(0, len(parts), size)]))
