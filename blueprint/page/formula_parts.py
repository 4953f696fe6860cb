"""The parts of a formula: two spellings of one formula, as programs respell them when they save, have the same parts.

Programs write _xlfn. or not, TRUE() or TRUE, 1E-9 or 0.000000001, small or capital letters, blanks, signs $, quotes around
the names of sheets, and the name of the formula's own sheet. All that is left out here, and nothing else.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from blueprint.page import grid
from blueprint.page.place import Address

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
LONGEST = 20_000
"""Letters; a formula may have 8,192, in a program's own spelling perhaps some more."""
_NEWER = re.compile(r"^(?:_xlfn\.)?(?:_xlws\.)?(?:of:)?")
_BEFORE_A_SIGN = {"(", ",", "=", "<", ">", "<=", ">=", "<>", "+", "-", "*", "/", "&", "^", ";", "{"}


def same(written: str, at: Address, meant: str, place: Address, locate: Locate) -> bool | None:
    """Says whether a formula of a file is the one that is meant; None where that hangs on a cell that was not found.

    at, place: the cell in which each of them stands. locate: where a cell of the file would stand in a fresh one.
    """
    if len(written) > LONGEST:
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
    return bool(same(written, at, meant, at, lambda cell: cell))


@lru_cache(maxsize=20_000)
def shape_of(formula: str) -> tuple[str, ...]:
    """Returns a formula without the addresses that it reads, by which its row is found again."""
    parts = parts_of(formula, "") if len(formula) <= LONGEST else ("",)
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


def spelled(formula: str, sheet: str, locate: Locate) -> str:
    """Returns a formula on a sheet as it would read where its cells stand elsewhere; those that are not found stay."""

    def moved(match: re.Match[str]) -> str:
        if match["area"] is None:
            return match[0]
        found = [locate(corner) or corner for corner in _corners(match, sheet)]
        called = f"{grid.quoted(found[0].sheet)}!" if match["sheet"] else ""
        fixed = [address for address in (match["first"], match["last"]) if address]
        ends = found if len(found) == len(fixed) else [*found, *found]
        return called + ":".join(_address(end, like) for end, like in zip(ends, fixed, strict=True))

    return _PARTS.sub(moved, formula).replace("_xlfn.", "")


def _corners(match: re.Match[str], sheet: str) -> tuple[Address, ...]:
    """Returns the corners of a range, of a single cell the one."""
    title = grid.unquoted(match["sheet"] or sheet)
    return tuple(dict.fromkeys(Address(title, *cell_at(match[end] or match["first"])) for end in ("first", "last")))


@lru_cache(maxsize=20_000)
def cell_at(address: str) -> tuple[int, int]:
    """Returns row and column, counted from 1, of an address such as AB12 or $AB$12."""
    plain = address.replace("$", "")
    letters = plain.rstrip("0123456789")
    return int(plain[len(letters) :]), grid.column_of(letters) + 1


def _address(place: Address, like: str) -> str:
    """Spells an address with the signs $ of another one."""
    return "$" * like.startswith("$") + grid.letters(place.column - 1) + "$" * ("$" in like[1:]) + str(place.row)


def _is(one: Address, other: Address) -> bool:
    return one.row == other.row and one.column == other.column and one.sheet.casefold() == other.sheet.casefold()
