"""What is bad about one answer, and about a row of choices: found by equations and numbers."""

from collections.abc import Iterator
from math import isclose

import numpy as np

from blueprint.language import Axis, Block, Cell, Expr, Op, Values, filled_by, reads, walk
from blueprint.language.cells import value_of
from blueprint.language.trees import letters_of
from blueprint.language.vectorise import compiled

CHOICES = ("minimum", "maximum", "where")
NO_CHOICE = ("is_off", "filled")
"""Conditions that settings decide, the same in all cells."""


def same(one: float, other: float, decimals: int) -> bool:
    """Tells whether two numbers show the same digits."""
    return round(one, decimals) == round(other, decimals) or isclose(one, other, rel_tol=1e-9)


def is_zero(cell: Cell, values: Values) -> bool:
    """Tells whether an answer shows no digit but 0."""
    return round(number_in(cell, values), cell.block.about.decimals) == 0


def is_one(cell: Cell, values: Values) -> bool:
    """Tells whether an answer that is no whole number by nature shows 1 or −1."""
    return cell.block.about.decimals > 0 and abs(round(number_in(cell, values), cell.block.about.decimals)) == 1


def repeats(cell: Cell, values: Values) -> bool:
    """Tells whether an answer shows the digits of what its equation reads; what chooses among numbers is one of them by nature."""
    filled = filled_by(*cell, values)
    if filled is None or [*choices_in(filled.definition.expr)]:
        return False
    answer, decimals = number_in(cell, values), cell.block.about.decimals
    found = (values.cell(*_at(each)) for read in reads(cell, values) for each in read.cells if not each.block.text)
    return any(isinstance(number, float) and same(number, answer, decimals) for number in found)


def ties(cell: Cell, values: Values) -> bool:
    """Tells whether an equation chooses between two numbers that are the same."""
    filled = filled_by(*cell, values)
    if filled is None:
        return False
    for choice in choices_in(filled.definition.expr):
        one, other = (value_of(each, filled.members, values) for each in choice.args[-2:])
        if not isinstance(one, str) and not isinstance(other, str) and same(one, other, cell.block.about.decimals):
            return True
    return False


def choices_in(expr: Expr) -> Iterator[Op]:
    """Yields the minima, maxima and conditions of an equation, but for those that settings decide."""
    for node in walk(expr):
        if (
            isinstance(node, Op)
            and node.name in CHOICES
            and not (isinstance(node.args[0], Op) and node.args[0].name in NO_CHOICE)
        ):
            yield node


def ways_of(block: Block, values: Values) -> Iterator[set[int]]:
    """Yields, for each choice in a block's equations, the ways that it goes somewhere in the block; ties are none."""
    for definition in block.definitions:
        frame = tuple(letters_of(definition.target))
        for choice in choices_in(definition.expr):
            yield _ways(choice, frame, values)


def _ways(choice: Op, frame: tuple[Axis, ...], values: Values) -> set[int]:
    compared = choice.args[:1] if choice.name == "where" else choice.args
    with np.errstate(all="ignore"):
        one, *other = (np.asarray(compiled(each, frame, values)({}), dtype=float) for each in compared)
    gap = one - 0.5 if not other else one - other[0]
    return {int(way) for way in np.unique(np.sign(gap[np.isfinite(gap)])) if way}


def number_in(cell: Cell, values: Values) -> float:
    """Returns the number of a cell."""
    return float(values.cell(*_at(cell)))


def _at(cell: Cell) -> tuple[Block, *tuple[int, ...]]:
    return cell.block, *cell.places
