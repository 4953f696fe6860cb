"""Reading: every block of a saved workbook as a named array, wherever the blocks have been moved to, and its single cells.

Blocks are found by their defined names, which programs keep up to date when sheets are renamed or reordered, columns
widened and rows inserted above. How a block lies in its range stands on the Contents sheet. Of a saved worksheet it is
known which cells of its blanks are still empty, and which cells wait for these.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from blueprint.page import contents, grid, parse_cell
from blueprint.page.grid import Address
from blueprint.page.saved_file import Area, Workbook, Written, named_areas, read_by, require
from blueprint.page.saved_file import ReadError as ReadError
from blueprint.quoting import quoted, unquoted

READ = ("name", "kind", "holds", "reads from", "defined name", "lies")
"""Columns of Contents that are read; the others are for people."""
OPTIONS = {"kind": contents.KINDS, "holds": (contents.WORDS, contents.LIMITS, contents.NUMBERS)}
_PLACE = re.compile(r"\s*(?:'(?:[^']|'')+'|[^'!,()=:]+)![$A-Z0-9:]+\s*")
"""One range of one sheet and nothing else, as a name stands for it."""
MOST_CELLS = 2_000_000
"""Cells that the range of a block may have; 64 rows, the longest run, over all 16,384 columns are half of that."""


@dataclass(frozen=True)
class Found(grid.Spot):
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


def read(path: str | PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """Returns every block's array by name, edge cells included; blank cells are NaN among numbers and "" among words.

    A limit that is off is infinite.

    Raises ReadError for a file that is no blueprint workbook, or for a block whose range was deleted, cut or widened.
    """
    file = Opened(Path(path))
    return {name: file.array(name, unsaved=True) for name in file.places}


class Opened(Workbook):
    """A workbook and where its blocks stand.

    places: by name where every block stands. noted: what the file says about itself, such as its seed; programs that drop
    document properties leave it empty.

    Raises ReadError for a file that is no blueprint workbook, is of another version, or has lost a row of its contents, and
    for a block whose range was deleted, cut or widened.
    """

    def __init__(self, path: Path):
        super().__init__(path)
        self.noted = {name.removeprefix("blueprint "): value for name, value in self.facts.items()}
        self.title = str(self.properties.title or path.stem)
        version = self.noted.get("layout", contents.LAYOUT_VERSION)
        require(
            version == contents.LAYOUT_VERSION,
            f"{path} was written in layout {version}, this program knows {contents.LAYOUT_VERSION}: use its version",
        )
        self.places: dict[str, Found] = {}
        for line in self._lines():
            found = self._found(line)
            require(
                found.name not in self.places,
                f"{path}: the Contents sheet lists {quoted(found.name)} twice: write the names as they were",
            )
            self.places[found.name] = found
        expected = self.noted.get("blocks", str(len(self.places)))
        require(
            str(len(self.places)) == expected,
            f"{path}: the Contents sheet lists {len(self.places)} blocks, not {expected}: rows of it were deleted",
        )

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yields the lines of Contents, by its columns."""
        area = self._range(grid.CONTENTS_RANGE)
        cells = self.cells[area.sheet].values
        headings, *rows = (tuple(cells.get((row, column)) for column in area.columns) for row in area.rows)
        stray = next((name for name in contents.COLUMNS if name not in headings), "in another order")
        require(
            headings == contents.COLUMNS,
            f"{self.path}: the Contents sheet has not the columns it had ({stray}): some were deleted or moved",
        )
        lines = (dict(zip(contents.COLUMNS, row, strict=True)) for row in rows)
        yield from (line for line in lines if any(line[column] for column in READ))

    def _found(self, line: dict[str, Any]) -> Found:
        """Returns what a line of Contents says of a block. Raises ReadError where that cannot be, or is not so."""
        name = unquoted(line["name"] or line["defined name"])
        says = f"{self.path}: the Contents sheet says of {name}"
        for column in READ:
            value, known = line[column], OPTIONS.get(column)
            expected = f"one of {', '.join(known)}" if known else "a word"
            is_word = value is None or isinstance(value, str)
            require(
                is_word and (not known or value in known),
                f"{says} under “{column}” {quoted(value)}, expected {expected}",
            )
        require(line["name"], f"{self.path}: the Contents sheet has no name for {name}: write it back")
        lies, called = line["lies"] or "", line["defined name"] or ""
        try:
            shape = grid.parse_shape(lies)
        except ValueError as error:
            raise ReadError(f"{says} how it lies, but {error}") from error
        area = self._range(called)
        rows = 1 + sum((along.cells - 1) * along.down for along in shape)
        columns = 1 + sum((along.cells - 1) * along.right for along in shape)
        has_rows, has_columns = len(area.rows), len(area.columns)
        require(
            (has_rows, has_columns) == (rows, columns),
            f"{self.path}: {name} should stand on {rows} rows and {columns} columns, but its range is {area.sheet}, "
            f"{has_rows} rows and {has_columns} columns: rows or columns inside it were added or deleted",
        )
        require(
            prod(along.cells for along in shape) <= rows * columns,
            f"{self.path}: the Contents sheet says that {name} lies as {quoted(lies)}, which puts cells upon each other",
        )
        reads = tuple(filter(None, (line["reads from"] or "").split(", ")))
        words, limit = line["holds"] == contents.WORDS, line["holds"] == contents.LIMITS
        where = area.sheet, area.top, area.left
        return Found(*where, shape, line["name"], line["kind"], words, reads, called, limit, line)

    def _range(self, name: str) -> Area:
        """Returns the range of a defined name."""
        text, name = self.named(name), unquoted(name)
        require(
            text is not None,
            f"{self.path} has no range called {name}: it is no blueprint workbook, or the name was deleted",
        )
        areas = [*named_areas(text or "")]
        require("#REF!" not in (text or "") and len(areas) < 2, f"{self.path}: the cells of {name} were deleted")
        fits = [
            area
            for area in areas
            if _PLACE.fullmatch(text or "")
            and 1 <= area.left <= area.right <= grid.LAST_COLUMN
            and 1 <= area.top <= area.bottom <= grid.LAST_ROW
            and len(area.rows) * len(area.columns) <= MOST_CELLS
        ]
        require(fits, f"{self.path}: {name} should be a range of cells, but is {unquoted(text)}")
        sheet = fits[0].sheet
        require(
            sheet in self.cells,
            f"{self.path}: {name} should stand on a sheet called {unquoted(sheet)}, but there is none",
        )
        return fits[0]

    def named(self, name: str) -> str | None:
        """Returns what a defined name stands for, such as `Inputs!$D$8`; None if there is no such name."""
        return self.names.get(name.casefold())

    def words_on(self, sheet: str, rows: int) -> Iterator[tuple[int, int, str]]:
        """Yields row, column and text of the words in the first rows of a sheet; a chart of its own has none."""
        values = self.cells[sheet].values if sheet in self.cells else {}
        words = ((*at, value) for at, value in values.items() if at[0] <= rows and isinstance(value, str))
        yield from sorted(words)

    def block(self, name: str) -> Found:
        """Returns where a block stands. Raises ReadError where the file has no such block."""
        require(name in self.places, f"{self.path} has no block {name}: it was made by another version of this program")
        return self.places[name]

    def array(
        self, name: str, odd: dict[tuple[int, ...], str] | None = None, unsaved: bool = False
    ) -> npt.NDArray[Any]:
        """Returns a block's cells, edges included; blank is NaN among numbers and "" among words, off is infinite.

        odd: where given, text among numbers is put there by index, and its cell is NaN. unsaved: a formula that was saved
        without its value is a blank. Raises ReadError, with the cell, for these otherwise, and for a block that is not there.
        """
        found = self.block(name)
        cells = np.empty(tuple(along.cells for along in found.shape), dtype=object if found.words else float)
        for at, row, column in found.cells():
            value = self.value(found.sheet, row, column)
            if value is None and not unsaved and (formula := self.formula(found.sheet, row, column)):
                raise ReadError(
                    f"{self.where(name, at)}: {formula} was saved without recalculation; open and save it in a "
                    "spreadsheet program"
                )
            try:
                cells[at] = found.parsed(value)
            except parse_cell.NoNumber as error:
                if odd is None:
                    raise ReadError(f"{self.where(name, at)}: {error}") from error
                cells[at], odd[at] = np.nan, str(value)
        return cells

    def where(self, name: str, at: tuple[int, ...]) -> str:
        """Returns the file, address and block of a cell, as a sentence begins; edge cells are counted."""
        return f"{self.path}, {self.address(name, at)} ({name})"

    def address(self, name: str, at: tuple[int, ...]) -> str:
        """Returns sheet and cell of a block's cell, edge cells counted: `Weeks!N51`."""
        found = self.places[name]
        return f"{grid.quoted_title(found.sheet)}!{found.cell(at)}"

    def value(self, sheet: str, row: int, column: int) -> Any:
        """Returns what a cell shows; None for a blank one, and for a formula that was saved without its number."""
        return self.cells[sheet].values.get((row, column))

    def formula(self, sheet: str, row: int, column: int) -> str | None:
        """Returns the formula of a cell; None for a cell without."""
        written = self.written.get(sheet, {}).get((row, column))
        return None if written is None else f"={written}"

    @cached_property
    def written(self) -> Written:
        """Every formula of the file, without its sign =; taken apart when the first is asked for."""
        return {title: sheet.formulas for title, sheet in self.cells.items()}

    def remark(self, name: str, at: tuple[int, ...]) -> str:
        """Says how a typed cell is understood where it is not a plain number or word: text that is one, or a formula.

        at: the cell's index, edge cells counted. Returns "" where there is nothing to say.
        """
        found = self.places[name]
        row, column = found.address(at)
        value = self.value(found.sheet, row, column)
        if value is not None and (formula := self.formula(found.sheet, row, column)):
            return f"typed as the formula {formula}, of which the saved value counts"
        if isinstance(value, str) and not found.words and not (found.limit and parse_cell.is_off(value)):
            number = f"counted as {parse_cell.number_in(value):.15g}; to the sheet itself it is no number"
            return f"typed as text {quoted(value)}, {number}"
        return ""

    def links(self, sheet: str, row: int) -> list[str]:
        """Returns where the links in a row lead: `Weeks!N51` or `Weeks!N14:X14`."""
        return self.cells[sheet].links.get(row, [])


