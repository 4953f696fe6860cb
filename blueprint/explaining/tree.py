"""The tree of an explanation: a cell, its equation with the numbers put in, and the same of every cell that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from blueprint.explaining.members import Names, label, span_label
from blueprint.explaining.spots import Spots, range_of
from blueprint.language import Values
from blueprint.language.cells import filled_by
from blueprint.language.chain import Cell, Read, chain
from blueprint.language.nodes import Ref, walk
from blueprint.language.spelling.numbers import explained
from blueprint.language.spelling.text import equation


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
    said: float | str | None = None
    reads: tuple[Explanation, ...] = ()
    spans: tuple[Span, ...] = ()
    more: bool = False
    depth: int | None = None
    head: tuple[str, ...] = ()

    def __str__(self) -> str:
        from blueprint.explaining.text import text

        return text(self)

    def __repr__(self) -> str:
        return f"<explanation of {self.label}: {self.numbers}>"

    def latex(self) -> str:
        """Returns the equations and their numbers as an aligned environment, the first cell at the top."""
        from blueprint.explaining.as_latex import as_latex

        return as_latex(self)

    def to_dict(self) -> dict[str, Any]:
        """Returns {"top": address, "cells": {address: facts}}: every cell once, with the addresses that it reads."""
        from blueprint.explaining.as_json import to_dict

        return to_dict(self)


@dataclass(frozen=True)
class Sight:
    """What an explanation looks at: the numbers, the words for members, where blocks stand, and what a file shows.

    said: returns what the file shows in a cell where that is not the cell's value.
    """

    values: Values
    names: Names
    spots: Spots
    said: Callable[[Cell], float | str | None] = lambda cell: None


def explanation(cell: Cell, sight: Sight, depth: int | None, head: tuple[str, ...] = ()) -> Explanation:
    """Explains a cell and what it reads, `depth` steps down; without depth to the typed cells."""
    opened = chain(cell, sight.values, depth)
    order = TopologicalSorter({each: _cells(found) for each, found in opened.items()}).static_order()
    made: dict[Cell, Explanation] = {}
    for each in order:
        is_top = each.block is cell.block and each.places == cell.places
        top = {"depth": depth, "head": head} if is_top else {}
        made[each] = _one(each, opened, made, sight, top)
    return made[cell]


def _one(
    cell: Cell,
    opened: Mapping[Cell, tuple[Read, ...]],
    made: Mapping[Cell, Explanation],
    sight: Sight,
    top: Mapping[str, Any],
) -> Explanation:
    block, values = cell.block, sight.values
    filled = filled_by(*cell, values)
    found = opened.get(cell, ())
    return Explanation(
        name=block.name,
        label=label(cell, sight.names, values),
        symbol=block.symbol,
        meaning=block.about.meaning,
        unit=block.about.unit,
        source=block.about.source,
        at={axis.letter: place + axis.start for axis, place in zip(block.axes, cell.places, strict=True)},
        cell=_address((cell,), sight),
        equation=equation(block, filled.definition) if filled else "",
        numbers=explained(*cell, values),
        value=values.cell(block, *cell.places),
        here=(cell, values),
        typed=block.typed,
        said=sight.said(cell),
        reads=tuple(made[each] for each in _cells(found)),
        spans=tuple(_spans(found, sight)),
        more=cell not in opened
        and filled is not None
        and any(isinstance(e, Ref) for e in walk(filled.definition.expr)),
        **top,
    )


def _cells(found: tuple[Read, ...]) -> list[Cell]:
    return [cell for read in found for cell in read.cells]


def _spans(found: tuple[Read, ...], sight: Sight) -> Iterator[Span]:
    first = 0
    for read in found:
        last = first + len(read.cells)
        if read.over:
            yield Span(span_label(read, sight.names, sight.values), _address(read.cells, sight), first, last, read.of)
        first = last


def _address(cells: tuple[Cell, ...], sight: Sight) -> str:
    """Returns where cells of one block stand; nothing if it stands nowhere."""
    spot = sight.spots.get(cells[0].block.name)
    return range_of(spot.address(cell.places) for cell in cells) if spot else ""
