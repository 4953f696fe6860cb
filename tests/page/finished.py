"""Opens finished workbooks as what lies on the disk, XML in an archive; knows nothing of how they were laid out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from openpyxl.utils.cell import range_boundaries

from blueprint.book import Book
from tests.page.workshop import in_ironcalc, made, opened

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
FILES = ("default", "very-very-sleepy")
NUMBER_ROW = 4
"""The row in which a sheet of decisions numbers its columns."""

Value = float | str | None
_ROOM = TemporaryDirectory()


class Area(NamedTuple):
    """A range of cells on a sheet, 1-based, both ends included."""

    sheet: str
    left: int
    top: int
    right: int
    bottom: int

    def cells(self) -> Iterator[tuple[int, int]]:
        """Yields row and column of every cell, row after row."""
        for row in range(self.top, self.bottom + 1):
            for column in range(self.left, self.right + 1):
                yield row, column


class Areas(NamedTuple):
    """Several ranges of one sheet, of the same rows."""

    parts: tuple[Area, ...]

    @property
    def sheet(self) -> str:
        return self.parts[0].sheet

    @property
    def left(self) -> int:
        return min(part.left for part in self.parts)

    @property
    def right(self) -> int:
        return max(part.right for part in self.parts)

    @property
    def top(self) -> int:
        return min(part.top for part in self.parts)

    @property
    def bottom(self) -> int:
        return max(part.bottom for part in self.parts)

    def cells(self) -> Iterator[tuple[int, int]]:
        """Yields row and column of every cell, range after range."""
        for part in self.parts:
            yield from part.cells()


def areas(text: str) -> Area | Areas:
    """Returns the range that a reference means, or the ranges of one in brackets."""
    if not text.startswith("("):
        return area(text)
    return Areas(tuple(area(part) for part in re.split(r"(?<=\d),", text.strip("()"))))


def area(text: str, sheet: str = "") -> Area:
    """Returns the range that a reference such as `'Old policy'!$Q$6:$X$6` means; without a sheet, on the one given."""
    name, _, cells = text.removeprefix("=").rpartition("!")
    left, top, right, bottom = (int(end or 0) for end in range_boundaries(cells))
    return Area(name.strip("'").replace("''", "'") or sheet, left, top, right, bottom)


@dataclass(frozen=True)
class Finished:
    """A finished workbook, and the book that it was written from."""

    book: Book
    path: Path

    @cached_property
    def parts(self) -> dict[str, bytes]:
        """The files in the archive."""
        with zipfile.ZipFile(self.path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def xml(self, part: str) -> ET.Element:
        return ET.fromstring(self.parts[part])

    def related(self, part: str, kind: str) -> list[str]:
        """Returns the parts to which a part points by relations of a kind (`drawing`, `comments`, `chart`)."""
        home = PurePosixPath(part)
        listed = self.parts.get(str(home.parent / "_rels" / f"{home.name}.rels"))
        relations = (
            [] if listed is None else [r for r in ET.fromstring(listed) if r.attrib["Type"].endswith(f"/{kind}")]
        )
        return [_resolved(home.parent, relation.attrib["Target"]) for relation in relations]

    @cached_property
    def sheets(self) -> dict[str, ET.Element]:
        """The sheets by their names, in the order of the tabs."""
        return {name: self.xml(part) for name, part in self.sheet_parts.items()}

    @cached_property
    def sheet_parts(self) -> dict[str, str]:
        """The part of each sheet."""
        relations = ET.fromstring(self.parts["xl/_rels/workbook.xml.rels"])
        parts = {r.attrib["Id"]: _resolved(PurePosixPath("xl"), r.attrib["Target"]) for r in relations}
        return {s.attrib["name"]: parts[s.attrib[RELATION]] for s in self.xml("xl/workbook.xml").iter(f"{MAIN}sheet")}

    @cached_property
    def shown(self) -> Any:
        """The workbook in openpyxl, with the values of its formulas."""
        return opened(self.path)

    @cached_property
    def places(self) -> dict[str, Area]:
        """The range of every block by the block's name, found by the table on the sheet Contents."""
        rows = [[cell.value for cell in row] for row in self.shown["Contents"].iter_rows()]
        head = next(number for number, row in enumerate(rows) if row[0] == "name")
        lines = [dict(zip(rows[head], row, strict=True)) for row in rows[head + 1 :] if row[0]]
        names = {n.attrib["name"]: n.text or "" for n in self.xml("xl/workbook.xml").iter(f"{MAIN}definedName")}
        return {line["name"]: area(names[line["defined name"]]) for line in lines}

    def values_in(self, cells: Area | Areas) -> list[Value]:
        """Returns what the cells of a range show, row after row; None where nothing stands."""
        return [self.shown[cells.sheet].cell(row, column).value for row, column in cells.cells()]

    def decisions(self, cells: Area | Areas) -> list[Value]:
        """Returns what a row shows in the columns of the decisions, those that the head of the sheet numbers."""
        page = self.shown[cells.sheet]
        return [
            page.cell(row, column).value
            for row, column in cells.cells()
            if isinstance(page.cell(NUMBER_ROW, column).value, int | float)
        ]

    def computed(self, name: str) -> npt.NDArray[Any]:
        """Returns a block's numbers as the book has them, without those at the edges."""
        return self.book.values[self.book.blocks[name]]

    def number(self, name: str) -> float:
        return float(self.computed(name))


