"""Reads formats of whole arrays: safetensors, eight bytes of length, a JSON header, and the numbers; and those that are zips: npz,
arrays with a header each, and what torch.save wrote.

safetensors are read here and not with the library, because numpy has no bfloat16 there and because a hostile header is refused
in a sentence. The numbers are read and not mapped: where a mapped file is cut off by somebody else, the system ends the program.
Format: https://github.com/huggingface/safetensors#format, 0.8.

Nothing is unpickled but by torch's own loader of plain weights, which opens tensors, numbers and texts only. A checkpoint is
told from a dump by the texts in its pickle: its codes are gone through, and nothing in it is run.
"""

import math
import pickletools
import zipfile
import zlib
from io import BufferedReader, BytesIO
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
    from_json,
    from_strings,
    require,
    whole,
)
from blueprint.dumps.formats.slime_and_miles import Written, written_by
from blueprint.quoting import unquoted

_TYPES = {
    "BOOL": ("bool", "?"), "U8": ("uint8", "u1"), "I8": ("int8", "i1"), "I16": ("int16", "<i2"), "U16": ("uint16", "<u2"),
    "I32": ("int32", "<i4"), "U32": ("uint32", "<u4"), "I64": ("int64", "<i8"), "U64": ("uint64", "<u8"),
    "F16": ("float16", "<f2"), "BF16": ("bfloat16", "<u2"), "F32": ("float32", "<f4"), "F64": ("float64", "<f8"),
}  # fmt: skip


def read_safetensors(path: Path, into: Raw, head_only: bool) -> None:
    """Reads a safetensors file.

    Raises:
        MinibatchError: a header longer than the file, offsets that overlap or do not fit the shape, a type without a meaning here.
    """
    with path.open("rb") as file:
        header = _safetensors_header(file, into.size)
        strings = header.pop("__metadata__", None) or {}
        require(
            isinstance(strings, dict) and all(isinstance(text, str) for text in strings.values()),
            "header, __metadata__: expected texts by name.",
        )
        if not head_only:
            begin = file.tell()
            tensors = [_Stored(name, entry) for name, entry in header.items()]
            _check_places(tensors, into.size - begin)
            for tensor in tensors:
                into.add(tensor.name, tensor.read(file, begin), tensor.dtype)
    into.metadata, into.names = from_strings(strings), tuple(header)


def _safetensors_header(file: BufferedReader, size: int) -> dict[str, Any]:
    """Returns the header, and leaves the file where the numbers begin."""
    length = int.from_bytes(file.read(8), "little")
    require(
        length <= min(size - 8, LONGEST_HEADER),
        f"its header should be {length:,} bytes long, the file has {size:,}: it is cut off or damaged.",
    )
    header: dict[str, Any] = from_json(file.read(length), "header")
    return header


class _Stored:
    """Where a tensor stands, and what it is."""

    def __init__(self, name: str, entry: Any) -> None:
        if not isinstance(entry, dict) or entry.get("dtype") not in _TYPES:
            found = unquoted(str(entry.get("dtype"))) if isinstance(entry, dict) else "no object"
            raise MinibatchError(f"{unquoted(name)}: its dtype is {found}, expected one of {', '.join(_TYPES)}.")
        shape, offsets = _numbers_of(entry.get("shape")), _numbers_of(entry.get("data_offsets"))
        if shape is None or offsets is None or len(offsets) != 2:
            raise MinibatchError(f"{unquoted(name)}: its shape and data_offsets must be lists of whole numbers.")
        check_shape(name, shape)
        self.name, self.shape, (self.start, self.end) = name, shape, offsets
        self.dtype, self.stored = _TYPES[entry["dtype"]]
        needed = math.prod(shape) * np.dtype(self.stored).itemsize
        require(
            self.end - self.start == needed,
            f"{unquoted(name)}: its shape needs {needed:,} bytes, it has {self.end - self.start:,}.",
        )

    def read(self, file: BufferedReader, begin: int) -> Array:
        """Returns the tensor; begin: where the numbers begin in the file."""
        piece = np.empty(self.end - self.start, np.uint8)
        file.seek(begin + self.start)
        require(
            file.readinto(piece.data) == piece.size,
            f"{unquoted(self.name)}: the file became shorter while it was read; wait until it is written.",
        )
        stored = piece.view(self.stored)
        if self.dtype == "bfloat16":
            stored = (stored.astype(np.uint32) << 16).view(np.float32)
        elif self.dtype == "bool" and piece.size and piece.max() > 1:
            raise MinibatchError(f"{unquoted(self.name)}: a BOOL byte is {piece.max()}, expected 0 or 1.")
        return stored.reshape(self.shape)


