"""A recursion along one axis; whatever does not depend on the previous member is computed once, as far as no digit changes.

In Â[t] = δ[t] + γλ·Â[t+1] only a product and a sum are left for each member: δ and γλ are computed before the first. Each number
comes from the same operations as when members are computed one by one, so it is the same to its last bit. Operations whose rounding
may depend on how cells lie in memory, such as a sum over an axis or an exponential, are done member by member. A search that
changes one equation after another asks for the same recursion of the same numbers again and again, so its results are remembered.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from blueprint.language.axes import Axis
from blueprint.language.blocks import Block, Definition
from blueprint.language.nodes import Constant, Count, Expr, Op, Ref
from blueprint.language.schedule import Loop, read_by
from blueprint.language.trees import letters_of, lookups_in, walk
from blueprint.language.values import Array, At, Values, Where
from blueprint.language.vectorise import calculation, compiled, operand

EXACT = {"add", "sub", "mul", "div", "neg", "abs", "sqrt", "maximum", "minimum", "less", "at_most", "equal", "where", "choose",
         "filled", "is_off"}  # fmt: skip
"""Operations whose results are the same wherever their numbers lie in memory."""
LARGEST, REMEMBERED = 1 << 17, 1 << 19
"""So many numbers the rows have at most whose results are remembered, and so many are remembered of all."""
Member = Callable[[int], Any]
"""Gives what an expression comes to for one member."""


def is_plain(loop: Loop, values: Values) -> bool:
    """Tells whether a loop has blocks of numbers alone, and in none of them a number stands whatever its equation says."""
    return all(isinstance(step, Block) and not step.text and step not in values.held for step in loop.steps)


class Recurrence:
    """A loop of blocks, compiled once for some values. rows: the blocks; lines: by block what is written, and how it is made.

    ahead: what is computed before the first member, and cells: what these came to, then views of rows, in which members are first.
    """

    def __init__(self, loop: Loop, values: Values):
        self.loop, self.values = loop, values
        self.rows = dict.fromkeys(step for step in loop.steps if isinstance(step, Block))
        self._ahead: list[Callable[[], Array]] = []
        self._views: list[Callable[[], Array]] = []
        self._cells: list[Array] = []
        self._lines: list[tuple[int, int, Member]] = []
        self._size = sum(int(np.prod(values.shape(row))) for row in self.rows)
        self._reads = [
            each for each in dict.fromkeys(read for row in self.rows for read in read_by(row)) if each not in self.rows
        ]
        self._came_to: dict[tuple[object, ...], dict[Block, Array]] = {}
        for row in self.rows:
            for definition in row.definitions:
                if _moves(definition, loop.axis):
                    self._add(row, definition)

    def run(self, edge: Callable[[At], None]) -> None:
        """Computes the rows; edge: computes what stands before the first member and behind the last."""
        arrays, numbers = self.values.arrays, self._numbers()
        if numbers is not None and numbers in self._came_to:
            arrays |= {row: each.copy() for row, each in self._came_to[numbers].items()}
            return
        self._compute(edge)
        if numbers is not None:
            if (len(self._came_to) + 1) * self._size > REMEMBERED:
                self._came_to.clear()
            self._came_to[numbers] = {row: arrays[row].copy() for row in self.rows}

    def _numbers(self) -> tuple[object, ...] | None:
        """Returns shape, type and a hash of 64 bits of each row that is read; None of large rows, and where some of their cells are
        there, for nothing is remembered of these."""
        arrays = self.values.arrays
        if self._size > LARGEST or any(row in arrays for row in self.rows):
            return None
        read = [np.asarray(arrays[block]) for block in self._reads]
        if any(each.dtype.kind not in "fiub" for each in read):
            return None
        return tuple((each.shape, each.dtype.str, hash(each.tobytes())) for each in read)

    def _compute(self, edge: Callable[[At], None]) -> None:
        values, axis, size = self.values, self.loop.axis, self.values.size(self.loop.axis)
        for row in self.rows:
            if row not in values.arrays:
                values.arrays[row] = np.full(values.shape(row), np.nan)
        self._cells[:] = [make() for make in self._ahead]
        views = [make() for make in self._views]
        self._cells += views
        first = len(self._ahead)
        lines = [(self._cells[first + view], start, member) for view, start, member in self._lines]
        upwards = self.loop.way > 0
        edge({axis: -1 if upwards else size})
        for at in range(size) if upwards else range(size - 1, -1, -1):
            for view, start, member in lines:
                view[at + start] = member(at)
        edge({axis: size if upwards else -1})
        self._cells.clear()

    def _add(self, row: Block, definition: Definition) -> None:
        free = tuple(axis for axis in letters_of(definition.target) if axis is not self.loop.axis)
        where = self.values.where(row, definition.target, {self.loop.axis})
        member = self._member(definition.expr, free)
        self._lines.append((self._view(row, where, free), *_start(where), member))

    def _member(self, expr: Expr, free: tuple[Axis, ...]) -> Member:
        """Compiles an expression for one member, in which the other axes lie as they do in `free`."""
        if isinstance(expr, Constant):
            value = expr.value
            return lambda at: value
        reads = any(isinstance(node, Ref) and node.block in self.rows for node in walk(expr))
        if not reads and _is_exact(expr):
            return self._once(expr, free)
        if isinstance(expr, Ref) and not lookups_in(expr):
            where = self.values.where(expr.block, expr.at, {self.loop.axis})
            if where.moves and expr.block in self.rows:
                return self._of_a_row(expr.block, where, free)
        if isinstance(expr, Op) and reads:
            done = calculation(expr)
            parts = [operand(arg, expr, self.values, lambda arg: self._member(arg, free)) for arg in expr.args]
            if len(parts) == 2:
                one, other = parts
                return lambda at: done(one(at), other(at))
            return lambda at: done(*[part(at) for part in parts])
        get, axis = compiled(expr, free, self.values), self.loop.axis
        return lambda at: get({axis: at})

    def _once(self, expr: Expr, free: tuple[Axis, ...]) -> Member:
        """Compiles what is computed for all members before the first."""
        get, size = compiled(expr, (self.loop.axis, *free), self.values), self.values.size(self.loop.axis)

        def make() -> Array:
            found = np.asarray(get({}))
            found = found.reshape((1,) * (1 + len(free) - found.ndim) + found.shape)
            return np.broadcast_to(found, (size, *found.shape[1:]))

        self._ahead.append(make)
        cells, number = self._cells, len(self._ahead) - 1
        return lambda at: cells[number][at]

    def _of_a_row(self, row: Block, where: Where, free: tuple[Axis, ...]) -> Member:
        number, cells, ahead = self._view(row, where, free), self._cells, self._ahead
        (start,) = _start(where)
        return lambda at: cells[len(ahead) + number][at + start]

    def _view(self, row: Block, where: Where, free: tuple[Axis, ...]) -> int:
        """Lists a row as it is read or written, members first and the other axes as they lie in `free`; returns its number."""
        ((moving, _),) = where.moves
        cut = (*where.start[:moving], slice(None), *where.start[moving + 1 :])
        before = sum(isinstance(each, slice) for each in where.start[:moving])
        order = sorted(range(len(where.letters)), key=lambda i: free.index(where.letters[i]))
        others = [i + (i >= before) for i in order]
        there = (slice(None), *(slice(None) if axis in where.letters else None for axis in free))
        self._views.append(lambda: self.values.arrays[row][cut].transpose(before, *others)[there])
        return len(self._views) - 1


def _moves(definition: Definition, axis: Axis) -> bool:
    """Tells whether a definition is that of members, not of the cell before or behind them."""
    return axis in letters_of(definition.target)


def _start(where: Where) -> tuple[int]:
    """Returns the place of the first member."""
    start = where.start[where.moves[0][0]]
    assert isinstance(start, int)
    return (start,)


def _is_exact(expr: Expr) -> bool:
    """Tells whether an expression comes to the same numbers for all members at once."""
    return all(
        node.name in EXACT if isinstance(node, Op)
        else not lookups_in(node) and not node.block.text if isinstance(node, Ref)
        else isinstance(node, Constant | Count)
        for node in walk(expr)
    )  # fmt: skip
