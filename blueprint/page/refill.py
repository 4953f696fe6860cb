"""Refilling: the parts of a written workbook with other values in some of its cells, and nothing else of it written anew."""

import re
from collections.abc import Iterator, Mapping
from copy import copy
from html import unescape
from typing import NamedTuple
from xml.sax.saxutils import escape

from blueprint.page import formula_parts
from blueprint.page.grid import unquoted
from blueprint.page.parse_cell import ERRORS
from blueprint.page.plain_sheet import Unknown

Value = float | str
At = tuple[int, int]
"""Row and column, counted from 1."""

_CELL = re.compile(
    r'<c r="(?P<at>[A-Z]+\d+)"(?P<look>(?: s="\d+")?)(?: t="\w+")?(?:/>|>(?P<formula><f>[^<]*</f>)?'
    r"(?:<v>(?P<value>[^<]*)</v>)?</c>)"
)
_STRING = re.compile(r"<si><t(?: xml:space=\"preserve\")?>[^<]*</t></si>")
_CONTROL = re.compile(r"[\0-\x1f\x7f]|_x[0-9A-Fa-f]{4}_")
_CACHE = re.compile(r"<c:f>(?P<range>[^<]*)</c:f><c:(?P<kind>num|str)Cache>.*?</c:(?P=kind)Cache>")
_BETWEEN = re.compile(r"(?<=\d),")
"""Between two ranges of a series, on one sheet."""
_SIDE = re.compile(r'(?:<c:dLblPos val="\w+"/>)?(<c:showSerName val="1"/>)')
_POINT = re.compile(r'(?P<head><c:pt idx="(?P<number>\d+)"><c:v>)[^<]*')


class Unlike(ValueError):
    """Reports that a workbook cannot be had from another one by other values alone, and where."""


class Written(NamedTuple):
    """A cell as it is written: its look, and its formula, both with their signs of the format."""

    look: str
    formula: str


class Strings:
    """The table of all texts; one that is used no longer gives its place to the next new one, so that no other copy's is left."""

    def __init__(self, part: str):
        self.head, _, _ = part.partition("<si>")
        self.items = _STRING.findall(part)
        if len(self.items) != part.count("<si>"):
            raise Unlike("a text of several pieces")
        self.places = {item: i for i, item in enumerate(self.items)}
        self.used = [0] * len(self.items)
        self.free: list[int] = []

    def copy(self) -> "Strings":
        """Returns a table that can be changed by itself."""
        made = copy(self)
        made.items, made.places, made.used, made.free = [*self.items], {**self.places}, [*self.used], []
        return made

    def leave(self, place: int) -> None:
        """Notes that a cell uses a text no longer."""
        self.used[place] -= 1
        if not self.used[place]:
            del self.places[self.items[place]]
            self.items[place] = "<si><t></t></si>"
            self.free.append(place)

    def take(self, text: str) -> int:
        """Returns the place of a text, a new one where there is none."""
        item = _string(text)
        if item not in self.places:
            if not self.free:
                self.items.append(item)
                self.used.append(0)
            place = self.places[item] = self.free.pop() if self.free else len(self.items) - 1
            self.items[place] = item
        self.used[self.places[item]] += 1
        return self.places[item]

    def written(self) -> str:
        """Returns the part of the file."""
        head = re.sub(r'uniqueCount="\d+"', f'uniqueCount="{len(self.items)}"', self.head)
        return f"{head}{''.join(self.items)}</sst>"


def _string(text: str) -> str:
    """Returns a text as the table has it."""
    if _CONTROL.search(text):
        raise Unlike(f"the text {text!r}, which no cell takes as it is")
    kept = ' xml:space="preserve"' * (text != text.strip())
    return f"<si><t{kept}>{escape(text)}</t></si>"


class Page:
    """One sheet, cut into its cells and what stands between them."""

    def __init__(self, part: str, strings: Strings):
        self.pieces: list[str] = []
        self.places: dict[At, int] = {}
        self.cells: dict[At, Written] = {}
        self.texts: dict[At, int] = {}
        end = 0
        for found in _CELL.finditer(part):
            row, column = formula_parts.cell_at(found["at"])
            self.pieces += part[end : found.start()], found[0]
            self.places[row, column] = len(self.pieces) - 1
            self.cells[row, column] = Written(f'<c r="{found["at"]}"{found["look"]}', found["formula"] or "")
            if ' t="s"' in found[0][: found[0].index(">")]:
                self.texts[row, column] = int(found["value"])
                strings.used[int(found["value"])] += 1
            end = found.end()
        self.pieces.append(part[end:])

    def leave(self, values: Mapping[At, Value], strings: Strings) -> None:
        """Notes that cells that get other values no longer use their texts."""
        for at in values.keys() & self.texts.keys():
            strings.leave(self.texts[at])

    def with_values(self, values: Mapping[At, Value], strings: Strings) -> str:
        """Returns the part with other values in some cells."""
        pieces = [*self.pieces]
        for at, value in values.items():
            pieces[self.places[at]] = cell(self.cells[at], value, strings)
        return "".join(pieces)


def cell(written: Written, value: Value, strings: Strings) -> str:
    """Returns a cell with its value, as the writer of the format writes it."""
    look, formula = written
    if isinstance(value, Unknown):
        return f"{look}>{formula}</c>" if formula else f"{look}/>"
    if formula:
        kind = "" if not isinstance(value, str) or value == "" else ' t="e"' if value in ERRORS else ' t="str"'
        return f"{look}{kind}>{formula}<v>{escape(value) if isinstance(value, str) else value}</v></c>"
    if value == "" or value != value:
        return f"{look}/>"
    if isinstance(value, str):
        return f'{look} t="s"><v>{strings.take(value)}</v></c>'
    return f"{look}><v>{value:.16G}</v></c>"


def shown(written: Written, value: Value) -> str:
    """Returns a value as a chart keeps it."""
    return escape(value) if isinstance(value, str) else f"{value}" if written.formula else f"{value:.16g}"


def sheets_in(part: str) -> dict[str, str]:
    """Returns the part of each sheet by its title; the writer of the format numbers them."""
    titles = re.findall(r'<sheet name="([^"]*)"', part)
    return {unescape(title): f"xl/worksheets/sheet{number}.xml" for number, title in enumerate(titles, 1)}


def chart(part: str, values: Mapping[str, Mapping[At, str]], sides: list[str]) -> str:
    """Returns a chart that shows other values, given by sheet as they are written, without being calculated.

    sides: where the words beside its dots stand, if it has any.
    """
    order = iter(sides)
    part = _SIDE.sub(lambda found: next(order) + found[1], part)
    return _CACHE.sub(lambda found: _cache(found, values), part)


def _cache(found: re.Match[str], values: Mapping[str, Mapping[At, str]]) -> str:
    parts = [part.rpartition("!") for part in _BETWEEN.split(unescape(found["range"]).strip("()"))]
    known = values.get(unquoted(parts[0][0]), {})
    cells = [at for _, _, area in parts for at in _inside(area)] if known else []

    def point(each: re.Match[str]) -> str:
        value = known.get(cells[int(each["number"])])
        return each[0] if value is None else each["head"] + value

    return _POINT.sub(point, found[0]) if known else found[0]


def _inside(area: str) -> Iterator[At]:
    first, _, last = area.replace("$", "").partition(":")
    (top, left), (bottom, right) = formula_parts.cell_at(first), formula_parts.cell_at(last or first)
    return ((row, column) for row in range(top, bottom + 1) for column in range(left, right + 1))