def _numbers_of(found: Any) -> tuple[int, ...] | None:
    whole = isinstance(found, list) and all(type(each) is int and 0 <= each < 1 << 62 for each in found)
    return tuple(found) if whole else None


def _check_places(tensors: list[_Stored], size: int) -> None:
    check_total(sum(each.end - each.start for each in tensors), size)
    reached, before = 0, ""
    for tensor in sorted(tensors, key=lambda each: (each.start, each.end)):
        require(
            tensor.end <= size,
            f"{unquoted(tensor.name)}: it ends at byte {tensor.end:,} of {size:,}: the file is cut off or damaged.",
        )
        require(tensor.start >= reached, f"{unquoted(tensor.name)}: its bytes overlap those of {unquoted(before)}.")
        reached, before = tensor.end, tensor.name


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
                into.add(name, _npy_array(name, stream, entry.file_size))
    if WHOLE in into.tensors:
        text = into.tensors.pop(WHOLE)
        del into.dtypes[WHOLE]
        require(
            text.dtype.kind == "U" and text.ndim == 0,
            "metadata: expected a text that holds JSON, numpy.array(json.dumps({…})).",
        )
        into.metadata = whole(str(text), WHOLE)


def _npy_array(name: str, stream: IO[bytes], size: int) -> Array:
    """Reads one array into memory that is as large as its header says, which is checked first."""
    shape, by_columns, dtype = _npy_header(name, stream)
    _check_dtype(name, dtype)
    check_shape(name, shape)
    needed = math.prod(shape) * dtype.itemsize
    require(needed <= size, f"{unquoted(name)}: its header promises {needed:,} bytes, the entry has {size:,}.")
    array = np.empty(math.prod(shape), dtype)
    filled = _fill_npy(array.view(np.uint8).data, stream) if needed else 0
    require(
        filled == needed and not stream.read(1),
        f"{unquoted(name)}: its header promises {needed:,} bytes, the entry holds "
        f"{'more' if filled == needed else f'{filled:,}'}.",
    )
    return array.reshape(shape, order="F" if by_columns else "C").astype(dtype.newbyteorder("="), copy=False)


