"""The chain: which cells the equation of a cell reads, and what those read, down to the typed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from blueprint.language.axes import Axis
from blueprint.language.blocks import Block
from blueprint.language.cells import Members, filled_by, places_of
from blueprint.language.nodes import Expr, Find, Lookup, Op, Reduce, Ref
from blueprint.language.trees import OFF_WORD, children, walk
from blueprint.language.values import Values

MOST = 12
"""How many cells of one sum are followed further, as long as the depth is limited."""


class Cell(NamedTuple):
    """One cell of a block, by 0-based places; −1 and the size are its edges."""

    block: Block
    places: tuple[int, ...]


class Read(NamedTuple):
    """The cells that one reference of an equation reads.

    ref:      the reference as the equation writes it.
    cells:    what it reads; of a sum only the cells whose term is not 0.
    over:     the axes along which a sum, a maximum or a search goes through them; none for a single cell.
    of:       how many cells lie along those axes.
    followed: the cells on which the result hangs: all of a sum, the largest, the one that is found and the next.
    """

    ref: Ref
    cells: tuple[Cell, ...]
    over: tuple[Axis, ...]
    of: int
    followed: tuple[Cell, ...]


def origin(cell: Cell, values: Values) -> Cell:
    """Returns the cell that a link repeats, link after link; any other cell is its own."""
    while cell.block.link:
        filled = filled_by(*cell, values)
        assert filled is not None
        repeated = next(node for node in walk(filled.definition.expr) if isinstance(node, Ref))
        cell = _cell(repeated, filled.members, values)
    return cell


def reads(cell: Cell, values: Values) -> tuple[Read, ...]:
    """Returns what the equation of a cell reads, in the order of the equation, links passed through.

    Of a choice only the chosen alternative is read. A typed cell, and one that is a plain constant, reads nothing.
    """
    filled = filled_by(*cell, values)
    if filled is None:
        return ()
    found: dict[tuple[Cell, ...], Read] = {}
    for read in _reads(filled.definition.expr, filled.members, values):
        if read.cells:
            found.setdefault(read.cells, read)
    return tuple(found.values())


def chain(
    cell: Cell, reads: Callable[[Cell], tuple[Read, ...]], depth: int | None = None
) -> dict[Cell, tuple[Read, ...]]:
    """Returns every cell within `depth` steps of a cell with what it reads, the nearest first; without depth all.

    reads: what a cell reads. With a depth only what is `followed` is opened, at most a dozen cells of a sum. Each cell appears
    once.
    """
    opened: dict[Cell, tuple[Read, ...]] = {}
    layer = {cell: None}
    while layer and (depth is None or depth > 0):
        opened |= {each: reads(each) for each in layer}
        found = (read for seen in layer for read in opened[seen])
        further = (each for read in found for each in (read.cells if depth is None else read.followed[:MOST]))
        layer = {each: None for each in further if each not in opened}
        depth = None if depth is None else depth - 1
    return opened


def _reads(expr: Expr, members: Members, values: Values) -> Iterator[Read]:
    match expr:
        case Op("choose", (Ref() as which, *rows)):
            yield from _reads(which, members, values)
            yield from _reads(rows[int(values.cell(which.block, *places_of(which, members, values)))], members, values)
        case Op("where", (Op("is_off", (Ref() as limit,)), then, otherwise)):
            yield from _reads(limit, members, values)
            off = values.cell(limit.block, *places_of(limit, members, values)) == OFF_WORD
            yield from _reads(then if off else otherwise, members, values)
        case Ref():
            for index in expr.at:
                if isinstance(index, Lookup):
                    yield from _reads(index.id, members, values)
            cell = origin(_cell(expr, members, values), values)
            yield Read(expr, (cell,), (), 1, (cell,))
        case Reduce():
            yield from _reduced(expr, members, values)
        case Find():
            yield from _reads(expr.value, members, values)
            yield _searched(expr, members, values)
        case _:
            for child in children(expr):
                yield from _reads(child, members, values)


def _reduced(expr: Reduce, members: Members, values: Values) -> Iterator[Read]:
    """Yields the cells of each factor of a sum whose terms are not 0, or the cells of a maximum."""
    refs = [node for node in walk(expr.body) if isinstance(node, Ref)]
    chosen = [dict(zip(expr.axes, each, strict=True)) for each in product(*(range(values.size(a)) for a in expr.axes))]
    rows = [tuple(origin(_cell(ref, {**members, **here}, values), values) for ref in refs) for here in chosen]
    if expr.name == "sum":
        rows = [row for row in rows if all(_value(cell, values) != 0 for cell in row)]
    for ref, cells in zip(refs, zip(*rows, strict=True), strict=False):
        followed = cells if expr.name == "sum" else (max(cells, key=lambda cell: float(_value(cell, values))),)
        yield Read(ref, cells, expr.axes, len(chosen), followed)


def _searched(expr: Find, members: Members, values: Values) -> Read:
    """Returns the cells that are searched; followed are the one found and, where a number falls between two, the next."""
    size = values.size(expr.axis)
    cells = tuple(origin(_cell(expr.among, {**members, expr.axis: i}, values), values) for i in range(size))
    followed = cells
    if isinstance(expr.value, Ref):
        wanted = _value(_cell(expr.value, members, values), values)
        held = [_value(cell, values) for cell in cells]
        followed = tuple(cells[i] for i in (_fallen_on(held, wanted) if expr.name == "find" else _same(held, wanted)))
    return Read(expr.among, cells, (expr.axis,), size, followed)


def _fallen_on(held: list[float | str], wanted: float | str) -> list[int]:
    last = sum(float(each) <= float(wanted) for each in held) - 1
    return [i for i in (last, last + 1) if 0 <= i < len(held)]


def _same(held: list[float | str], wanted: float | str) -> list[int]:
    return [i for i, each in enumerate(held) if str(each).casefold() == str(wanted).casefold()]


def _cell(ref: Ref, members: Members, values: Values) -> Cell:
    return Cell(ref.block, places_of(ref, members, values))


def _value(cell: Cell, values: Values) -> float | str:
    return values.cell(cell.block, *cell.places)
