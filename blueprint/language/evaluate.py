"""Evaluation: the numbers of every block, computed from the typed ones by the schedule, in numpy float64."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.blocks import Block, Definition
from blueprint.language.errors import NotationError
from blueprint.language.nodes import Ref
from blueprint.language.schedule import Loop, Step, needs, schedule
from blueprint.language.values import At, Values
from blueprint.language.vectorise import Getter, compiled


def compute(blocks: Iterable[Block], sizes: Mapping[Axis, int], typed: Mapping[Block, object]) -> Values:
    """Computes every block.

    sizes: how many members each axis has (joined axes follow from their parts).
    typed: the given numbers or words of each typed block, edges included; NaN or "" is a blank cell.
    Raises NotationError for a missing or misshapen input, a cell that needs itself, or a result that is no number.
    """
    listed = list(blocks)
    values = Values(sizes)
    for block in listed:
        if block.typed:
            values.fill(block, typed)
    computed = [block for block in listed if not block.typed]
    _check_known(computed, set(listed))
    # What is no number is refused below, in a sentence; a branch that `where` does not take may be one.
    with np.errstate(all="ignore"):
        _run(schedule(computed), values, {}, {})
    for block in computed:
        _check_finite(block, values)
    return values


def _check_known(computed: list[Block], known: set[Block]) -> None:
    """Refuses a block that is read but is not among the blocks: it would have no cell."""
    for need in (need for block in computed for need in needs(block)):
        if need.read not in known:
            raise NotationError(f"{need.reader.name} reads {need.read.name}, which stands nowhere: put it on a sheet")


Compiled = dict[tuple[int, frozenset[Axis]], Getter]


def _run(steps: tuple[Step, ...], values: Values, at: At, compiled_before: Compiled) -> None:
    for step in steps:
        if isinstance(step, Loop):
            size = values.size(step.axis)
            positions = range(-1, size + 1) if step.way > 0 else range(size, -2, -1)
            for position in positions:
                _run(step.steps, values, {**at, step.axis: position}, compiled_before)
        else:
            for definition in step.definitions:
                if _belongs(definition, at, values):
                    _fill(step, definition, values, at, compiled_before)


def _belongs(definition: Definition, at: At, values: Values) -> bool:
    """Tells whether a definition writes at the place where the loops stand: its edge at the edge, its body inside."""
    for index in definition.target:
        position = at.get(index.axis)
        if position is None:
            continue
        beyond = -1 if position < 0 else 1 if position >= values.size(index.axis) else 0
        if beyond != (index.side if isinstance(index, Edge) else 0):
            return False
    return True


def _fill(block: Block, definition: Definition, values: Values, at: At, before: Compiled) -> None:
    free = tuple(index.axis for index in definition.target if isinstance(index, Position) and index.axis not in at)
    key = (id(definition), frozenset(at))
    if key not in before:
        before[key] = compiled(definition.expr, free, values)
    values.write(Ref(block, definition.target), before[key](at), at)


def _check_finite(block: Block, values: Values) -> None:
    if block.text:
        return
    for definition in block.definitions:
        cells = values.view(Ref(block, definition.target), {})[1]
        bad = np.argwhere(~np.isfinite(np.asarray(cells, dtype=float)))
        if len(bad):
            found = np.asarray(cells, dtype=float)[tuple(bad[0])]
            raise NotationError(
                f"{block.name} comes out as {found} ({block.symbol} = {definition.expr}): something it reads is too large,"
                " not in a list, or divided by 0"
            )
