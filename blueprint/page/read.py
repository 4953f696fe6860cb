"""Reading: every block of a saved workbook as a named array, wherever the blocks have been moved to.

Blocks are found by their defined names, which programs keep up to date when sheets are renamed or reordered, columns
widened and rows inserted above. How a block lies in its range stands on the Contents sheet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO
from warnings import catch_warnings, simplefilter

import numpy as np
import numpy.typing as npt
from openpyxl import load_workbook
from openpyxl.utils.cell import range_boundaries

from blueprint.page.archive import ReadError as ReadError
from blueprint.page.archive import check_archive, refusing
from blueprint.page.contents import COLUMNS, KINDS, LAYOUT_VERSION, LIMITS, NUMBERS, WORDS
from blueprint.page.found import Found
from blueprint.page.names import CONTENTS_RANGE
from blueprint.page.parse_cell import NoNumber
from blueprint.page.place import Along, parse_shape
from blueprint.quoting import quoted, unquoted

READ = ("name", "kind", "holds", "reads from", "defined name", "lies")
"""Columns of Contents that are read; the others are for people."""
MEANT = {"kind": KINDS, "holds": (WORDS, LIMITS, NUMBERS)}
LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
MOST_CELLS = 2_000_000
"""Cells that the range of a block may have; 64 rows, the longest run, over all 16,384 columns are half of that."""


def read(path: str | PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """Returns every block's array by name, edge cells included; blank cells are NaN among numbers and "" among words.

    A limit that is off is infinite.

    Raises ReadError for a file that is no blueprint workbook, or for a block whose range was deleted, cut or widened.
    """
    book = opened(Path(path))
    return {name: array_of(found, book) for name, found in places(book, Path(path)).items()}


def locate(path: str | PathLike[str]) -> dict[str, Found]:
    """Returns where every block stands, by name."""
    return places(opened(Path(path)), Path(path))


def places(book: Any, path: Path) -> dict[str, Found]:
    """Returns where every block of an opened file stands, by name; `path` is for the sentence of a ReadError."""
    return {found.name: found for found in _complete(book, path)}


def opened(path: Path, formulas: bool = False) -> Any:
    """Opens a file for its numbers, or for its formulas. Raises ReadError for what is no workbook, or would explode."""
    check_archive(path)
    with refusing(path), path.open("rb") as file:  # openpyxl judges a path by its ending, a file by what is in it
        return loaded(file, data_only=not formulas)


def loaded(file: BinaryIO, **how: bool) -> Any:
    """Has openpyxl read a file, without its warnings: they tell what it would lose if it saved the file, which it does not."""
    with catch_warnings():
        simplefilter("ignore")
        return load_workbook(file, **how)


def noted(book: Any) -> dict[str, str]:
    """Returns what the file says about itself; programs that drop document properties leave this empty."""
    return {str(prop.name).removeprefix("blueprint "): str(prop.value) for prop in book.custom_doc_props.props}


def _complete(book: Any, path: Path) -> list[Found]:
    """Locates every block; refuses another version's file, and one whose contents have lost a row."""
    facts = noted(book)
    version = facts.get("layout", LAYOUT_VERSION)
    if version != LAYOUT_VERSION:
        raise ReadError(f"{path} was written in layout {version}, this program knows {LAYOUT_VERSION}: use its version")
    found = list(_located(book, path))
    names = [each.name for each in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ReadError(f"{path}: the Contents sheet lists {quoted(twice)} twice: write the names as they were")
    expected = facts.get("blocks", str(len(found)))
    if str(len(found)) != expected:
        raise ReadError(
            f"{path}: the Contents sheet lists {len(found)} blocks, not {expected}: rows of it were deleted"
        )
    return found


def _located(book: Any, path: Path) -> Iterator[Found]:
    table = _destination(book, CONTENTS_RANGE, path)
    sheet, (left, top, right, bottom) = table
    rows = book[sheet].iter_rows(min_row=top, max_row=bottom, min_col=left, max_col=right, values_only=True)
    headings = next(rows)
    if headings != COLUMNS:
        stray = next((name for name in COLUMNS if name not in headings), "in another order")
        raise ReadError(f"{path}: the Contents sheet has not the columns it had ({stray}): some were deleted or moved")
    for row in rows:
        line = dict(zip(COLUMNS, row, strict=True))
        if any(line[column] for column in READ):
            yield replace(_found(book, _words_of(line, path), path), line=line)


def _words_of(line: dict[str, Any], path: Path) -> dict[str, str]:
    """Returns what a line of Contents says of a block. Raises ReadError for a number among its words, and for no name."""
    name = line["name"] or line["defined name"]
    for column in READ:
        value, known = line[column], MEANT.get(column)
        if (value is not None and not isinstance(value, str)) or (known and value not in known):
            expected = f"one of {', '.join(known)}" if known else "a word"
            raise ReadError(
                f"{path}: the Contents sheet says of {unquoted(name)} under “{column}” {quoted(value)}, expected {expected}"
            )
    if not line["name"]:
        raise ReadError(f"{path}: the Contents sheet has no name for {unquoted(name)}: write it back")
    return {column: line[column] or "" for column in READ}


def _found(book: Any, line: dict[str, str], path: Path) -> Found:
    name = unquoted(line["name"])
    try:
        shape = parse_shape(line["lies"])
    except ValueError as error:
        raise ReadError(f"{path}: the Contents sheet says of {name} how it lies, but {error}") from error
    sheet, (left, top, right, bottom) = _destination(book, line["defined name"], path)
    wanted = tuple(1 + sum((along.cells - 1) * step for along, step in steps) for steps in _steps(shape))
    if (bottom - top + 1, right - left + 1) != wanted:
        raise ReadError(
            f"{path}: {name} should stand on {wanted[0]} rows and {wanted[1]} columns, but its range is "
            f"{sheet}, {bottom - top + 1} rows and {right - left + 1} columns: rows or columns inside it were added or deleted"
        )
    if prod(along.cells for along in shape) > wanted[0] * wanted[1]:
        raise ReadError(
            f"{path}: the Contents sheet says that {name} lies as {quoted(line['lies'])}, which puts cells upon each other"
        )
    reads = tuple(filter(None, line["reads from"].split(", ")))
    words, limit = line["holds"] == WORDS, line["holds"] == LIMITS
    return Found(line["name"], line["kind"], words, sheet, top, left, shape, reads, line["defined name"], limit)


def _steps(shape: tuple[Along, ...]) -> tuple[list[tuple[Along, int]], list[tuple[Along, int]]]:
    return [(along, along.down) for along in shape], [(along, along.right) for along in shape]


def _destination(book: Any, name: str, path: Path) -> tuple[str, tuple[int, int, int, int]]:
    """Returns the sheet and range (left, top, right, bottom) of a defined name."""
    defined, name = book.defined_names.get(name), unquoted(name)
    if defined is None:
        raise ReadError(f"{path} has no range called {name}: it is no blueprint workbook, or the name was deleted")
    try:
        places = list(defined.destinations)
        if "#REF!" in defined.attr_text or len(places) != 1:
            raise ReadError(f"{path}: the cells of {name} were deleted")
        sheet, (left, top, right, bottom) = places[0][0].replace("''", "'"), range_boundaries(places[0][1])
        fits = 1 <= left <= right <= LAST_COLUMN and 1 <= top <= bottom <= LAST_ROW
        fits = fits and (right - left + 1) * (bottom - top + 1) <= MOST_CELLS
    except ReadError:
        raise
    except Exception:  # what openpyxl says of odd ranges is written down nowhere
        fits = False
    if not fits:
        raise ReadError(f"{path}: {name} should be a range of cells, but is {unquoted(defined.attr_text)}")
    if sheet not in book.sheetnames or not hasattr(book[sheet], "iter_rows"):
        raise ReadError(f"{path}: {name} should stand on a sheet called {unquoted(sheet)}, but there is none")
    return sheet, (left, top, right, bottom)


def array_of(found: Found, book: Any, odd: dict[tuple[int, ...], str] | None = None) -> npt.NDArray[Any]:
    """Returns a block's cells from an opened file. Raises ReadError, with the cell, for text among numbers.

    odd: where given, such text is put there by index, and its cell is NaN.
    """
    values = np.empty(tuple(along.cells for along in found.shape), dtype=object if found.words else float)
    sheet = book[found.sheet]
    for at, row, column in found.cells():
        cell = sheet.cell(row, column)
        try:
            values[at] = found.told(cell.value)
        except NoNumber as error:
            if odd is None:
                kind = "words" if found.words else "numbers"
                said = f"{found.name} on {found.sheet} should hold {kind}, but in {cell.coordinate}: {error}"
                raise ReadError(said) from error
            values[at], odd[at] = np.nan, str(cell.value)
    return values


def names_in(book: Any) -> dict[str, str]:
    """Returns what each defined name of an opened file stands for."""
    return {str(name): str(defined.attr_text) for name, defined in book.defined_names.items()}
