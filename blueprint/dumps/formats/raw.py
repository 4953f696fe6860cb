"""A file of tensors as it was read, nothing renamed, and why one cannot be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.quoting import QuotingError

Array = npt.NDArray[Any]

SCHEMA = 1
"""The version of the neutral schema; a file says it as `schema` in its metadata, and a later one is refused."""


class MinibatchError(QuotingError):
    """Says in one sentence why a dump cannot be read, or not be computed with."""


@dataclass(frozen=True)
class Raw:
    """A file as it was read, nothing renamed: arrays by the names that the file has, and its metadata.

    tensors: numeric or boolean arrays; rows of different lengths (jsonl, parquet) are padded with `np.nan`, or with 0 for
        whole numbers, and their lengths stand in `lengths`. bfloat16 and float16 come as float32.
    dtypes: by name, what the numbers were in the file, in torch's words: "bfloat16", "float16", "float32", "float64", "int64"…
    lengths: by name, [B], how many entries each row had, for names that were ragged lists.
    texts: by name, columns of text, one per row.
    metadata: a dictionary as JSON has it.
    format: what the content was: "safetensors", "npz", "jsonl", "parquet" or "torch".
    """

    tensors: Mapping[str, Array]
    dtypes: Mapping[str, str]
    lengths: Mapping[str, Array] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    format: str = ""


def same_numbers(one: Array, other: Array) -> bool:
    """Tells whether two arrays hold the same, NaN where NaN stands."""
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f"))
