"""Rows that go from cell to cell: a count, a sum that runs, and what comes later, discounted."""

from blueprint.language import Axis, Block, Operand, constant
from blueprint.workbooks.common.definitions.writing_rows import Choices, defined


def counted(name: str, at: Axis, use: Choices) -> Block:
    """Counts along an axis, from 0."""
    made = use.along(name, (at,))
    made[at.first - 1] = -constant(1)
    return defined(made, made[at - 1] + 1)


def running_sum(name: str, x: Block, use: Choices) -> Block:
    """Adds a row up along its last axis, in front of which it is 0."""
    *others, at = x.axes
    made = use.along(name, x.axes)
    made[*others, at.first - 1] = 0
    return defined(made, made[*others, at - 1] + x[x.axes])


def discounted(
    name: str, along: tuple[Axis, ...], t: Axis, x: Operand, by: Operand, use: Choices, end: Operand = 0
) -> Block:
    """Adds to each cell what comes later, discounted: made_t = x + by·made_{t+1}. end: what stands behind the last cell."""
    made = use.along(name, along)
    made[tuple(t.last + 1 if axis is t else axis for axis in along)] = end
    return defined(made, x + by * made[tuple(t + 1 if axis is t else axis for axis in along)])
