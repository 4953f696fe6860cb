"""What a file holds, gathered name by name within bounded memory; rows of different lengths become one array."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blueprint.dumps.formats.raw import Array, MinibatchError, Raw, check_shape, check_total
from blueprint.quoting import unquoted


@dataclass
class Columns:
    """The tensors and texts of a file of so many bytes: see `Raw`.

    What is added raises MinibatchError where it would not fit, or all together is far larger than the file.
    """

    size: int
    tensors: dict[str, Array] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, Array] = field(default_factory=dict)
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, name: str, array: Array, dtype: str | None = None) -> None:
        """Adds numbers, half precision as float32. dtype: what they were in the file, where the array is of another."""
        self.dtypes[name] = dtype or array.dtype.name
        self.tensors[name] = array.astype(np.float32) if array.dtype == np.float16 else array
        check_total(sum(each.nbytes for each in self.tensors.values()), self.size)

    def add_ragged(self, name: str, flat: Array, lengths: Array, dtype: str | None = None) -> None:
        """Adds rows that lie one after another in a flat array; behind a row's end stands NaN, or 0 for whole numbers."""
        shape = (len(lengths), int(lengths.max(initial=0)))
        check_shape(name, shape)
        check_total(8 * math.prod(shape), self.size)
        padded = flat.reshape(shape) if np.all(lengths == shape[1]) else _padded(flat, lengths, shape)
        self.lengths[name] = lengths
        self.add(name, padded, dtype)

    def add_rows(self, name: str, rows: Sequence[Array], dtype: str | None = None) -> None:
        """Adds rows of different lengths; an empty one is of any type."""
        flat = np.concatenate([row for row in rows if row.size] or [np.empty(0)])
        self.add_ragged(name, flat, np.array([len(row) for row in rows], np.int64), dtype)

    def raw(self, metadata: dict[str, Any]) -> Raw:
        """Returns all of it, and the metadata."""
        return Raw(self.tensors, self.dtypes, self.lengths, self.texts, metadata)


def _padded(flat: Array, lengths: Array, shape: tuple[int, int]) -> Array:
    found = np.full(shape, np.nan if flat.dtype.kind == "f" else 0, flat.dtype)
    found[np.arange(shape[1]) < lengths[:, None]] = flat
    return found


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
