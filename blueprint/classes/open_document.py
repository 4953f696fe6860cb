"""A workbook as LibreOffice saves it by itself, .ods: what `Package` tells of an .xlsx file, by the same names.

Its one large part is read cell by cell and kept no further; what is said to be repeated is counted before it is believed.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import Element, iterparse

from blueprint.classes.package import LONGEST_NAME, Area, Package, Shown
from blueprint.classes.parts import Parts, plain
from blueprint.page import archive, grid
from blueprint.page.refusals import ReadError, require
from blueprint.quoting import quoted

KIND = b"application/vnd.oasis.opendocument.spreadsheet"
LARGEST_CONTENT, MOST_CELLS = 80_000_000, 300_000
"""Bytes of all cells together, and cells in which something stands: several times those of the largest of ours."""
LONGEST_TEXT = 32_768
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_SHEET = r"\$?(?:'(?P<quoted>(?:[^']|'')*)'|(?P<bare>[^\s.'$:;~\[\]]+))"
_RANGE = re.compile(
    rf"\[?{_SHEET}\.\$?(?P<left>[A-Z]{{1,3}})\$?(?P<top>\d{{1,7}})"
    r"(?::\$?(?:'(?:[^']|'')*'|[^\s.'$:;~\[\]]*)\.\$?(?P<right>[A-Z]{1,3})\$?(?P<bottom>\d{1,7}))?\]?"
)
_REACHES_OUT = re.compile(rb"\bDDE\s*\(|<table:(?:dde-link|table-source|cell-range-source)\b|'file:", re.IGNORECASE)


def opened(path: Path) -> "Package | OpenDocument":
    """Opens a file of a student, whichever of the two formats it has. Raises ReadError."""
    package = Package(path)
    if package.is_of(KIND):
        package.close()
        return OpenDocument(path)
    return package


class OpenDocument(Parts):
    """A workbook. Raises ReadError, in a sentence, wherever a part is read."""

    def refuse_hostile(self) -> None:
        """Refuses what a worksheet never holds: macros, links to other files, and formulas that call other programs."""
        macros = any(name.lower().startswith(("basic/", "scripts/")) for name in self.part_names)
        require(not macros, "the file holds macros, which are never read: save it as a plain .ods or .xlsx workbook")
        says = "the file reads other files or calls another program: type numbers or formulas of this workbook only"
        require(not _REACHES_OUT.search(plain(self._content)), says)

    @cached_property
    def properties(self) -> dict[str, str]:
        """The document's own properties, by name."""
        return {str(each.get(f"{_META}name")): each.text or "" for each in self._meta("user-defined")}

    @cached_property
    def saved_by(self) -> tuple[str, str]:
        """Who made the file, and who saved it last, as programs note it; empty where they do not."""
        made, last = (next((each.text or "" for each in self._meta(tag)), "") for tag in ("initial-creator", "creator"))
        return made.strip(), last.strip()

    def _meta(self, tag: str) -> Iterator[Element]:
        root = self.root("meta.xml")
        return iter(()) if root is None else root.iterfind(f".//{{*}}{tag}")

    @property
    def names(self) -> dict[str, str]:
        """What each defined name of the whole workbook stands for; names are in small letters."""
        return self._read[0]

    @property
    def sheets(self) -> dict[str, dict[str, Shown]]:
        """What stands on each sheet, by its title, in order."""
        return self._read[1]

    def areas(self, name: str) -> list[Area] | None:
        """Returns the ranges of a defined name; None where there is no such name, or a range of it is gone."""
        said = self.names.get(name.lower(), "").removeprefix("of:=").strip("()")
        parts = re.split(r"[~;\s](?=(?:[^']*'[^']*')*[^']*$)", said) if said and len(said) <= LONGEST_NAME else []
        found = [self._area(each) for each in parts if each]
        return [each for each in found if each] if found and all(found) else None

    def _area(self, said: str) -> Area | None:
        match = _RANGE.fullmatch(said)
        sheet = (match["quoted"] or "").replace("''", "'") or match["bare"] if match else None
        if not match or sheet not in self.sheets:
            return None
        first = int(match["top"]) - 1, grid.column_of(match["left"])
        last = (int(match["bottom"]) - 1, grid.column_of(match["right"])) if match["right"] else first
        return Area(sheet, *first, last[0] - first[0] + 1, last[1] - first[1] + 1)

    def cells(self, sheet: str) -> Iterable[str]:
        """Returns the addresses of a sheet's cells in which something stands."""
        return self.sheets[sheet]

    def shown(self, sheet: str, address: str) -> Shown:
        """Returns what a cell shows; a cell that is not there shows nothing."""
        return self.sheets[sheet].get(address, Shown(None))

    def all_shown(self, sheet: str, addresses: Iterable[str]) -> list[Shown]:
        """Returns what many cells of a sheet show."""
        return [self.shown(sheet, each) for each in addresses]

    @cached_property
    def _content(self) -> bytes:
        require("content.xml" in self.part_names, "the file is no workbook in ods format: save it as .ods or .xlsx")
        return self.content("content.xml", LARGEST_CONTENT)

    @cached_property
    def _read(self) -> tuple[dict[str, str], dict[str, dict[str, Shown]]]:
        """Goes through all cells once."""
        require(
            not archive.DECLARES.search(plain(self._content)),
            "the file declares entities in its part 'content.xml', as no workbook does: it is not read",
        )
        with archive.refusing(self.path):
            return _read(self._content)


