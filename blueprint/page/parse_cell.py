"""Cells of somebody else's file: numbers, or text that can mean one number only; and the parts of a formula.

Two spellings of one formula, as programs respell them when they save, have the same parts. Programs write _xlfn. or not,
TRUE() or TRUE, 1E-9 or 0.000000001, small or capital letters, blanks, signs $, quotes around the names of sheets, and the
name of the formula's own sheet. All that is left out here, and nothing else.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, time, timedelta
from functools import lru_cache
from math import inf, isfinite, nan

from blueprint.page import grid
from blueprint.page.grid import Address
from blueprint.quoting import quoted

ERRORS = frozenset({
    "#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NULL!", "#NAME?", "#SPILL!", "#CALC!", "#ERROR!", "#GETTING_DATA",
    "#CIRC!", "#N/IMPL!",
})  # fmt: skip
"""What cells show instead of a value, in Excel, LibreOffice, Google Sheets and the embedded engine."""

_NUMBERED_ERROR = re.compile("Err:[0-9]{3}")
"""As LibreOffice calls what it has no other name for: Err:502."""
_MINUS = str.maketrans({"−": "-", "﹣": "-", "－": "-"})
_NUMBER = r"[+-]?(?P<whole>[0-9]*)(?:(?P<point>[.,])(?P<rest>[0-9]*))?(?:[eE][+-]?[0-9]{1,4})?"
_GROUPED = r"[+-]?[0-9]{1,3}(?:(?P<mark>[.,' \u00a0\u202f])[0-9]{3})(?:(?P=mark)[0-9]{3})*(?:[.,][0-9]+)?"


class NoNumber(ValueError):
    """What stands in a cell is no number, or no word; says what was found and what to write."""


def is_error(value: object) -> bool:
    """Says whether a cell shows an error instead of a value."""
    return isinstance(value, str) and (value.upper() in ERRORS or _NUMBERED_ERROR.fullmatch(value) is not None)


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


Locate = Callable[[Address], Address | None]
"""Says where a cell stands elsewhere; None for a cell of which that is not known."""
Part = str | tuple[Address, ...]
"""A function, name, number, text or sign, or the corners of a range."""

_PARTS = re.compile(
    r"""(?P<text>"(?:[^"]|"")*")
    |(?P<area>(?:(?P<sheet>'(?:[^']|'')+'|[^\W\d][\w.]*)!)?(?P<first>\$?[A-Za-z]{1,3}\$?[0-9]{1,7})
        (?::(?P<last>\$?[A-Za-z]{1,3}\$?[0-9]{1,7}))?(?![\w.(!]))
    |(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<truth>(?:TRUE|FALSE)(?:\(\s*\))?(?![\w.(]))
    |(?P<name>'(?:[^']|'')+'!?|[^\W\d][\w.]*[(!]?)
    |(?P<left_out>[\s@]+)
    |(?P<sign><>|<=|>=|.)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
LONGEST_FORMULA = 20_000
"""Letters; a formula may have 8,192, in a program's own spelling perhaps some more."""
_NEWER = re.compile(r"^(?:_xlfn\.)?(?:_xlws\.)?(?:of:)?")
_BEFORE_A_SIGN = {"(", ",", "=", "<", ">", "<=", ">=", "<>", "+", "-", "*", "/", "&", "^", ";", "{"}


def same_formula(written: str, at: Address, meant: str, place: Address, locate: Locate) -> bool | None:
    """Says whether a formula of a file is the one that is meant; None where that hangs on a cell that was not found.

    at, place: the cell in which each of them stands. locate: where a cell of the file would stand in a fresh one.
    """
    if len(written) > LONGEST_FORMULA:
        return False
    ours, theirs = parts_of(meant, place.sheet), parts_of(written, at.sheet)
    if len(ours) != len(theirs):
        return False
    found = [_same_part(our, their, locate) for our, their in zip(ours, theirs, strict=True)]
    return False if False in found else None if None in found else True


def _same_part(our: Part, their: Part, locate: Locate) -> bool | None:
    """Says the same of one part."""
    if isinstance(our, str) or isinstance(their, str):
        return our == their
    found = [locate(corner) for corner in their]
    if len(found) != len(our) or any(f is not None and not _is(f, o) for f, o in zip(found, our, strict=True)):
        return False
    return None if None in found else True


@lru_cache(maxsize=20_000)
def same_in_place(written: str, meant: str, sheet: str) -> bool:
    """Says the same where no cell was moved; files of one program have the same spellings, so that it is known at once."""
    at = Address(sheet, 1, 1)
    return bool(same_formula(written, at, meant, at, lambda cell: cell))


@lru_cache(maxsize=20_000)
def formula_shape(formula: str) -> tuple[str, ...]:
    """Returns a formula without the addresses that it reads, by which its row is found again."""
    parts = parts_of(formula, "") if len(formula) <= LONGEST_FORMULA else ("",)
    return tuple(part if isinstance(part, str) else "" for part in parts)


def parts_of(formula: str, sheet: str) -> tuple[Part, ...]:
    """Takes a formula on a sheet apart."""
    parts: list[Part] = []
    for match in _PARTS.finditer(formula):
        kind, text = match.lastgroup, match[0]
        if match["area"] is not None:
            parts.append(_corners(match, sheet))
        elif kind == "number":
            parts.append(repr(float(text)))
        elif kind == "truth":
            parts.append(text[: 4 if text[0] in "tT" else 5].casefold())
        elif kind == "name":
            parts.append(_NEWER.sub("", text.casefold()))
        elif kind != "left_out" and (text != "+" or (parts and parts[-1] not in _BEFORE_A_SIGN)):
            parts.append(text)  # a plus before a number says nothing
    return tuple(parts)


def respelled(formula: str, sheet: str, locate: Locate) -> str:
    """Returns a formula on a sheet as it would read where its cells stand elsewhere; those that are not found stay."""

    def moved(match: re.Match[str]) -> str:
        if match["area"] is None:
            return match[0]
        found = [locate(corner) or corner for corner in _corners(match, sheet)]
        called = f"{grid.quoted_title(found[0].sheet)}!" if match["sheet"] else ""
        fixed = [address for address in (match["first"], match["last"]) if address]
        ends = found if len(found) == len(fixed) else [*found, *found]
        return called + ":".join(_address(end, like) for end, like in zip(ends, fixed, strict=True))

    return _PARTS.sub(moved, formula).replace("_xlfn.", "")


def _corners(match: re.Match[str], sheet: str) -> tuple[Address, ...]:
    """Returns the corners of a range, of a single cell the one."""
    title = grid.unquoted_title(match["sheet"] or sheet)
    return tuple(dict.fromkeys(Address(title, *cell_at(match[end] or match["first"])) for end in ("first", "last")))


@lru_cache(maxsize=20_000)
def cell_at(address: str) -> tuple[int, int]:
    """Returns row and column, counted from 1, of an address such as AB12 or $AB$12."""
    plain = address.replace("$", "")
    letters = plain.rstrip("0123456789")
    return int(plain[len(letters) :]), grid.column_of(letters) + 1


def _address(place: Address, like: str) -> str:
    """Spells an address with the signs $ of another one."""
    return "$" * like.startswith("$") + grid.column_letters(place.column - 1) + "$" * ("$" in like[1:]) + str(place.row)


def _is(one: Address, other: Address) -> bool:
    return one.row == other.row and one.column == other.column and one.sheet.casefold() == other.sheet.casefold()
