"""A file of a student, .xlsx or .ods: an archive of which only the parts are unpacked, and the cells read, that are asked for.

Nothing of it is believed before it is counted: files of students may hold anything.

LibreOffice saves .ods by itself: what `Package` tells of an .xlsx file, `OpenDocument` tells by the same names. Its one large
part is read cell by cell and kept no further; what is said to be repeated is counted before it is believed.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, fromstring, iterparse

from blueprint.page import grid, saved_file
from blueprint.page.saved_file import ReadError, require
from blueprint.quoting import quoted

LARGEST_PART = 8_000_000
"""Bytes of one part that is taken apart, which makes at most some 200 MB of it; those of the first workbook have 0.3 million."""
LARGEST_SAYING = 1_000
"""Bytes in which a file says of which format it is."""
_FORMULA = re.compile(rb"<(?:\w+:)?f\b[^<>]*>([^<]*)<")
_CALLS_PROGRAM = re.compile(rb"\w\s*\|[^|]*!|\bDDE\s*\(", re.IGNORECASE)
"""What asks another program for something, such as cmd|'/c calc'!A1, outside of the words of a formula."""
_WORDS = re.compile(rb'"[^"]*"|&quot;.*?&quot;')


MOST_CELLS_NAMED = 100_000
"""Cells of a range that is gone through."""
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
        require(self.rows * self.columns <= MOST_CELLS_NAMED, "a name of the file spans more cells than a blank has")
        columns = range(self.column, self.column + self.columns)
        return [(self.sheet, row, column) for row in range(self.row, self.row + self.rows) for column in columns]


class Parts:
    """A file and its parts. Raises ReadError, in a sentence, here and wherever a part is read.

    Attributes:
        names: what each defined name of the whole workbook stands for; names are in small letters.
        sheets: what stands for each sheet, by its title, in order.
        range, between: how a range of a defined name is written, and what stands between several.
    """

    names: Mapping[str, str]
    sheets: Mapping[str, object]
    range: re.Pattern[str]
    between: re.Pattern[str]

    def __init__(self, path: Path):
        self.path, self._unpacked = path, dict[str, bytes]()
        saved_file.check_file(path)
        with saved_file.refusing(path):
            self._zip = zipfile.ZipFile(path)
        self.part_names = self._zip.namelist()
        saved_file.check_sizes(self._zip.infolist(), path)

    def close(self) -> None:
        """Lets go of the file."""
        self._zip.close()

    def refuse_hostile(self) -> None:
        """Refuses what a worksheet never holds: macros, links to other files, and formulas that call other programs."""
        names = [name.lower() for name in self.part_names]
        require(
            not any(name.endswith("vbaproject.bin") for name in names),
            "the file holds macros, which are never read: save it as a plain .xlsx workbook",
        )
        require(
            not any(name.startswith("xl/externallinks/") for name in names),
            "the file reads other files (external links): type numbers or formulas of this workbook only",
        )
        for name in self.part_names:
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                require(
                    not _calls_program(plain(self.content(name))),
                    f"a formula in its part {quoted(name)} calls another program: take it out",
                )

    def root(self, part: str) -> Element | None:
        """Takes a part apart; None where there is no such part."""
        if part not in self.part_names:
            return None
        with saved_file.refusing(self.path):
            return fromstring(self.undeclared(part))

    def undeclared(self, part: str, most: int = LARGEST_PART) -> bytes:
        """Unpacks a part of XML; refuses one that declares entities."""
        content = self.content(part, most)
        require(
            not saved_file.DECLARES.search(plain(content)),
            f"the file declares entities in its part {quoted(part)}, as no workbook does: it is not read",
        )
        return content

    def areas(self, name: str) -> list[Area] | None:
        """Returns the ranges of a defined name; None where there is no such name, or a range of it is gone."""
        said = self.names.get(name.lower(), "").removeprefix("of:=").strip("()")
        if not said or len(said) > LONGEST_NAME:
            return None
        found = [self._area(each) for each in self.between.split(said) if each]
        return [each for each in found if each] if found and all(found) else None

    def _area(self, said: str) -> Area | None:
        match = self.range.fullmatch(said)
        sheet = str((match["quoted"] or "").replace("''", "'") or match["bare"]) if match else ""
        if not match or sheet not in self.sheets:
            return None
        first = int(match["top"]) - 1, grid.column_of(match["left"])
        last = (int(match["bottom"]) - 1, grid.column_of(match["right"])) if match["right"] else first
        return Area(sheet, *first, last[0] - first[0] + 1, last[1] - first[1] + 1)

    def is_of(self, kind: bytes) -> bool:
        """Tells whether the file says of itself that it is of a format, as those of OpenDocument do in their first part."""
        return "mimetype" in self.part_names and self.content("mimetype", LARGEST_SAYING).strip() == kind

    def content(self, part: str, most: int = LARGEST_PART) -> bytes:
        """Unpacks a part, once, and no further than its stated size. most: bytes beyond which it is refused."""
        if part not in self._unpacked:
            info = self._zip.getinfo(part)
            require(not info.flag_bits & 0x1, "the file is protected by a password: save it without one")
            require(
                info.file_size <= most,
                f"its part {quoted(part)} has {info.file_size / 1e6:,.0f} MB, as none of a worksheet has: it is not read",
            )
            with saved_file.refusing(self.path), self._zip.open(info) as unpacking:
                self._unpacked[part] = unpacking.read(info.file_size + 1)
        return self._unpacked[part]


def plain(content: bytes) -> bytes:
    """Returns a part as it reads in ASCII, UTF-16 too."""
    return content.replace(b"\0", b"") if b"\0" in content else content


def _calls_program(sheet: bytes) -> bool:
    if b"|" not in sheet and b"dde" not in sheet.lower():
        return False
    return any(_CALLS_PROGRAM.search(_WORDS.sub(b"", formula)) for formula in _FORMULA.findall(sheet))


_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_VALUE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}v"
_PLAIN_TEXT = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}t"


class Package(Parts):
    """A workbook as .xlsx; `sheets` holds the names of their parts."""

    sheets: Mapping[str, str]
    range = re.compile(
        r"(?:'(?P<quoted>(?:[^']|'')*)'|(?P<bare>[^'!]+))!\$?(?P<left>[A-Z]{1,3})\$?(?P<top>\d{1,7})"
        r"(?::\$?(?P<right>[A-Z]{1,3})\$?(?P<bottom>\d{1,7}))?"
    )
    between = re.compile(r",(?=(?:[^']*'[^']*')*[^']*$)")  # none within the quotes around a sheet's name

    def __init__(self, path: Path):
        super().__init__(path)
        if (root := self.root("xl/workbook.xml")) is None:
            raise ReadError("the file is no workbook in xlsx format: save it as .xlsx")
        named = root.iterfind("{*}definedNames/{*}definedName")
        own = (each for each in named if each.get("localSheetId") is None)
        self.names = {str(each.get("name")).lower(): each.text or "" for each in own}
        relations = self.root("xl/_rels/workbook.xml.rels")
        targets = {} if relations is None else {each.get("Id"): str(each.get("Target")) for each in relations}
        parts = {
            str(each.get("name")): targets.get(each.get(_RELATION), "") for each in root.iterfind("{*}sheets/{*}sheet")
        }
        self.sheets = {title: posixpath.normpath(posixpath.join("/xl", at))[1:] for title, at in parts.items()}
        self._cells = dict[str, dict[str, Element]]()

    @cached_property
    def properties(self) -> dict[str, str]:
        """The document's own properties, by name."""
        root = self.root("docProps/custom.xml")
        return {str(each.get("name")): "".join(each.itertext()) for each in root} if root is not None else {}

    @cached_property
    def saved_by(self) -> tuple[str, str]:
        """Who made the file, and who saved it last, as programs note it; empty where they do not."""
        root = self.root("docProps/core.xml")
        said = {_name_of(each): (each.text or "").strip() for each in root} if root is not None else {}
        return said.get("creator", ""), said.get("lastModifiedBy", "")

    @cached_property
    def texts(self) -> list[str]:
        """The texts that cells share."""
        root = self.root("xl/sharedStrings.xml")
        return [] if root is None else [_text(each) for each in root.iterfind("{*}si")]

    def cells(self, sheet: str) -> dict[str, Element]:
        """Returns the cells of a sheet, by address."""
        if sheet not in self._cells:
            root = self.root(self.sheets[sheet])
            # {*}sheetData/{*}row/{*}c as a path takes twice as long
            data = () if root is None else (each for each in root if _name_of(each) == "sheetData")
            rows = (row for each in data for row in each if _name_of(row) == "row")
            self._cells[sheet] = {str(cell.get("r")): cell for row in rows for cell in row if _name_of(cell) == "c"}
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
            match _name_of(part):
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


