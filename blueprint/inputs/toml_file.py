"""Numbers files as TOML: how values are spelled, and how a file is read, built in or the user's own."""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from blueprint.files import content_of
from blueprint.inputs.errors import NumbersError, name_of, nearest, suggestion
from blueprint.inputs.overrides import overridden, plain, write_key
from blueprint.quoting import printable, unquoted
from blueprint.scenarios import PREFIX, scenarios
from blueprint.workbooks.registry import built_in_file, kinds

_INDENT = "    "
_MOST_DECIMALS = 6  # numbers with more are aligned to the right, and get no zeros behind them
_LONGEST_ON_ONE_LINE, _LONGEST = 86, 116


def spelled(value: Any, whole: bool = False, remarks: Sequence[str] = ()) -> list[str]:
    """Return the lines of a value: one for a word, a number or a short list; a row each for a list of lists.

    whole: these are whole numbers, written without a decimal point. remarks: a comment for each row.
    """
    if not _is_list(value):
        return [scalar(value, whole)]
    if any(map(_is_list, value)):
        return ["[", *_remarked(list(_rows(value, _column(value, whole), _INDENT)), remarks), "]"]
    words = [scalar(each, whole) for each in value]
    line = f"[{', '.join(words)}]"
    return [line] if len(line) <= _LONGEST_ON_ONE_LINE else ["[", *_filled(words), "]"]


def scalar(value: str | float, whole: bool = False) -> str:
    """Spell a word in quotes, or a number with all the digits that a spreadsheet stores."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if whole or isinstance(value, int):
        return str(int(value))
    text = f"{value:.15g}"
    return text if set(text) & set(".en") else f"{text}.0"


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _rows(rows: Sequence[Any], spell: Callable[[Any], str], indent: str) -> Iterator[str]:
    for row in rows:
        if any(map(_is_list, row)):
            yield f"{indent}["
            yield from _rows(row, spell, indent + _INDENT)
            yield f"{indent}],"
        else:
            yield f"{indent}[{', '.join(map(spell, row))}],"


def _column(rows: Sequence[Any], whole: bool) -> Callable[[Any], str]:
    """Return what spells the numbers of a table so that their points stand below each other."""
    texts = [scalar(each, whole) for each in leaves(rows) if not isinstance(each, str)]
    decimals = max((len(text.partition(".")[2]) for text in texts), default=0)
    if decimals > _MOST_DECIMALS or any("e" in text for text in texts):
        decimals = 0
    width = max((len(_with_zeros(text, decimals)) for text in texts), default=0)
    return lambda each: (
        scalar(each) if isinstance(each, str) else _with_zeros(scalar(each, whole), decimals).rjust(width)
    )


def _with_zeros(text: str, decimals: int) -> str:
    before, point, after = text.partition(".")
    return f"{before}.{after:0<{decimals}}" if point and decimals else text


def leaves(value: Any) -> list[Any]:
    """Return what stands in nested lists."""
    return [leaf for each in value for leaf in leaves(each)] if _is_list(value) else [value]


def _remarked(rows: list[str], remarks: Sequence[str]) -> list[str]:
    """Put a remark behind every row, below each other."""
    width = max(map(len, rows), default=0)
    return [f"{row:<{width}}  # {remark}" for row, remark in zip(rows, remarks, strict=True)] if remarks else rows


def _filled(words: list[str]) -> list[str]:
    """Fill lines with words."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > _LONGEST:
            lines.append("")
        lines[-1] += f" {word}," if lines[-1] else f"{_INDENT}{word},"
    return lines


_LOOKED_AT = 2000
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Source:
    """Hold a file's tables as they were read, and whether the file is one of the built-in ones; `origin`: where they are from."""

    name: str
    built_in: bool
    raw: dict[str, Any]
    origin: str


def names() -> list[tuple[str, str]]:
    """List the built-in sets of numbers, the default first, each with its sentence."""
    return [(name, read(name).raw["about"]) for name in _built_in()]


def _built_in() -> list[str]:
    return sorted((name for kind in kinds() for name in kind.built_in()), key=lambda name: (name != "default", name))


