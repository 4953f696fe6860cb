"""Evaluation: the numbers of every block, from the typed ones, in numpy float64."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from copy import copy
from types import MappingProxyType
from typing import Any

import numpy as np

from blueprint.language import cells, recurrence, trees, vectorise
from blueprint.language.axes import Axis, Edge, NotationError
from blueprint.language.blocks import Block, Definition
from blueprint.language.lost import ending, no_number
from blueprint.language.schedule import Loop, Step, in_order, read_by, schedule
from blueprint.language.values import Array, At, Ended, Held, Values, Where


def compute(
    blocks: Iterable[Block],
    sizes: Mapping[Axis, int],
    typed: Mapping[Block, object],
    beyond: bool = False,
    held: Held = MappingProxyType({}),
    needed: AbstractSet[Block] | None = None,
) -> Values:
    """Computes every block.

    sizes: how many members each axis has (joined axes follow from their parts).
    typed: the given numbers or words of each typed block, edges included; NaN or "" is a blank cell.
    beyond: whether results may be infinite or no number, as a library's are on the same inputs.
    held: numbers that stand in computed cells whatever their equations say (`Values.own` keeps what these came to), by
    0-based places; everything that reads such a cell goes on with its number.
    needed: the blocks that must have numbers, and with them all that they read in the branches taken; None: all. Cells without a
    number in other blocks are kept in `Values.ended`.
    Raises NotationError for a missing or misshapen input and a cell that needs itself, and NoNumber (without `beyond`) for
    the first needed result that is no number.
    """
    return Computation(blocks, sizes, beyond).values(typed, held, needed)


class Computation:
    """The computation of some blocks, put in order and compiled once, for any numbers that are typed."""

    def __init__(self, blocks: Iterable[Block], sizes: Mapping[Axis, int], beyond: bool = False):
        listed = list(blocks)
        _check_listed(listed)
        self._typed = [block for block in listed if block.typed]
        self._steps = schedule([block for block in listed if not block.typed])
        self._values = Values(sizes, beyond)
        self._compiled: _Compiled = {}

    def values(
        self,
        typed: Mapping[Block, object],
        held: Held = MappingProxyType({}),
        needed: AbstractSet[Block] | None = None,
    ) -> Values:
        """Computes every block, as `compute` does, and raises what it raises."""
        values = self._values
        values.arrays, values.held, values.own = {}, {}, {}
        values.ended, values.why, values.roots = {}, {}, {}
        values.hold(held)
        for block in self._typed:
            values.fill(block, typed)
        fill(self._steps, values, self._compiled)
        for block in () if values.beyond else in_order(self._steps):
            _check_finite(block, values, needed is None or block in needed)
        return copy(values)  # what is compiled goes on to read from `values`, whose arrays will be others


_Compiled = dict[object, Any]
"""What was compiled for some values, and where it is written, by equation and loops; of a recursion, itself."""


def fill(steps: tuple[Step, ...], values: Values, compiled: _Compiled | None = None) -> None:
    """Computes the blocks of steps, in their order, from the numbers that all others have."""
    # What is no number is refused later, in a sentence; a branch that `where` does not take may be one.
    with np.errstate(all="ignore"):
        _run(steps, values, {}, {} if compiled is None else compiled)


def run(step: Step, values: Values, compiled: _Compiled) -> None:
    """Computes one step as `fill` does, by what it was compiled to before; the caller ignores numpy's warnings."""
    if step not in compiled:
        compiled[step] = _ready(step, values, compiled)
    compiled[step]()


def _ready(step: Step, values: Values, before: _Compiled) -> Callable[[], None]:
    """Returns what computes a step where no loop goes on."""
    if isinstance(step, Loop):
        return lambda: _run((step,), values, {}, before)
    lines = [
        (get, where.place({})) for get, where in (_line(step, each, {}, values, before) for each in step.definitions)
    ]

    def write() -> None:
        for get, place in lines:
            values.write(step, place, get({}))

    return write