def _resolved(folder: PurePosixPath, target: str) -> str:
    """Returns the part that a relation's target means, seen from a folder; a slash begins at the archive's top."""
    path: list[str] = []
    for step in (folder / target).parts:
        path = path[:-1] if step == ".." else [] if step == "/" else [*path, step]
    return "/".join(path)


@cache
def finished(numbers: str, *overrides: str) -> Finished:
    """Builds and opens the workbook of a built-in set of numbers with overrides; each only once."""
    book = made(*overrides, numbers=numbers)
    path = Path(_ROOM.name) / f"{numbers.replace('/', ' ')} {' '.join(overrides)}.xlsx"
    book.save(path)
    return Finished(book, path)


def of_tokens(folder: Path, lengths: Sequence[int], cases: int) -> Finished:
    """Builds a workbook from log-probs on: responses of these lengths, and so many cases of the clip."""

    def rows(number: float) -> list[list[float]]:
        return [[number + episode + word / 4 for word in range(length)] for episode, length in enumerate(lengths)]

    words = [["very", "sleepy", "happy"][:length] for length in lengths]
    lines = ['level = "per-token"', "[per_token]", f"words = {words}", f"logprobs_old = {rows(-2.5)}"]
    lines += [f"logprobs_ref = {rows(-3.0)}", f"values = {rows(0.5)}", f"scores = {rows(2.0)}"]
    if cases:
        lines += ["[cases]", f"advantages = {[2.0, -2.0, 1.0][:cases]}", f"ratios = {[1.1, 0.5, 1.5][:cases]}"]
    (folder / "tokens.toml").write_text("\n".join(lines), encoding="utf-8")
    book = made(numbers=str(folder / "tokens.toml"))
    book.save(folder / "tokens.xlsx")
    return Finished(book, folder / "tokens.xlsx")


class Engine:
    """A workbook open in ironcalc, to be typed into."""

    def __init__(self, path: Path):
        self.model = in_ironcalc(path)
        self.sheets = {sheet["name"]: number for number, sheet in enumerate(self.model.get_worksheets_properties())}

    def type(self, sheet: str, row: int, column: int, value: Value) -> None:
        """Types a number or a word into a cell, or empties it."""
        where = self.sheets[sheet], row, column
        if value is None:
            self.model.clear_cell_contents(*where)
        elif isinstance(value, str):
            self.model.update_cell_with_text(*where, value)
        else:
            self.model.update_cell_with_number(*where, value)

    def value(self, sheet: str, row: int, column: int) -> Value:
        """Returns what a cell holds; after typing, `evaluate` first."""
        found: Value = self.model.get_cell_value(self.sheets[sheet], row, column)
        return found

    def evaluate(self) -> None:
        """Computes every formula anew."""
        self.model.evaluate()


def close(ours: object, theirs: object) -> bool:
    """Tells whether two lists of numbers are the same, to the last digits that a sum in another order changes."""
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= 1e-12 * np.maximum(1, np.abs(b))))