def _npy_header(name: str, stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
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


def _fill_npy(into: memoryview, stream: IO[bytes]) -> int:
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
    """Reads a dictionary of tensors, or of lists of tensors (rows); its entry `metadata` is a dictionary. Also reads what slime and
    miles write.

    Raises:
        MinibatchError: torch is missing, the file holds pickled classes, or no dictionary of tensors.
    """
    found = _loaded(path, into.size, head_only)
    written = written_by(found)
    if written is not None:
        into.metadata, into.names = written.metadata, tuple(written.columns)
        if not head_only:
            _add_written(written, into)
        return
    into.metadata = found.pop(WHOLE, {})
    require(isinstance(into.metadata, dict), f"{WHOLE}: found {type(into.metadata).__name__}, expected a dictionary.")
    into.names = tuple(str(key) for key in found)
    if not head_only:
        _add_all(found, into)


def _loaded(path: Path, size: int, mmap: bool) -> dict[Any, Any]:
    """Returns what the file holds by name; tensors that are mapped are not read."""
    with zipfile.ZipFile(path) as file:
        check_total(sum(entry.file_size for entry in file.infolist()), size)
    found: dict[Any, Any] = plain_tensors(path, MORE_THAN_TENSORS, mmap)
    require(isinstance(found, dict), f"found {type(found).__name__}, expected a dictionary of tensors by name.")
    return found


MORE_THAN_TENSORS = (
    "torch finds more in it than plain tensors, or it is damaged; it is not opened, because a pickle could run any code; save "
    'tensors with safetensors.torch.save_file({name: tensor, …}, "run.safetensors").'
)


def plain_tensors(path: Path, otherwise: str, mmap: bool = False) -> Any:
    """Returns what torch opens of plain weights. Raises MinibatchError, `otherwise`, for anything more, and without torch."""
    try:
        import torch
    except ImportError as error:
        raise MinibatchError(
            "a file of torch.save needs torch to be read: pip install torch, or save safetensors."
        ) from error
    try:
        return torch.load(path, weights_only=True, map_location="cpu", mmap=mmap)
    except Exception as error:  # torch raises pickle's, zip's and its own errors alike
        raise MinibatchError(otherwise) from error


def _add_all(found: dict[Any, Any], into: Raw) -> None:
    import torch

    check_total(sum(each.numel() * 8 for each in found.values() if isinstance(each, torch.Tensor)), into.size)
    for name, each in ((str(key), each) for key, each in found.items()):
        rows = list(each) if isinstance(each, list | tuple) else []
        if isinstance(each, torch.Tensor):
            into.add(name, *detached(name, each))
        elif rows and all(isinstance(row, torch.Tensor) for row in rows):
            arrays = [detached(name, row.reshape(-1)) for row in rows]
            into.add_rows(name, [array for array, _ in arrays], arrays[0][1])
            if all(row.dim() == 0 for row in rows):
                into.tensors[name] = into.tensors[name][:, 0]
        elif isinstance(each, list | tuple) and all(isinstance(text, str) for text in each):
            into.texts[name] = tuple(each)
        else:
            raise MinibatchError(
                f"{unquoted(name)}: found {type(each).__name__}, expected a tensor or a list of tensors."
            )


def _add_written(written: Written, into: Raw) -> None:
    """Adds the columns that a framework wrote: a number of each response, or rows that are tensors or lists of numbers."""
    for name, values in written.columns.items():
        cells = [_cell(name, each) for each in values]
        if all(array.ndim == 0 for array, _ in cells):
            into.add(name, np.array([array for array, _ in cells]), cells[0][1])
        else:
            into.add_rows(name, [array.reshape(-1) for array, _ in cells], cells[0][1])
    into.notes += written.notes


def _cell(name: str, value: Any) -> tuple[Array, str]:
    """Returns what one response has, as an array, and what its numbers were. Raises MinibatchError for what is no numbers."""
    import torch

    if isinstance(value, torch.Tensor):
        return detached(name, value)
    try:
        array = np.asarray(value)
    except ValueError as error:  # lists of different lengths
        raise MinibatchError(f"{unquoted(name)}: found lists in a list, expected numbers of each response.") from error
    array = array.astype(np.float64) if array.size == 0 else array
    require(
        array.dtype.kind in "biuf",
        f"{unquoted(name)}: found {unquoted(str(value)[:40])}, expected numbers of each response.",
    )
    return array, array.dtype.name


def detached(name: str, tensor: Any) -> tuple[Array, str]:
    """Returns a tensor as an array, and what its numbers were."""
    import torch

    check_shape(name, tuple(tensor.shape))
    dtype = str(tensor.dtype).removeprefix("torch.")
    require(
        tensor.layout == torch.strided and not (tensor.is_quantized or tensor.is_sparse or tensor.is_complex()),
        f"{unquoted(name)}: found {dtype}, expected a dense tensor of real numbers.",
    )
    return np.asarray((tensor.float() if dtype == "bfloat16" else tensor).detach().numpy()), dtype


MOST_TEXTS = 1 << 16
"""Texts that are looked at: the names of a large model's weights."""


def texts_of(path: Path) -> tuple[str, ...] | None:
    """Returns the texts in a pickle, or in that of a file of torch.save; None for a file that is none, or is damaged."""
    try:
        with path.open("rb") as file:
            head = file.read(LONGEST_HEADER)
        if head.startswith(b"PK"):
            with zipfile.ZipFile(path) as archive:
                name = next((each for each in archive.namelist() if each.endswith("data.pkl")), None)
                if name is None:
                    return None
                with archive.open(name) as entry:
                    head = entry.read(LONGEST_HEADER)
        return tuple(dict.fromkeys(_texts(head))) if head[:1] == b"\x80" else None
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
        return None


def _texts(content: bytes) -> list[str]:
    """Returns the texts of the pickles that stand one behind the other, as old versions of torch write five.

    Raises ValueError where the first of them is damaged; behind them stand numbers.
    """
    found, stream = list[str](), BytesIO(content)
    while stream.tell() < len(content) and len(found) < MOST_TEXTS:
        begun = stream.tell()
        try:
            found += [each for code, each, _ in pickletools.genops(stream) if isinstance(each, str)]
        except (ValueError, OverflowError, UnicodeDecodeError):
            if not begun:
                raise
            break
    return found
