"""Formulas as a file has them, cell by cell; read alone they take a third of the time that openpyxl takes for a file."""

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple
from xml.etree.ElementTree import Element, fromstring, iterparse

from openpyxl.formula.tokenizer import Token, Tokenizer
from openpyxl.formula.translate import Translator
from openpyxl.utils.cell import range_boundaries

from blueprint.page import formula_parts, grid
from blueprint.page.archive import refusing

_NAMED = re.compile(r"(?:'(?:[^']|'')+'|[^'!,]+)![$A-Z0-9:]+")


class Area(NamedTuple):
    """A rectangle of cells: its sheet, and its first and last column and row, counted from 1."""

    sheet: str
    left: int
    top: int
    right: int
    bottom: int


def as_seen_from(formula: str, origin: str, cell: str) -> str:
    """Returns the formula of the cell `origin` as it would read in `cell`, as if it were copied there.

    Equal formulas of a row read the same. What cannot be taken apart, such as `="abc`, reads as it stands.
    """
    if origin == cell:
        return formula
    try:
        return str(Translator(formula, origin=origin).translate_formula(cell))
    except Exception:  # openpyxl says of a broken formula whatever its parts happen to raise
        return formula


def read_by(formula: str, sheet: str, named: Callable[[str], str | None]) -> Iterator[Area]:
    """Yields what a formula on a sheet reads, cell by cell and range by range; nothing of one that cannot be taken apart.

    named: what a defined name stands for, `Inputs!$D$8`; None for a name that there is not.
    """
    pieces: list[Token] = []
    with suppress(Exception):  # as above
        pieces = Tokenizer(formula).items
    for reference in (str(each.value) for each in pieces if (each.type, each.subtype) == (Token.OPERAND, Token.RANGE)):
        area = _area(reference, sheet) or _area(named(reference) or "", sheet)
        if area is not None:
            yield area


def _area(reference: str, sheet: str) -> Area | None:
    """Takes a reference such as `'Last week'!$D$36:$D$43` apart; None for a name, or for another file's cell."""
    title, _, cells = reference.rpartition("!")
    try:
        left, top, right, bottom = map(int, range_boundaries(cells))
    except (ValueError, TypeError):
        return None
    return Area(grid.unquoted(title) or sheet, left, top, right, bottom)


def named_areas(text: str) -> Iterator[Area]:
    """Yields what a defined name stands for: `Weeks!$P$5:$W$5,Weeks!$AB$5` are two; cells that were deleted are none."""
    for reference in _NAMED.findall(text):
        area = _area(reference, "")
        if area is not None:
            yield area


Cell = tuple[int, int]
"""Row and column, counted from 1."""
Written = dict[str, dict[Cell, str]]
"""By sheet and cell the text of a formula, without its sign =."""

_HAS_FORMULAS = re.compile(rb"<(?:[^<>/\s:]+:)?f[\s/>]")  # without zeros UTF-16 reads as ASCII
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def written_in(path: Path) -> Written:
    """Returns every formula of a file, by sheet; one that is shared with its neighbours as it reads in its own cell.

    The file was opened before (`read.opened`), so that it is known to be of bearable size. Raises ReadError if it is damaged.
    """
    with refusing(path), zipfile.ZipFile(path) as archive:
        return {title: _on_sheet(archive, part) for title, part in _parts(archive)}


def _parts(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    """Yields name and part of every sheet of cells."""
    relations = {each.get("Id"): each for each in fromstring(archive.read("xl/_rels/workbook.xml.rels"))}
    for sheet in fromstring(archive.read("xl/workbook.xml")).iterfind("{*}sheets/{*}sheet"):
        found = relations[sheet.get(_RELATION)]
        if str(found.get("Type")).endswith("/worksheet"):
            yield str(sheet.get("name")), posixpath.normpath(posixpath.join("/xl", str(found.get("Target"))))[1:]


def _on_sheet(archive: zipfile.ZipFile, part: str) -> dict[Cell, str]:
    found: dict[Cell, str] = {}
    shared: dict[str, tuple[str, str]] = {}
    content = archive.read(part)
    for cell, formula in _formulas(BytesIO(content)) if _HAS_FORMULAS.search(content.replace(b"\0", b"")) else ():
        address, text = str(cell.get("r")), formula.text or ""
        if formula.get("t") == "shared":
            origin, master = shared.setdefault(str(formula.get("si")), (address, text))
            text = as_seen_from(f"={master}", origin, address)[1:]
        found[formula_parts.cell_at(address)] = text
    return found


def _formulas(file: IO[bytes]) -> Iterator[tuple[Element, Element]]:
    """Yields the cells that hold a formula; what was read is let go, row by row."""
    for _, element in iterparse(file):
        if element.tag.endswith("}c"):
            formula = element.find("{*}f")
            if formula is not None:
                yield element, formula
        elif element.tag.endswith("}row"):
            element.clear()
