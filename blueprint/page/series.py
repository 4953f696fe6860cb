"""A series: copies of one workbook that differ in what is typed, each written in a fraction of the time of the first.

The first is written in full. Of every other one only the values are computed, and put into the parts of the first, after
its cells were compared: they have the same places, formulas and looks. Widths and heights stay those of the first.
"""

from __future__ import annotations

import re
import zipfile
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Protocol
from xml.sax.saxutils import escape

from blueprint.page import alike, charts, columns, paper, refill, said
from blueprint.page.layout import Layout
from blueprint.page.write import archive_of, new_ruler, write
from blueprint.saving import saved_whole

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
        with zipfile.ZipFile(BytesIO(archive_of(self.first, said.created())[0])) as archive:
            self.entries = {entry: archive.read(entry) for entry in archive.infolist()}
            self.files = refill.sheets_in(archive.read("xl/workbook.xml").decode())
            self.strings = refill.Strings(archive.read(STRINGS).decode())
            self.pages = {
                title: refill.Page(archive.read(part).decode(), self.strings) for title, part in self.files.items()
            }
        self.room = _measured(self.first)

    def save(self, path: Path | str, book: Book) -> bool:
        """Writes another workbook, whole or not at all, and says whether from the first one.

        One of another structure (its settings choose other formulas, a number became a word), or one whose numbers need
        more room, is written in full.
        """
        try:
            parts = self._parts(alike.refilled(book.layout, self.first))
        except refill.Unlike:
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
            raise refill.Unlike("its numbers need more room")
        if charts.ranges(layout) != charts.ranges(self.first):
            raise refill.Unlike("its charts show other cells")
        changed: dict[str, dict[refill.At, refill.Value]] = {}
        for (sheet, row, column), value in alike.changes(self.first, layout):
            changed.setdefault(sheet, {})[row + 1, column + 1] = value
        strings = self.strings.copy()
        for sheet, cells in changed.items():
            self.pages[sheet].leave(cells, strings)
        parts = {self.files[sheet]: self.pages[sheet].with_values(cells, strings) for sheet, cells in changed.items()}
        shown = {
            sheet: {at: refill.shown(self.pages[sheet].cells[at], value) for at, value in cells.items()}
            for sheet, cells in changed.items()
        }
        for entry, content in self.entries.items():
            if entry.filename.startswith(CHARTS):
                placed = layout.charts[int(_NUMBER.findall(entry.filename)[0]) - 1]
                parts[entry.filename] = refill.chart(content.decode(), shown, charts.sides_on(placed, layout))
            elif entry.filename == CUSTOM:
                parts[CUSTOM] = _facts(content.decode(), layout)
        return parts | {STRINGS: strings.written()}


def _measured(layout: Layout) -> dict[tuple[str, str, int], float]:
    """Returns how wide the columns and how high the rows of a layout have to be that depend on its numbers."""
    found: dict[tuple[str, str, int], float] = {}
    measure = new_ruler()
    for sheet in layout.blueprint.sheets:
        measured = columns.Columns(sheet, layout, measure)
        heights = paper.rows_of(sheet, layout, measured).heights
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
