"""Where the blocks of a saved workbook stand, and what their cells hold.

Blocks are found by their defined names, which programs keep up to date when sheets are renamed or reordered, columns
widened and rows inserted above. How a block lies in its range stands on the Contents sheet.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from openpyxl.utils.cell import range_boundaries

from blueprint.page import contents, grid, names, parse_cell, place, refusals
from blueprint.page.opening import Workbook
from blueprint.quoting import quoted, unquoted

READ = ("name", "kind", "holds", "reads from", "defined name", "lies")
"""Columns of Contents that are read; the others are for people."""
OPTIONS = {"kind": contents.KINDS, "holds": (contents.WORDS, contents.LIMITS, contents.NUMBERS)}
MOST_CELLS = 2_000_000
"""Cells that the range of a block may have; 64 rows, the longest run, over all 16,384 columns are half of that."""


@dataclass(frozen=True)
class Found(place.Spot):
    """A block of a file: where it stands, what it holds, which blocks it reads, and what its range is called.

    line: everything that the Contents sheet says of it, by its columns.
    """

    name: str
    kind: str
    words: bool
    reads: tuple[str, ...] = ()
    called: str = ""
    limit: bool = False
    line: Mapping[str, Any] = field(default_factory=dict)

    def parsed(self, value: object) -> Any:
        """Returns what a cell of the block holds: a number, a word, or a limit, of which off is infinite.

        NaN or "" is a blank. Raises NoNumber for anything else.
        """
        if self.words:
            return parse_cell.word_or_blank(value, self.kind == "typed")
        read = parse_cell.limit_or_blank if self.limit else parse_cell.number_or_blank
        return read(value, self.kind == "typed")


def noted(book: Workbook) -> dict[str, str]:
    """Returns what the file says about itself; programs that drop document properties leave this empty."""
    return {name.removeprefix("blueprint "): value for name, value in book.facts.items()}


def located(book: Workbook, path: Path) -> dict[str, Found]:
    """Returns where every block of an opened file stands, by name; `path` is for the sentence of a ReadError.

    Refuses another version's file, and one whose contents have lost a row.
    """
    facts = noted(book)
    version = facts.get("layout", contents.LAYOUT_VERSION)
    refusals.require(
        version == contents.LAYOUT_VERSION,
        f"{path} was written in layout {version}, this program knows {contents.LAYOUT_VERSION}: use its version",
    )
    blocks: dict[str, Found] = {}
    for line in _lines(book, path):
        found = _found(book, line, path)
        refusals.require(
            found.name not in blocks,
            f"{path}: the Contents sheet lists {quoted(found.name)} twice: write the names as they were",
        )
        blocks[found.name] = found
    expected = facts.get("blocks", str(len(blocks)))
    refusals.require(
        str(len(blocks)) == expected,
        f"{path}: the Contents sheet lists {len(blocks)} blocks, not {expected}: rows of it were deleted",
    )
    return blocks


def _lines(book: Workbook, path: Path) -> Iterator[dict[str, Any]]:
    """Yields the lines of Contents, by its columns."""
    sheet, left, top, right, bottom = _destination(book, names.CONTENTS_RANGE, path)
    cells, columns = book.cells[sheet].values, range(left, right + 1)
    rows = (tuple(cells.get((row, column)) for column in columns) for row in range(top, bottom + 1))
    headings = next(rows)
    if headings != contents.COLUMNS:
        stray = next((name for name in contents.COLUMNS if name not in headings), "in another order")
        raise refusals.ReadError(
            f"{path}: the Contents sheet has not the columns it had ({stray}): some were deleted or moved"
        )
    lines = (dict(zip(contents.COLUMNS, row, strict=True)) for row in rows)
    yield from (line for line in lines if any(line[column] for column in READ))


def _found(book: Workbook, line: dict[str, Any], path: Path) -> Found:
    """Returns what a line of Contents says of a block. Raises ReadError where that cannot be, or is not so."""
    name = unquoted(line["name"] or line["defined name"])
    says = f"{path}: the Contents sheet says of {name}"
    for column in READ:
        value, known = line[column], OPTIONS.get(column)
        if (value is not None and not isinstance(value, str)) or (known and value not in known):
            expected = f"one of {', '.join(known)}" if known else "a word"
            raise refusals.ReadError(f"{says} under “{column}” {quoted(value)}, expected {expected}")
    refusals.require(line["name"], f"{path}: the Contents sheet has no name for {name}: write it back")
    lies, called = line["lies"] or "", line["defined name"] or ""
    try:
        shape = place.parse_shape(lies)
    except ValueError as error:
        raise refusals.ReadError(f"{says} how it lies, but {error}") from error
    sheet, left, top, right, bottom = _destination(book, called, path)
    rows = 1 + sum((along.cells - 1) * along.down for along in shape)
    columns = 1 + sum((along.cells - 1) * along.right for along in shape)
    refusals.require(
        (bottom - top + 1, right - left + 1) == (rows, columns),
        f"{path}: {name} should stand on {rows} rows and {columns} columns, but its range is "
        f"{sheet}, {bottom - top + 1} rows and {right - left + 1} columns: rows or columns inside it were added or deleted",
    )
    refusals.require(
        prod(along.cells for along in shape) <= rows * columns,
        f"{path}: the Contents sheet says that {name} lies as {quoted(lies)}, which puts cells upon each other",
    )
    reads = tuple(filter(None, (line["reads from"] or "").split(", ")))
    words, limit = line["holds"] == contents.WORDS, line["holds"] == contents.LIMITS
    return Found(sheet, top, left, shape, line["name"], line["kind"], words, reads, called, limit, line)


def _destination(book: Workbook, name: str, path: Path) -> tuple[str, int, int, int, int]:
    """Returns the range of a defined name: sheet, left, top, right and bottom, counted from 1."""
    defined: Any = book.names.get(name)
    name = unquoted(name)
    refusals.require(
        defined is not None, f"{path} has no range called {name}: it is no blueprint workbook, or the name was deleted"
    )
    try:
        places = list(defined.destinations)
        refusals.require(
            "#REF!" not in defined.attr_text and len(places) == 1, f"{path}: the cells of {name} were deleted"
        )
        sheet, (left, top, right, bottom) = places[0][0].replace("''", "'"), range_boundaries(places[0][1])
        on_sheet = 1 <= left <= right <= grid.LAST_COLUMN and 1 <= top <= bottom <= grid.LAST_ROW
        fits = on_sheet and (right - left + 1) * (bottom - top + 1) <= MOST_CELLS
    except refusals.ReadError:
        raise
    except Exception:  # what openpyxl says of odd ranges is written down nowhere
        fits = False
    refusals.require(fits, f"{path}: {name} should be a range of cells, but is {unquoted(defined.attr_text)}")
    refusals.require(
        sheet in book.cells,
        f"{path}: {name} should stand on a sheet called {unquoted(sheet)}, but there is none",
    )
    return sheet, left, top, right, bottom
