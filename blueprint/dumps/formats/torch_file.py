"""Reads what torch.save wrote, through torch's loader of plain weights alone; it opens tensors, numbers and texts only."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.formats.columns import Columns
from blueprint.dumps.formats.raw import WHOLE, Array, MinibatchError, Raw, check_shape, check_total, require
from blueprint.quoting import unquoted


def read_torch(path: Path, head_only: bool) -> Raw:
    """Reads a dictionary of tensors, or of lists of tensors (rows); its entry `metadata` is a dictionary.

    Raises:
        MinibatchError: torch is missing, the file holds pickled classes, or no dictionary of tensors.
    """
    found = _loaded(path, head_only)
    metadata = found.pop(WHOLE, {})
    require(isinstance(metadata, dict), f"{WHOLE}: found {type(metadata).__name__}, expected a dictionary.")
    columns = Columns(path.stat().st_size)
    if not head_only:
        _add_all(found, columns)
    return columns.raw(metadata)


def _loaded(path: Path, mmap: bool) -> dict[Any, Any]:
    """Returns what the file holds by name; tensors that are mapped are not read."""
    try:
        import torch
    except ImportError as error:
        raise MinibatchError(
            "a file of torch.save needs torch to be read: pip install torch, or save safetensors."
        ) from error
    with zipfile.ZipFile(path) as file:
        check_total(sum(entry.file_size for entry in file.infolist()), path.stat().st_size)
    try:
        found: dict[Any, Any] = torch.load(path, weights_only=True, map_location="cpu", mmap=mmap)
    except Exception as error:  # torch raises pickle's, zip's and its own errors alike
        raise MinibatchError(
            "torch finds more in it than plain tensors, or it is damaged; it is not opened, because a pickle could run any "
            'code; save tensors with safetensors.torch.save_file({name: tensor, …}, "run.safetensors").'
        ) from error
    require(isinstance(found, dict), f"found {type(found).__name__}, expected a dictionary of tensors by name.")
    return found


def _add_all(found: dict[Any, Any], into: Columns) -> None:
    import torch

    check_total(sum(each.numel() * 8 for each in found.values() if isinstance(each, torch.Tensor)), into.size)
    for name, each in ((str(key), each) for key, each in found.items()):
        rows = list(each) if isinstance(each, list | tuple) else []
        if isinstance(each, torch.Tensor):
            into.add(name, *_array(name, each))
        elif rows and all(isinstance(row, torch.Tensor) for row in rows):
            arrays = [_array(name, row.reshape(-1)) for row in rows]
            into.add_rows(name, [array for array, _ in arrays], arrays[0][1])
            if all(row.dim() == 0 for row in rows):
                into.tensors[name] = into.tensors[name][:, 0]
        elif isinstance(each, list | tuple) and all(isinstance(text, str) for text in each):
            into.texts[name] = tuple(each)
        else:
            raise MinibatchError(
                f"{unquoted(name)}: found {type(each).__name__}, expected a tensor or a list of tensors."
            )


def _array(name: str, tensor: Any) -> tuple[Array, str]:
    """Returns a tensor as an array, and what its numbers were."""
    import torch

    check_shape(name, tuple(tensor.shape))
    dtype = str(tensor.dtype).removeprefix("torch.")
    require(
        tensor.layout == torch.strided and not (tensor.is_quantized or tensor.is_sparse or tensor.is_complex()),
        f"{unquoted(name)}: found {dtype}, expected a dense tensor of real numbers.",
    )
    plain = tensor.detach()
    return np.asarray((plain.float() if dtype == "bfloat16" else plain).numpy()), dtype
