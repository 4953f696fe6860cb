"""A workbook that is read in a few hundredths of a second: its names, its properties, and the cells that are asked for."""

import posixpath
import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple
from xml.etree.ElementTree import Element

from blueprint.classes.parts import Parts
from blueprint.page import grid
from blueprint.page.refusals import ReadError, require
from blueprint.quoting import quoted

MOST_CELLS = 100_000
"""Cells of a range that is gone through."""
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_VALUE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}v"
_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")
_BETWEEN = re.compile(r",(?=(?:[^']*'[^']*')*[^']*$)")
"""A comma between ranges, none within the quotes around a sheet's name."""
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


class Package(Parts):
    """A workbook. Raises ReadError, in a sentence, wherever a part is read."""

    @cached_property
    def properties(self) -> dict[str, str]:
        """The document's own properties, by name."""
        root = self.root("docProps/custom.xml")
        return {str(each.get("name")): "".join(each.itertext()) for each in root} if root is not None else {}

    @cached_property
    def saved_by(self) -> tuple[str, str]:
        """Who made the file, and who saved it last, as programs note it; empty where they do not."""
        root = self.root("docProps/core.xml")
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
        relations = self.root("xl/_rels/workbook.xml.rels")
        targets = {} if relations is None else {each.get("Id"): str(each.get("Target")) for each in relations}
        found = self._workbook.iterfind("{*}sheets/{*}sheet")
        parts = {str(each.get("name")): targets.get(each.get(_RELATION), "") for each in found}
        return {title: posixpath.normpath(posixpath.join("/xl", target))[1:] for title, target in parts.items()}

    @cached_property
    def texts(self) -> list[str]:
        """The texts that cells share."""
        root = self.root("xl/sharedStrings.xml")
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
            root = self.root(self.sheets[sheet])
            found = [] if root is None else root.iterfind("{*}sheetData/{*}row/{*}c")
            self._cells[sheet] = {str(each.get("r")): each for each in found}
        return self._cells[sheet]

    def shown(self, sheet: str, address: str) -> Shown:
        """Returns what a cell shows; a cell that is not there shows nothing."""
        cell = self.cells(sheet).get(address)
        return Shown(None) if cell is None else self._shown(cell)

    def all_shown(self, sheet: str, addresses: Iterable[str]) -> list[Shown]:
        """Returns what many cells of a sheet show."""
        cells = self.cells(sheet)
        return [Shown(None) if (cell := cells.get(each)) is None else self._shown(cell) for each in addresses]

    def _shown(self, cell: Element) -> Shown:
        formula, text, kind = None, None, cell.get("t", "n")
        if (
            kind == "n" and len(cell) and cell[-1].tag == _VALUE and cell[-1].text and len(cell) < 3
        ):  # most cells, quickly
            return Shown(self._value(kind, cell[-1].text), (cell[0].text or "") if len(cell) == 2 else None)
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
        root = self.root("xl/workbook.xml")
        require(root is not None, "the file is no workbook in xlsx format: save it as .xlsx")
        assert root is not None
        return root


def _text(element: Element) -> str:
    """Joins the runs of a text, without the marks of how it is pronounced."""
    runs = (*element.iterfind("{*}t"), *element.iterfind("{*}r/{*}t"))
    return "".join(run.text or "" for run in runs)
