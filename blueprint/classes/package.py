"""A workbook as an archive of parts, of which only those are unpacked that are asked for: a class is read in seconds.

Nothing of it is believed before it is counted: files of students may hold anything.
"""

import posixpath
import re
import zipfile
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, fromstring

from blueprint.page import archive, grid
from blueprint.page.archive import ReadError, require
from blueprint.quoting import quoted

LARGEST_PART = 8_000_000
"""Bytes of one part that is taken apart, which makes at most some 200 MB of it; those of the first workbook have 0.3 million."""
MOST_CELLS = 100_000
"""Cells of a range that is gone through."""
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")
_BETWEEN = re.compile(r",(?=(?:[^']*'[^']*')*[^']*$)")
"""A comma between ranges, none within the quotes around a sheet's name."""
_FORMULA = re.compile(rb"<(?:\w+:)?f\b[^<>]*>([^<]*)<")
_REACHES_OUT = re.compile(rb"\w\s*\|[^|]*!|\bDDE\s*\(", re.IGNORECASE)
"""What asks another program for something, such as cmd|'/c calc'!A1, outside of the words of a formula."""
_WORDS = re.compile(rb'"[^"]*"|&quot;.*?&quot;')
LONGEST_NAME = 8_192
"""Letters of what a defined name stands for, as of a formula."""


class Shown(NamedTuple):
    """What a cell shows, and its formula without the sign =; a formula that was saved without its value shows None."""

    value: float | str | bool | None
    formula: str | None = None


class Area(NamedTuple):
    """A rectangle of cells on a sheet; row and column are those of its first cell, counted from 0."""

    sheet: str
    row: int
    column: int
    rows: int
    columns: int

    def cells(self) -> list[tuple[str, int, int]]:
        """Returns sheet, row and column of its cells, row by row. Raises ReadError for more than a blank may have."""
        require(self.rows * self.columns <= MOST_CELLS, "a name of the file spans more cells than a blank has")
        columns = range(self.column, self.column + self.columns)
        return [(self.sheet, row, column) for row in range(self.row, self.row + self.rows) for column in columns]


