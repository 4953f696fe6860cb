"""Writes a minibatch in the neutral schema, for users who dump by hand and for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.batch import SCHEMA, Array, MinibatchError
from blueprint.dumps.formats.said import WHOLE
from blueprint.dumps.formats.writing import WRITERS
from blueprint.dumps.layout import RESPONSE
from blueprint.unfinished import replacing


def save(path: str | Path, tensors: Mapping[str, Array], metadata: Mapping[str, Any] | None = None) -> None:
    """Writes tensors of B responses and what is said about them, in the format that the ending of the path names.

    tensors: by neutral name (or a library's own), [B] or [B, T]; anything that numpy makes an array of. Tensors of torch
        are first made `tensor.detach().float().cpu()`.
    metadata: library, version, step, preset, layout, hyperparameters, logged …; where they do not say it, `schema` is ours
        and `layout` is "response".

    Raises:
        MinibatchError: another ending than .safetensors, .npz, .jsonl or .parquet, tensors without the same number of rows,
            metadata that JSON cannot hold, or a tensor that numpy makes no array of.
    """
    path = Path(path)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise MinibatchError(f"{path}: found the ending {path.suffix or 'none'}, expected one of {', '.join(WRITERS)}.")
    arrays = {name: _array(path, name, tensor) for name, tensor in tensors.items()}
    _check(path, arrays)
    if not isinstance(metadata, Mapping | None):
        raise MinibatchError(f"{path}: metadata is {type(metadata).__name__}, expected a dictionary.")
    said = {"schema": SCHEMA, "layout": RESPONSE} | dict(metadata or {})
    try:
        json.dumps(said)
    except (TypeError, ValueError) as error:
        raise MinibatchError(f"{path}: metadata cannot be written as JSON: {error}.") from error
    try:
        with replacing(path) as unfinished:
            writer(unfinished, arrays, said)
    except ImportError as error:
        raise MinibatchError(f"{path}: writing it needs {error.name}: python -m pip install {error.name}.") from error
    except OSError as error:
        raise MinibatchError(f"{path}: it cannot be written: {error.strerror or error}.") from error


def _array(path: Path, name: str, tensor: Array) -> Array:
    """Returns a tensor as an array. Raises MinibatchError for what numpy takes for none: ragged lists, torch's bfloat16."""
    try:
        return np.ascontiguousarray(tensor)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise MinibatchError(
            f"{path}, {name}: numpy makes no array of it ({reason}); pad rows to one length, and give "
            "tensors of torch as tensor.detach().float().cpu()."
        ) from error


def _check(path: Path, arrays: Mapping[str, Array]) -> None:
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if not counts or len(set(counts.values())) > 1:
        raise MinibatchError(f"{path}: expected tensors with the same number of rows, found {counts or 'none'}.")
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.ndim > 2 or name == WHOLE:
            raise MinibatchError(
                f"{path}: {name}: found {array.dtype} of {array.ndim} axes, expected numbers, [B] or [B, T]."
            )
