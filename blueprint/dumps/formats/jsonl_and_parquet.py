"""Reads formats of rows: jsonl, an object per response, or per small batch of responses as NeMo-RL writes them, and parquet, a row
per response, columns of numbers, texts or lists of numbers, which needs pyarrow.

NeMo-RL 7ea279a, nemo_rl/utils/logger.py, log_batched_dict_as_jsonl: a line per response, in which every value is a slice
of length 1: {"rewards": [0.5], "prev_logprobs": [[0.0, −1.2, …]], "content": ["…"], "idx": 3}.
The first line may be {"metadata": {…}}.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.formats.raw import (
    LARGEST_TENSOR,
    LONGEST_HEADER,
    WHOLE,
    Array,
    MinibatchError,
    Raw,
    check_total,
    from_json,
    from_strings,
    require,
)
from blueprint.dumps.formats.slime_and_miles import refuse_texts
from blueprint.quoting import printable, unquoted

_NUMBER = (int, float, bool, type(None))

LONGEST_LINE = 1 << 25
"""Bytes of one line of a jsonl file: ten tensors of a response of 150,000 tokens."""


def read_jsonl(path: Path, into: Raw, head_only: bool) -> None:
    """Reads a jsonl file; its head is its first line.

    Raises:
        MinibatchError: a line that is no JSON object, or a key that only some of the lines have; texts without numbers (AReaL).
    """
    lines = _Lines()
    for number, line in _lines(path):
        where = f"line {number}"
        found = from_json(line, where)
        require(
            isinstance(found, dict), f"{where}: found {type(found).__name__}, expected an object {{…}} per response."
        )
        if not head_only:
            refuse_texts(found)
        if set(found) != {WHOLE} or lines.rows or into.metadata:
            lines.add(found, where)
        else:
            require(isinstance(found[WHOLE], dict), f"{where}, {WHOLE}: expected an object {{…}}.")
            into.metadata = found[WHOLE]
        if head_only:
            lines.add_to(into)
            into.names = tuple(lines.rows)
            return
    lines.add_to(into)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines that are not empty, and their numbers from 1."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
            require(
                len(line) <= LONGEST_LINE,
                f"line {number}: longer than {LONGEST_LINE:,} bytes; write one response per line.",
            )
            if line.strip():
                yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


class _Lines:
    """What the lines hold, by name: numbers, rows of numbers, or texts."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}
        self.count = self.entries = 0

    def add(self, line: dict[str, Any], where: str) -> None:
        """Adds what one line holds."""
        for response in _responses(line):
            if self.count and response.keys() != self.rows.keys():
                odd = sorted(response.keys() ^ self.rows.keys())[0]
                which = "is new there" if odd in response else "is missing there"
                raise MinibatchError(f"{where}: the key {unquoted(odd)} {which}; every line has the same keys.")
            self.count += 1
            for name, value in response.items():
                parsed = _parsed(name, value, where)
                self.entries += len(parsed) if isinstance(parsed, np.ndarray) else 1
                self.rows.setdefault(name, []).append(parsed)
            require(
                self.entries <= 10 * LARGEST_TENSOR,
                f"{where}: more than {10 * LARGEST_TENSOR:,} numbers up to here; save fewer responses.",
            )

    def add_to(self, found: Raw) -> None:
        """Adds everything as arrays."""
        for name, rows in self.rows.items():
            if all(isinstance(row, np.ndarray) for row in rows):
                found.add_rows(name, rows)
            elif all(isinstance(row, _NUMBER) for row in rows):
                found.add(name, _row(name, rows, "this file"))
            elif all(isinstance(row, str) for row in rows):
                found.texts[name] = tuple(rows)
            else:
                raise MinibatchError(f"{unquoted(name)}: some lines have a list there and some do not.")


def _responses(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the responses of a line: several where every list has the same length and some hold lists (NeMo-RL: 1)."""
    lists = {name: value for name, value in line.items() if isinstance(value, list)}
    nested = any(value and all(isinstance(each, list) for each in value) for value in lists.values())
    if nested and len(set(map(len, lists.values()))) == 1:
        for number in range(len(next(iter(lists.values())))):
            yield {name: value[number] if name in lists else value for name, value in line.items()}
    else:
        yield line


def _parsed(name: str, value: Any, where: str) -> Any:
    """Returns a row of numbers, a number, or a text; what is neither is kept as the text that JSON writes."""
    if isinstance(value, (*_NUMBER, str)):
        return value
    if isinstance(value, list) and (not value or any(isinstance(each, _NUMBER) for each in value)):
        return _row(name, value, where)
    return json.dumps(value, ensure_ascii=False)


def _row(name: str, values: Sequence[Any], where: str) -> Array:
    """Returns one row of numbers; null is NaN.

    Raises:
        MinibatchError: something that is neither a number, true, false nor null, or a whole number beyond 64 bits.
    """
    kinds = set(map(type, values))
    for odd in (each for each in values if type(each) not in _NUMBER):
        raise MinibatchError(f"{where}, {unquoted(name)}: found {unquoted(repr(odd)[:70])} among the numbers of a row.")
    whole = np.bool_ if kinds == {bool} else np.int64
    try:
        return np.array(values, whole if kinds and kinds <= {int, bool} else np.float64)
    except OverflowError as error:
        raise MinibatchError(f"{where}, {unquoted(name)}: a whole number is larger than 64 bits hold.") from error


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

    rows = "row has" if column.null_count == 1 else "rows have"
    require(not column.null_count, f"{unquoted(name)}: {column.null_count} {rows} no list; write an empty one.")
    flat = column.flatten()
    require(_is_number(flat.type), f"{unquoted(name)}: found {unquoted(str(column.type))}, expected lists of numbers.")
    lengths = np.asarray(pyarrow.compute.list_value_length(column)).astype(np.int64)
    return _numbers(name, flat), lengths


def _numbers(name: str, column: Any) -> Array:
    """Returns numbers; a null is NaN, and refused among whole numbers."""
    import pyarrow

    entries = "entry is" if column.null_count == 1 else "entries are"
    require(
        not column.null_count or pyarrow.types.is_floating(column.type),
        f"{unquoted(name)}: {column.null_count} {entries} missing (null); write numbers.",
    )
    return np.asarray(column.to_numpy(zero_copy_only=False))
