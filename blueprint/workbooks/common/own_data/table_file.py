"""From a file of one's own to its rows: CSV, JSON or JSONL; which column is which; and which prompts are taken."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.files import content_of
from blueprint.inputs import ROWS, NumbersError, data_in, name_of, nearest, shown
from blueprint.quoting import printable, unquoted

MOST_BYTES, MOST_ROWS = 64_000_000, 100_000
"""What a file may be: more is not looked at by hand."""
ENDINGS = (".csv", ".tsv", ".json", ".jsonl")
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Table(NamedTuple):
    """What a kind says of files of one's own, in its `own_data.toml`.

    data: what sentences call them, such as rollouts. row: what a row is written for. some: which rows are to be kept of too many.
    needed: what no file may lack, and by which columns it is told; a file that has all columns of `instead` lacks nothing.
    columns: by what is looked for the names of its column; of several that a file has, the first one counts.
    """

    data: str
    row: str
    some: str
    needed: Mapping[str, Sequence[str]]
    columns: Mapping[str, Sequence[str]]
    instead: Sequence[str] = ()


def table_beside(module: str) -> Table:
    """Reads the table of a kind, from `own_data.toml` beside its module."""
    return Table(**data_in(Path(module).with_suffix(".toml")))


class Record(NamedTuple):
    """A row: where it stands, as a sentence says it, and what stands in it by column."""

    where: str
    cells: dict[str, Any]


class Own(NamedTuple):
    """A file of one's own: its path and name, its rows, and by what is looked for the name of its column."""

    path: Path
    name: str
    table: Table
    rows: list[Record]
    names: dict[str, str]

    @property
    def said(self) -> list[str]:
        """Which column was taken for what, where its name is another."""
        others = [f"{what} = {unquoted(name)}" for what, name in self.names.items() if what != name]
        return [f"columns: {', '.join(others)}"] if others else []

    def chosen(self, asked: str | None, most: int) -> list[Record]:
        """Takes the rows that are asked for, such as 1-3,7; without that, all.

        Raises:
            NumbersError: if there is no such row, or there are too many.
        """
        numbers = range(1, 1 + len(self.rows)) if asked is None else asked_for(asked, len(self.rows))
        if len(numbers) > most:
            found, few = f"{len(numbers):,} {self.table.data}", choose(list(numbers)[:most])
            raise NumbersError(f"{self.name}: {found}, but a workbook shows up to {most}: {few}.")
        return [self.rows[number - 1] for number in numbers]

    def head(self, level: str, about: str) -> dict[str, Any]:
        """Begins the tables of a numbers file."""
        return {"level": level, "title": name_of(self.path), "about": about[:255]}


def own_file(path: Path, told: Sequence[str], table: Table) -> Own:
    """Reads a file. told: which column is which, `what=column`, where it is called by none of its usual names.

    Raises:
        NumbersError: if it cannot be read, there is no such column, or what is needed is not among them.
    """
    name, records = printable(path.name), records_in(path, table)
    columns = some_cells(records)
    names = named_in(columns, table.columns)
    for each in told:
        what, column = told_in(each, table.columns)
        check_there(column, columns, each, name)
        names[what] = column
    if not table.instead or not set(table.instead) <= names.keys():
        check_needed(names, table.needed, columns, name)
    return Own(path, name, table, records, {what: names[what] for what in table.columns if what in names})


def records_in(path: Path, spoken: Table) -> list[Record]:
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


def _text(path: Path, spoken: Table) -> str:
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


def _once(where: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object of JSON, whose keys must differ: of two that are alike nobody knows which one is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise NumbersError(f"{where}: the key {printable(twice)} stands there twice; keep one.")
    return found


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=partial(_once, where))
    except NumbersError:
        raise
    except RecursionError:
        raise NumbersError(f"{where}: lists are nested too deeply; a list of numbers is enough.") from None
    except ValueError as error:
        raise NumbersError(f'{where}: this is not JSON ({printable(str(error))}); a row is {{"prompt": …}}.') from None


def _record(found: Any, where: str) -> Record:
    """Returns a row. A cell of NaN is empty: so a DataFrame has a text that is missing."""
    if not isinstance(found, dict):
        raise NumbersError(f'{where}: found {shown(found)}, expected an object such as {{"prompt": "2 + 2", …}}.')
    return Record(where, {str(key): None if value != value else value for key, value in found.items()})


