"""Reads npz: a zip of arrays, each with a header; arrays of Python objects are refused, nothing is unpickled."""

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from blueprint.dumps.formats.columns import Columns
from blueprint.dumps.formats.raw import (
    LONGEST_HEADER,
    WHOLE,
    Array,
    MinibatchError,
    Raw,
    check_shape,
    check_total,
    require,
    whole,
)
from blueprint.quoting import unquoted


def read_npz(path: Path, head_only: bool) -> Raw:
    """Reads an npz file; its metadata is a text array `metadata` that holds one JSON object, and its head no other array.

    Raises:
        MinibatchError: an array of objects, an entry that does not fit its header, a name that stands there twice.
    """
    found, metadata, seen = Columns(path.stat().st_size), dict[str, Any](), set[str]()
    with zipfile.ZipFile(path) as file:
        entries = [each for each in file.infolist() if each.filename.endswith(".npy")]
        if head_only:
            entries = [each for each in entries if each.filename == f"{WHOLE}.npy"][:1]
        check_total(sum(entry.file_size for entry in entries), found.size)
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            require(name not in seen, f"{unquoted(name)} stands in it twice; keep one.")
            seen.add(name)
            with file.open(entry) as stream:
                array = _array(name, stream, entry.file_size)
            if name == WHOLE:
                metadata = _metadata(array)
            else:
                found.add(name, array)
    return found.raw(metadata)


def _array(name: str, stream: IO[bytes], size: int) -> Array:
    """Reads one array into memory that is as large as its header says, which is checked first."""
    shape, by_columns, dtype = _header(name, stream)
    _check_dtype(name, dtype)
    check_shape(name, shape)
    needed = math.prod(shape) * dtype.itemsize
    require(needed <= size, f"{unquoted(name)}: its header promises {needed:,} bytes, the entry has {size:,}.")
    array = np.empty(math.prod(shape), dtype)
    filled = _fill(array.view(np.uint8).data, stream) if needed else 0
    if filled < needed or stream.read(1):
        holds = f"{filled:,}" if filled < needed else "more"
        raise MinibatchError(f"{unquoted(name)}: its header promises {needed:,} bytes, the entry holds {holds}.")
    return array.reshape(shape, order="F" if by_columns else "C").astype(dtype.newbyteorder("="), copy=False)


def _header(name: str, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Returns the shape of an array, whether it lies column by column, and its type, as its header says.

    Numpy has Python's own parser read the header, which raises nearly anything for nearly anything.
    """
    try:
        version = npy.read_magic(stream)
        return (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile):  # the damage is the archive's
        raise
    except Exception as error:
        raise MinibatchError(
            f"{unquoted(name)}: its header does not say of what type and shape it is; save it again with numpy.savez."
        ) from error


def _fill(into: memoryview, stream: IO[bytes]) -> int:
    """Fills memory from a stream piece by piece; zip streams return less than asked for."""
    filled = 0
    while filled < len(into) and (piece := stream.read(min(len(into) - filled, 1 << 20))):
        into[filled : filled + len(piece)] = piece
        filled += len(piece)
    return filled


def _check_dtype(name: str, dtype: np.dtype[Any]) -> None:
    require(
        not dtype.hasobject,
        f"{unquoted(name)}: an array of Python objects is a pickle, which could run any code and is never opened; "
        "save arrays of numbers, one row per response, padded to one length.",
    )
    if dtype.kind == "U" and name == WHOLE and dtype.itemsize <= 4 * LONGEST_HEADER:
        return
    require(
        dtype.kind in "biuf" and dtype.itemsize <= 8,
        f"{unquoted(name)}: found {unquoted(str(dtype))}, expected numbers or true and false.",
    )


def _metadata(text: Array) -> dict[str, Any]:
    require(
        text.dtype.kind == "U" and text.ndim == 0,
        "metadata: expected a text that holds JSON, numpy.array(json.dumps({…})).",
    )
    return whole(str(text), "metadata")
