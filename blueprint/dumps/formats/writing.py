"""Writes a minibatch in the neutral schema, for users who dump by hand and for tests: one function for each format."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.formats.raw import JSON_KEYS, SCHEMA, WHOLE, Array, MinibatchError, require
from blueprint.saving import replacing


def _safetensors(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    from safetensors.numpy import save_file

    strings = {
        key: json.dumps(value) if key in JSON_KEYS or not isinstance(value, str) else value
        for key, value in metadata.items()
    }
    save_file(dict(arrays), path, metadata=strings)


def _npz(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **{WHOLE: np.array(json.dumps(metadata)), **arrays})


def _jsonl(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps({WHOLE: metadata}) + "\n")
        for row in range(len(next(iter(arrays.values())))):
            file.write(json.dumps({name: array[row].tolist() for name, array in arrays.items()}) + "\n")


def _parquet(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    import pyarrow
    from pyarrow import parquet

    def column(array: Array) -> Any:
        if array.ndim == 1:
            return pyarrow.array(array)
        starts = np.arange(len(array) + 1) * array.shape[1]
        return pyarrow.LargeListArray.from_arrays(pyarrow.array(starts), pyarrow.array(array.reshape(-1)))

    table = pyarrow.table({name: column(array) for name, array in arrays.items()})
    parquet.write_table(table.replace_schema_metadata({WHOLE: json.dumps(metadata)}), path)


WRITERS: dict[str, Callable[[Path, Mapping[str, Array], Mapping[str, Any]], None]] = {
    ".safetensors": _safetensors,
    ".npz": _npz,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
"""By the ending of a path: writes named arrays of the same number of rows, [B] or [B, T], and metadata."""


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
    require(
        isinstance(metadata, Mapping | None),
        f"{path}: metadata is {type(metadata).__name__}, expected a dictionary.",
    )
    complete = {"schema": SCHEMA, "layout": "response"} | dict(metadata or {})
    try:
        json.dumps(complete)
    except (TypeError, ValueError) as error:
        raise MinibatchError(f"{path}: metadata cannot be written as JSON: {error}.") from error
    try:
        with replacing(path) as unfinished:
            writer(unfinished, arrays, complete)
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
    require(
        len(set(counts.values())) == 1,
        f"{path}: expected tensors with the same number of rows, found {counts or 'none'}.",
    )
    for name, array in arrays.items():
        require(
            array.dtype.kind in "biuf" and array.ndim <= 2 and name != WHOLE,
            f"{path}: {name}: found {array.dtype} of {array.ndim} axes, expected numbers, [B] or [B, T].",
        )
