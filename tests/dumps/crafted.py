"""Files made byte by byte, and the check that reading one ends in a minibatch or in one sentence."""

from __future__ import annotations

import io
import json
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow
from numpy.lib import format as npy
from pyarrow import parquet

from blueprint.dumps import Minibatch, MinibatchError, inspect, read_minibatch


def answered(data: bytes) -> Minibatch | str:
    """Reads and inspects, and allows nothing but a minibatch or a sentence on one line; returns which."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "damaged"
        path.write_bytes(data)
        try:
            inspect(path)
            return read_minibatch(path)
        except MinibatchError as error:
            said = str(error)
            assert said.isprintable(), repr(said)
            assert said.endswith((".", "?")), said
            assert len(said) < 700
            assert said.startswith(str(path))
            return said.removeprefix(f"{path}: ")


def safetensors(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    """Returns a safetensors file with any header."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def npz(shape: tuple[int, ...], data: bytes, descr: str = "<f4", times: int = 1) -> bytes:
    """Returns an npz file with one array that says it has a shape."""
    file, head = io.BytesIO(), io.BytesIO()
    npy.write_array_header_1_0(head, {"descr": descr, "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("logprobs_old.npy", "w") as entry:
        entry.write(head.getvalue())
        for _ in range(times):
            entry.write(data)
    return file.getvalue()


def npz_with(header: bytes) -> bytes:
    """Returns an npz file with one array that has any header."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("logprobs_old.npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header)
    return file.getvalue()


def table(values: Any) -> bytes:
    """Returns a parquet file of one column."""
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"logprobs_old": values}), file)
    return file.getvalue()


def f32(shape: list[int], start: int, end: int) -> dict[str, Any]:
    """Returns what a safetensors header says of one tensor."""
    return {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