At = tuple[int, ...]
"""Index of a block's cell, edge cells counted."""
MOST_BLANKS = 1_000
"""Blanks that a file may have: a class fills in a dozen, and each is looked for in the whole file."""
MOST_COLUMNS = 50
_BLANK = re.compile(r"blank_\d{2,4}")


class Spot(NamedTuple):
    """A cell of a block: the block's name, and the cell's index, edge cells counted."""

    name: str
    at: At


class Told(NamedTuple):
    """What the sheet Blanks says of a blank: as `outline.Blank` has it."""

    title: str
    weight: float = 1.0
    asks: str = "number"
    check: int | None = None


class FilledIn:
    """The blanks of a saved workbook; a workbook without blanks has none.

    blanks: by its defined name, `blank_01`, the cells of each blank, in reading order.
    empty:  the cells of blanks in which nothing stands. Cells of which somebody deleted the row are none.
    """

    def __init__(self, file: Opened):
        self._file = file
        named = sorted(name for name in file.names if _BLANK.fullmatch(name))
        require(
            len(named) <= MOST_BLANKS, f"{file.path} has {len(named)} blanks: {MOST_BLANKS} are the most it may have"
        )
        self.blanks: dict[str, tuple[Spot, ...]] = {
            name: tuple(spot for area in named_areas(file.names[name]) for spot in self._inside(area)) for name in named
        }
        self.cells = frozenset(spot for spots in self.blanks.values() for spot in spots)
        self.empty = frozenset(spot for spot in self.cells if not self._holds(spot))

    @cached_property
    def told(self) -> dict[str, Told]:
        """What the sheet Blanks says of each blank; where somebody changed that sheet, its defined name is its title."""
        found = {name: Told(name) for name in self.blanks}
        for area in named_areas(self._file.named(grid.BLANKS_RANGE) or ""):
            headings, *rows = self._table(area)
            for number, row in enumerate(rows, 1):
                line, name = dict(zip(headings, row, strict=True)), f"blank_{number:02}"
                if name in found and line.get("title"):
                    found[name] = _told(line)
        return found

    @cached_property
    def lacks_words(self) -> bool:
        """Whether the sheet Blanks says, below its table, that a sentence is left out: sentences stand in quotes there."""
        below = (
            self._file.value(area.sheet, row, area.left)
            for area in named_areas(self._file.named(grid.BLANKS_RANGE) or "")
            for row in range(area.bottom + 1, min(area.bottom + MOST_BLANKS, grid.LAST_ROW))
        )
        return any(isinstance(text, str) and text.endswith("”") for text in below)

    def _table(self, area: Area) -> list[list[Any]]:
        columns = area.columns[: MOST_COLUMNS + 1]
        return [
            [self._file.value(area.sheet, row, column) for column in columns] for row in area.rows[: MOST_BLANKS + 1]
        ]

    @cached_property
    def waiting(self) -> frozenset[Spot]:
        """The cells of blocks whose formulas hang on an empty blank, directly or through others."""
        return self._behind(self.empty) - self.empty

    @cached_property
    def behind(self) -> frozenset[Spot]:
        """The cells of blocks whose formulas hang on a blank, empty or not: they go on with what is filled in."""
        return self._behind(self.cells) - self.cells

    @cached_property
    def open(self) -> Mapping[str, set[At]]:
        """By block the cells of which nothing can be said yet: those that are empty, and those that wait."""
        found: dict[str, set[At]] = {}
        for name, at in self.empty | self.waiting:
            found.setdefault(name, set()).add(at)
        return found

    @cached_property
    def touched(self) -> frozenset[str]:
        """The blocks of which a cell is a blank, or hangs on one."""
        return frozenset(name for name, _ in self.cells | self.behind)

    @cached_property
    def numbers(self) -> dict[str, dict[At, float]]:
        """By block the numbers that are filled in; what is none, or a formula that was saved without its number, is left out."""
        found: dict[str, dict[At, float]] = {}
        for spot in sorted(self.cells - self.empty):
            value = self._value(spot)
            with suppress(parse_cell.NoNumber):
                if value is not None:
                    found.setdefault(spot.name, {})[spot.at] = parse_cell.number_in(value)
        return found

    def _behind(self, spots: Collection[Spot]) -> frozenset[Spot]:
        """Returns some cells and all that hang on them."""
        found, queue = set(spots), list(spots)
        for spot in queue:  # which grows by what is found
            new = self._readers.get(spot, set()) - found
            found |= new
            queue += new
        return frozenset(found)

    def _value(self, spot: Spot) -> Any:
        found = self._file.places[spot.name]
        return self._file.value(found.sheet, *found.address(spot.at))

    def _holds(self, spot: Spot) -> bool:
        found = self._file.places[spot.name]
        value = self._value(spot)
        text = value.strip() if isinstance(value, str) else value
        return text not in (None, "") or self._file.formula(found.sheet, *found.address(spot.at)) is not None

    @cached_property
    def _spots(self) -> dict[Address, Spot]:
        """The computed cells of all blocks, by where they stand."""
        return {
            Address(found.sheet, row, column): Spot(name, at)
            for name, found in self._file.places.items()
            if found.kind != "typed"
            for at, row, column in found.cells()
        }

    @cached_property
    def _readers(self) -> dict[Spot, set[Spot]]:
        """By cell those whose formulas read it."""
        readers: dict[Spot, set[Spot]] = {}
        for here, spot in self._spots.items():
            formula = self._file.formula(*here)
            for area in read_by(formula, here.sheet, self._file.named) if formula else ():
                for read in self._inside(area):
                    readers.setdefault(read, set()).add(spot)
        return readers

    def _inside(self, area: Area) -> Iterator[Spot]:
        """Yields the computed cells in an area."""
        return map(self._spots.__getitem__, area.among(self._spots))


def _told(line: dict[Any, Any]) -> Told:
    """Returns what a row of the sheet Blanks says; what somebody made no number of counts as one that is not there."""
    points, check = line.get("points"), line.get("check")
    weight = float(points) if isinstance(points, int | float) and points > 0 else 1.0
    asks = "formula" if "formula" in str(line.get("write")) else "number"
    return Told(str(line["title"]), weight, asks, int(check) if isinstance(check, int | float) else None)
