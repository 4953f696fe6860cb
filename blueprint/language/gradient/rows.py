"""The rows that a gradient needs: adjoints, steps on the way to them, zeros beyond the ends, and rows of 1 and 0."""

from __future__ import annotations

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.blocks import Block
from blueprint.language.functions import equal, number
from blueprint.language.gradient.algebra import Product, expression, same
from blueprint.language.gradient.graph import Use, linked
from blueprint.language.making import block
from blueprint.language.nodes import Expr, Ref
from blueprint.language.trees import free_axes


def whole(made: Block) -> Ref:
    """Returns a block at its own letters."""
    return Ref(made, tuple(map(Position, made.axes)))


class Rows:
    """Makes the blocks of one gradient, each once, and keeps them in their order.

    of: the adjoint of each block that has a row; home: with which block each of them belongs on a page; beside: the table
    that is read row by row with a block, and so stands left of it; totals: to which total each of them leads.
    """

    def __init__(self, total: Block, suffix: str, after: Rows | None = None, prefix: str = ""):
        """Begins with the rows of another total, if there is one."""
        self.total, self.suffix, self.prefix = total, suffix, prefix
        self.made: list[Block] = [*after.made] if after else []
        self.of: dict[Block, Block] = {**after.of} if after else {}
        self.home: dict[Block, Block] = {**after.home} if after else {}
        self.beside: dict[Block, Block] = {**after.beside} if after else {}
        self.totals: dict[Block, Block] = {**after.totals} if after else {}
        self._steps: list[tuple[Block, tuple[Axis, ...], Expr, Block]] = [*after._steps] if after else []

    def axes(self, of: Block) -> tuple[Axis, ...]:
        """Returns along what the adjoint of a block lies: along the total's axes, and along its own."""
        return tuple(dict.fromkeys((*self.total.axes, *of.axes)))

    def called(self, of: Block) -> str:
        """Returns how the names of the rows begin that belong to a block."""
        return f"{self.prefix}{of.name.removeprefix(self.prefix)}.{self.suffix}"

    def adjoint(self, of: Block) -> Block:
        """Returns the block of ∂total/∂of; it joins the others when it is `defined`."""
        if of not in self.of:
            meaning = f"what one more of {of.symbol} would add to {self.total.symbol}"
            self.of[of] = block(self.called(of), self.axes(of), f"∂{self.total.symbol}/∂{of.symbol}", meaning)
            self.home[self.of[of]], self.totals[self.of[of]] = of, self.total
        return self.of[of]

    def step(self, use: Use, product: Product, axes: tuple[Axis, ...], tail: str, of: Block | None = None) -> Ref:
        """Returns a row with a product on the way from a reader to what it reads; the same one for the same product."""
        beside = use.reader if of is None else of
        equation = expression(product.term)
        for home, letters, known, made in self._steps:
            if home is beside and letters == axes and same(known, equation):
                return whole(made)
        name, count = f"{self.called(beside)}.{tail}", 1
        while any(made.name == name + str(count) * (count > 1) for made in self.made):
            count += 1
        mark = str(count) * (count > 1)
        meaning = (
            f"what {use.reader.symbol} sends to the {beside.symbol} that it reads beside it"
            if of is not None
            else f"∂{self.total.symbol}/∂{use.reader.symbol}, taken through to what is summed inside"
        )
        row = self._new(name + mark, axes, f"∂{self.total.symbol}/∂{beside.symbol}_{tail}{mark}", meaning, beside)
        row[axes] = equation
        self._steps.append((beside, axes, equation, row))
        return whole(row)

    def one_hot(self, axis: Axis, id: Expr, of: Block) -> Ref:
        """Returns a row that is 1 at the member of a number, else 0: which row of a table, `of`, was read."""
        id = linked(id) if isinstance(id, Ref) else id
        axes = (*sorted(free_axes(id), key=lambda each: each.letter), axis)
        for _, letters, known, made in self._steps:
            if letters == axes and same(known, id):
                return whole(made)
        symbol = id.block.symbol if isinstance(id, Ref) else str(id)
        name = self.called(id.block if isinstance(id, Ref) else of)
        ids = self._new(f"{name}.id", (axis,), "id", f"number of the {axis.meaning}", of, decimals=0)
        ids[axis] = number(axis) - axis.start if axis.start else number(axis)
        meaning = f"1 for the {axis.meaning} of {symbol}, else 0"
        row = self._new(f"{name}.is", axes, f"is_{symbol}", meaning, of, decimals=0)
        row[axes] = equal(id, ids[axis])
        self.beside[row] = ids
        self._steps.append((of, axes, id, row))
        return whole(row)

    def transposed(self, table: Block, other: Block) -> Block:
        """Returns a table with its two axes exchanged: what is summed along runs downwards in it as in what it multiplies."""
        axes = table.axes[::-1]
        for home, _, known, made in self._steps:
            if home is table and isinstance(known, Ref) and known.block is table:
                return made
        about = table.about
        meaning = f"{about.meaning}; rows and columns exchanged"
        row = self._new(
            f"{self.called(table)}.transposed", axes, f"{about.symbol}ᵀ", meaning, table, decimals=about.decimals
        )
        row[axes] = equation = table[table.axes]
        self._steps.append((table, axes, equation, row))
        self.beside[other] = row
        return row

    def zero_beyond(self, made: Block, axis: Axis, by: int) -> None:
        """Puts a 0 beyond the end of a row, where a neighbour reads."""
        if (axis, by) not in made.edges:
            made[tuple(Edge(axis, by) if each is axis else each for each in made.axes)] = 0

    def _new(
        self, name: str, axes: tuple[Axis, ...], symbol: str, meaning: str, home: Block, decimals: int = 4
    ) -> Block:
        made = block(name, axes, symbol, meaning, decimals=decimals)
        self.take(made, home)
        return made

    def take(self, made: Block, home: Block, total: Block | None = None) -> None:
        """Takes a block among the others, to stand on a page with another one; total: to which it leads, if to another."""
        self.made.append(made)
        self.home[made], self.totals[made] = home, self.total if total is None else total