def _name_of(element: Element) -> str:
    """Returns what an element is called, in whichever namespace."""
    return element.tag.rpartition("}")[2]


def _text(element: Element) -> str:
    """Joins the runs of a text, without the marks of how it is pronounced."""
    if len(element) == 1 and element[0].tag == _PLAIN_TEXT:  # most texts, quickly
        return element[0].text or ""
    runs = (*element.iterfind("{*}t"), *element.iterfind("{*}r/{*}t"))
    return "".join(run.text or "" for run in runs)


ODS_KIND = b"application/vnd.oasis.opendocument.spreadsheet"
LARGEST_CONTENT, MOST_CELLS = 80_000_000, 300_000
"""Bytes of all cells together, and cells in which something stands: several times those of the largest of ours."""
LONGEST_TEXT = 32_768
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
_ODS_REACHES_OUT = re.compile(rb"\bDDE\s*\(|<table:(?:dde-link|table-source|cell-range-source)\b|'file:", re.IGNORECASE)


def opened(path: Path) -> "Package | OpenDocument":
    """Opens a file of a student, whichever of the two formats it has. Raises ReadError."""
    with closing(Parts(path)) as parts:
        is_ods = parts.is_of(ODS_KIND)
    return OpenDocument(path) if is_ods else Package(path)


