"""Writes tensors and metadata, one function per format; what is written is read back by the module of that format."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.batch import Array
from blueprint.dumps.formats.said import JSON_KEYS, WHOLE


def _safetensors(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    from safetensors.numpy import save_file

    said = {
        key: json.dumps(value) if key in JSON_KEYS or not isinstance(value, str) else value
        for key, value in metadata.items()
    }
    save_file(dict(arrays), path, metadata=said)


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

    table = pyarrow.table({name: _column(array) for name, array in arrays.items()})
    parquet.write_table(table.replace_schema_metadata({WHOLE: json.dumps(metadata)}), path)


def _column(array: Array) -> Any:
    import pyarrow

    if array.ndim == 1:
        return pyarrow.array(array)
    starts = np.arange(len(array) + 1) * array.shape[1]
    return pyarrow.LargeListArray.from_arrays(pyarrow.array(starts), pyarrow.array(array.reshape(-1)))


WRITERS: dict[str, Callable[[Path, Mapping[str, Array], Mapping[str, Any]], None]] = {
    ".safetensors": _safetensors,
    ".npz": _npz,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
"""By the ending of a path: writes named arrays of the same number of rows, [B] or [B, T], and metadata."""
