"""Opens a file by what its first bytes say it is; what would have to be unpickled is refused."""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from blueprint.dumps.formats.jsonl import read_jsonl
from blueprint.dumps.formats.parquet import read_parquet
from blueprint.dumps.formats.pickled import texts_of
from blueprint.dumps.formats.raw import MinibatchError, Raw, require
from blueprint.dumps.formats.safetensors_file import read_safetensors
from blueprint.dumps.formats.zipped import read_npz, read_torch
from blueprint.quoting import printable

DAMAGE = (
    ValueError, OSError, EOFError, LookupError, RuntimeError, TypeError, OverflowError, MemoryError, SyntaxError,
    ArithmeticError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip
"""What readers of damaged files raise; RuntimeError covers RecursionError and NotImplementedError."""

WAY_OUT = 'save the tensors with safetensors.torch.save_file({name: tensor, …}, "run.safetensors")'


READERS: dict[str, Callable[[Path, Raw, bool], None]] = {
    "safetensors": read_safetensors,
    "npz": read_npz,
    "parquet": read_parquet,
    "jsonl": read_jsonl,
    "torch": read_torch,
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
    return _read(path, head_only=False)


def metadata_of(path: Path) -> dict[str, Any]:
    """Returns what a file says of itself, without reading its tensors; of jsonl its first line.

    Raises:
        MinibatchError: as `open_raw`, as far as what comes before the tensors shows it.
    """
    return _read(path, head_only=True).metadata


def head_of(path: Path) -> Raw:
    """Returns what a file says of itself and the names of what it holds, without reading its tensors; of a pickle the texts in it.

    Nothing is unpickled. Raises MinibatchError as `metadata_of`, but for a pickle.
    """
    try:
        return _read(path, head_only=True)
    except MinibatchError:
        if not path.is_file() or (texts := texts_of(path)) is None:  # to open a pipe waits for ever
            raise
        return Raw(format="pickle", size=path.stat().st_size, names=texts)


def _read(path: Path, head_only: bool) -> Raw:
    with _sentences(path):
        found = Raw(format=format_of(path), size=path.stat().st_size)
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
    head = _head(path)
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


def _head(path: Path) -> bytes:
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