class Package:
    """A file. Raises ReadError, in a sentence, here and wherever a part is read."""

    def __init__(self, path: Path):
        self.path = path
        archive.check_file(path)
        with archive.refusing(path):
            self._zip = zipfile.ZipFile(path)
        archive.check_sizes(self._zip.infolist(), path)

    def close(self) -> None:
        """Lets go of the file."""
        self._zip.close()

    def refuse_hostile(self) -> None:
        """Refuses what a worksheet never holds: macros, links to other files, and formulas that call other programs."""
        names = [name.lower() for name in self._zip.namelist()]
        require(
            not any(name.endswith("vbaproject.bin") for name in names),
            "the file holds macros, which are never read: save it as a plain .xlsx workbook",
        )
        require(
            not any(name.startswith("xl/externallinks/") for name in names),
            "the file reads other files (external links): type numbers or formulas of this workbook only",
        )
        for name in self._zip.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                formulas = _FORMULA.findall(self._bytes(name).replace(b"\0", b""))
                require(
                    not any(map(_reaches_out, formulas)),
                    f"a formula in its part {quoted(name)} calls another program: take it out",
                )

    @cached_property
    def properties(self) -> dict[str, str]:
        """The document's own properties, by name."""
        root = self._root("docProps/custom.xml")
        return {str(each.get("name")): "".join(each.itertext()) for each in root} if root is not None else {}

    @cached_property
    def saved_by(self) -> tuple[str, str]:
        """Who made the file, and who saved it last, as programs note it; empty where they do not."""
        root = self._root("docProps/core.xml")
        said = {each.tag.rpartition("}")[2]: (each.text or "").strip() for each in root} if root is not None else {}
        return said.get("creator", ""), said.get("lastModifiedBy", "")

    @cached_property
    def names(self) -> dict[str, str]:
        """What each defined name of the whole workbook stands for; names are in small letters."""
        found = self._workbook.iterfind("{*}definedNames/{*}definedName")
        return {str(each.get("name")).lower(): each.text or "" for each in found if each.get("localSheetId") is None}

    @cached_property
    def sheets(self) -> dict[str, str]:
        """The part of each sheet, by its title, in order."""
        relations = self._root("xl/_rels/workbook.xml.rels")
        targets = {} if relations is None else {each.get("Id"): str(each.get("Target")) for each in relations}
        found = self._workbook.iterfind("{*}sheets/{*}sheet")
        parts = {str(each.get("name")): targets.get(each.get(_RELATION), "") for each in found}
        return {title: posixpath.normpath(posixpath.join("/xl", target))[1:] for title, target in parts.items()}

    @cached_property
    def texts(self) -> list[str]:
        """The texts that cells share."""
        root = self._root("xl/sharedStrings.xml")
        return [] if root is None else [_text(each) for each in root.iterfind("{*}si")]

    def areas(self, name: str) -> list[Area] | None:
        """Returns the ranges of a defined name; None where there is no such name, or a range of it is gone."""
        said = self.names.get(name.lower())
        found = [self._area(each) for each in _BETWEEN.split(said)] if said and len(said) <= LONGEST_NAME else []
        return [each for each in found if each] if found and all(found) else None

    def _area(self, said: str) -> Area | None:
        sheet, _, cells = said.rpartition("!")
        match = _RANGE.fullmatch(cells)
        if not match or grid.unquoted(sheet) not in self.sheets:
            return None
        left, top, right, bottom = match.groups()
        first = int(top) - 1, grid.column_of(left)
        last = (int(bottom) - 1, grid.column_of(right)) if right else first
        return Area(grid.unquoted(sheet), *first, last[0] - first[0] + 1, last[1] - first[1] + 1)

    def cells(self, sheet: str) -> dict[str, Element]:
        """Returns the cells of a sheet, by address."""
        if sheet not in self._cells:
            root = self._root(self.sheets[sheet])
            found = [] if root is None else root.iterfind("{*}sheetData/{*}row/{*}c")
            self._cells[sheet] = {str(each.get("r")): each for each in found}
        return self._cells[sheet]

    def shown(self, sheet: str, address: str) -> Shown:
        """Returns what a cell shows; a cell that is not there shows nothing."""
        cell = self.cells(sheet).get(address)
        return Shown(None) if cell is None else self._shown(cell)

    def _shown(self, cell: Element) -> Shown:
        formula, text, kind = None, None, cell.get("t", "n")
        for part in cell:
            match part.tag.rpartition("}")[2]:
                case "f":
                    formula = part.text or ""
                case "v":
                    text = part.text
                case "is":
                    return Shown(_text(part), formula)
        if text is None or (text == "" and kind == "n"):
            return Shown(None, formula)
        return Shown(self._value(kind, text), formula)

    def _value(self, kind: str, text: str) -> float | str | bool:
        try:
            match kind:
                case "s":
                    return self.texts[int(text)]
                case "b":
                    return text.strip() in ("1", "true")
                case "n":
                    return float(text)
        except (ValueError, IndexError):
            raise ReadError(
                f"a cell of the file holds {quoted(text)}, which no program writes: save it again"
            ) from None
        return text

    @cached_property
    def _cells(self) -> dict[str, dict[str, Element]]:
        return {}

    @cached_property
    def _workbook(self) -> Element:
        root = self._root("xl/workbook.xml")
        require(root is not None, "the file is no workbook in xlsx format: save it as .xlsx")
        assert root is not None
        return root

    def _root(self, part: str) -> Element | None:
        if part not in self._zip.namelist():
            return None
        content = self._bytes(part)
        require(
            not archive.DECLARES.search(content.replace(b"\0", b"")),
            f"the file declares entities in its part {quoted(part)}, as no workbook does: it is not read",
        )
        with archive.refusing(self.path):
            return fromstring(content)

    def _bytes(self, part: str) -> bytes:
        """Unpacks a part, no further than its stated size."""
        info = self._zip.getinfo(part)
        require(not info.flag_bits & 0x1, "the file is protected by a password: save it without one")
        require(
            info.file_size <= LARGEST_PART,
            f"its part {quoted(part)} has {info.file_size / 1e6:,.0f} MB, as none of a worksheet has: it is not read",
        )
        with archive.refusing(self.path), self._zip.open(info) as unpacking:
            return unpacking.read(info.file_size + 1)


def _reaches_out(formula: bytes) -> bool:
    return (b"|" in formula or b"dde" in formula.lower()) and bool(_REACHES_OUT.search(_WORDS.sub(b"", formula)))


def _text(element: Element) -> str:
    """Joins the runs of a text, without the marks of how it is pronounced."""
    runs = (*element.iterfind("{*}t"), *element.iterfind("{*}r/{*}t"))
    return "".join(run.text or "" for run in runs)
