"""The grid of every sheet: its columns, the places of blocks and of their cells, and the names of sheets and blocks."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from blueprint.language import Axis, Block, Values
from blueprint.quoting import quoted

SYMBOL, NAME, LEFT = 1, 2, 3
LEFT_COLUMNS = 10
SINGLE = LEFT + LEFT_COLUMNS
GROUPS = SINGLE + 2
AROUND = 4
"""Columns of a group besides its members: start, end, Σ and a gap."""

LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
"""Where every sheet ends, in every spreadsheet program."""
LONGEST_RUN = 64
"""Above about a hundred cells of one formula below each other LibreOffice computes wrong numbers, silently."""

TITLE_ROW, LEAD_ROW, BANNER_ROW, NUMBER_ROW = 0, 1, 2, 3


def stride(members: int) -> int:
    """Returns the width of one group."""
    return members + AROUND


def start_column(group: int, members: int) -> int:
    """Returns the column before the first member of a group (0-based)."""
    return GROUPS + group * stride(members)


@cache
def column_letters(column: int) -> str:
    """Returns the letters of a 0-based column: 0 → A, 26 → AA."""
    before, last = divmod(column, 26)
    return (column_letters(before - 1) if before else "") + chr(ord("A") + last)


@cache
def column_of(named: str) -> int:
    """Returns the 0-based column of its letters: A → 0, aa → 26."""
    number = 0
    for letter in named.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def address(row: int, column: int, fixed: bool = False) -> str:
    """Returns the address of a 0-based cell: B3, or $B$3 if it is fixed."""
    mark = "$" * fixed
    return f"{mark}{column_letters(column)}{mark}{row + 1}"


def area(top: int, left: int, bottom: int, right: int, fixed: bool = False) -> str:
    """Returns the range between two 0-based cells: B3:D9; of a single cell its address."""
    first, last = address(top, left, fixed), address(bottom, right, fixed)
    return first if first == last else f"{first}:{last}"


def lookup_area(top: int, left: int, bottom: int, right: int) -> str:
    """Returns the fixed range of an INDEX or a MATCH: both ends even where they are one cell, as IronCalc needs them there."""
    return f"{address(top, left, True)}:{address(bottom, right, True)}"


def quoted_title(sheet: str) -> str:
    """Returns a sheet's name as formulas write it."""
    return sheet if sheet.isidentifier() and sheet.isascii() else "'" + sheet.replace("'", "''") + "'"


def unquoted_title(sheet: str) -> str:
    """Returns a sheet's name from the way in which formulas write it."""
    return sheet[1:-1].replace("''", "'") if sheet.startswith("'") else sheet


@dataclass(frozen=True)
class Place:
    """The 0-based cell of a block's members 0, 0, …, and the (rows, columns) from one member to the next per axis.

    groups: the axes of which each member has a group of columns of its own.
    """

    sheet: str
    row: int
    column: int
    steps: Mapping[Axis, tuple[int, int]]
    groups: tuple[Axis, ...] = ()

    def cell(self, block: Block, places: tuple[int, ...]) -> tuple[int, int]:
        """Returns row and column of a cell given by 0-based places; −1 and the size are the edges."""
        row, column = self.row, self.column
        for axis, member in zip(block.axes, places, strict=True):
            down, right = self.steps[axis]
            row, column = row + down * member, column + right * member
        return row, column

    def corners(self, block: Block, values: Values) -> tuple[int, int, int, int]:
        """Returns the first row and column and the last row and column of the block, edges included."""
        first, last = (self.cell(block, tuple(span[end] for span in values.spans(block))) for end in (0, -1))
        return *first, *last


