"""Reads jsonl: one object per response, or per small batch of responses as NeMo-RL writes them.

NeMo-RL 7ea279a, nemo_rl/utils/logger.py, log_batched_dict_as_jsonl: a line per response, in which every value is a slice
of length 1: {"rewards": [0.5], "prev_logprobs": [[0.0, −1.2, …]], "content": ["…"], "idx": 3}.
The first line may be {"metadata": {…}}.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps.batch import Array, MinibatchError, Raw
from blueprint.dumps.formats.limits import LARGEST_TENSOR, LONGEST_LINE, WHOLE, check_total, from_json
from blueprint.dumps.formats.ragged import padded, row_of
from blueprint.quoting import unquoted

_NUMBER = (int, float, bool, type(None))
_TORCH = {"float64": "float64", "int64": "int64", "bool": "bool"}


def read_jsonl(path: Path) -> Raw:
    """Reads a jsonl file.

    Raises:
        MinibatchError: a line that is no JSON object, or a key that only some of the lines have.
    """
    metadata: dict[str, Any] = {}
    columns = _Columns()
    for number, line in _lines(path):
        where = f"line {number}"
        found = from_json(line, where)
        if not isinstance(found, dict):
            raise MinibatchError(f"{where}: found {type(found).__name__}, expected an object {{…}} per response.")
        if set(found) == {WHOLE} and not columns.rows and not metadata:
            if not isinstance(found[WHOLE], dict):
                raise MinibatchError(f"{where}, {WHOLE}: expected an object {{…}}.")
            metadata = found[WHOLE]
        else:
            columns.add(found, where)
    return columns.raw(metadata, path.stat().st_size)


def jsonl_metadata(path: Path) -> dict[str, Any]:
    """Returns the metadata of a jsonl file, which are its first line; no other line is read.

    Raises:
        MinibatchError: a first line that is no JSON object.
    """
    for number, line in _lines(path):
        found = from_json(line, f"line {number}")
        if not isinstance(found, dict):
            raise MinibatchError(f"line {number}: found {type(found).__name__}, expected an object {{…}} per response.")
        return found[WHOLE] if set(found) == {WHOLE} and isinstance(found[WHOLE], dict) else {}
    return {}


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines that are not empty, and their numbers from 1."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise MinibatchError(f"line {number}: longer than {LONGEST_LINE:,} bytes; write one response per line.")
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if line.strip():
                yield number, line


class _Columns:
    """What the lines hold, by name: numbers, rows of numbers, or texts."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}
        self.count = self.entries = 0

    def add(self, line: dict[str, Any], where: str) -> None:
        """Takes in what one line says."""
        for response in _responses(line):
            if self.count and response.keys() != self.rows.keys():
                odd = sorted(response.keys() ^ self.rows.keys())[0]
                which = "is new there" if odd in response else "is missing there"
                raise MinibatchError(f"{where}: the key {unquoted(odd)} {which}; every line has the same keys.")
            self.count += 1
            for name, value in response.items():
                taken = _taken(name, value, where)
                self.entries += len(taken) if isinstance(taken, np.ndarray) else 1
                self.rows.setdefault(name, []).append(taken)
            if self.entries > 10 * LARGEST_TENSOR:
                raise MinibatchError(
                    f"{where}: more than {10 * LARGEST_TENSOR:,} numbers up to here; save fewer responses."
                )

    def raw(self, metadata: dict[str, Any], size: int) -> Raw:
        """Returns everything as arrays; size: bytes of the file."""
        tensors: dict[str, Array] = {}
        lengths: dict[str, Array] = {}
        texts: dict[str, tuple[str, ...]] = {}
        for name, rows in self.rows.items():
            if all(isinstance(row, np.ndarray) for row in rows):
                tensors[name], lengths[name] = padded(name, rows, size)
            elif all(isinstance(row, _NUMBER) for row in rows):
                tensors[name] = row_of(name, rows, "this file")
            elif all(isinstance(row, str) for row in rows):
                texts[name] = tuple(rows)
            else:
                raise MinibatchError(f"{unquoted(name)}: some lines have a list there and some do not.")
            check_total(sum(array.nbytes for array in tensors.values()), size)
        return Raw(
            tensors, {name: _TORCH[array.dtype.name] for name, array in tensors.items()}, lengths, texts, metadata
        )


def _responses(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the responses of a line: several where every list has the same length and some hold lists (NeMo-RL: 1)."""
    lists = {name: value for name, value in line.items() if isinstance(value, list)}
    if len({len(value) for value in lists.values()}) == 1 and any(_nested(value) for value in lists.values()):
        for number in range(len(next(iter(lists.values())))):
            yield {name: value[number] if name in lists else value for name, value in line.items()}
    else:
        yield line


def _nested(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(each, list) for each in value)


def _taken(name: str, value: Any, where: str) -> Any:
    """Returns a row of numbers, a number, or a text; what is neither is kept as the text that JSON writes."""
    if isinstance(value, (*_NUMBER, str)):
        return value
    if isinstance(value, list) and all(isinstance(each, _NUMBER) for each in value):
        return row_of(name, value, where)
    if isinstance(value, list) and any(isinstance(each, _NUMBER) for each in value):
        return row_of(name, value, where)
    return json.dumps(value, ensure_ascii=False)
