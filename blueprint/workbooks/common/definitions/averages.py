"""Means and variances of a row, over what is counted of it."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, maximum
from blueprint.workbooks.common.definitions.choices import Choices, Row


class Counting(NamedTuple):
    """What is counted, and by what is divided: the mean by `number`, the variance by `free` and then times `bessel`.

    counted may hold weights that add up to 1; then nothing is divided. steps: rows on the way to these numbers.
    """

    counted: Row
    number: Operand
    free: Operand
    bessel: Operand = 1
    steps: tuple[Block, ...] = ()


class Spread(NamedTuple):
    """Mean, the row less it, and variance."""

    mean: Block
    centred: Block
    variance: Block


def averaged(made: Block, x: Block, over: Counting) -> Block:
    """Defines a mean of x, over every axis that the mean does not have."""
    counted, summed = over.counted, tuple(axis for axis in x.axes if axis not in made.axes)
    made[made.axes] = Sum(summed, counted[counted.axes] * x[x.axes]) / over.number
    return made


def mean(name: str, x: Block, over: Counting, use: Choices) -> Block:
    """Averages a row over the batch."""
    return averaged(use.one(name), x, over)


def count(name: str, counted: Block, use: Choices, eps: Operand = 0) -> Block:
    """Counts the cells of a row that are 1, at least one. eps: what is added to that."""
    made = use.one(name)
    summed = tuple(axis for axis in counted.axes if axis not in made.axes)
    made[made.axes] = maximum(Sum(summed, counted[counted.axes]), 1) + eps
    return made


def spread(name: str, x: Block, over: Counting, use: Choices, known: tuple[Block, Block] | None = None) -> Spread:
    """Takes mean and variance of a row. name: what the names of blocks begin with. known: both, where they are typed."""
    lead, row = use.lead, (*use.lead, use.n, use.t)
    centred = use.row(f"{name}.centred")
    average, variance = known or use.ones(f"{name}.mean", f"{name}.variance")
    if known is None:
        averaged(average, x, over)
        variance[lead] = Sum((use.n, use.t), centred[row] * centred[row]) / over.free * over.bessel
    centred[row] = over.counted[row] * (x[row] - average[lead])
    return Spread(average, centred, variance)
