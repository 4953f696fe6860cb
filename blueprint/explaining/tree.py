"""The tree of an explanation: a cell, its equation with the numbers put in, and the same of every cell that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any, NamedTuple

from blueprint.explaining import cells, formats
from blueprint.language import Block, Cell, Read, Values, chain, equations
from blueprint.page.cells import formula_at

if TYPE_CHECKING:
    from blueprint.book import Book


@dataclass(frozen=True)
class Span:
    """Cells that a sum, a maximum or a search goes through: `reads[first:last]` of an explanation.

    label: `W[i, h1]`.
    cell:  their range in the workbook.
    of:    how many there are; terms that are 0 are not among the reads.
    """

    label: str
    cell: str
    first: int
    last: int
    of: int


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """One cell and what it comes from.

    name:     the block's name. `label` is the cell as equations write it: `A[1, 5]`.
    at:       the cell's members, by letter: {"n": 1, "t": 5}.
    cell:     where it stands in the workbook; empty if it stands nowhere.
    equation: the equation; empty for a typed cell.
    numbers:  the equation with the numbers put in, and = the value; of a typed cell the value alone.
    blank:    what a worksheet's cell is, a blank that is filled in or not, or one that waits for such; "" of any other.
    said:     what the file shows in the cell, where that is not the value; None where it is.
    reads:    what the equation reads, in its order; each cell is one object, however often it is read.
    spans:    which of the reads are one sum, maximum or search.
    more:     whether it reads something that is not among `reads`, because the depth was reached.
    here:     the cell itself and the numbers, for other ways to spell it.
    depth:    of the first cell: how many steps were asked for; None for all.
    head:     of the first cell: what stands above its column, its source, how it was found.
    """

    name: str
    label: str
    symbol: str
    meaning: str
    unit: str
    source: str
    at: Mapping[str, int]
    cell: str
    equation: str
    numbers: str
    value: float | str
    here: tuple[Cell, Values]
    typed: bool = False
    blank: str = ""
    said: float | str | None = None
    reads: tuple[Explanation, ...] = ()
    spans: tuple[Span, ...] = ()
    more: bool = False
    depth: int | None = None
    head: tuple[str, ...] = ()

    def __str__(self) -> str:
        return formats.text(self)

    def __repr__(self) -> str:
        return f"<explanation of {self.label}: {self.numbers}>"

    def nearest(self) -> list[tuple[Explanation, Explanation]]:
        """Lists every cell below this one with the one that it is opened under: the nearest that reads it."""
        home: dict[Explanation, Explanation] = {self: self}
        queue = [self]
        for parent in queue:  # which grows by what is found
            new = [each for each in dict.fromkeys(parent.reads) if each not in home]
            home |= dict.fromkeys(new, parent)
            queue += new
        return list(home.items())[1:]

    def latex(self) -> str:
        """Returns the equations and their numbers as an aligned environment, the first cell at the top."""
        return formats.as_latex(self)

    def to_dict(self) -> dict[str, Any]:
        """Returns {"top": address, "cells": {address: facts}}: every cell once, with the addresses that it reads."""
        return formats.to_dict(self)


def explanation(cell: Cell, book: Book, depth: int | None, head: tuple[str, ...] = ()) -> Explanation:
    """Explains a cell and what it reads, `depth` steps down; without depth to the typed cells."""
    opened = chain(cell, book.reads, depth)
    made: dict[Cell, Explanation] = {}
    for each in TopologicalSorter({each: _cells(found) for each, found in opened.items()}).static_order():
        made[each] = _one(each, opened.get(each), made, book)
    return replace(made[cell], depth=depth, head=head)


def _one(cell: Cell, found: tuple[Read, ...] | None, made: Mapping[Cell, Explanation], book: Book) -> Explanation:
    block, values = cell.block, book.values
    equation, numbers = book.spelled(cell)
    return Explanation(
        name=block.name,
        label=cells.label(cell, book.blueprint.names, values),
        symbol=block.symbol,
        meaning=block.about.meaning,
        unit=block.about.unit,
        source=block.about.source,
        at={axis.letter: place + axis.start for axis, place in zip(block.axes, cell.places, strict=True)},
        cell=_address((cell,), book),
        equation=equation,
        numbers=numbers,
        value=values.cell(block, *cell.places),
        here=(cell, values),
        typed=book.typed(block),
        blank=book.blank(cell),
        said=book.said(cell),
        reads=tuple(made[each] for each in _cells(found or ())),
        spans=tuple(_spans(found or (), book)),
        more=found is None and bool(book.reads(cell)),
    )


def _cells(found: tuple[Read, ...]) -> list[Cell]:
    return [cell for read in found for cell in read.cells]


def _spans(found: tuple[Read, ...], book: Book) -> Iterator[Span]:
    first = 0
    for read in found:
        last = first + len(read.cells)
        if read.over:
            named = cells.span_label(read, book.blueprint.names, book.values)
            yield Span(named, _address(read.cells, book), first, last, read.of)
        first = last


def _address(held: tuple[Cell, ...], book: Book) -> str:
    """Returns where cells of one block stand; nothing if it stands nowhere."""
    spot = book.spots.get(held[0].block.name)
    return cells.range_of(spot.stands(cell.places) for cell in held) if spot else ""


class Shown(NamedTuple):
    """One cell in four ways, and where it stands."""

    equation: str
    numbers: str
    formula: str
    value: float | str
    cell: str

    def __str__(self) -> str:
        return f"{self.equation}\n{self.numbers}\n{self.cell}: {self.formula}\n{self.value}"


def shown(book: Book, block: Block, members: Mapping[str, int | str]) -> Shown:
    """Shows the cell of a block at members that are named as the page counts them."""
    at = cells.places_named(block, members, book.blueprint.names, book.values)
    equation, numbers = book.spelled(Cell(block, at))
    formula, cell = formula_at(block, at, book.layout), book.layout.address(block, at)
    return Shown(equation or equations(block), numbers, formula, book.values.cell(block, *at), cell)