class OpenDocument(Parts):
    """A workbook as .ods; `sheets` holds what stands in their cells, by address."""

    sheets: Mapping[str, Mapping[str, Shown]]
    range = re.compile(
        r"\[?\$?(?:'(?P<quoted>(?:[^']|'')*)'|(?P<bare>[^\s.'$:;~\[\]]+))\.\$?(?P<left>[A-Z]{1,3})\$?(?P<top>\d{1,7})"
        r"(?::\$?(?:'(?:[^']|'')*'|[^\s.'$:;~\[\]]*)\.\$?(?P<right>[A-Z]{1,3})\$?(?P<bottom>\d{1,7}))?\]?"
    )
    between = re.compile(r"[~;\s](?=(?:[^']*'[^']*')*[^']*$)")

    def __init__(self, path: Path):
        super().__init__(path)
        require("content.xml" in self.part_names, "the file is no workbook in ods format: save it as .ods or .xlsx")
        with saved_file.refusing(path):
            self.names, self.sheets = _read(self.undeclared("content.xml", LARGEST_CONTENT))

    def refuse_hostile(self) -> None:
        """Refuses what a worksheet never holds: macros, links to other files, and formulas that call other programs."""
        macros = any(name.lower().startswith(("basic/", "scripts/")) for name in self.part_names)
        require(not macros, "the file holds macros, which are never read: save it as a plain .ods or .xlsx workbook")
        says = "the file reads other files or calls another program: type numbers or formulas of this workbook only"
        require(not _ODS_REACHES_OUT.search(plain(self.content("content.xml", LARGEST_CONTENT))), says)

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

    def cells(self, sheet: str) -> Iterable[str]:
        """Returns the addresses of a sheet's cells in which something stands."""
        return self.sheets[sheet]

    def shown(self, sheet: str, address: str) -> Shown:
        """Returns what a cell shows; a cell that is not there shows nothing."""
        return self.sheets[sheet].get(address, Shown(None))

    def all_shown(self, sheet: str, addresses: Iterable[str]) -> list[Shown]:
        """Returns what many cells of a sheet show."""
        return [self.shown(sheet, each) for each in addresses]


def _read(content: bytes) -> tuple[dict[str, str], dict[str, dict[str, Shown]]]:
    """Goes through all cells once, and counts them before they are taken; returns names and sheets."""
    names, sheets = dict[str, str](), dict[str, dict[str, Shown]]()
    titles: list[str] = []
    cells: dict[str, Shown] = {}
    at = taken = 0
    for event, node in iterparse(BytesIO(content), ("start", "end")):
        if event == "start" and node.tag == f"{_TABLE}table":
            titles.append(str(node.get(f"{_TABLE}name")))
            if len(titles) == 1:
                at, cells = 0, sheets.setdefault(titles[0], {})
        elif event == "end" and node.tag == f"{_TABLE}table-row":
            if len(titles) == 1:  # a table within a cell is a drawing's
                found, times = dict(_cells_in(node)), _times(node, "rows")
                taken += len(found) * times
                require(taken <= MOST_CELLS, f"the file has more than {MOST_CELLS:,} cells, as no worksheet has")
                for row in range(at, at + times) if found else ():
                    cells |= {grid.address(row, column): shown for column, shown in found.items()}
                at += times
            node.clear()
        elif event == "end" and node.tag == f"{_TABLE}table":
            titles.pop()
            node.clear()
        elif event == "end" and node.tag in (f"{_TABLE}named-range", f"{_TABLE}named-expression") and not titles:
            said = node.get(f"{_TABLE}cell-range-address") or node.get(f"{_TABLE}expression") or ""
            names[str(node.get(f"{_TABLE}name")).lower()] = said
    return names, sheets


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
