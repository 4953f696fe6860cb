"""From a file to its rows: CSV with commas, semicolons or tabs, JSON, or JSONL; each row with the place where it stands."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs import NumbersError
from blueprint.quoting import printable
from blueprint.reading import content_of

MOST_BYTES, MOST_ROWS = 64_000_000, 100_000
"""What a file may be: more is not looked at by hand."""
ENDINGS = (".csv", ".tsv", ".json", ".jsonl")
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Spoken(NamedTuple):
    """What sentences call such data: rollouts; what a row is written for; which rows are to be kept of too many."""

    data: str
    row: str
    some: str


class Record(NamedTuple):
    """A row: where it stands, as a sentence says it, and what stands in it by column."""

    where: str
    cells: dict[str, Any]


def records_in(path: Path, spoken: Spoken) -> list[Record]:
    """Returns the rows of a file. spoken: what a refusal calls them.

    Raises:
        NumbersError: if it cannot be read, is too large, holds no row, or is not what its ending says.
    """
    text, name, ending = _text(path, spoken), printable(path.name), path.suffix.lower()
    ways = {".jsonl": _of_lines, ".json": _of_json}
    found: list[Record] = []
    for record in ways.get(ending, _of_csv)(text, name):
        if len(found) == MOST_ROWS:
            raise NumbersError(f"{name}: more than {MOST_ROWS:,} rows; write the ones that a workbook is to show.")
        found.append(record)
    if not found:
        raise NumbersError(f"{name}: no row in it; write {spoken.row}.")
    return found


def _text(path: Path, spoken: Spoken) -> str:
    """Returns the text of a file. Raises NumbersError where there is none, or too much."""
    name = printable(path.name)
    if path.suffix.lower() not in ENDINGS:
        raise NumbersError(
            f"{name}: {spoken.data} are read from {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}; name it so."
        )
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise NumbersError(f"{name}: {size:,} bytes, expected at most {MOST_BYTES:,}; keep {spoken.some}.")
        data = content_of(path)
    except OSError as error:
        raise NumbersError(f"{name}: the file cannot be read ({error.strerror}); write the path of one.") from None
    if data.startswith(UTF16):
        raise NumbersError(f"{name}: found UTF-16 text, expected UTF-8; save it again as UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NumbersError(f"{name}, line {line}: found bytes that are not UTF-8; save it again as UTF-8.") from None


def _of_lines(text: str, name: str) -> Iterator[Record]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{name}, line {number}"
            yield _record(_parsed(line, where), where)


def _of_json(text: str, name: str) -> Iterator[Record]:
    found = _parsed(text, name)
    for number, each in enumerate(found if isinstance(found, list) else [found], start=1):
        yield _record(each, f"{name}, row {number}")


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise NumbersError(f"{where}: lists are nested too deeply; a list of numbers is enough.") from None
    except ValueError as error:
        raise NumbersError(f'{where}: this is not JSON ({printable(str(error))}); a row is {{"prompt": …}}.') from None


def _record(found: Any, where: str) -> Record:
    if not isinstance(found, dict):
        raise NumbersError(
            f'{where}: found {type(found).__name__}, expected an object such as {{"prompt": "2 + 2", …}}.'
        )
    return Record(where, {str(key): value for key, value in found.items()})


def _of_csv(text: str, name: str) -> Iterator[Record]:
    """Reads a table whose first line names the columns; what separates them is the commonest of comma, semicolon and tab there."""
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    try:
        columns = [each.strip() for each in next(reader, [])]
        for row in reader:
            where = f"{name}, line {reader.line_num}"
            if not any(row):
                continue
            if len(row) != len(columns):
                raise NumbersError(f"{where}: found {len(row)} cells, expected {len(columns)}, one for each column.")
            yield Record(where, dict(zip(columns, row, strict=True)))
    except csv.Error as error:
        raise NumbersError(f"{name}, line {reader.line_num}: this is not CSV ({printable(str(error))}).") from None