def read(source: str | PathLike[str]) -> Source:
    """Read the tables of a built-in name, of a scenario, or of a path that ends in .toml.

    Raises:
        NumbersError: if there is no such name or file, or it is not UTF-8, or not TOML.
    """
    label = fspath(source)
    if label.startswith(PREFIX):
        return _of_scenario(label)
    if file := built_in_file(label):
        return Source(label, True, _parsed(file, label), f"{label} (built in)")
    if not label.lower().endswith(".toml"):
        hint = _way_of(label) or suggestion(nearest(label, _built_in()), _built_in())
        raise NumbersError(f"{printable(label)}: neither a built-in set of numbers nor a path ending in .toml, {hint}")
    path = Path(label)
    return Source(name_of(path), False, _parsed(path, printable(label)), printable(path.name))


def _way_of(label: str) -> str:
    """Says how a file of another kind becomes numbers; "" of what is none."""
    name, ending = printable(label), Path(label).suffix.lower()
    if ending in (".csv", ".tsv", ".json", ".jsonl"):
        return f"write blueprint numbers {name} --kind grpo -o mine.toml first, with the kind of your rows."
    if ending == ".xlsx":
        return f"write blueprint numbers {name} -o mine.toml first, or blueprint rebuild {name}."
    if ending in (".npz", ".safetensors", ".pt", ".parquet"):
        return f"write blueprint import {name}, which makes a workbook of a training step."
    return ""


def _of_scenario(label: str) -> Source:
    """Read the tables of a scenario: those of its built-in numbers, with what it changes.

    Raises:
        NumbersError: if there is none of that name, or if it is no change of built-in numbers.
    """
    known = {PREFIX + name: each for name, each in scenarios().items()}
    if label not in known:
        hint = suggestion(nearest(label, list(known)), list(known))
        raise NumbersError(f"{printable(label)}: there is no scenario of that name, {hint}")
    found = known[label]
    if not found.numbers:
        lines = f"docs/scenarios/{found.name}.md has the lines that make its workbook"
        raise NumbersError(f"{label}: no change of built-in numbers; {lines}.")
    raw = read(found.numbers).raw
    overridden(raw, found.set)
    return Source(label, False, raw | {"title": found.asks}, f"{label} ({found.numbers}, changed)")


def source_of(text: str, path: Path) -> Source:
    """Read the tables of a text that stands in another kind of file, such as a workbook or the key of a class.

    Raises:
        NumbersError: if it is not TOML.
    """
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise NumbersError(
            f"the numbers in {printable(path.name)} are not TOML ({unquoted(error, 120)}): write it anew."
        ) from None
    return Source(name_of(path), False, tables, printable(path.name))


def tables_of(tables: Mapping[str, Any]) -> Source:
    """Take tables as a program has them: dicts in dicts, dotted keys where one likes, lists or arrays of numbers.

    Raises:
        NumbersError: if something is no number, word, list or table.
    """
    raw: dict[str, Any] = {}
    for key, value in tables.items():
        write_key(raw, str(key), plain(str(key), value))
    return Source("mine", False, raw, "given as tables")


_UNREADABLE: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such file; write the path of a TOML file",
    IsADirectoryError: "this is a folder; write the path of a TOML file in it",
}


def _parsed(path: Path, label: str) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        NumbersError: with where and why it is none, and what to do.
    """
    try:
        data = content_of(path)
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte in it
        reason = error.strerror if isinstance(error, OSError) else error
        raise NumbersError(f"{label}: {_UNREADABLE.get(type(error), f'the file cannot be read ({reason})')}.") from None
    if _is_utf16(data):
        raise NumbersError(
            f"{label}: found UTF-16 text, expected UTF-8; save it again as UTF-8 (PowerShell: write it with -o, not with >)."
        )
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        why = f", line {line}: found bytes that are not UTF-8; save it again as UTF-8."
    except tomllib.TOMLDecodeError as error:  # its message ends in the place: Invalid value (at line 3, column 5)
        reason, _, place = str(error).rpartition(" (at ")
        twice, otherwise = "write each key and table once", "text stands in quotes, a list in [ ] with commas"
        advice = twice if reason.startswith("Cannot") else otherwise
        why = f", {place.rstrip(')')}: this is not TOML ({printable(reason)}); {advice}."
    except RecursionError:
        why = ": the lists are nested too deeply; two levels are enough."
    except ValueError:  # a whole number of thousands of digits
        why = ": a number has too many digits; 15 are enough."
    raise NumbersError(label + why)


def _is_utf16(data: bytes) -> bool:
    """Tell UTF-16 by its mark or, without one, by what it makes of plain letters: of every two bytes one is 0."""
    halves = data[:_LOOKED_AT:2], data[1:_LOOKED_AT:2]
    return data.startswith(_UTF16_MARKS) or any(half.count(0) > len(half) / 2 for half in halves)
