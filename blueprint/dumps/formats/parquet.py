"""Reads parquet: a row per response, columns of numbers, texts or lists of numbers; needs pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.batch import Array, MinibatchError, Raw
from blueprint.dumps.formats.limits import LARGEST_TENSOR, LONGEST_HEADER, check_total, from_strings
from blueprint.dumps.formats.ragged import padded_flat
from blueprint.quoting import printable, unquoted

_NOT_OURS = ("ARROW:schema", "pandas", "huggingface")


def read_parquet(path: Path) -> Raw:
    """Reads a parquet file; its metadata are the key-value pairs of the schema.

    Raises:
        MinibatchError: pyarrow is missing, lists of lists, or entries that are missing (null).
    """
    pyarrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path, thrift_string_size_limit=LONGEST_HEADER) as file:
            _check_size(file.metadata, path.stat().st_size)
            return _raw(file, path.stat().st_size)
    except pyarrow.ArrowException as error:
        raise MinibatchError(f"the parquet file is damaged: {printable(str(error)[:120])}.") from error


def parquet_metadata(path: Path) -> dict[str, Any]:
    """Returns the metadata of a parquet file; of the rest only its footer is read.

    Raises:
        MinibatchError: pyarrow is missing, or a footer that is damaged.
    """
    pyarrow, parquet = _pyarrow()
    try:
        return _metadata(parquet.read_schema(path))
    except pyarrow.ArrowException as error:
        raise MinibatchError(f"the parquet file is damaged: {printable(str(error)[:120])}.") from error


def _check_size(metadata: Any, size: int) -> None:
    """Refuses by what the footer says, before anything is unpacked."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    entries = 0
    for column in range(metadata.num_columns):
        count = sum(group.column(column).num_values for group in groups)
        if count > LARGEST_TENSOR:
            name = unquoted(metadata.schema.column(column).path)
            raise MinibatchError(f"{name}: more than {LARGEST_TENSOR:,} entries; save fewer responses, and no logits.")
        entries += count
    unpacked = sum(max(group.total_byte_size, 0) for group in groups)
    check_total(max(unpacked, 8 * entries), size)


def _raw(file: Any, size: int) -> Raw:
    """Reads column by column, so that no more than one of them stands in memory twice."""
    tensors: dict[str, Array] = {}
    lengths: dict[str, Array] = {}
    texts: dict[str, tuple[str, ...]] = {}
    schema = file.schema_arrow
    if len(set(schema.names)) < len(schema.names):
        raise MinibatchError("two columns have the same name; keep one.")
    for name in schema.names:
        column = _column(file, name)
        if _is_list(column.type):
            tensors[name], lengths[name] = _rows(name, column, size)
        elif _is_number(column.type):
            tensors[name] = _numbers(name, column)
        else:
            texts[name] = tuple(str(value) for value in column.to_pylist())
        check_total(sum(array.nbytes for array in tensors.values()), size)
    metadata = _metadata(schema)
    dtypes = {name: str(array.dtype) for name, array in tensors.items()} | _halves(schema)
    return Raw(tensors, dtypes, lengths, texts, metadata)


def _metadata(schema: Any) -> dict[str, Any]:
    said = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
    return from_strings({key: text for key, text in said.items() if key not in _NOT_OURS})


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MinibatchError("parquet files need pyarrow: pip install pyarrow.") from error
    return pyarrow, parquet


def _column(file: Any, name: str) -> Any:
    """Returns a column as one array."""
    import pyarrow

    column = file.read(columns=[name]).column(name).combine_chunks()
    return column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column


def _halves(schema: Any) -> dict[str, str]:
    """Returns the columns whose numbers were of half precision in the file."""
    return {field.name: "float16" for field in schema if "halffloat" in str(field.type)}


def _is_list(kind: Any) -> bool:
    import pyarrow

    return bool(
        pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind)
    )


def _is_number(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind))


def _rows(name: str, column: Any, size: int) -> tuple[Array, Array]:
    """Returns a column of lists as one array, and how long each list is."""
    import pyarrow.compute

    if column.null_count:
        raise MinibatchError(f"{unquoted(name)}: {column.null_count} rows have no list; write an empty one.")
    flat = column.flatten()
    if not _is_number(flat.type):
        raise MinibatchError(f"{unquoted(name)}: found {unquoted(str(column.type))}, expected lists of numbers.")
    lengths = np.asarray(pyarrow.compute.list_value_length(column)).astype(np.int64)
    return padded_flat(name, _numbers(name, flat), lengths, size), lengths


def _numbers(name: str, column: Any) -> Array:
    """Returns numbers; a null is NaN, and refused among whole numbers."""
    import pyarrow

    if column.null_count and not pyarrow.types.is_floating(column.type):
        raise MinibatchError(f"{unquoted(name)}: {column.null_count} entries are missing (null); write numbers.")
    found = np.asarray(column.to_numpy(zero_copy_only=False))
    return found.astype(np.float32) if found.dtype == np.float16 else found
