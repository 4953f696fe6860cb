"""Evaluation: the numbers of every block, from the typed ones, in numpy float64; and the cell at which it ends, and why."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Self

import numpy as np

from blueprint.language import cells, trees, vectorise
from blueprint.language.axes import Axis, Edge, NotationError, require
from blueprint.language.blocks import Block, Definition
from blueprint.language.nodes import Expr, Find, Op, Reduce, Ref
from blueprint.language.schedule import Loop, Step, in_order, needs, schedule
from blueprint.language.spelling.numbers import printed, with_numbers
from blueprint.language.values import Array, At, Values


def compute(
    blocks: Iterable[Block], sizes: Mapping[Axis, int], typed: Mapping[Block, object], beyond: bool = False
) -> Values:
    """Computes every block.

    sizes: how many members each axis has (joined axes follow from their parts).
    typed: the given numbers or words of each typed block, edges included; NaN or "" is a blank cell.
    beyond: whether results may be infinite or no number, as a library's are on the same inputs.
    Raises NotationError for a missing or misshapen input and a cell that needs itself, and NoNumber (without `beyond`) for
    the first result that is no number.
    """
    listed = list(blocks)
    _check_listed(listed)
    values = Values(sizes, beyond)
    for block in listed:
        if block.typed:
            values.fill(block, typed)
    steps = schedule([block for block in listed if not block.typed])
    # What is no number is refused below, in a sentence; a branch that `where` does not take may be one.
    with np.errstate(all="ignore"):
        _run(steps, values, {}, {})
    for block in () if beyond else in_order(steps):
        _check_finite(block, values)
    return values


def _run(steps: tuple[Step, ...], values: Values, at: At, before: dict[object, vectorise.Getter]) -> None:
    """Computes the steps where the loops stand; before: what was compiled, by equation and loops."""
    for step in steps:
        if isinstance(step, Loop):
            for position in range(-1, values.size(step.axis) + 1)[:: step.way]:
                _run(step.steps, values, {**at, step.axis: position}, before)
            continue
        for definition in (each for each in step.definitions if _belongs(each, at, values)):
            key = (id(definition), frozenset(at))
            if key not in before:
                free = tuple(axis for axis in trees.letters_of(definition.target) if axis not in at)
                before[key] = vectorise.compiled(definition.expr, free, values)
            values.write(Ref(step, definition.target), before[key](at), at)


def _belongs(definition: Definition, at: At, values: Values) -> bool:
    """Tells whether a definition writes at the place where the loops stand: its edge at the edge, its body inside."""
    return all(
        at[index.axis] == values.edge(index)
        if isinstance(index, Edge)
        else 0 <= at[index.axis] < values.size(index.axis)
        for index in definition.target
        if index.axis in at
    )


def _check_listed(blocks: list[Block]) -> None:
    """Refuses two blocks of one name, a block without an equation, and reading a block that is not there."""
    known, names = set(blocks), {block.name: block for block in blocks}
    for block in known:
        require(names[block.name] is block, f"two blocks are called {block.name}: rename one")
        require(
            block.typed or block.definitions,
            f"{block.name} has no equation: write {block!r}[…] = …, or make it with typed(…)",
        )
        for need in needs(block):
            require(need.read in known, f"{block.name} reads {need.read.name}, which stands nowhere: put it on a sheet")


def _check_finite(block: Block, values: Values) -> None:
    """Raises NoNumber for the first cell that is no finite number, and NotationError for one without an equation."""
    for at in _broken(block, values.arrays[block]):
        places = tuple(int(i) - values.before(block, axis) for i, axis in zip(at, block.axes, strict=True))
        if cells.filled_by(block, places, values) is not None:
            raise no_number(block, places, values)
    if len(_broken(block, values[block])):
        written = " and ".join(f"[{', '.join(map(str, d.target))}]" for d in block.definitions)
        raise NotationError(f"{block.name} has cells without an equation: only {written} is written")


def _broken(block: Block, array: Array) -> Array:
    """Returns the places of the cells that are no finite number (or no word, in a block of words); off is infinite."""
    if block.text:
        return np.argwhere(np.vectorize(lambda cell: not isinstance(cell, str), otypes=[bool])(array))
    numbers = array.astype(float, copy=False)
    return np.argwhere(~np.isfinite(numbers) & ~(np.isposinf(numbers) & block.limit))


LARGEST = "beyond 1.8e308, the largest number that a cell can hold"
REASONS = {
    "exp": f"exp({{}}) is {LARGEST}",
    "log": "{} has no logarithm",
    "sqrt": "{} has no square root",
    "div": "{} cannot be divided by {}",
    "choose": "there is no alternative {}",
}
"""What to say of the operation at which a computation ends; the result of any other one is too large."""


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


def no_number(block: Block, places: tuple[int, ...], values: Values) -> NoNumber:
    """Returns the exception that says why a computed cell, given by 0-based places, has no number, and where that began."""
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
    return NoNumber(*cell, _reason(expr, members, values), equation, values)


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


def _reason(expr: Expr, members: cells.Members, values: Values) -> str:
    """Says at which step the number is lost, looking into what is read before looking at what is done with it."""
    for each in () if isinstance(expr, Ref | Reduce | Find) else _operands(expr, members, values):
        if _lost(cells.value_of(each, members, values)):
            return _reason(each, members, values)
    match expr:
        case Op(name, args) if name in REASONS:
            return REASONS[name].format(*(printed(cells.value_of(arg, members, values)) for arg in args))
        case Ref(block) if trees.lookups_in(expr):
            return f"“{expr}” looks up a member that {block.name} does not have"
        case Ref(block):
            return f"a cell of {block.name} is empty"
        case Find():
            return f"“{expr}” finds nothing"
    return f"“{expr}” is {LARGEST}"


def _operands(expr: Expr, members: cells.Members, values: Values) -> tuple[Expr, ...]:
    """Returns the operands that a value is made of: of alternatives only the one that is taken."""
    if not (isinstance(expr, Op) and expr.name in ("where", "choose")):
        return trees.children(expr)
    alternative = cells.alternative_of(expr, members, values)
    return expr.args[:1] if alternative is None else (alternative,)


def _lost(value: Any) -> bool:
    return not isinstance(value, str) and not np.isfinite(value)
