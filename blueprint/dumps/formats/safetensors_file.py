"""Reads safetensors: eight bytes of length, a JSON header, and the numbers.

Read here and not with the library, because numpy has no bfloat16 there and because a hostile header is refused in a
sentence. The numbers are read and not mapped: where a mapped file is cut off by somebody else, the system ends the program.
Format: https://github.com/huggingface/safetensors#format, 0.8.
"""

from __future__ import annotations

import math
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.batch import Array, MinibatchError, Raw
from blueprint.dumps.formats.limits import LONGEST_HEADER, check_shape, check_total, from_json, from_strings
from blueprint.quoting import unquoted

_TYPES = {
    "BOOL": ("bool", "?"), "U8": ("uint8", "u1"), "I8": ("int8", "i1"), "I16": ("int16", "<i2"), "U16": ("uint16", "<u2"),
    "I32": ("int32", "<i4"), "U32": ("uint32", "<u4"), "I64": ("int64", "<i8"), "U64": ("uint64", "<u8"),
    "F16": ("float16", "<f2"), "BF16": ("bfloat16", "<u2"), "F32": ("float32", "<f4"), "F64": ("float64", "<f8"),
}  # fmt: skip


def read_safetensors(path: Path) -> Raw:
    """Reads a safetensors file.

    Raises:
        MinibatchError: a header longer than the file, offsets that overlap or do not fit the shape, a type without a meaning here.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        header, said, length = _header(file, size)
        places = {name: _Place(name, told) for name, told in header.items()}
        _check_places(list(places.values()), size - 8 - length)
        tensors = {name: place.read(file, 8 + length) for name, place in places.items()}
    return Raw(tensors, {name: place.dtype for name, place in places.items()}, metadata=from_strings(said))


def safetensors_metadata(path: Path) -> dict[str, Any]:
    """Returns the metadata of a safetensors file; of the rest only its header is read.

    Raises:
        MinibatchError: a header that is cut off or damaged.
    """
    with path.open("rb") as file:
        return from_strings(_header(file, path.stat().st_size)[1])


def _header(file: BufferedReader, size: int) -> tuple[dict[str, Any], dict[str, str], int]:
    """Returns what the header tells of each tensor, the metadata, and how many bytes the header has."""
    length = int.from_bytes(file.read(8), "little")
    if length > min(size - 8, LONGEST_HEADER):
        raise MinibatchError(
            f"its header should be {length:,} bytes long, the file has {size:,}: it is cut off or damaged."
        )
    header = from_json(file.read(length), "header")
    said = header.pop("__metadata__", None) or {}
    if not isinstance(said, dict) or not all(isinstance(text, str) for text in said.values()):
        raise MinibatchError("header, __metadata__: expected texts by name.")
    return header, said, length


class _Place:
    """Where a tensor stands, and what it is."""

    def __init__(self, name: str, told: Any) -> None:
        if not isinstance(told, dict) or told.get("dtype") not in _TYPES:
            found = unquoted(str(told.get("dtype"))) if isinstance(told, dict) else "no object"
            raise MinibatchError(f"{unquoted(name)}: its dtype is {found}, expected one of {', '.join(_TYPES)}.")
        shape, offsets = _numbers(told.get("shape")), _numbers(told.get("data_offsets"))
        if shape is None or offsets is None or len(offsets) != 2:
            raise MinibatchError(f"{unquoted(name)}: its shape and data_offsets must be lists of whole numbers.")
        check_shape(name, shape)
        self.name, self.shape, (self.start, self.end) = name, shape, offsets
        self.dtype, self.stored = _TYPES[told["dtype"]]
        needed = math.prod(shape) * np.dtype(self.stored).itemsize
        if self.end - self.start != needed:
            raise MinibatchError(
                f"{unquoted(name)}: its shape needs {needed:,} bytes, it has {self.end - self.start:,}."
            )

    def read(self, file: BufferedReader, begin: int) -> Array:
        """Returns the tensor; begin: where the numbers begin in the file."""
        piece = np.empty(self.end - self.start, np.uint8)
        file.seek(begin + self.start)
        if file.readinto(piece.data) < piece.size:
            raise MinibatchError(
                f"{unquoted(self.name)}: the file became shorter while it was read; wait until it is written."
            )
        stored = piece.view(self.stored)
        if self.dtype == "bfloat16":
            stored = (stored.astype(np.uint32) << 16).view(np.float32)
        elif self.dtype == "float16":
            stored = stored.astype(np.float32)
        elif self.dtype == "bool" and piece.size and piece.max() > 1:
            raise MinibatchError(f"{unquoted(self.name)}: a BOOL byte is {piece.max()}, expected 0 or 1.")
        return stored.reshape(self.shape)


def _numbers(found: Any) -> tuple[int, ...] | None:
    if not isinstance(found, list) or not all(type(each) is int and 0 <= each < 1 << 62 for each in found):
        return None
    return tuple(found)


def _check_places(places: list[_Place], size: int) -> None:
    check_total(sum(place.end - place.start for place in places), size)
    reached, before = 0, ""
    for place in sorted(places, key=lambda each: (each.start, each.end)):
        if place.end > size:
            raise MinibatchError(
                f"{unquoted(place.name)}: it ends at byte {place.end:,} of {size:,}: the file is cut off or damaged."
            )
        if place.start < reached:
            raise MinibatchError(f"{unquoted(place.name)}: its bytes overlap those of {unquoted(before)}.")
        reached, before = place.end, place.name
