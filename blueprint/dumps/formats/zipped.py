"""Reads the formats that are zips: npz, arrays with a header each, and what torch.save wrote. Nothing is unpickled but by torch's
own loader of plain weights, which opens tensors, numbers and texts only."""

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

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


def read_npz(path: Path, into: Raw, head_only: bool) -> None:
    """Reads an npz file; its metadata is a text array `metadata` that holds one JSON object, and its head no other array.

    Raises:
        MinibatchError: an array of objects, an entry that does not fit its header, a name that stands there twice.
    """
    with zipfile.ZipFile(path) as file:
        entries = [each for each in file.infolist() if each.filename.endswith(".npy")]
        into.names = tuple(each.filename.removesuffix(".npy") for each in entries)
        if head_only:
            entries = [each for each in entries if each.filename == f"{WHOLE}.npy"][:1]
        check_total(sum(entry.file_size for entry in entries), into.size)
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            require(name not in into.tensors, f"{unquoted(name)} stands in it twice; keep one.")
            with file.open(entry) as stream:
                into.add(name, _array(name, stream, entry.file_size))
    if WHOLE in into.tensors:
        text = into.tensors.pop(WHOLE)
        del into.dtypes[WHOLE]
        require(
            text.dtype.kind == "U" and text.ndim == 0,
            "metadata: expected a text that holds JSON, numpy.array(json.dumps({…})).",
        )
        into.metadata = whole(str(text), WHOLE)


def _array(name: str, stream: IO[bytes], size: int) -> Array:
    """Reads one array into memory that is as large as its header says, which is checked first."""
    shape, by_columns, dtype = _header(name, stream)
    _check_dtype(name, dtype)
    check_shape(name, shape)
    needed = math.prod(shape) * dtype.itemsize
    require(needed <= size, f"{unquoted(name)}: its header promises {needed:,} bytes, the entry has {size:,}.")
    array = np.empty(math.prod(shape), dtype)
    filled = _fill(array.view(np.uint8).data, stream) if needed else 0
    require(
        filled == needed and not stream.read(1),
        f"{unquoted(name)}: its header promises {needed:,} bytes, the entry holds "
        f"{'more' if filled == needed else f'{filled:,}'}.",
    )
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
    is_text = dtype.kind == "U" and name == WHOLE and dtype.itemsize <= 4 * LONGEST_HEADER
    require(
        is_text or (dtype.kind in "biuf" and dtype.itemsize <= 8),
        f"{unquoted(name)}: found {unquoted(str(dtype))}, expected numbers or true and false.",
    )


def read_torch(path: Path, into: Raw, head_only: bool) -> None:
    """Reads a dictionary of tensors, or of lists of tensors (rows); its entry `metadata` is a dictionary.

    Raises:
        MinibatchError: torch is missing, the file holds pickled classes, or no dictionary of tensors.
    """
    found = _loaded(path, into.size, head_only)
    into.metadata = found.pop(WHOLE, {})
    require(isinstance(into.metadata, dict), f"{WHOLE}: found {type(into.metadata).__name__}, expected a dictionary.")
    into.names = tuple(str(key) for key in found)
    if not head_only:
        _add_all(found, into)


def _loaded(path: Path, size: int, mmap: bool) -> dict[Any, Any]:
    """Returns what the file holds by name; tensors that are mapped are not read."""
    try:
        import torch
    except ImportError as error:
        raise MinibatchError(
            "a file of torch.save needs torch to be read: pip install torch, or save safetensors."
        ) from error
    with zipfile.ZipFile(path) as file:
        check_total(sum(entry.file_size for entry in file.infolist()), size)
    try:
        found: dict[Any, Any] = torch.load(path, weights_only=True, map_location="cpu", mmap=mmap)
    except Exception as error:  # torch raises pickle's, zip's and its own errors alike
        raise MinibatchError(
            "torch finds more in it than plain tensors, or it is damaged; it is not opened, because a pickle could run any "
            'code; save tensors with safetensors.torch.save_file({name: tensor, …}, "run.safetensors").'
        ) from error
    require(isinstance(found, dict), f"found {type(found).__name__}, expected a dictionary of tensors by name.")
    return found


def _add_all(found: dict[Any, Any], into: Raw) -> None:
    import torch

    check_total(sum(each.numel() * 8 for each in found.values() if isinstance(each, torch.Tensor)), into.size)
    for name, each in ((str(key), each) for key, each in found.items()):
        rows = list(each) if isinstance(each, list | tuple) else []
        if isinstance(each, torch.Tensor):
            into.add(name, *_detached(name, each))
        elif rows and all(isinstance(row, torch.Tensor) for row in rows):
            arrays = [_detached(name, row.reshape(-1)) for row in rows]
            into.add_rows(name, [array for array, _ in arrays], arrays[0][1])
            if all(row.dim() == 0 for row in rows):
                into.tensors[name] = into.tensors[name][:, 0]
        elif isinstance(each, list | tuple) and all(isinstance(text, str) for text in each):
            into.texts[name] = tuple(each)
        else:
            raise MinibatchError(
                f"{unquoted(name)}: found {type(each).__name__}, expected a tensor or a list of tensors."
            )


def _detached(name: str, tensor: Any) -> tuple[Array, str]:
    """Returns a tensor as an array, and what its numbers were."""
    import torch

    check_shape(name, tuple(tensor.shape))
    dtype = str(tensor.dtype).removeprefix("torch.")
    require(
        tensor.layout == torch.strided and not (tensor.is_quantized or tensor.is_sparse or tensor.is_complex()),
        f"{unquoted(name)}: found {dtype}, expected a dense tensor of real numbers.",
    )
    return np.asarray((tensor.float() if dtype == "bfloat16" else tensor).detach().numpy()), dtype
