"""Numbers in the cells of somebody else's file: as numbers, or as text that can mean one number only."""

import re
from contextlib import suppress
from datetime import date, time, timedelta
from math import inf, isfinite, nan

from blueprint.quoting import quoted

ERRORS = frozenset({
    "#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NULL!", "#NAME?", "#SPILL!", "#CALC!", "#ERROR!", "#GETTING_DATA",
    "#CIRC!", "#N/IMPL!",
})  # fmt: skip
"""What cells show instead of a value, in Excel, LibreOffice, Google Sheets and the embedded engine."""

_NUMBERED_ERROR, _DIGITS = "Err:", 3
"""As LibreOffice calls what it has no other name for: Err:502."""
_MINUS = str.maketrans({"−": "-", "﹣": "-", "－": "-"})
_NUMBER = r"[+-]?(?P<whole>[0-9]*)(?:(?P<point>[.,])(?P<rest>[0-9]*))?(?:[eE][+-]?[0-9]{1,4})?"
_GROUPED = r"[+-]?[0-9]{1,3}(?:(?P<mark>[.,' \u00a0\u202f])[0-9]{3})(?:(?P=mark)[0-9]{3})*(?:[.,][0-9]+)?"


class NoNumber(ValueError):
    """What stands in a cell is no number, or no word; says what was found and what to write."""


def is_error(value: object) -> bool:
    """Says whether a cell shows an error instead of a value."""
    return isinstance(value, str) and (value.upper() in ERRORS or _is_numbered_error(value))


def _is_numbered_error(value: str) -> bool:
    head, digits = value[: len(_NUMBERED_ERROR)], value[len(_NUMBERED_ERROR) :]
    return head == _NUMBERED_ERROR and len(digits) == _DIGITS and digits.isascii() and digits.isdigit()


def number_in(value: object) -> float:
    """Returns the number that somebody typed, as a number or as text: "0,2", " 0.2 ", "−0.2", "1e-8".

    Raises NoNumber for anything else, and for text that can mean two numbers, such as "1,234".
    """
    if isinstance(value, bool):
        raise NoNumber(f"found {str(value).upper()}, expected a number: write 1 or 0")
    if isinstance(value, int | float):
        return _finite(value)
    if isinstance(value, date | time | timedelta):
        raise NoNumber(
            f"found the date or time {value}, expected a number: format the cell as a number, and type it again"
        )
    if is_error(value):
        raise NoNumber(f"found the error {value}, expected a number: type one")
    return _from_text(str(value))


def number_or_blank(value: object, typed: bool) -> float:
    """Returns the number that a cell shows, NaN for a blank one; text is understood only where somebody typed it.

    Raises NoNumber for what is no number.
    """
    if value is None:
        return nan
    if typed:
        return number_in(value)
    if isinstance(value, bool | int | float):
        return _finite(value)
    raise NoNumber(f"found {quoted(str(value))}, expected a number")


def is_off(value: object) -> bool:
    """Says whether a limit is switched off by its word; a sheet takes capitals for small letters."""
    return isinstance(value, str) and value.casefold() == "off"


def limit_or_blank(value: object, typed: bool) -> float:
    """Returns the number that a limit shows, infinity for the word off, NaN for a blank. Raises NoNumber for anything else."""
    if is_off(value):
        return inf
    try:
        return number_or_blank(value, typed)
    except NoNumber as error:
        said = str(error)
        raise NoNumber(f"{said}, or off" if said.endswith("expected a number") else said) from error


def word_or_blank(value: object, typed: bool) -> object:
    """Returns what a cell among words shows, "" for a blank one.

    Raises NoNumber for an error, a date or a time that stands for a typed word.
    """
    if typed and is_error(value):
        raise NoNumber(f"found the error {value}, expected a word: type one")
    if typed and isinstance(value, date | time | timedelta):
        raise NoNumber(f"found the date or time {value}, expected a word: format the cell as text, and type it again")
    return "" if value is None else str(value) if isinstance(value, date | time | timedelta) else value


def _finite(value: float) -> float:
    with suppress(OverflowError):
        if isfinite(number := float(value)):
            return number
    raise NoNumber("found a number that is too large, or none: expected one below 1e+308")


def _from_text(text: str) -> float:
    bare = text.strip(" \t\r\n\u00a0\u202f\u2007\u200b\ufeff").translate(_MINUS)
    match = re.fullmatch(_NUMBER, bare)
    if match is None or not (match["whole"] or match["rest"]):
        without = ": write it without signs between thousands, such as 1234.5" * bool(re.fullmatch(_GROUPED, bare))
        raise NoNumber(f"found {quoted(text)}, expected a number{without}")
    point = bare.replace(",", ".")
    if match["point"] == "," and len(match["rest"]) == 3 and len(match["whole"]) <= 3 and match["whole"].strip("0"):
        raise NoNumber(f"found {quoted(text)}, which may mean {point} or {bare.replace(',', '')}: write one of these")
    return _finite(float(point))
