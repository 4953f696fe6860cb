"""Arrays cut so that their first column is the first slot of the response, row by row where rows begin elsewhere."""

from __future__ import annotations

import numpy as np

from blueprint.dumps.batch import Array

NO_WORD = -1
"""Stands in prompt_ids before a shorter prompt, where words were cut out of whole sequences."""


def places(mask: Array, whole_rows: bool, lengths: Array | None) -> tuple[Array, Array]:
    """Returns in which column slot 0 of each row stands, and how many slots follow, both [B].

    whole_rows: columns hold prompts too, so that a response begins where its mask does. An empty one begins where all
    others do, or else has no slots.
    """
    rows, width = mask.shape
    first = np.argmax(mask, axis=1) if whole_rows and width else np.zeros(rows, np.int64)
    ends = np.full(rows, width, np.int64) if lengths is None else lengths
    empty = ~mask.any(axis=1)
    if whole_rows and empty.any() and not empty.all():
        others = np.unique(first[~empty])
        first = np.where(empty, others[0] if len(others) == 1 else ends, first)
    return first, ends - first


def cut(array: Array, first: Array, slots: Array) -> Array:
    """Returns [B, T] from [B, W], T the most slots of a row: a view where all rows begin in one column.

    Columns behind a row's slots hold 0 where rows were moved.
    """
    width = int(slots.max(initial=0))
    if np.all(first == first[:1]):
        start = int(first[0]) if len(first) else 0
        return array[:, start : start + width]
    found = np.zeros((len(array), width), array.dtype)
    for row, (start, count) in enumerate(zip(first.tolist(), slots.tolist(), strict=True)):
        found[row, :count] = array[row, start : start + count]
    return found


def prompts(tokens: Array, start: Array) -> Array:
    """Returns the words before the response, [B, P], at the right; before shorter ones stands `NO_WORD`."""
    width = int(start.max(initial=0))
    if np.all(start == width):
        return tokens[:, :width]
    found = np.full((len(tokens), width), NO_WORD, np.int64)
    for row, count in enumerate(start.tolist()):
        found[row, width - count :] = tokens[row, :count]
    return found
