"""Reads safetensors: eight bytes of length, a JSON header, and the numbers.

Read here and not with the library, because numpy has no bfloat16 there and because a hostile header is refused in a
sentence. The numbers are read and not mapped: where a mapped file is cut off by somebody else, the system ends the program.
Format: https://github.com/huggingface/safetensors#format, 0.8.
"""

import math
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.formats.raw import (
    LONGEST_HEADER,
    Array,
    MinibatchError,
    Raw,
    check_shape,
    check_total,
    from_json,
    from_strings,
    require,
)
from blueprint.quoting import unquoted

_TYPES = {
    "BOOL": ("bool", "?"), "U8": ("uint8", "u1"), "I8": ("int8", "i1"), "I16": ("int16", "<i2"), "U16": ("uint16", "<u2"),
    "I32": ("int32", "<i4"), "U32": ("uint32", "<u4"), "I64": ("int64", "<i8"), "U64": ("uint64", "<u8"),
    "F16": ("float16", "<f2"), "BF16": ("bfloat16", "<u2"), "F32": ("float32", "<f4"), "F64": ("float64", "<f8"),
}  # fmt: skip


def read_safetensors(path: Path, into: Raw, head_only: bool) -> None:
    """Reads a safetensors file.

    Raises:
        MinibatchError: a header longer than the file, offsets that overlap or do not fit the shape, a type without a meaning here.
    """
    with path.open("rb") as file:
        header = _header(file, into.size)
        strings = header.pop("__metadata__", None) or {}
        require(
            isinstance(strings, dict) and all(isinstance(text, str) for text in strings.values()),
            "header, __metadata__: expected texts by name.",
        )
        if not head_only:
            begin = file.tell()
            tensors = [_Tensor(name, entry) for name, entry in header.items()]
            _check_places(tensors, into.size - begin)
            for tensor in tensors:
                into.add(tensor.name, tensor.read(file, begin), tensor.dtype)
    into.metadata, into.names = from_strings(strings), tuple(header)


def _header(file: BufferedReader, size: int) -> dict[str, Any]:
    """Returns the header, and leaves the file where the numbers begin."""
    length = int.from_bytes(file.read(8), "little")
    require(
        length <= min(size - 8, LONGEST_HEADER),
        f"its header should be {length:,} bytes long, the file has {size:,}: it is cut off or damaged.",
    )
    header: dict[str, Any] = from_json(file.read(length), "header")
    return header


class _Tensor:
    """Where a tensor stands, and what it is."""

    def __init__(self, name: str, entry: Any) -> None:
        if not isinstance(entry, dict) or entry.get("dtype") not in _TYPES:
            found = unquoted(str(entry.get("dtype"))) if isinstance(entry, dict) else "no object"
            raise MinibatchError(f"{unquoted(name)}: its dtype is {found}, expected one of {', '.join(_TYPES)}.")
        shape, offsets = _numbers(entry.get("shape")), _numbers(entry.get("data_offsets"))
        if shape is None or offsets is None or len(offsets) != 2:
            raise MinibatchError(f"{unquoted(name)}: its shape and data_offsets must be lists of whole numbers.")
        check_shape(name, shape)
        self.name, self.shape, (self.start, self.end) = name, shape, offsets
        self.dtype, self.stored = _TYPES[entry["dtype"]]
        needed = math.prod(shape) * np.dtype(self.stored).itemsize
        require(
            self.end - self.start == needed,
            f"{unquoted(name)}: its shape needs {needed:,} bytes, it has {self.end - self.start:,}.",
        )

    def read(self, file: BufferedReader, begin: int) -> Array:
        """Returns the tensor; begin: where the numbers begin in the file."""
        piece = np.empty(self.end - self.start, np.uint8)
        file.seek(begin + self.start)
        require(
            file.readinto(piece.data) == piece.size,
            f"{unquoted(self.name)}: the file became shorter while it was read; wait until it is written.",
        )
        stored = piece.view(self.stored)
        if self.dtype == "bfloat16":
            stored = (stored.astype(np.uint32) << 16).view(np.float32)
        elif self.dtype == "bool" and piece.size and piece.max() > 1:
            raise MinibatchError(f"{unquoted(self.name)}: a BOOL byte is {piece.max()}, expected 0 or 1.")
        return stored.reshape(self.shape)


def _numbers(found: Any) -> tuple[int, ...] | None:
    whole = isinstance(found, list) and all(type(each) is int and 0 <= each < 1 << 62 for each in found)
    return tuple(found) if whole else None


def _check_places(tensors: list[_Tensor], size: int) -> None:
    check_total(sum(each.end - each.start for each in tensors), size)
    reached, before = 0, ""
    for tensor in sorted(tensors, key=lambda each: (each.start, each.end)):
        require(
            tensor.end <= size,
            f"{unquoted(tensor.name)}: it ends at byte {tensor.end:,} of {size:,}: the file is cut off or damaged.",
        )
        require(tensor.start >= reached, f"{unquoted(tensor.name)}: its bytes overlap those of {unquoted(before)}.")
        reached, before = tensor.end, tensor.name
