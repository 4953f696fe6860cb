"""Where a computation ends: the first cell that has no number, and the step at which the number is lost."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np

from blueprint.language import cells, trees
from blueprint.language.axes import Axis, NotationError
from blueprint.language.blocks import Block
from blueprint.language.nodes import Expr, Find, Op, Reduce, Ref
from blueprint.language.spelling.numbers import printed, with_numbers
from blueprint.language.values import Values

LARGEST = "beyond 1.8e308, the largest number that a cell can hold"
REASONS = {
    "exp": f"exp({{}}) is {LARGEST}",
    "log": "{} has no logarithm",
    "sqrt": "{} has no square root",
    "div": "{} cannot be divided by {}",
    "choose": "there is no alternative {}",
}
"""What to say of the operation at which a computation ends; the result of any other one is too large."""
DIVIDED, BEYOND = "#DIV/0!", "#NUM!"
"""What a spreadsheet shows where a computation ends: a quotient by 0, and what has no number or one that is too large."""


class NoNumber(NotationError):
    """A cell has no number: an overflow, a logarithm of 0, a quotient by 0, a look-up outside its list.

    block, places: the first such cell in the order of computation, by 0-based places; reason: the step that fails there.
    equation: the block's equation, and with the numbers put in. values: everything computed, NaN where nothing is.
    """

    def __init__(self, block: Block, places: tuple[int, ...], reason: str, equation: str, values: Values):
        self.block, self.places, self.reason, self.equation, self.values = block, places, reason, equation, values
        super().__init__(self._sentence(""))

    def at(self, address: str) -> Self:
        """Adds to the sentence where the cell stands on the page."""
        self.args = (self._sentence(address),)
        return self

    def _sentence(self, address: str) -> str:
        at = ", ".join(filter(None, (*map(self._member, self.block.axes, self.places), address)))
        return f"{self.block.name}{f' ({at})' if at else ''} has no number: {self.reason}; {self.equation}"

    def _member(self, axis: Axis, place: int) -> str:
        """Names a member as people count; the cells before the first and after the last are the start and the end."""
        inside, end = 0 <= place < self.values.size(axis), "start" if place < 0 else "end"
        return f"{axis.letter} = {place + axis.start}" if inside else f"{axis.letter}: the {end}"


class Ending(NamedTuple):
    """Where and why a computation ended.

    cell: the one at which it did. reason: the step that fails there. equation: the cell's, and with the numbers put in.
    error: what a spreadsheet shows there; "" where it would show a number, as of an empty cell, or one looked up.
    """

    cell: cells.Cell
    reason: str
    equation: str
    error: str


def no_number(block: Block, places: tuple[int, ...], values: Values) -> NoNumber:
    """Returns the exception that says why a computed cell, given by 0-based places, has no number, and where that began."""
    found = ending(block, places, values)
    return NoNumber(*found.cell, found.reason, found.equation, values)


def ending(block: Block, places: tuple[int, ...], values: Values) -> Ending:
    """Finds where the computation ended on which a cell without a number hangs, given by 0-based places."""
    before: cells.Cell | None = cells.Cell(block, places)
    while before:
        cell, filled = before, cells.filled_by(*before, values)
        assert filled is not None
        expr, members = filled.definition.expr, filled.members
        before = next(_lost_in(expr, members, values), None)
    equation = f"{cell.block.symbol} = {expr}"
    if not any(
        isinstance(node, Find) or (isinstance(node, Ref) and trees.lookups_in(node)) for node in trees.walk(expr)
    ):
        equation += f" = {with_numbers(expr, members, values)}"  # what leads nowhere has no numbers to put in
    reason, error = _reason(expr, members, values)
    return Ending(cell, reason, equation, error)


def _lost_in(expr: Expr, members: cells.Members, values: Values) -> Iterator[cells.Cell]:
    """Yields the computed cells without a number that an expression reads."""
    match expr:
        case Reduce(_, axes, body):
            inner = [(body, here) for here in cells.along(axes, members, values)]
        case Find(_, axis, among, value):
            inner = [(value, members), *((among, here) for here in cells.along((axis,), members, values))]
        case _:
            inner = [(each, members) for each in _operands(expr, members, values)]
    for each, here in inner:
        yield from _lost_in(each, here, values)
    if isinstance(expr, Ref) and not expr.block.typed and _lost(cells.value_of(expr, members, values)):
        with suppress(ValueError, IndexError):  # a look-up may also lead outside
            cell = cells.Cell(expr.block, cells.places_of(expr, members, values))
            if _lost(values.cell(cell.block, *cell.places)) and cells.filled_by(*cell, values):
                yield cell


def _reason(expr: Expr, members: cells.Members, values: Values) -> tuple[str, str]:
    """Says at which step the number is lost, looking into what is read before looking at what is done with it; and the error."""
    for each in () if isinstance(expr, Ref | Reduce | Find) else _operands(expr, members, values):
        if _lost(cells.value_of(each, members, values)):
            return _reason(each, members, values)
    match expr:
        case Op(name, args) if name in REASONS:
            numbers = [cells.value_of(arg, members, values) for arg in args]
            error = "" if name == "choose" else DIVIDED if name == "div" and numbers[1] == 0 else BEYOND
            return REASONS[name].format(*map(printed, numbers)), error
        case Ref(block) if trees.lookups_in(expr):
            return f"“{expr}” looks up a member that {block.name} does not have", ""
        case Ref(block):
            return f"a cell of {block.name} is empty", ""
        case Find():
            return f"“{expr}” finds nothing", ""
    return f"“{expr}” is {LARGEST}", BEYOND


def _operands(expr: Expr, members: cells.Members, values: Values) -> tuple[Expr, ...]:
    """Returns the operands that a value is made of: of alternatives only the one that is taken.

    What has the weight 0 is not read.
    """
    if isinstance(expr, Op) and expr.weighed and cells.value_of(expr.args[0], members, values) == 0:
        return expr.args[:1]
    if not (isinstance(expr, Op) and expr.name in ("where", "choose")):
        return trees.children(expr)
    alternative = cells.alternative_of(expr, members, values)
    return expr.args[:1] if alternative is None else (alternative,)


def _lost(value: Any) -> bool:
    return not isinstance(value, str) and not np.isfinite(value)
