"""Opens a file by what its first bytes say it is, where what would have to be unpickled is refused; and writes a minibatch in the
neutral schema, for users who dump by hand and for tests: one function for each format.
"""

import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.formats.jsonl_and_parquet import read_jsonl, read_parquet
from blueprint.dumps.formats.npz_safetensors_torch import read_npz, read_safetensors, read_torch, texts_of
from blueprint.dumps.formats.raw import JSON_KEYS, SCHEMA, WHOLE, Array, MinibatchError, Raw, require
from blueprint.dumps.formats.relax_bundle import is_bundle, read_bundle, size_of_bundle
from blueprint.files import replacing
from blueprint.quoting import printable

DAMAGE = (
    ValueError, OSError, EOFError, LookupError, RuntimeError, TypeError, OverflowError, MemoryError, SyntaxError,
    ArithmeticError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip
"""What readers of damaged files raise; RuntimeError covers RecursionError and NotImplementedError."""

WAY_OUT = 'save the tensors with safetensors.torch.save_file({name: tensor, …}, "run.safetensors")'


BUNDLE = "bundle"
READERS: dict[str, Callable[[Path, Raw, bool], None]] = {
    "safetensors": read_safetensors,
    "npz": read_npz,
    "parquet": read_parquet,
    "jsonl": read_jsonl,
    "torch": read_torch,
    BUNDLE: read_bundle,
}
"""By format, what reads a file of it into a `Raw`, or no more than its metadata."""
_PICKLED_ENDINGS = (".pkl", ".pickle", ".joblib", ".dill")
_OTHERS = {
    b"\x93NUMPY": "a single array (npy); save all of them with numpy.savez",
    b"\x1f\x8b": "packed with gzip; unpack it first",
    b"\x28\xb5\x2f\xfd": "packed with zstd; unpack it first",
    b"BZh": "packed with bzip2; unpack it first",
    b"\xfd7zXZ": "packed with xz; unpack it first",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
    b"\x89HDF": "HDF5, which is not read here; save safetensors or npz",
    b"[": "one JSON list; write one object per line (jsonl)",
}


def open_raw(path: Path) -> Raw:
    """Reads a file as it is.

    Raises:
        MinibatchError: no such file, a directory, a pickle, a format that is not known, or a damaged file.
    """
    return _read_file(path, head_only=False)


def metadata_of(path: Path) -> dict[str, Any]:
    """Returns what a file says of itself, without reading its tensors; of jsonl its first line.

    Raises:
        MinibatchError: as `open_raw`, as far as what comes before the tensors shows it.
    """
    return _read_file(path, head_only=True).metadata


def head_of(path: Path) -> Raw:
    """Returns what a file says of itself and the names of what it holds, without reading its tensors; of a pickle the texts in it.

    Nothing is unpickled. Raises MinibatchError as `metadata_of`, but for a pickle.
    """
    try:
        return _read_file(path, head_only=True)
    except MinibatchError:
        if not path.is_file() or (texts := texts_of(path)) is None:  # to open a pipe waits for ever
            raise
        return Raw(format="pickle", size=path.stat().st_size, names=texts)


def _read_file(path: Path, head_only: bool) -> Raw:
    with _sentences(path):
        form = format_of(path)
        found = Raw(format=form, size=size_of_bundle(path) if form == BUNDLE else path.stat().st_size)
        before = _state(path)
        READERS[found.format](path, found, head_only)
        require(
            head_only or _state(path) == before,
            "it was written to while it was read; wait until it is whole, and read it again.",
        )
        return found


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Makes a sentence that begins with the path of whatever a reader raises."""
    try:
        yield
    except MinibatchError as error:
        raise MinibatchError(f"{path}: {error}") from error
    except DAMAGE as error:
        raise MinibatchError(f"{path}: the file is damaged or cut off: {_first_line(error)}.") from error


def _state(path: Path) -> tuple[int, ...]:
    """Returns what changes when a file is written to, or replaced."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def format_of(path: Path) -> str:
    """Returns the format that the first bytes of a file show.

    Raises:
        MinibatchError: the content is of no format that is read here.
    """
    if is_bundle(path):
        return BUNDLE
    head = _head_of_file(path)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if len(head) > 8 and head[8:9] == b"{" and head[4:8] == b"\0\0\0\0":
        return "safetensors"  # a header length below 2³² and then a brace; no pickle has five zeros there
    if head.startswith(b"PK\x03\x04"):
        return _zip_format(path)
    if head.startswith(b"PAR1"):
        return "parquet"
    # Protocol 2 and later begin with 0x80 and the protocol's number; earlier ones are told by their ending.
    require(
        not (head[:1] == b"\x80" and 2 <= head[1] <= 5) and path.suffix.lower() not in _PICKLED_ENDINGS,
        f"this is a pickle, which could run any code and is never opened; {WAY_OUT}.",
    )
    if text.startswith(b"{"):
        return "jsonl"
    none = f"found neither safetensors, npz, parquet, jsonl nor a torch file; {WAY_OUT}"
    others = (f"this is {what}" for magic, what in _OTHERS.items() if magic in (head[: len(magic)], text[: len(magic)]))
    raise MinibatchError(f"{next(others, none)}.")


def _head_of_file(path: Path) -> bytes:
    require(not path.is_dir(), "this is a directory; name the file in it.")
    require(path.is_file() or not path.exists(), "this is a pipe or a device; save it as a file first.")
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except FileNotFoundError as error:
        raise MinibatchError("there is no such file.") from error
    except (OSError, ValueError) as error:
        raise MinibatchError(f"it cannot be opened: {_first_line(error)}.") from error
    require(head != b"", "the file is empty.")
    return head


def _zip_format(path: Path) -> str:
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
    if any(name.endswith("data.pkl") for name in names):
        return "torch"
    if any(name.endswith(".npy") for name in names):
        return "npz"
    require(
        "[Content_Types].xml" not in names,
        "this is a workbook; `blueprint numbers` and `blueprint rebuild` read those.",
    )
    raise MinibatchError("this is a zip file without arrays (npz has entries that end in .npy); " + WAY_OUT + ".")


def _first_line(error: BaseException) -> str:
    return printable((str(error).strip() or type(error).__name__).splitlines()[0][:120]).rstrip(".")


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
BY_ROW = (".jsonl", ".parquet")
"""Endings of formats that hold row by row, in which no tensor has more rows than others."""
OF_PAIRS = ("chosen", "rejected", "pair", "margin")
"""Parts of names of what has a number for each pair, beside which both sides of pairs may stand below each other, [2P, T]."""


def save(path: str | Path, tensors: Mapping[str, Array], metadata: Mapping[str, Any] | None = None) -> None:
    """Writes tensors of B responses and what is said about them, in the format that the ending of the path names.

    tensors: by neutral name (or a library's own), [B] or [B, T]; anything that numpy makes an array of. Beside numbers of
        pairs, [P], those of both sides may stand below each other, [2P, T], in a format that does not hold row by row. Tensors
        of torch are first made `tensor.detach().float().cpu()`.
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
    arrays = {name: _array_of(path, name, tensor) for name, tensor in tensors.items()}
    _check_names(path, arrays)
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


def _array_of(path: Path, name: str, tensor: Array) -> Array:
    """Returns a tensor as an array. Raises MinibatchError for what numpy takes for none: ragged lists, torch's bfloat16."""
    try:
        return np.ascontiguousarray(tensor)
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise MinibatchError(
            f"{path}, {name}: numpy makes no array of it ({reason}); pad rows to one length, and give "
            "tensors of torch as tensor.detach().float().cpu()."
        ) from error


def _check_names(path: Path, arrays: Mapping[str, Array]) -> None:
    counts = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    rows = min(counts.values(), default=0)
    of_pairs = any(part in name for name in arrays for part in OF_PAIRS)
    twice = 2 * rows if of_pairs and path.suffix.lower() not in BY_ROW else rows
    require(
        bool(counts) and {*counts.values()} <= {rows, twice},
        f"{path}: expected tensors with the same number of rows{', as this format has' if twice == rows and of_pairs else ''}, "
        f"found {counts or 'none'}.",
    )
    for name, array in arrays.items():
        require(
            array.dtype.kind in "biuf" and array.ndim <= 2 and name != WHOLE,
            f"{path}: {name}: found {array.dtype} of {array.ndim} {'axis' if array.ndim == 1 else 'axes'}, expected numbers, "
            "[B] or [B, T].",
        )