class Nest:
    """The rows of one block. `across`: the axes that run to the right.

    outer: the axes whose members have headings, the outermost first.
    """

    def __init__(self, block: Block, across: Sequence[Axis], values: Values):
        self.block, self.values, self.axes = block, values, [axis for axis in block.axes if axis not in across]
        self.outer, self.steps, high = self.axes[:-1], dict[Axis, tuple[int, int]](), 1
        for axis in reversed(self.axes):
            self.steps[axis] = (high, 0)
            high = 1 + high * len(values.span(block, axis))

    def above(self, depth: int = 0) -> int:
        """Returns how many rows stand above the first member of all axes from a depth on: edges, and headings."""
        edges = (self.values.before(self.block, axis) * self.steps[axis][0] for axis in self.axes[depth:])
        return sum(edges) + len(self.outer[depth:])

    def headings(self, place: Place) -> Iterator[tuple[int, Axis, int]]:
        """Yields the rows that name the members of outer axes, each with the axis and the member."""
        for depth, axis in enumerate(self.outer):
            for members in product(*(range(self.values.size(each)) for each in self.outer[: depth + 1])):
                first = self._row(place, dict(zip(self.outer, members, strict=False)))
                yield first - self.above(depth + 1) - 1, axis, members[-1]

    def members(self, place: Place) -> Iterator[tuple[int, int]]:
        """Yields the row and the number of each member of the innermost axis."""
        for members in product(*(range(self.values.size(axis)) for axis in self.axes)):
            yield self._row(place, dict(zip(self.axes, members, strict=True))), members[-1]

    def _row(self, place: Place, at: dict[Axis, int]) -> int:
        return place.cell(self.block, tuple(at.get(axis, 0) for axis in self.block.axes))[0]


_AXIS = re.compile(r"(?P<letter>\S+?)(?P<way>[→↓])(?P<size>\d+)(?:/(?P<step>\d+))?(?:\((?P<edges>[a-z,]+)\))?")


class Along(NamedTuple):
    """One axis of a block: its letter, members, rows and columns from one to the next, and which edge cells exist."""

    letter: str
    size: int
    down: int
    right: int
    start: bool
    end: bool

    @property
    def cells(self) -> int:
        """Returns how many cells lie along the axis, edges included."""
        return self.size + self.start + self.end

    def __str__(self) -> str:
        way, step = ("↓", self.down) if self.down else ("→", self.right)
        edges = ",".join(word for word, there in (("start", self.start), ("end", self.end)) if there)
        return f"{self.letter}{way}{self.size}{f'/{step}' if step > 1 else ''}{f'({edges})' if edges else ''}"


def shape_of(block: Block, place: Place, values: Values) -> tuple[Along, ...]:
    """Returns how a block lies in its range."""
    return tuple(
        Along(axis.letter, values.size(axis), *place.steps[axis], (axis, -1) in block.edges, (axis, 1) in block.edges)
        for axis in block.axes
    )


def parse_shape(text: str) -> tuple[Along, ...]:
    """Takes a printed shape apart. Raises ValueError if it is none."""
    found = []
    for word in text.split():
        match = _AXIS.fullmatch(word)
        if not match or match["step"] == "0":
            raise ValueError(f"{quoted(word)} says not how a block lies")
        step, edges = int(match["step"] or 1), (match["edges"] or "").split(",")
        steps = (step, 0) if match["way"] == "↓" else (0, step)
        found.append(Along(match["letter"], int(match["size"]), *steps, "start" in edges, "end" in edges))
    return tuple(found)


class Address(NamedTuple):
    """A cell of a workbook: its sheet, row and column, counted from 1."""

    sheet: str
    row: int
    column: int

    @property
    def cell(self) -> str:
        """The address without the sheet: `K12`."""
        return f"{column_letters(self.column - 1)}{self.row}"

    def __str__(self) -> str:
        return f"{quoted_title(self.sheet)}!{self.cell}"


@dataclass(frozen=True)
class Spot:
    """Where a block stands in a file: its sheet, its first row and column (edge cells included), and how it lies there."""

    sheet: str
    top: int
    left: int
    shape: tuple[Along, ...]

    def address(self, at: tuple[int, ...]) -> tuple[int, int]:
        """Returns row and column (1-based) of a cell by its index, edge cells counted."""
        row, column = self.top, self.left
        for along, i in zip(self.shape, at, strict=True):
            row, column = row + along.down * i, column + along.right * i
        return row, column

    def cell(self, at: tuple[int, ...]) -> str:
        """Returns the address of a cell, without its sheet, by its index, edge cells counted."""
        row, column = self.address(at)
        return address(row - 1, column - 1)

    def cells(self) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """Yields index, row and column (1-based) of every cell, edge cells as first and last along their axis."""
        for at in product(*(range(along.cells) for along in self.shape)):
            yield at, *self.address(at)

    def stands(self, places: tuple[int, ...]) -> Address:
        """Returns where a cell stands by 0-based places; −1 and the size are the edges."""
        at = tuple(place + along.start for place, along in zip(places, self.shape, strict=True))
        return Address(self.sheet, *self.address(at))

    def places(self) -> Iterator[tuple[int, ...]]:
        """Yields the places of all cells."""
        return product(*(range(-along.start, along.size + along.end) for along in self.shape))

    def rows(self) -> range:
        """Returns the rows from the first to the last cell."""
        return range(self.top, self.top + 1 + sum(along.down * (along.cells - 1) for along in self.shape))

    def columns(self) -> str:
        """Names the columns: `columns Q to X and AC to AJ`."""
        held = sorted({column - 1 for _, _, column in self.cells()})
        ends = zip((x for x in held if x - 1 not in held), (x for x in held if x + 1 not in held), strict=True)
        letters = (tuple(map(column_letters, each)) for each in ends)
        named = " and ".join(first if first == last else f"{first} to {last}" for first, last in letters)
        return f"column {named}" if named.isalpha() else f"columns {named}"


