"""A series: copies of one workbook that differ in what is typed, each written in a fraction of the time of the first.

The first is written in full. Of every other one only the values are computed, and put into the parts of the first, after
its cells were compared: they have the same places, formulas and looks; formulas that are known are not spelled again. Widths
and heights stay those of the first.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from html import unescape
from io import BytesIO
from itertools import product, zip_longest
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar
from xml.sax.saxutils import escape

from blueprint.files import saved_whole
from blueprint.language import Block
from blueprint.page import blanks, cells, charts, contents, formulas, parse_cell, sheet_setup, sizes
from blueprint.page.blanks import Place
from blueprint.page.grid import unquoted_title
from blueprint.page.layout import Layout
from blueprint.page.parse_cell import ERRORS
from blueprint.page.write import Unknown, archive_of, new_ruler, write

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

    def copy(self) -> Strings:
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
            row, column = parse_cell.cell_at(found["at"])
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
            pieces[self.places[at]] = refilled_cell(self.cells[at], value, strings)
        return "".join(pieces)


def refilled_cell(written: Written, value: Value, strings: Strings) -> str:
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


def shown_in_chart(written: Written, value: Value) -> str:
    """Returns a value as a chart keeps it."""
    return escape(value) if isinstance(value, str) else f"{value}" if written.formula else f"{value:.16g}"


def sheets_in(part: str) -> dict[str, str]:
    """Returns the part of each sheet by its title; the writer of the format numbers them."""
    titles = re.findall(r'<sheet name="([^"]*)"', part)
    return {unescape(title): f"xl/worksheets/sheet{number}.xml" for number, title in enumerate(titles, 1)}


def refilled_chart(part: str, values: Mapping[str, Mapping[At, str]], sides: list[str]) -> str:
    """Returns a chart that shows other values, given by sheet as they are written, without being calculated.

    sides: where the words beside its dots stand, if it has any.
    """
    order = iter(sides)
    part = _SIDE.sub(lambda found: next(order) + found[1], part)
    return _CACHE.sub(lambda found: _cache(found, values), part)


def _cache(found: re.Match[str], values: Mapping[str, Mapping[At, str]]) -> str:
    parts = [part.rpartition("!") for part in _BETWEEN.split(unescape(found["range"]).strip("()"))]
    known = values.get(unquoted_title(parts[0][0]), {})
    cells = [at for _, _, area in parts for at in _inside(area)] if known else []

    def point(each: re.Match[str]) -> str:
        value = known.get(cells[int(each["number"])])
        return each[0] if value is None else each["head"] + value

    return _POINT.sub(point, found[0]) if known else found[0]


def _inside(area: str) -> Iterator[At]:
    first, _, last = area.replace("$", "").partition(":")
    (top, left), (bottom, right) = parse_cell.cell_at(first), parse_cell.cell_at(last or first)
    return ((row, column) for row in range(top, bottom + 1) for column in range(left, right + 1))


T = TypeVar("T")


def refilled(layout: Layout, first: Layout) -> Layout:
    """Gives a layout the formulas of a first one where its equations are the same, and its own values. Raises Unlike."""
    _same("numbers that ended", bool(layout.values.ended or first.values.ended), False)
    _same("places", _places(layout), _places(first))
    _same("what is said of rows", _said(layout), _said(first))
    if (
        layout.values.held
        or first.values.held
        or any(one is not other for one, other in zip(layout.places, first.places, strict=True))
    ):
        formulas.watch_of(layout)
        return layout
    layout.runs = [*_runs(layout, first)]
    layout.watch, layout.hangs = _watch(layout, first), first.hangs
    return layout


def changes(first: Layout, layout: Layout) -> Iterator[tuple[Place, Value]]:
    """Yields every cell that has another value than in the first layout. Raises Unlike where more than that differs."""
    waits = blanks.waiting_cells(first)
    _same("cells that wait", waits, blanks.waiting_cells(layout))
    one, other = formulas.watch_of(first), formulas.watch_of(layout)
    for before, after in _pairs((*first.labels, *one.labels), (*layout.labels, *other.labels)):
        _same("a text", (before.at, before.style), (after.at, after.style))
        if before.text != after.text:
            _same("an equation", "equation" in after.style, False)
            yield after.at, after.text
    for was, run in _pairs(cells.runs(first), cells.runs(layout)):
        yield from _changed(was, run, waits, layout.roles[run.block] == first.roles[was.block])
    for then, now in _pairs((*first.lives, *one.lives), (*layout.lives, *other.lives)):
        _same("a formula", (then.at, then.formula, then.style), (now.at, now.formula, now.style))
        if then.value != now.value and now.at not in waits:
            yield now.at, now.value
    _same("links", _links(first), _links(layout))


def _links(layout: Layout) -> list[tuple[object, ...]]:
    return [
        (link.at, link.target if isinstance(link.target, str) else link.target.name, link.text, link.style)
        for link in layout.links
    ]


def _changed(was: cells.Run, run: cells.Run, waits: frozenset[Place], same_role: bool) -> Iterator[tuple[Place, Value]]:
    if run.block is not was.block or not same_role:
        _same("a row's look", _look(was), _look(run))
    if run.formulas is not was.formulas:
        _same("formulas", was.formulas, run.formulas)
    _same(
        "cells",
        (was.sheet, was.row, was.columns, was.blank, same_role),
        (run.sheet, run.row, run.columns, run.blank, True),
    )
    for column, before, value in zip(run.columns, was.values, run.values, strict=True):
        if before != value and not (before != before and value != value) and (run.sheet, run.row, column) not in waits:
            yield (run.sheet, run.row, column), value


def _look(run: cells.Run) -> tuple[object, ...]:
    about = run.block.about
    return run.block.name, contents.kind_of(run.block), about.decimals, about.reads, run.edge


def _pairs(first: Iterable[T], other: Iterable[T]) -> Iterator[tuple[T, T]]:
    for pair in zip_longest(first, other):
        if None in pair:
            raise Unlike("one has more cells than the other")
        yield pair


def _same(what: str, one: object, other: object) -> None:
    """Raises Unlike where two things differ."""
    if one != other:
        raise Unlike(f"{what} of one is not that of the other")


def _places(layout: Layout) -> list[tuple[object, ...]]:
    """Returns what hangs on where the blocks stand."""
    return [
        (block.name, place.sheet, place.row, place.column, *map(place.steps.get, block.axes))
        for block, place in layout.places.items()
    ]


def _said(layout: Layout) -> tuple[object, ...]:
    """Returns what is neither in a cell nor a place, and would be written: notes, what may be typed, what is left out, folds."""
    known = layout.blueprint
    limits = {block.name: ends for block, ends in known.ranges.items()}
    choices = {block.name: among.name for block, among in known.choices.items()}
    asked = [(blank.title, blank.block.name, blank.cells, blank.weight, blank.asks) for blank in known.blanks]
    said = known.title, dict(known.notes), limits, choices, asked, dict(known.left_out), [*known.facts]
    return *said, layout.folds


def _runs(layout: Layout, first: Layout) -> Iterator[cells.Run]:
    """Yields the cells of a layout, spelled as those of the first one."""
    found: dict[Block, dict[Place, int]] = {}
    for run in cells.runs(first):
        if run.block not in found:
            found[run.block] = _order(run.block, first)
        order, numbers = found[run.block], layout.values.arrays[run.block].ravel()
        values = [cells.plain(numbers[order[run.sheet, run.row, column]]) for column in run.columns]
        _same("words among numbers", *([isinstance(each, str) for each in some] for some in (run.values, values)))
        yield run if run.blank else replace(run, values=values)


def _order(block: Block, layout: Layout) -> dict[Place, int]:
    """Returns which of the numbers of a block stands in a cell."""
    place = layout.places[block]
    every = product(*layout.values.spans(block))
    return {(place.sheet, *place.cell(block, places)): i for i, places in enumerate(every)}


def _watch(layout: Layout, first: Layout) -> formulas.Watch:
    """Returns the watch of a layout, spelled as that of the first one, with the sums of its own numbers."""
    known = formulas.watch_of(first)
    values: dict[Place, Value] = {live.at: live.value for live in layout.lives}
    for run in layout.runs or ():
        values |= {(run.sheet, run.row, column): value for column, value in zip(run.columns, run.values, strict=True)}
    sums = (formulas.delivered_sum(values[live.at] for live in some) for some in known.sums)
    labels = [*formulas.fixed(layout, 0)]
    labels += [
        replace(label, text=next(sums) if label.style == "sum" else label.text) for label in known.labels[len(labels) :]
    ]
    return known._replace(labels=labels)


STRINGS, CUSTOM, CHARTS = "xl/sharedStrings.xml", "docProps/custom.xml", "xl/charts/"
_NUMBER = re.compile(r"\d+")
_FACT = re.compile(r'(name="blueprint (?P<name>[^"]*)"><vt:lpwstr>)[^<]*')


class Book(Protocol):
    """What has a layout, such as a `blueprint.Book`."""

    @property
    def layout(self) -> Layout:
        """Where everything stands, with its numbers."""


class Series:
    """Workbooks of the structure of a first one, which is written in full when the series is made."""

    def __init__(self, first: Book):
        self.first = first.layout
        with zipfile.ZipFile(BytesIO(archive_of(self.first, sheet_setup.created())[0])) as archive:
            self.entries = {entry: archive.read(entry) for entry in archive.infolist()}
            self.files = sheets_in(archive.read("xl/workbook.xml").decode())
            self.strings = Strings(archive.read(STRINGS).decode())
            self.pages = {title: Page(archive.read(part).decode(), self.strings) for title, part in self.files.items()}
        self.room = _measured(self.first)

    def save(self, path: Path | str, book: Book) -> bool:
        """Writes another workbook, whole or not at all, and says whether from the first one.

        One of another structure (its settings choose other formulas, a number became a word), or one whose numbers need
        more room, is written in full.
        """
        try:
            parts = self._parts(refilled(book.layout, self.first))
        except Unlike:
            book.layout.runs = book.layout.watch = None
            write(book.layout, Path(path))
            return False
        with saved_whole(Path(path)) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry, content in self.entries.items():
                archive.writestr(_named(entry), parts.get(entry.filename, content))
        return True

    def _parts(self, layout: Layout) -> dict[str, str]:
        """Returns the parts of a workbook that are not those of the first. Raises Unlike."""
        if any(needs > self.room.get(at, 0) for at, needs in _measured(layout).items()):
            raise Unlike("its numbers need more room")
        if charts.ranges(layout) != charts.ranges(self.first):
            raise Unlike("its charts show other cells")
        changed: dict[str, dict[At, Value]] = {}
        for (sheet, row, column), value in changes(self.first, layout):
            changed.setdefault(sheet, {})[row + 1, column + 1] = value
        strings = self.strings.copy()
        for sheet, filled in changed.items():
            self.pages[sheet].leave(filled, strings)
        parts = {self.files[sheet]: self.pages[sheet].with_values(cells, strings) for sheet, cells in changed.items()}
        shown = {
            sheet: {at: shown_in_chart(self.pages[sheet].cells[at], value) for at, value in cells.items()}
            for sheet, cells in changed.items()
        }
        for entry, content in self.entries.items():
            if entry.filename.startswith(CHARTS):
                placed = layout.charts[int(_NUMBER.findall(entry.filename)[0]) - 1]
                parts[entry.filename] = refilled_chart(content.decode(), shown, charts.sides_on(placed, layout))
            elif entry.filename == CUSTOM:
                parts[CUSTOM] = _facts(content.decode(), layout)
        return parts | {STRINGS: strings.written()}


def _measured(layout: Layout) -> dict[tuple[str, str, int], float]:
    """Returns how wide the columns and how high the rows of a layout have to be that depend on its numbers."""
    found: dict[tuple[str, str, int], float] = {}
    measure = new_ruler()
    for sheet in layout.blueprint.sheets:
        measured = sizes.Columns(sheet, layout, measure)
        heights = sizes.rows_of(sheet, layout, measured).heights
        # A column of numbers that are printed for an equation is not read itself.
        widths = measured.widths if layout.finder is None or layout.finder[0] != sheet.title else {}
        found |= {(sheet.title, "row", row): height for row, height in heights.items()}
        found |= {(sheet.title, "column", column): width for column, width in widths.items()}
    return found


def _facts(part: str, layout: Layout) -> str:
    """Returns the document properties with what this copy says of itself."""
    facts = layout.blueprint.facts
    return _FACT.sub(
        lambda found: found[1] + escape(facts[name]) if (name := unescape(found["name"])) in facts else found[0], part
    )


def _named(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(entry.filename, entry.date_time)
    made.compress_type, made.external_attr = zipfile.ZIP_DEFLATED, entry.external_attr
    return made
