"""The handout: a worksheet on paper. For each blank what is asked, its equation, the numbers it reads, and a line to write on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from blueprint.book import Book
from blueprint.explaining import label
from blueprint.language import Cell, Read, equation, filled_by
from blueprint.page.outline import Blank
from blueprint.worksheets.leaks import answers_of
from blueprint.worksheets.making import Worksheet

MOST = 12
"""How many numbers of a sum are put on paper; of more the sheet is named where they stand."""


@dataclass(frozen=True)
class Task:
    """One blank on paper.

    number: as it is counted. title: the quantity, in words. wanted: what is written behind the line: `A[1, 5] =`.
    equation: how it is computed. given: what the equation reads, with its numbers. asks: number or formula.
    answer: what belongs there. digits: its check digits, where they are printed.
    """

    number: int
    title: str
    wanted: str
    equation: str
    given: tuple[str, ...]
    asks: str
    weight: float
    stands: str
    answer: str
    digits: int | None = None


@dataclass(frozen=True)
class Handout:
    """What is put on paper: a title, the lines below it, the tasks, what the letters mean."""

    title: str
    head: tuple[str, ...]
    tasks: tuple[Task, ...]


def handout(worksheet: Worksheet) -> Handout:
    """Returns what a worksheet asks, as text."""
    full, blanks = worksheet.full, worksheet.blanks
    ways = {1: "numbers", 2: "rows: write the formula", 3: "sections: write the formulas"}[worksheet.level]
    head = (f"{worksheet.blueprint.title}, level {worksheet.level}, {len(blanks)} blanks ({ways})",)
    return Handout(
        worksheet.blueprint.sheets[0].heading or worksheet.blueprint.title,
        head,
        tuple(_task(i, blank, blanks, full) for i, blank in enumerate(blanks, 1)),
    )


def _task(number: int, blank: Blank, blanks: Sequence[Blank], book: Book) -> Task:
    """Returns one blank; of a row its equation, and as an example what the first cell that counts reads."""
    cell = Cell(blank.block, _first(blank, book))
    filled, answers = filled_by(*cell, book.values), answers_of(blank, book.values)
    decimals = blank.block.about.decimals
    return Task(
        number=number,
        title=blank.block.about.meaning or blank.block.name,
        wanted=label(cell, book.blueprint.names, book.values),
        equation=equation(blank.block, filled.definition) if filled else "",
        given=tuple(_given(cell, blanks, book)),
        asks=blank.asks,
        weight=blank.weight,
        stands=book.stands(*cell, book.values),
        answer="  ".join(f"{each + 0.0:.{decimals}f}" for each in answers).replace("-", "−"),
        digits=blank.check,
    )


def _first(blank: Blank, book: Book) -> tuple[int, ...]:
    """Returns the first cell of a blank whose answer is not 0, which shows best what is asked."""
    nonzero = (at for at in blank.cells if book.values.cell(blank.block, *at) != 0)
    return next(nonzero, blank.cells[0])


def _given(cell: Cell, blanks: Sequence[Blank], book: Book) -> Iterator[str]:
    """Yields what an equation reads: each number by its name, a blank by its number, a long sum by where it stands."""
    for read in book.reads(cell):
        if len(read.cells) > MOST:
            yield f"{read.ref.block.symbol}: {len(read.cells)} numbers, {_range(read, book)}"
            continue
        for each in read.cells:
            called = label(each, book.blueprint.names, book.values)
            inside = next((i for i, blank in enumerate(blanks, 1) if _holds(blank, each)), None)
            yield f"{called} = {_shown(each, book)}" if inside is None else f"{called} is blank {inside}"


def _holds(blank: Blank, cell: Cell) -> bool:
    return blank.block is cell.block and cell.places in blank.cells


def _shown(cell: Cell, book: Book) -> str:
    value = book.values.cell(cell.block, *cell.places)
    return f"“{value}”" if isinstance(value, str) else f"{value + 0.0:.{cell.block.about.decimals}f}".replace("-", "−")


def _range(read: Read, book: Book) -> str:
    first, last = (book.stands(*cell, book.values) for cell in (read.cells[0], read.cells[-1]))
    return f"{first} to {last.rpartition('!')[2]}"
