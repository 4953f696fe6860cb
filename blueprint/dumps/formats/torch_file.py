"""Reads what torch.save wrote, through torch's loader of plain weights alone; it opens tensors, numbers and texts only."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.batch import Array, MinibatchError, Raw
from blueprint.dumps.formats.limits import WHOLE, check_shape, check_total
from blueprint.dumps.formats.ragged import padded
from blueprint.quoting import unquoted


def read_torch(path: Path) -> Raw:
    """Reads a dictionary of tensors, or of lists of tensors (rows); its entry `metadata` is a dictionary.

    Raises:
        MinibatchError: torch is missing, the file holds pickled classes, or no dictionary of tensors.
    """
    found, metadata = _loaded(path)
    return _raw({str(name): each for name, each in found.items()}, metadata, path.stat().st_size)


def torch_metadata(path: Path) -> dict[str, Any]:
    """Returns the metadata of what torch.save wrote; its tensors are mapped, and not read.

    Raises:
        MinibatchError: as `read_torch`.
    """
    return _loaded(path, mmap=True)[1]


def _loaded(path: Path, mmap: bool = False) -> tuple[dict[Any, Any], dict[str, Any]]:
    """Returns what the file holds by name, and its metadata."""
    try:
        import torch
    except ImportError as error:
        raise MinibatchError(
            "a file of torch.save needs torch to be read: pip install torch, or save safetensors."
        ) from error
    with zipfile.ZipFile(path) as file:
        check_total(sum(entry.file_size for entry in file.infolist()), path.stat().st_size)
    try:
        found = torch.load(path, weights_only=True, map_location="cpu", mmap=mmap)
    except Exception as error:  # torch raises pickle's, zip's and its own errors alike
        raise MinibatchError(
            "torch finds more in it than plain tensors, or it is damaged; it is not opened, because a pickle could run any "
            'code; save tensors with safetensors.torch.save_file({name: tensor, …}, "run.safetensors").'
        ) from error
    if not isinstance(found, dict):
        raise MinibatchError(f"found {type(found).__name__}, expected a dictionary of tensors by name.")
    metadata = found.pop(WHOLE, {})
    if not isinstance(metadata, dict):
        raise MinibatchError(f"{WHOLE}: found {type(metadata).__name__}, expected a dictionary.")
    return found, metadata


def _raw(found: dict[str, Any], metadata: dict[str, Any], size: int) -> Raw:
    import torch

    tensors: dict[str, Array] = {}
    dtypes: dict[str, str] = {}
    lengths: dict[str, Array] = {}
    texts: dict[str, tuple[str, ...]] = {}
    check_total(sum(each.numel() * 8 for each in found.values() if isinstance(each, torch.Tensor)), size)
    for name, each in found.items():
        if isinstance(each, torch.Tensor):
            tensors[name], dtypes[name] = _array(name, each)
        elif isinstance(each, list | tuple) and each and all(isinstance(row, torch.Tensor) for row in each):
            tensors[name], dtypes[name], lengths[name] = _rows(name, list(each), size)
        elif isinstance(each, list | tuple) and all(isinstance(text, str) for text in each):
            texts[name] = tuple(each)
        else:
            raise MinibatchError(
                f"{unquoted(name)}: found {type(each).__name__}, expected a tensor or a list of tensors."
            )
        check_total(sum(array.nbytes for array in tensors.values()), size)
    return Raw(tensors, dtypes, lengths, texts, metadata)


def _array(name: str, tensor: Any) -> tuple[Array, str]:
    """Returns a tensor as an array, half precision as float32, and what it was."""
    import torch

    check_shape(name, tuple(tensor.shape))
    dtype = str(tensor.dtype).removeprefix("torch.")
    if tensor.is_quantized or tensor.is_sparse or tensor.is_complex() or tensor.layout != torch.strided:
        raise MinibatchError(f"{unquoted(name)}: found {dtype}, expected a dense tensor of real numbers.")
    plain = tensor.detach()
    return np.asarray((plain.float() if dtype in ("bfloat16", "float16") else plain).numpy()), dtype


def _rows(name: str, rows: list[Any], size: int) -> tuple[Array, str, Array]:
    """Returns rows of different lengths as one array; numbers of one entry each as [B]."""
    arrays = [_array(name, row.reshape(-1)) for row in rows]
    if all(row.dim() == 0 for row in rows):
        return np.concatenate([array for array, _ in arrays]), arrays[0][1], np.ones(len(rows), np.int64)
    found, lengths = padded(name, [array for array, _ in arrays], size)
    return found, arrays[0][1], lengths
