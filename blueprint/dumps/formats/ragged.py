"""Rows of different lengths, made into one array: behind a row's end stands NaN, or 0 for whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from blueprint.dumps.batch import Array, MinibatchError
from blueprint.dumps.formats.limits import check_shape, check_total
from blueprint.quoting import unquoted


def row_of(name: str, values: Sequence[Any], where: str) -> Array:
    """Returns one row of numbers; null is NaN.

    Raises:
        MinibatchError: something that is neither a number, true, false nor null, or a whole number beyond 64 bits.
    """
    kinds = set(map(type, values))
    if not kinds <= {int, float, bool, type(None)}:
        odd = next(each for each in values if type(each) not in (int, float, bool, type(None)))
        raise MinibatchError(f"{where}, {unquoted(name)}: found {unquoted(repr(odd)[:70])} among the numbers of a row.")
    if kinds == {bool}:
        return np.array(values, np.bool_)
    try:
        return np.array(values, np.int64 if kinds and kinds <= {int, bool} else np.float64)
    except OverflowError as error:
        raise MinibatchError(f"{where}, {unquoted(name)}: a whole number is larger than 64 bits hold.") from error


def padded(name: str, rows: Sequence[Array], size: int) -> tuple[Array, Array]:
    """Returns rows as one array [B, longest], and the length of each, [B].

    size: bytes of the file.

    Raises:
        MinibatchError: so long a row that the array would not fit, or would be far larger than the file.
    """
    lengths = np.array([len(row) for row in rows], np.int64)
    shape = (len(rows), int(lengths.max(initial=0)))
    check_shape(name, shape)
    check_total(8 * math.prod(shape), size)
    dtype = np.result_type(*{row.dtype for row in rows if row.size} or {np.dtype(np.float64)})
    found = np.full(shape, np.nan if dtype.kind == "f" else 0, dtype)
    for number, row in enumerate(rows):
        found[number, : len(row)] = row
    return found, lengths


def padded_flat(name: str, flat: Array, lengths: Array, size: int) -> Array:
    """Returns the rows that lie one after another in a flat array as one array [B, longest].

    size: bytes of the file.

    Raises:
        MinibatchError: so long a row that the array would not fit, or would be far larger than the file.
    """
    shape = (len(lengths), int(lengths.max(initial=0)))
    check_shape(name, shape)
    check_total(8 * math.prod(shape), size)
    if np.all(lengths == shape[1]):
        return flat.reshape(shape)
    found = np.full(shape, np.nan if flat.dtype.kind == "f" else 0, flat.dtype)
    found[np.arange(shape[1]) < lengths[:, None]] = flat
    return found
