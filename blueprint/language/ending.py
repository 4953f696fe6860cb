"""Where a computation ends: the cell, and in its equation the step, that has no number although all that it reads has one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from blueprint.language.blocks import Block
from blueprint.language.cells import Members, filled_by, places_of
from blueprint.language.chain import Cell
from blueprint.language.errors import NoNumber
from blueprint.language.nodes import Expr, Find, Lookup, Op, Reduce, Ref
from blueprint.language.spelling.numbers import number, with_numbers
from blueprint.language.spelling.text import text
from blueprint.language.trees import walk
from blueprint.language.values import Values
from blueprint.language.vectorise import compiled

LARGEST = "beyond 1.8e308, the largest number that a cell can hold"
REASONS = {
    "exp": f"exp({{}}) is {LARGEST}",
    "log": "{} has no logarithm",
    "sqrt": "{} has no square root",
    "div": "{} cannot be divided by {}",
    "choose": "there is no alternative {}",
}
"""What to say of the operation at which a computation ends; the result of any other one is too large."""


def no_number(block: Block, places: tuple[int, ...], values: Values) -> NoNumber:
    """Returns the exception that tells why a computed cell, given by 0-based places, has no number, and where that began."""
    cell = Cell(block, places)
    while before := next(_lost_before(cell, values), None):
        cell = before
    filled = filled_by(*cell, values)
    assert filled is not None
    expr, members = filled.definition.expr, filled.members
    equation = f"{cell.block.symbol} = {expr}"
    if not any(isinstance(node, Find | Lookup) for node in _nodes(expr)):  # what leads nowhere has no numbers to put in
        equation += f" = {with_numbers(expr, members, values)}"
    return NoNumber(*cell, _reason(expr, members, values), equation, values)


def _lost_before(cell: Cell, values: Values) -> Iterator[Cell]:
    """Yields the computed cells without a number that a cell reads."""
    filled = filled_by(*cell, values)
    return _lost_in(filled.definition.expr, filled.members, values) if filled else iter(())


def _lost_in(expr: Expr, members: Members, values: Values) -> Iterator[Cell]:
    match expr:
        case Ref(block, at):
            for index in at:
                if isinstance(index, Lookup):
                    yield from _lost_in(index.id, members, values)
            if not block.typed and _lost(_value(expr, members, values)):
                yield from _in_range(block, expr, members, values)
        case Reduce(_, axes, body):
            for chosen in product(*(range(values.size(axis)) for axis in axes)):
                yield from _lost_in(body, {**members, **dict(zip(axes, chosen, strict=True))}, values)
        case Find(_, axis, among, value):
            yield from _lost_in(value, members, values)
            for member in range(values.size(axis)):
                yield from _lost_in(among, {**members, axis: member}, values)
        case _:
            for inner in _taken(expr, members, values):
                yield from _lost_in(inner, members, values)


def _in_range(block: Block, ref: Ref, members: Members, values: Values) -> Iterator[Cell]:
    """Yields the cell of a reference, if an equation fills it and it has no number: a look-up may also lead outside."""
    try:
        cell = Cell(block, places_of(ref, members, values))
        if _lost(values.cell(block, *cell.places)) and filled_by(*cell, values):
            yield cell
    except (ValueError, IndexError):
        return


def _reason(expr: Expr, members: Members, values: Values) -> str:
    """Says at which step the number is lost, looking into what is read before looking at what is done with it."""
    for inner in _taken(expr, members, values):
        if _lost(_value(inner, members, values)):
            return _reason(inner, members, values)
    match expr:
        case Op(name, args):
            reason = REASONS.get(name, f"“{text(expr)}” is {LARGEST}")
            return reason.format(*(number(_value(arg, members, values)).text for arg in args))
        case Ref(block, at) if any(isinstance(index, Lookup) for index in at):
            return f"“{text(expr)}” looks up a member that {block.name} does not have"
        case Ref(block, _):
            return f"a cell of {block.name} is empty"
        case Find():
            return f"“{text(expr)}” finds nothing"
    return f"“{text(expr)}” is {LARGEST}"


def _taken(expr: Expr, members: Members, values: Values) -> tuple[Expr, ...]:
    """Returns the operands that a value is made of: of alternatives only the one that is taken."""
    match expr:
        case Op("where", (test, then, otherwise)):
            holds = _value(test, members, values)
            return (test,) if _lost(holds) else (then if holds == 1 else otherwise,)
        case Op("choose", (which, *rows)):
            chosen = _value(which, members, values)
            return (rows[int(chosen)],) if not _lost(chosen) and chosen in range(len(rows)) else (which,)
        case Op(_, args):
            return args
    return ()


def _nodes(expr: Expr) -> Iterator[object]:
    for node in walk(expr):
        yield node
        if isinstance(node, Ref):
            yield from node.at


def _value(expr: Expr, members: Members, values: Values) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(compiled(expr, (), values)(members)).item()


def _lost(value: Any) -> bool:
    return not isinstance(value, str) and not np.isfinite(value)
