"""Spell values as TOML: numbers in aligned columns, a row of a table on a line of its own."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

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