def _of_csv(text: str, name: str) -> Iterator[Record]:
    """Reads a table whose first line names the columns; what separates them is the commonest of comma, semicolon and tab there."""
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    try:
        columns = [each.strip() for each in next(reader, [])]
        if twice := next((each for each in columns if each and columns.count(each) > 1), None):
            raise NumbersError(
                f"{name}: found two columns called {unquoted(twice)}; give each column a name of its own."
            )
        for row in reader:
            where = f"{name}, line {reader.line_num}"
            if not any(row):
                continue
            if len(row) != len(columns):
                raise NumbersError(f"{where}: found {len(row)} cells, expected {len(columns)}, one for each column.")
            yield Record(where, dict(zip(columns, row, strict=True)))
    except csv.Error as error:
        raise NumbersError(f"{name}, line {reader.line_num}: this is not CSV ({printable(str(error))}).") from None


def some_cells(records: Iterable[Record]) -> list[Any]:
    """Lists the names of all columns, in the order in which they appear."""
    return list(dict.fromkeys(name for record in records for name in record.cells))


def named_in(found: Sequence[str], called: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Returns by what is looked for the name of its column, of those that a file has; capitals, blanks and dashes do not matter."""
    by_name = {_plain(each): each for each in reversed(found)}
    return {what: by_name[name] for what, several in called.items() for name in reversed(several) if name in by_name}


def _plain(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().casefold())


def told_in(each: str, called: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Reads `what=column`. Raises NumbersError where nothing is looked for by that name."""
    what, equals, column = (part.strip() for part in each.partition("="))
    if not equals or what not in called:
        raise NumbersError(f"--column {unquoted(each)}: write what=column, where what is one of {', '.join(called)}.")
    return what, column


def check_there(one: str, found: Sequence[str], each: str, name: str) -> None:
    """Checks that a file has a column that somebody named. Raises NumbersError, with the nearest name."""
    if one not in found:
        meant = nearest(one, list(found))
        there = f"did you mean {unquoted(meant)}?" if meant else f"there are {_listed(found)}."
        raise NumbersError(f"--column {unquoted(each)}: {name} has no column {unquoted(one)}; {there}")


def check_needed(names: Iterable[str], needed: Mapping[str, Sequence[str]], found: Sequence[str], name: str) -> None:
    """Checks that nothing is missing. needed: what no file may lack, and by which columns it is told. Raises NumbersError."""
    for what, ways in needed.items():
        if not set(ways) & set(names):
            columns = f" ({_listed(found)})" if found else ", since no row has any"
            raise NumbersError(
                f"{name}: no column is called as a {what} is{columns}; "
                f"call one {what}, or say which one is: --column {what}=NAME."
            )


def _listed(names: Sequence[str]) -> str:
    some = [unquoted(each, 20) for each in names[:12]]
    return ", ".join(some) + (", …" if len(names) > 12 else "")


SHOWN = 72
"""Letters of a prompt that stand above its responses."""


def choose(numbers: Iterable[int]) -> str:
    """Says how some prompts are chosen, by their numbers."""
    some = list(numbers)[: ROWS[1]]
    runs = f"{some[0]}-{some[-1]}" if len(some) > 2 and some == list(range(some[0], some[-1] + 1)) else ""
    return f"choose them, such as --prompts {runs or ','.join(map(str, some[:12]))}"


def asked_for(asked: str, last: int) -> list[int]:
    """Reads 1-3,7. Raises NumbersError for what is none, and for prompts that there are not."""
    found: list[int] = []
    for part in asked.split(","):
        begin, _, end = part.strip().partition("-")
        ends = [each.strip() for each in (begin, end or begin)]
        if not all(each.isdecimal() and len(each) < 7 and 1 <= int(each) <= last for each in ends):
            raise NumbersError(f"--prompts {unquoted(asked)}: write numbers from 1 to {last}, such as 1-3 or 1,2.")
        found += range(int(ends[0]), int(ends[1]) + 1)
    if not found or len(set(found)) < len(found):
        raise NumbersError(
            f"--prompts {unquoted(asked)}: write each number once, the smaller one first, such as 1-3,7."
        )
    return found


def heading(prompt: str) -> tuple[str, bool]:
    """Returns a prompt as it stands above its responses, and whether it was cut."""
    return (prompt, False) if len(prompt) <= SHOWN else (prompt[: SHOWN - 1] + "…", True)
