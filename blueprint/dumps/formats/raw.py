"""A file of tensors as it is read, nothing renamed, within bounded memory; why one cannot be read, and metadata as files carry
them: strings that hold JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.quoting import QuotingError, unquoted

Array = npt.NDArray[Any]

SCHEMA = 1
"""The version of the neutral schema; a file says it as `schema` in its metadata, and a later one is refused."""


class MinibatchError(QuotingError):
    """Says in one sentence why a dump cannot be read, or not be computed with."""


def require(holds: bool, otherwise: str) -> None:
    """Raises MinibatchError, which says what was found and what was expected, where something does not hold."""
    if not holds:
        raise MinibatchError(otherwise)


@dataclass
class Raw:
    """A file as it is read, nothing renamed: arrays by the names that the file has, and its metadata.

    tensors: numeric or boolean arrays; rows of different lengths (jsonl, parquet) are padded with `np.nan`, or with 0 for
        whole numbers, and their lengths stand in `lengths`. bfloat16 and float16 come as float32.
    dtypes: by name, what the numbers were in the file, in torch's words: "bfloat16", "float16", "float32", "float64", "int64"…
    lengths: by name, [B], how many entries each row had, for names that were ragged lists.
    texts: by name, columns of text, one per row. metadata: a dictionary as JSON has it.
    format: what the content was: "safetensors", "npz", "jsonl", "parquet" or "torch". size: bytes of the file.
    names: what the head says that it holds, where only that was read; empty where the head does not tell.
    notes: what a reader assumed, in sentences. above_zero: whether log-probs above 0 are accepted, as somebody asked for.
    """

    tensors: dict[str, Array] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, Array] = field(default_factory=dict)
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    format: str = ""
    size: int = 0
    names: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    above_zero: bool = False

    def add(self, name: str, array: Array, dtype: str | None = None) -> None:
        """Adds numbers, half precision as float32. dtype: what they were in the file, where the array is of another.

        Raises MinibatchError, as what follows does, where all together is far larger than the file.
        """
        self.dtypes[name] = dtype or array.dtype.name
        self.tensors[name] = array.astype(np.float32) if array.dtype == np.float16 else array
        check_total(sum(each.nbytes for each in self.tensors.values()), self.size)

    def add_ragged(self, name: str, flat: Array, lengths: Array, dtype: str | None = None) -> None:
        """Adds rows that lie one after another in a flat array; behind a row's end stands NaN, or 0 for whole numbers."""
        shape = (len(lengths), int(lengths.max(initial=0)))
        check_shape(name, shape)
        check_total(8 * math.prod(shape), self.size)
        if np.any(lengths != shape[1]):
            padded = np.full(shape, np.nan if flat.dtype.kind == "f" else 0, flat.dtype)
            padded[np.arange(shape[1]) < lengths[:, None]] = flat
            flat = padded
        self.lengths[name] = lengths
        self.add(name, flat.reshape(shape), dtype)

    def add_rows(self, name: str, rows: Sequence[Array], dtype: str | None = None) -> None:
        """Adds rows of different lengths; an empty one is of any type."""
        flat = np.concatenate([row for row in rows if row.size] or [np.empty(0)])
        self.add_ragged(name, flat, np.array([len(row) for row in rows], np.int64), dtype)


def same_numbers(one: Array, other: Array) -> bool:
    """Tells whether two arrays hold the same, NaN where NaN stands."""
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == other.dtype.kind == "f"))


LARGEST_TENSOR = 100_000_000
"""Entries of one tensor: ten times the 1e7 tokens that a verification on a desk is made for."""

LARGEST_FILE = 1 << 33
"""Bytes that all tensors of a file may fill when unpacked: ten of 1e8 tokens in float64."""

ALWAYS_UNPACKED, UNPACKED_TIMES = 1 << 27, 16
"""Bytes to which any file may unpack (computing with it takes up to eight times as many), and how often a larger one may
hold its own size: log-probs do not compress, and rows padded to the longest rarely are shorter than a sixteenth of it."""

LONGEST_HEADER = 1 << 24
"""Bytes of a header or of metadata: thousands of names and a whole training configuration."""

MOST_AXES = 3


def check_shape(name: str, shape: tuple[int, ...]) -> None:
    """Refuses a shape that no dump of a minibatch has, before anything of that size is made. Raises MinibatchError."""
    require(
        len(shape) <= MOST_AXES and min(shape, default=0) >= 0,
        f"{unquoted(name)}: found {said_shape(shape)}, expected one to {MOST_AXES} axes.",
    )
    require(
        math.prod(shape) <= LARGEST_TENSOR,
        f"{unquoted(name)}: found {said_shape(shape)}, which is more than {LARGEST_TENSOR:,} entries; "
        "save fewer responses, and no logits.",
    )


def check_total(total: int, size: int) -> None:
    """Refuses a file whose tensors together would not fit, or unpack to far more than a file of numbers does.

    total: bytes of all tensors in memory. size: bytes of the file. Raises MinibatchError for more than `LARGEST_FILE` bytes,
    or more than `UNPACKED_TIMES` the size of a small file.
    """
    require(
        total <= LARGEST_FILE, f"its tensors fill {total:,} bytes, more than {LARGEST_FILE:,}: save fewer responses."
    )
    require(
        total <= max(ALWAYS_UNPACKED, UNPACKED_TIMES * size),
        f"its tensors fill {total:,} bytes, more than {UNPACKED_TIMES} times as many as the file, which no dump "
        "of numbers does: save fewer responses, or without compression.",
    )


def from_json(text: str | bytes, where: str) -> Any:
    """Returns what JSON says; NaN and Infinity are numbers, as Python writes them.

    Raises:
        MinibatchError: no JSON, the same key twice, nested too deeply, or a number too long to read.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except MinibatchError as error:
        raise MinibatchError(f"{where}: {error}") from error
    except RecursionError as error:
        raise MinibatchError(f"{where}: the JSON is nested too deeply to be read.") from error
    except (ValueError, MemoryError) as error:
        raise MinibatchError(f"{where}: this is no JSON: {str(error)[:80]}.") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise MinibatchError(f"the key {unquoted(twice)} stands there twice; keep one.")
    return found


def said_shape(shape: tuple[int, ...]) -> str:
    """Spells a shape: [2, 8]."""
    return f"[{', '.join(str(length) for length in shape)}]"


WHOLE = "metadata"
"""The key, array or line that holds all metadata as one JSON object."""

JSON_KEYS = ("schema", "step", "hyperparameters", "logged", "names")
"""Keys whose values are JSON; library, version, preset and layout are plain words (a version "0.9" is no number)."""


def from_strings(strings: Mapping[str, str]) -> dict[str, Any]:
    """Returns metadata from strings: those of `JSON_KEYS` read as JSON, a key `metadata` taken apart. Raises MinibatchError."""
    read = {key: from_json(text, f"metadata, key {key}") if key in JSON_KEYS else text for key, text in strings.items()}
    return whole(read.pop(WHOLE, "{}"), f"metadata, key {WHOLE}") | read


def whole(text: str | bytes, where: str) -> dict[str, Any]:
    """Returns metadata that is one JSON object. Raises MinibatchError for anything else."""
    found: dict[str, Any] = from_json(text, where)
    require(isinstance(found, dict), f"{where}: found {type(found).__name__}, expected a JSON object {{…}}.")
    return found
