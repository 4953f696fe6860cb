"""Writes a minibatch in the neutral schema, for users who dump by hand and for tests."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.minibatch.batch import SCHEMA, Array, MinibatchError
from blueprint.minibatch.formats.said import WHOLE
from blueprint.minibatch.formats.writing import WRITERS
from blueprint.minibatch.layout import RESPONSE


def save(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, Any] | None = None) -> None:
    """Writes tensors of B responses and what is said about them, in the format that the ending of the path names.

    tensors: by neutral name (or a library's own), [B] or [B, T]; anything that numpy makes an array of.
    metadata: library, version, step, preset, layout, hyperparameters, logged …; where they do not say it, `schema` is ours
        and `layout` is "response".

    Raises:
        MinibatchError: another ending than .safetensors, .npz, .jsonl or .parquet, tensors without the same number of rows,
            or metadata that JSON cannot hold.
    """
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise MinibatchError(f"{path}: found the ending {path.suffix or 'none'}, expected one of {', '.join(WRITERS)}.")
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    _check(path, arrays)
    said = {"schema": SCHEMA, "layout": RESPONSE} | dict(metadata or {})
    try:
        json.dumps(said)
    except (TypeError, ValueError) as error:
        raise MinibatchError(f"{path}: metadata cannot be written as JSON: {error}.") from error
    partial = path.with_name(f".{path.name}.partial")
    try:
        writer(partial, arrays, said)
        os.replace(partial, path)
    except ImportError as error:
        raise MinibatchError(f"{path}: writing it needs {error.name}: python -m pip install {error.name}.") from error
    except OSError as error:
        raise MinibatchError(f"{path}: it cannot be written: {error.strerror or error}.") from error
    finally:
        partial.unlink(missing_ok=True)


def _check(path: Path, arrays: Mapping[str, Array]) -> None:
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if not counts or len(set(counts.values())) > 1:
        raise MinibatchError(f"{path}: expected tensors with the same number of rows, found {counts or 'none'}.")
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.ndim > 2 or name == WHOLE:
            raise MinibatchError(
                f"{path}: {name}: found {array.dtype} of {array.ndim} axes, expected numbers, [B] or [B, T]."
            )
