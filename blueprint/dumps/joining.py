"""Files of one step put together as one minibatch, padded to the widest of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from blueprint.dumps.batch import Array, Minibatch, MinibatchError

LEFT_ASIDE = ("prompt_ids", "response_ids", "tokens")
"""The words themselves: nothing is computed from them."""

COARSE = ("bfloat16", "float16", "float32", "float64")
"""Dtypes of numbers, the coarsest first."""


def joined(batches: Sequence[Minibatch], path: str) -> Minibatch:
    """Returns the rows of several minibatches below each other, in their order, with the tensors that all of them have.

    Shorter rows are padded at the right, where no slot of theirs is. What was logged for each of them is not the whole's, and
    is left out, as are the places and shares.

    Raises:
        MinibatchError: scores that are one per response in one and one per word in another.
    """
    names = [name for name in batches[0].tensors if name not in LEFT_ASIDE]
    common = [name for name in names if all(name in each.tensors for each in batches)]
    width = max(each.mask.shape[1] for each in batches)
    tensors = {name: _stacked(name, batches, width) for name in common}
    return replace(
        batches[0],
        path=path,
        tensors=tensors,
        slots=np.concatenate([each.slots for each in batches]),
        first=np.concatenate([each.first for each in batches]),
        dtypes={name: _coarsest([each.dtypes[name] for each in batches if name in each.dtypes]) for name in common},
        logged={},
        notes=(),
        rows=None,
        place=None,
        share=None,
    )


def _stacked(name: str, batches: Sequence[Minibatch], width: int) -> Array:
    arrays = [each.tensors[name] for each in batches]
    odd = next((at for at, each in enumerate(arrays) if each.ndim != arrays[0].ndim), None)
    if odd is not None:
        raise MinibatchError(
            f"{batches[0].path} and {batches[odd].path} cannot be joined: {name} has {arrays[0].ndim} axes in one and "
            f"{arrays[odd].ndim} in the other; save it alike in all files of a step."
        )
    if arrays[0].ndim == 1:
        return np.concatenate(arrays)
    return np.concatenate([_padded(each, width) for each in arrays])


def _padded(array: Array, width: int) -> Array:
    missing = width - array.shape[1]
    return np.pad(array, ((0, 0), (0, missing))) if missing else array


def _coarsest(dtypes: Sequence[str]) -> str:
    return min(dtypes, key=lambda each: COARSE.index(each) if each in COARSE else len(COARSE))
