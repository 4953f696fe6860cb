"""Reads parquet: a row per response, columns of numbers, texts or lists of numbers; needs pyarrow."""

from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.formats.raw import (
    LARGEST_TENSOR,
    LONGEST_HEADER,
    Array,
    MinibatchError,
    Raw,
    check_total,
    from_strings,
    require,
)
from blueprint.quoting import printable, unquoted

_NOT_OURS = ("ARROW:schema", "pandas", "huggingface")


def read_parquet(path: Path, into: Raw, head_only: bool) -> None:
    """Reads a parquet file; its metadata are the key-value pairs of the schema, and its head is its footer.

    Raises:
        MinibatchError: pyarrow is missing, lists of lists, or entries that are missing (null).
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MinibatchError("parquet files need pyarrow: pip install pyarrow.") from error
    try:
        with parquet.ParquetFile(path, thrift_string_size_limit=LONGEST_HEADER) as file:
            into.names = tuple(file.schema_arrow.names)
            if not head_only:
                _check_size(file.metadata, into.size)
                _read_columns(file, into)
            strings = {key.decode(): value.decode() for key, value in (file.schema_arrow.metadata or {}).items()}
            into.metadata = from_strings({key: text for key, text in strings.items() if key not in _NOT_OURS})
    except pyarrow.ArrowException as error:
        raise MinibatchError(f"the parquet file is damaged: {printable(str(error)[:120])}.") from error


def _check_size(metadata: Any, size: int) -> None:
    """Refuses by what the footer says, before anything is unpacked."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    entries = [sum(group.column(at).num_values for group in groups) for at in range(metadata.num_columns)]
    for at, count in enumerate(entries):
        name = unquoted(metadata.schema.column(at).path)
        require(
            count <= LARGEST_TENSOR,
            f"{name}: more than {LARGEST_TENSOR:,} entries; save fewer responses, and no logits.",
        )
    unpacked = sum(max(group.total_byte_size, 0) for group in groups)
    check_total(max(unpacked, 8 * sum(entries)), size)


def _read_columns(file: Any, into: Raw) -> None:
    """Reads column by column, so that no more than one of them stands in memory twice."""
    from pyarrow import ChunkedArray, types

    names = file.schema_arrow.names
    require(len(set(names)) == len(names), "two columns have the same name; keep one.")
    for name in names:
        column = file.read(columns=[name]).column(name).combine_chunks()
        column = column.combine_chunks() if isinstance(column, ChunkedArray) else column
        if types.is_list(column.type) or types.is_large_list(column.type) or types.is_fixed_size_list(column.type):
            into.add_ragged(name, *_rows(name, column))
        elif _is_number(column.type):
            into.add(name, _numbers(name, column))
        else:
            into.texts[name] = tuple(map(str, column.to_pylist()))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind))


def _rows(name: str, column: Any) -> tuple[Array, Array]:
    """Returns the numbers of a column of lists one after another, and how long each list is."""
    import pyarrow.compute

    require(not column.null_count, f"{unquoted(name)}: {column.null_count} rows have no list; write an empty one.")
    flat = column.flatten()
    require(_is_number(flat.type), f"{unquoted(name)}: found {unquoted(str(column.type))}, expected lists of numbers.")
    lengths = np.asarray(pyarrow.compute.list_value_length(column)).astype(np.int64)
    return _numbers(name, flat), lengths


def _numbers(name: str, column: Any) -> Array:
    """Returns numbers; a null is NaN, and refused among whole numbers."""
    import pyarrow

    require(
        not column.null_count or pyarrow.types.is_floating(column.type),
        f"{unquoted(name)}: {column.null_count} entries are missing (null); write numbers.",
    )
    return np.asarray(column.to_numpy(zero_copy_only=False))
