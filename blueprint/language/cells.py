"""One cell of a block: which equation fills it, what that reads there, and what those cells read, down to the typed ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, product
from typing import Any, NamedTuple

import numpy as np

from blueprint.language import blocks, trees, vectorise
from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.nodes import Expr, Find, Index, Lookup, Op, Reduce, Ref
from blueprint.language.values import Values

MOST = 12
"""How many cells of one sum are followed further, as long as the depth is limited."""
Members = Mapping[Axis, int]


class Cell(NamedTuple):
    """One cell of a block, by 0-based places; −1 and the size are its edges."""

    block: blocks.Block
    places: tuple[int, ...]


class Filled(NamedTuple):
    """The equation that fills a cell, and the 0-based place of each of its letters."""

    definition: blocks.Definition
    members: Members


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


Reads = tuple[Read, ...]


def filled_by(block: blocks.Block, places: tuple[int, ...], values: Values) -> Filled | None:
    """Returns the equation of a cell given by 0-based places (−1 and the size are edges); None for a typed cell."""
    for definition in block.definitions:
        if (members := _members(block, definition, places, values)) is not None:
            return Filled(definition, members)
    return None


def _members(
    block: blocks.Block, definition: blocks.Definition, places: tuple[int, ...], values: Values
) -> Members | None:
    members: dict[Axis, int] = {}
    for slot, index, place in zip(block.axes, definition.target, places, strict=True):
        match index:
            case Edge() if place != values.edge(index):
                return None
            case Position(axis):
                members[axis] = place - values.ahead(slot, axis)
                if not 0 <= members[axis] < values.size(axis):
                    return None
    return members


def places_of(ref: Ref, members: Members, values: Values) -> tuple[int, ...]:
    """Returns the places of the cell that a reference means for the members at hand."""
    return tuple(_place(slot, index, members, values) for slot, index in zip(ref.block.axes, ref.at, strict=True))


def _place(slot: Axis, index: Index, members: Members, values: Values) -> int:
    match index:
        case Edge():
            return values.edge(index)
        case Position(axis, by):
            return members[axis] + by + values.ahead(slot, axis)
        case Lookup(_, id):
            return int(value_of(id, members, values))


def value_of(expr: Expr, members: Members, values: Values) -> Any:
    """Computes an expression for the members at hand."""
    with np.errstate(all="ignore"):
        return np.asarray(vectorise.compiled(expr, (), values)(members)).item()


def alternative_of(choice: Op, members: Members, values: Values) -> Expr | None:
    """Returns the alternative that a condition or a number takes; None where the number is that of none."""
    which, *alternatives = choice.args
    number = value_of(which, members, values)
    place = 1 - number if choice.name == "where" else number
    return alternatives[int(place)] if place in range(len(alternatives)) else None


def along(axes: Sequence[Axis], members: Members, values: Values) -> list[Members]:
    """Returns the members at hand for each cell that a sum, a maximum or a search goes through."""
    places = product(*(range(values.size(axis)) for axis in axes))
    return [{**members, **dict(zip(axes, chosen, strict=True))} for chosen in places]


def origin(cell: Cell, values: Values) -> Cell:
    """Returns the cell that a link repeats, link after link; any other cell is its own."""
    while cell.block.link and (filled := filled_by(*cell, values)):
        repeated = next(node for node in trees.walk(filled.definition.expr) if isinstance(node, Ref))
        cell = Cell(repeated.block, places_of(repeated, filled.members, values))
    return cell


def reads(cell: Cell, values: Values) -> Reads:
    """Returns what the equation of a cell reads, in the order of the equation, links passed through.

    Of a choice only the chosen alternative is read. A typed cell, and one that is a plain constant, reads nothing.
    """
    filled = filled_by(*cell, values)
    found = [*_reads(filled.definition.expr, filled.members, values)] if filled else []
    first = {read.cells: read for read in reversed(found) if read.cells}
    return tuple(read for read in found if first.get(read.cells) is read)


def chain(cell: Cell, reads: Callable[[Cell], Reads], depth: int | None = None) -> dict[Cell, Reads]:
    """Returns every cell within `depth` steps of a cell with what it reads, the nearest first; without depth all.

    reads: what a cell reads. With a depth only what is `followed` is opened, at most a dozen cells of a sum.
    """
    opened: dict[Cell, Reads] = {}
    layer = {cell: None}
    while layer and depth != 0:
        opened |= {each: reads(each) for each in layer}
        found = [read.cells if depth is None else read.followed[:MOST] for seen in layer for read in opened[seen]]
        layer = {each: None for cells in found for each in cells if each not in opened}
        depth = None if depth is None else depth - 1
    return opened


def _reads(expr: Expr, members: Members, values: Values) -> Iterator[Read]:
    match expr:
        case Op("choose") | Op("where", (Op("is_off"), _, _)):
            inner = tuple(each for each in (expr.args[0], alternative_of(expr, members, values)) if each is not None)
        case Reduce():
            inner = ()
        case _:
            inner = (expr.value,) if isinstance(expr, Find) else trees.children(expr)
    for each in inner:
        yield from _reads(each, members, values)
    match expr:
        case Ref():
            cell = _origin(expr, members, values)
            yield Read(expr, (cell,), (), 1, (cell,))
        case Reduce():
            yield from _reduced(expr, members, values)
        case Find():
            yield _searched(expr, members, values)


def _reduced(expr: Reduce, members: Members, values: Values) -> Iterator[Read]:
    """Yields the cells of each factor of a sum whose terms are not 0, or the cells of a maximum."""
    refs = [node for node in trees.walk(expr.body) if isinstance(node, Ref)]
    rows = [tuple(_origin(ref, here, values) for ref in refs) for here in along(expr.axes, members, values)]
    kept = [row for row in rows if expr.name == "max" or all(_value(cell, values) != 0 for cell in row)]
    for ref, cells in zip(refs, zip(*kept, strict=True), strict=False):
        followed = cells if expr.name == "sum" else (max(cells, key=lambda cell: float(_value(cell, values))),)
        yield Read(ref, cells, expr.axes, len(rows), followed)


def _searched(expr: Find, members: Members, values: Values) -> Read:
    """Returns the cells that are searched; followed are the one found and, where a number falls between two, the next."""
    cells = followed = tuple(_origin(expr.among, here, values) for here in along((expr.axis,), members, values))
    if isinstance(expr.value, Ref):
        sought = values.cell(expr.value.block, *places_of(expr.value, members, values))
        held = [_value(cell, values) for cell in cells]
        if expr.name == "find":
            last = sum(float(each) <= float(sought) for each in held) - 1
            followed = cells[max(last, 0) : last + 2]
        else:
            followed = tuple(compress(cells, [str(each).casefold() == str(sought).casefold() for each in held]))
    return Read(expr.among, cells, (expr.axis,), len(cells), followed)


def _origin(ref: Ref, members: Members, values: Values) -> Cell:
    return origin(Cell(ref.block, places_of(ref, members, values)), values)


def _value(cell: Cell, values: Values) -> float | str:
    return values.cell(cell.block, *cell.places)
