"""The rows of a gradient: adjoints, steps on the way to them, and what each reader adds: its own adjoint times the slope."""

from __future__ import annotations

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.blocks import Block
from blueprint.language.functions import Sum, equal, number, size
from blueprint.language.gradient.algebra import Moves, Product, Term, expression, moved, same, times
from blueprint.language.gradient.graph import Use, linked
from blueprint.language.making import block
from blueprint.language.nodes import Expr, Lookup, Ref
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


Ids = list[tuple[Axis, Expr]]


def share(product: Product, use: Use, moves: Moves, ids: Ids, rows: Rows) -> Product:
    """Returns the share of a reader over the letters of what it reads.

    product: adjoint times slope, in the reader's letters. moves: which of the reader's letters become which.
    ids: the axes along which the reader looks up, with the numbers that it looks up.
    """
    own = [index.axis for index in use.definition.target]
    summed = [axis for axis in dict.fromkeys((*own, *use.bound)) if axis not in moves]
    inner, outer = _split(product, set(summed))
    if summed and not (
        _plain(*inner.factors) and not inner.divisors and len(inner.factors) + len(use.inside) + len(ids) <= 2
    ):
        axes = tuple(axis for axis in dict.fromkeys((*rows.total.axes, *own)) if axis in _letters(inner))
        inner = Product(1, (rows.step(use, inner, axes, "in"),)) if len(inner.factors) + len(inner.divisors) else inner
    renamed = {**moves, **_fresh(summed, moves, ids)}
    over = [renamed.get(axis, axis) for axis in summed]
    hot = [rows.one_hot(axis, moved(id, renamed), use.ref.block) for axis, id in ids]
    inside = [moved(each, renamed) for each in (*inner.factors, *use.inside)] + hot
    outside = Product(
        outer.sign, tuple(moved(f, renamed) for f in outer.factors), tuple(moved(d, renamed) for d in outer.divisors)
    )
    return (
        outside * _total(inside, over, use, rows)
        if over
        else outside * Product(1, tuple(inside), _moved(inner, renamed))
    )


def _moved(inner: Product, moves: Moves) -> tuple[Expr, ...]:
    return tuple(moved(each, moves) for each in inner.divisors)


def _split(product: Product, summed: set[Axis]) -> tuple[Product, Product]:
    """Returns the factors with a letter that is summed, and the others with the sign."""

    def part(within: bool) -> Product:
        chosen = [
            tuple(e for e in each if bool(free_axes(e) & summed) is within)
            for each in (product.factors, product.divisors)
        ]
        return Product(1 if within else product.sign, *chosen)

    return part(True), part(False)


def _plain(*factors: Expr) -> bool:
    """Tells whether factors are cells that a sum can go through."""
    return all(isinstance(f, Ref) and not any(isinstance(index, Lookup) for index in f.at) for f in factors)


def _letters(product: Product) -> set[Axis]:
    return set().union(*map(free_axes, (*product.factors, *product.divisors)))


def _fresh(summed: list[Axis], moves: Moves, ids: Ids) -> dict[Axis, Axis]:
    """Returns another letter for each that is summed and stands in the result as well."""
    taken = {*moves.values(), *(axis for axis, _ in ids)}
    fresh: dict[Axis, Axis] = {}
    for axis in summed:
        if axis in taken:
            free = (each for each in moves if each not in taken and each.extent is axis.extent)
            fresh[axis] = next(free, None) or axis.alias(f"{axis.letter}′")
    return fresh


def _total(factors: list[Expr], over: list[Axis], use: Use, rows: Rows) -> Product:
    """Sums a product, of which those factors that stay the same are taken out of the sum."""
    letters = set(over)
    inside = [each for each in factors if free_axes(each) & letters]
    outside = tuple(each for each in factors if not free_axes(each) & letters)
    if len(inside) > 2 or not _plain(*inside):
        axes = tuple(dict.fromkeys(axis for each in inside for axis in _in_order(each)))
        inside = [rows.step(use, Product(1, tuple(inside)), axes, "in")]
    present = tuple(axis for axis in over if any(axis in free_axes(each) for each in inside))
    times_alike = tuple(size(axis) for axis in over if axis not in present)
    if not present:
        return Product(1, (*outside, *times_alike))
    body: Term = 1
    for each in inside:
        body = times(body, _upright(each, inside, present, rows))
    assert not isinstance(body, int)
    return Product(1, (*outside, *times_alike, Sum(present, body)))


def _in_order(expr: Expr) -> list[Axis]:
    if isinstance(expr, Ref):
        return [index.axis for index in expr.at if isinstance(index, Position)]
    return sorted(free_axes(expr), key=lambda axis: axis.letter)


def _upright(expr: Expr, both: list[Expr], over: tuple[Axis, ...], rows: Rows) -> Expr:
    """Returns a table so that the letter that is summed comes first, as in what it is multiplied by.

    A page lays the first letter of a table downwards and the second to the right; a spreadsheet multiplies two columns
    cell by cell, but no column with a row.
    """
    if not (
        isinstance(expr, Ref) and len(expr.at) == len(both) == 2 and expr.at[1] == Position(over[0]) and len(over) == 1
    ):
        return expr
    other = both[0] if both[1] is expr else both[1]
    if expr.block in rows.home or free_axes(expr) <= free_axes(other):
        return expr
    assert isinstance(other, Ref)
    return Ref(rows.transposed(expr.block, other.block), expr.at[::-1])