def _run(steps: tuple[Step, ...], values: Values, at: At, before: _Compiled) -> None:
    """Computes the steps where the loops stand; before: what was compiled, by equation and loops."""
    for step in steps:
        if isinstance(step, Loop) and not at and recurrence.is_plain(step, values):
            key = "loop", step.axis, step.way, *(id(each) for of in in_order((step,)) for each in of.definitions)
            if key not in before:
                before[key] = recurrence.Recurrence(step, values)
            before[key].run(lambda edge, steps=step.steps: _run(steps, values, edge, before))
            continue
        if isinstance(step, Loop):
            for position in range(-1, values.size(step.axis) + 1)[:: step.way]:
                _run(step.steps, values, {**at, step.axis: position}, before)
            continue
        for definition in step.definitions:
            if not belongs(definition, at, values):
                continue
            get, where = _line(step, definition, at, values, before)
            values.write(step, where.place(at), get(at))


def _line(
    block: Block, definition: Definition, at: At, values: Values, before: _Compiled
) -> tuple[vectorise.Getter, Where]:
    """Returns what a definition comes to, and where it is written, compiled once for the loops that go on."""
    key = (id(definition), frozenset(at))
    if key not in before:
        free = tuple(axis for axis in trees.letters_of(definition.target) if axis not in at)
        where = values.where(block, definition.target, at)
        before[key] = vectorise.compiled(definition.expr, free, values), where
    found: tuple[vectorise.Getter, Where] = before[key]
    return found


def belongs(definition: Definition, at: At, values: Values) -> bool:
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
        if names[block.name] is not block:
            raise NotationError(f"two blocks are called {block.name}: rename one")
        if not block.typed and not block.definitions:
            raise NotationError(f"{block.name} has no equation: write {block!r}[…] = …, or make it with typed(…)")
        for read in read_by(block):
            if read not in known:
                raise NotationError(f"{block.name} reads {read.name}, which stands nowhere: put it on a sheet")


def _check_finite(block: Block, values: Values, needed: bool) -> None:
    """Raises NoNumber for the first cell that is no finite number and may not end, NotationError for one without an equation."""
    broken = _broken(block, values.arrays[block])
    ended = [
        places
        for places in (_places(block, at, values) for at in broken)
        if cells.filled_by(block, places, values) is not None
    ]
    if ended and (needed or not _may_end(block, ended, values)):
        raise no_number(block, ended[0], values)
    if len(broken) and not ended and len(_broken(block, values[block])):
        written = " and ".join(f"[{', '.join(map(str, d.target))}]" for d in block.definitions)
        raise NotationError(f"{block.name} has cells without an equation: only {written} is written")


def _places(block: Block, at: Array, values: Values) -> tuple[int, ...]:
    """Returns the 0-based places of a cell, by its index in the block's array."""
    return tuple(int(i) - values.before(block, axis) for i, axis in zip(at, block.axes, strict=True))


def _may_end(block: Block, ended: list[tuple[int, ...]], values: Values) -> bool:
    """Notes that a block has cells that ended, with the reason of the first; False where a spreadsheet shows no error."""
    found = ending(block, ended[0], values)
    if found.error:
        values.ended[block] = dict.fromkeys(ended, Ended(found.error))
        own = found.cell.block is block
        values.why[block] = found.reason if own else f"{found.cell.block.symbol} has none, {found.reason}"
        if own:
            values.roots[block] = ended[0]
    return bool(found.error)


_NOWHERE = np.empty((0, 0), dtype=np.intp)


def _broken(block: Block, array: Array) -> Array:
    """Returns the places of the cells that are no finite number (or no word, in a block of words); off is infinite."""
    if block.text:
        return np.argwhere(np.vectorize(lambda cell: not isinstance(cell, str), otypes=[bool])(array))
    numbers = array.astype(float, copy=False)
    finite = np.isfinite(numbers) | np.isposinf(numbers) if block.limit else np.isfinite(numbers)
    return _NOWHERE if finite.all() else np.argwhere(~finite)