def _read(content: bytes) -> tuple[dict[str, str], dict[str, dict[str, Shown]]]:
    names, sheets, reading = dict[str, str](), dict[str, dict[str, Shown]](), _Rows()
    titles: list[str] = []
    for event, node in iterparse(BytesIO(content), ("start", "end")):
        match event, node.tag:
            case "start", tag if tag == f"{_TABLE}table":
                titles.append(str(node.get(f"{_TABLE}name")))
                if len(titles) == 1:
                    reading.begin(sheets.setdefault(titles[0], {}))
            case "end", tag if tag == f"{_TABLE}table":
                titles.pop()
                node.clear()
            case "end", tag if tag == f"{_TABLE}table-row":
                if len(titles) == 1:  # a table within a cell is a drawing's
                    reading.row(node)
                node.clear()
            case "end", tag if tag in (f"{_TABLE}named-range", f"{_TABLE}named-expression"):
                said = node.get(f"{_TABLE}cell-range-address") or node.get(f"{_TABLE}expression") or ""
                if not titles:
                    names[str(node.get(f"{_TABLE}name")).lower()] = said
    return names, sheets


class _Rows:
    """Takes the rows of one sheet after the other, and counts what stands in them."""

    def __init__(self) -> None:
        self._cells, self._row, self._taken = dict[str, Shown](), 0, 0

    def begin(self, cells: dict[str, Shown]) -> None:
        """Begins with a sheet."""
        self._cells, self._row = cells, 0

    def row(self, row: Element) -> None:
        """Takes a row, as often as it is repeated."""
        found, times = dict(_cells_in(row)), _times(row, "rows")
        self._taken += len(found) * times
        require(self._taken <= MOST_CELLS, f"the file has more than {MOST_CELLS:,} cells, as no worksheet has")
        for at in range(self._row, self._row + times) if found else ():
            self._cells |= {grid.address(at, column): shown for column, shown in found.items()}
        self._row += times


def _cells_in(row: Element) -> Iterator[tuple[int, Shown]]:
    """Yields the cells of a row in which something stands, each with its column."""
    column = 0
    for cell in row:
        times = _times(cell, "columns")
        shown = _shown(cell)
        if shown.value is not None or shown.formula is not None:
            require(column + times <= grid.LAST_COLUMN, "a row of the file has more cells than a sheet has columns")
            yield from ((at, shown) for at in range(column, column + times))
        column += times


def _times(node: Element, what: str) -> int:
    """Returns how often a row or a cell is repeated."""
    said = node.get(f"{_TABLE}number-{what}-repeated", "1")
    require(
        said.isascii() and said.isdigit() and 0 < len(said) < 8, f"a cell of the file is repeated {quoted(said)} times"
    )
    return int(said)


def _shown(cell: Element) -> Shown:
    formula = cell.get(f"{_TABLE}formula")
    formula = None if formula is None else formula.partition("=")[2][:LONGEST_TEXT]
    match cell.get(f"{_OFFICE}value-type"):
        case "float" | "percentage" | "currency":
            return Shown(_number(cell.get(f"{_OFFICE}value", "")), formula)
        case "boolean":
            return Shown(cell.get(f"{_OFFICE}boolean-value") == "true", formula)
        case None:
            return Shown(None, formula)
    said = cell.get(f"{_OFFICE}string-value")
    paragraphs = ("".join(each.itertext()) for each in cell if each.tag.endswith("}p"))
    return Shown((said if said is not None else "\n".join(paragraphs))[:LONGEST_TEXT], formula)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ReadError(f"a cell of the file holds {quoted(text)}, which no program writes: save it again") from None
