"""One cell of a block: which equation fills it, and the places of everything that the equation reads there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.blocks import Block, Definition
from blueprint.language.errors import NotationError
from blueprint.language.nodes import Constant, Count, Expr, Index, Lookup, Op, Ref
from blueprint.language.values import Values

Members = Mapping[Axis, int]


class Filled(NamedTuple):
    """The equation that fills a cell, and the 0-based place of each of its letters."""

    definition: Definition
    members: Members


def filled_by(block: Block, places: tuple[int, ...], values: Values) -> Filled | None:
    """Returns the equation of a cell given by 0-based places (−1 and the size are edges); None for a typed cell."""
    for definition in block.definitions:
        members = _members(block, definition, places, values)
        if members is not None:
            return Filled(definition, members)
    return None


def places_of(ref: Ref, members: Members, values: Values) -> tuple[int, ...]:
    """Returns the places of the cell that a reference means for the members at hand."""
    return tuple(_place(slot, index, members, values) for slot, index in zip(ref.block.axes, ref.at, strict=True))


def places_by_number(block: Block, numbers: Mapping[str, int], values: Values) -> tuple[int, ...]:
    """Turns the numbers a person counts in (row 1, day 5, id 0) into places, letter by letter.

    Raises NotationError for a missing or superfluous letter and for a member that does not exist.
    """
    letters = [axis.letter for axis in block.axes]
    if set(numbers) != set(letters):
        wanted = ", ".join(f"{letter}=…" for letter in letters)
        raise NotationError(f"a cell of {block.name} is named by ({wanted}), not by ({', '.join(map(str, numbers))})")
    places = tuple(numbers[axis.letter] - axis.start for axis in block.axes)
    for axis, place in zip(block.axes, places, strict=True):
        low, high = numbers_along(block, axis, values)
        if not low <= (number := place + axis.start) <= high:
            raise NotationError(f"{block.name} has no {axis.letter} = {number}: {axis.plural} run {low} … {high}")
    return places


def numbers_along(block: Block, axis: Axis, values: Values) -> tuple[int, int]:
    """Returns the first and the last number in which a person counts a block's cells along an axis, edges included."""
    first = axis.start - values.before(block, axis)
    return first, axis.start + values.size(axis) - 1 + int((axis, 1) in block.edges)


def _members(block: Block, definition: Definition, places: tuple[int, ...], values: Values) -> Members | None:
    members: dict[Axis, int] = {}
    for slot, index, place in zip(block.axes, definition.target, places, strict=True):
        match index:
            case Edge(axis, side):
                if place != (-1 if side < 0 else values.size(axis)):
                    return None
            case Position(axis):
                member = place - values.ahead(slot, axis)
                if not 0 <= member < values.size(axis):
                    return None
                members[axis] = member
    return members


def _place(slot: Axis, index: Index, members: Members, values: Values) -> int:
    match index:
        case Edge(axis, side):
            return -1 if side < 0 else values.size(axis)
        case Position(axis, by):
            return members[axis] + by + values.ahead(slot, axis)
        case Lookup(_, id):
            return int(_id(id, members, values))


def _id(id: Expr, members: Members, values: Values) -> float:
    """Returns the member that is looked up: a cell's, or one counted from the member at hand."""
    match id:
        case Ref():
            return float(values.cell(id.block, *places_of(id, members, values)))
        case Count("number", axis):
            return members[axis] + axis.start
        case Constant(float() | int() as value):
            return value
        case Op("sub", (left, right)):
            return _id(left, members, values) - _id(right, members, values)
    raise NotationError(f"the id {id} is no cell: make it a step of its own")
