"""Second ways backwards: a number that stands in the equation of another one, and follows from that and from what else it reads.

Of k3 = ρ − 1 − log ρ, written with the log-ratio, the ratio is k3 + 1 + the log-ratio: nobody needs to take an exponential.
"""

from collections.abc import Iterator

import numpy as np

from blueprint.language import Array, Block, Cell, Edge, Expr, Index, Op, Values
from blueprint.language.trees import letters_of
from blueprint.language.vectorise import compiled
from blueprint.worksheets.table import SAME

UNDONE = ("add", "sub", "mul", "div", "neg", "exp", "log", "tanh", "sqrt")
"""Operations of which an operand follows from the result and the other operand."""


class Backwards:
    """The numbers that stand within the equations of blocks: `numbers[starts[i]:]` begins with those of the i-th of them."""

    def __init__(self, blocks: list[Block], values: Values):
        self.values = values
        self.steps: list[tuple[Block, tuple[Index, ...]]] = []
        arrays: list[Array] = []
        for block, target, expr in _within(blocks):
            frame = tuple(letters_of(target))
            sizes = tuple(values.size(axis) for axis in frame)
            with np.errstate(all="ignore"):
                numbers = np.asarray(compiled(expr, frame, values)({}), dtype=float)
            self.steps.append((block, target))
            arrays.append(np.broadcast_to(numbers, sizes).ravel())
        self.starts = np.cumsum([0, *map(len, arrays)])
        self.numbers: Array = np.concatenate([*arrays, np.empty(0)])

    def holding(self, answer: float) -> Iterator[Cell]:
        """Yields the cells within whose equations an answer stands, or its negative."""
        for index in np.flatnonzero(abs(abs(self.numbers) - abs(answer)) <= SAME * abs(answer)):
            number = int(np.searchsorted(self.starts, index, side="right")) - 1
            block, target = self.steps[number]
            sizes = tuple(self.values.size(axis) for axis in letters_of(target))
            at = iter(np.unravel_index(index - self.starts[number], sizes) if sizes else ())
            yield Cell(
                block, tuple(self.values.edge(each) if isinstance(each, Edge) else int(next(at)) for each in target)
            )


def _within(blocks: list[Block]) -> Iterator[tuple[Block, tuple[Index, ...], Expr]]:
    """Yields the steps within the equations of blocks, each with the block and the cells that the equation fills."""
    for block in (block for block in blocks if not (block.text or block.limit or block.link)):
        for definition in block.definitions:
            yield from ((block, definition.target, step) for step in _steps(definition.expr))


def _steps(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Op) and expr.name in UNDONE:
        for operand in (each for each in expr.args if isinstance(each, Op)):
            yield operand
            yield from _steps(operand)
