"""Evaluation: the numbers of every block, computed from the typed ones by the schedule, in numpy float64."""

from collections.abc import Iterable, Mapping

import numpy as np

from blueprint.language.axes import Axis, Edge, NotationError, Position
from blueprint.language.blocks import Block, Definition
from blueprint.language.cells import filled_by
from blueprint.language.ending import no_number
from blueprint.language.nodes import Ref
from blueprint.language.schedule import Loop, Step, in_order, needs, schedule
from blueprint.language.values import Array, At, Values
from blueprint.language.vectorise import Getter, compiled


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
    steps = schedule(block for block in listed if not block.typed)
    # What is no number is refused below, in a sentence; a branch that `where` does not take may be one.
    with np.errstate(all="ignore"):
        _run(steps, values, {}, {})
    for block in () if beyond else in_order(steps):
        _check_finite(block, values)
    return values


Compiled = dict[tuple[int, frozenset[Axis]], Getter]


def _run(steps: tuple[Step, ...], values: Values, at: At, compiled_before: Compiled) -> None:
    for step in steps:
        if isinstance(step, Loop):
            for position in range(-1, values.size(step.axis) + 1)[:: step.way]:
                _run(step.steps, values, {**at, step.axis: position}, compiled_before)
        else:
            for definition in step.definitions:
                if _belongs(definition, at, values):
                    _fill(step, definition, values, at, compiled_before)


def _belongs(definition: Definition, at: At, values: Values) -> bool:
    """Tells whether a definition writes at the place where the loops stand: its edge at the edge, its body inside."""
    here = [(index, at[index.axis]) for index in definition.target if index.axis in at]
    return all(
        place == values.edge(index) if isinstance(index, Edge) else 0 <= place < values.size(index.axis)
        for index, place in here
    )


def _fill(block: Block, definition: Definition, values: Values, at: At, before: Compiled) -> None:
    free = tuple(index.axis for index in definition.target if isinstance(index, Position) and index.axis not in at)
    key = (id(definition), frozenset(at))
    if key not in before:
        before[key] = compiled(definition.expr, free, values)
    values.write(Ref(block, definition.target), before[key](at), at)


def _check_listed(blocks: list[Block]) -> None:
    """Refuses two blocks of one name, a block without an equation, and reading a block that is not there."""
    known, names = set(blocks), {block.name: block for block in blocks}
    for block in known:
        if names[block.name] is not block:
            raise NotationError(f"two blocks are called {block.name}: rename one")
        if not (block.typed or block.definitions):
            raise NotationError(f"{block.name} has no equation: write {block!r}[…] = …, or make it with typed(…)")
        for need in needs(block):
            if need.read not in known:
                raise NotationError(f"{block.name} reads {need.read.name}, which stands nowhere: put it on a sheet")


def _check_finite(block: Block, values: Values) -> None:
    """Raises NoNumber for the first cell that is no finite number, and NotationError for one without an equation."""
    for at in _broken(block, values.arrays[block]):
        places = tuple(int(i) - values.before(block, axis) for i, axis in zip(at, block.axes, strict=True))
        if filled_by(block, places, values) is not None:
            raise no_number(block, places, values)
    if len(_broken(block, values[block])):
        written = " and ".join(f"[{', '.join(map(str, d.target))}]" for d in block.definitions)
        raise NotationError(f"{block.name} has cells without an equation: only {written} is written")


def _broken(block: Block, cells: Array) -> Array:
    """Returns the places of the cells that are no finite number (or no word, in a block of words); off is infinite."""
    if block.text:
        return np.argwhere(np.vectorize(lambda cell: not isinstance(cell, str), otypes=[bool])(cells))
    numbers = cells.astype(float, copy=False)
    return np.argwhere(~np.isfinite(numbers) & ~(np.isposinf(numbers) & block.limit))