DELIVERED, FORMULAS, CONTENTS = "Delivered", "Formulas", "Contents"
BLANKS = "Blanks"
ONE_PAGE = "One page"
"""The first tab, where a blueprint says what stands on it: the whole computation at a glance."""
ONE_PAGE_LEAD = "the whole computation on one sheet: read each column downwards"
BLANKS_LEAD = (
    "what is left to you: a cream cell in a dashed outline; what reads it shows … on grey until it is filled in"
)
"""The sheet that lists the blanks, right after the first sheet, where a workbook has some."""
SHEETS = {
    DELIVERED: "a copy of everything typed, and what was changed since: to undo a change, copy the number back",
    FORMULAS: "whether every formula is the one that was delivered, and the sheet and row of the first that is not",
    CONTENTS: "every row: name, symbol, meaning, place, equation, what it reads, its paper or library",
}
"""Each sheet that is added to those of an outline, with what stands there, in the order of the tabs."""

CONTENTS_RANGE, CHOSEN_PLACE, CHANGED_INPUTS = "blueprint_contents", "chosen_place", "changed_inputs"
CHANGED_SINCE, FIRST_FORMULA, READS_FORMULAS = "changed_since", "first_formula", "reads_formulas"
BLANKS_RANGE, COPY_CELL = "blueprint_blanks", "blueprint_token"
COPY = COPY_CELL.removeprefix("blueprint_")
"""The table of the blanks; and the cell that says whose copy a file is, with the name of that among the blueprint's facts."""
NAMES = (CONTENTS_RANGE, CHOSEN_PLACE, CHANGED_INPUTS, CHANGED_SINCE, FIRST_FORMULA, READS_FORMULAS)
"""The table of contents, by which readers find every block; where the chosen column is in every row; how many typed
blocks were changed, without the choice of what is shown and with it; the first formula that is not as delivered; and
whether the program can read a formula's text."""


def is_of_one_page(sheet: str, formula: str) -> bool:
    """Says whether a formula stands on One page, or reads a cell of it."""
    return sheet == ONE_PAGE or f"'{ONE_PAGE}'!" in formula


def with_one_part(formula: str) -> str:
    """Spells the largest of several cells of a row as that of the first alone: how many parts watch One page hangs on numbers."""
    return re.sub(r"(MAX\([A-Z]+\d+):[A-Z]+\d+\)$", r"\1)", formula)


UNPRINTED = "Printed: the head (see print area)"
FIRST_PRINTED = "Printed: first group (see print area)"

# What a spreadsheet takes for a cell (A1, LAM1), for a row or column (R, C, R1C1), or for a function of its own.
_CELL = re.compile(r"[A-Za-z]{1,3}\d+|[Rr]\d*|[Cc]\d*|[Rr]\d*[Cc]\d*")
_FUNCTIONS = {
    "gamma", "beta", "max", "min", "sum", "exp", "index", "match", "choose", "var", "mode", "rank", "rate", "true", "false",
}  # fmt: skip


def defined_name(block: str) -> str:
    """Returns the defined name of a block: its dotted name with low lines, and one more where it would mean something else.

    LibreOffice allows no dots in names; `gamma` is a function, so a block of that name becomes `gamma_`.
    """
    name = re.sub(r"^(?=\d)|\W", "_", block)  # one before a digit, too
    return f"{name}_" if _CELL.fullmatch(name) or name.lower() in _FUNCTIONS else name
