"""Adjoints: from a total to every block on the way to its weights, each with an equation of its own.

First the rows of a gradient: adjoints, steps on the way to them, and what each reader adds, its own adjoint times the slope. Then
the transform, which goes through all blocks from the total down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from blueprint.language.axes import Axis, Edge, NotationError, Position, require
from blueprint.language.blocks import Block
from blueprint.language.functions import Sum, equal, number, size, where
from blueprint.language.gradient.algebra import (
    Moves,
    Product,
    Term,
    expression,
    may_end,
    moved,
    moved_product,
    negative,
    plus,
    same,
    times,
)
from blueprint.language.gradient.derivatives import Adjoint, Declared, Graph, Use
from blueprint.language.making import behind_links, linked
from blueprint.language.making import block as new_block
from blueprint.language.nodes import Constant, Expr, Lookup, Op, Reduce, Ref
from blueprint.language.trees import free_axes, walk


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
            self.of[of] = new_block(self.called(of), self.axes(of), f"∂{self.total.symbol}/∂{of.symbol}", meaning)
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
        made = new_block(name, axes, symbol, meaning, decimals=decimals)
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


@dataclass(frozen=True)
class Gradient:
    """The adjoints of a total: `gradient[W]` is ∂L/∂W, a block over W's axes like any other.

    total: what was differentiated; of several totals the last. found: what each adjoint is. rows: the blocks that were made.
    """

    total: Block
    found: dict[Block, Product]
    rows: Rows

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Every block that was made, from the total down, for a page to lay out."""
        return tuple(self.rows.made)

    @property
    def home(self) -> dict[Block, Block]:
        """For each of them the block with which it belongs on a page: of an adjoint what it is the adjoint of."""
        return self.rows.home

    @property
    def beside(self) -> dict[Block, Block]:
        """The table that is read row by row with a block, and so stands left of it."""
        return self.rows.beside

    @property
    def totals(self) -> dict[Block, Block]:
        """For each of them the total to which it leads."""
        return self.rows.totals

    def __getitem__(self, of: Block) -> Block:
        """Returns the adjoint of a block; where it is cell by cell another's, that one's.

        Raises NotationError for a block through which no derivative goes, and for one that needed no row.
        """
        product = self.found.get(behind_links(of))
        if product is None:
            raise NotationError(f"∂{self.total.symbol}/∂{of.symbol}: no derivative goes through {of.name}")
        if product.bare is None or product.sign < 0:
            raise NotationError(
                f"∂{self.total.symbol}/∂{of.symbol} is {product.term} and has no row: ask for it with keep="
            )
        return product.bare.block


def gradient(
    total: Block,
    wrt: Sequence[Block],
    constant: Iterable[Block] = (),
    declared: Iterable[Declared] = (),
    keep: Iterable[Block] = (),
    suffix: str = "grad",
    after: Gradient | None = None,
    along: tuple[Axis, ...] = (),
    prefix: str = "",
) -> Gradient:
    """Makes the adjoint of every block between a total and what it is differentiated by: reverse-mode differentiation.

    total: what is differentiated, a block without axes but those of `along`.
    wrt: weights, or any other blocks; what they are made of is not followed.
    constant: blocks through which no derivative goes (`detach`, stop-gradient); a link holds what is read through it alone.
    declared: derivatives of groups of steps, used instead of those of the steps.
    keep: blocks whose adjoint gets a row although it equals another's.
    suffix: what is added to a block's name for its adjoint's: `ratio.grad`.
    after: the gradient of another total, whose adjoints the result holds as well: other weights may follow another total.
    along: axes of the total along which nothing is summed: totals side by side. Every adjoint lies along them, too.
    prefix: stands before the names of adjoints.
    Raises NotationError for a total with other axes, for a block that is both differentiated by and constant, for what has no
    derivative, and for a block on the way of both totals. Two equal arguments of a maximum or minimum: see `rules`; of
    several largest under `Max` each has the whole slope, where torch.amax shares it. An adjoint like another's has no row.
    Source: Baydin, Pearlmutter, Radul and Siskind 2018, Automatic Differentiation in Machine Learning, section 3.2.
    """
    require(isinstance(total, Block), f"{total!r} has no gradient: give a block with an equation: gradient(total, [x])")
    for axis in set(total.axes).difference(along):
        raise NotationError(f"{total.name} has one number for each {axis.meaning}: only a single number has a gradient")
    still = {*constant}
    leaves = dict.fromkeys(behind_links(block) for block in wrt)
    for block in still.intersection(leaves):
        raise NotationError(f"{block.name} is held constant: it cannot be differentiated by as well")
    graph = Graph(total, leaves, still, {each.of: each for each in declared})
    found = after.found if after else {}
    for block in found.keys() & {*graph.order, *leaves}:
        raise NotationError(f"{block.name} leads to {total.name} and to another total: add them up for one gradient")
    rows = Rows(total, suffix, after.rows if after else None, prefix)
    return Gradient(total, found | _Transform(graph, total, {*map(behind_links, keep)}, rows).run(), rows)


class _Transform:
    def __init__(self, graph: Graph, total: Block, keep: set[Block], rows: Rows):
        self.graph, self.rows = graph, rows
        self.own_row = {
            *graph.leaves,
            *keep,
            *graph.declared,
            *(b for each in graph.declared.values() for b in each.shares),
        }
        self.found: dict[Block, Product] = {total: Product()}

    def run(self) -> dict[Block, Product]:
        for block in dict.fromkeys((*self.graph.order, *self.graph.leaves)):
            product = self.adjoint(block)
            if product.bare is not None and self.rows.of.get(block) is product.bare.block:
                self._define(block)
        return self.found

    def adjoint(self, block: Block) -> Product:
        """Returns the adjoint of a block over its own letters: its row, or what says the same."""
        if block not in self.found:
            short = None if block in self.own_row else self._without_row(block)
            self.found[block] = short or Product(1, (whole(self.rows.adjoint(block)),))
        return self.found[block]

    def _without_row(self, block: Block) -> Product | None:
        """Returns the adjoint of a block that is read once, where it is that of its reader, or a plain number's."""
        uses = self.graph.uses[block]
        if len(uses) != 1 or not _in_place(uses[0]):
            return None
        product = self._share(uses[0], block, {})
        assert product is not None
        if set(block.axes) - set(self.rows.total.axes):
            twin, axes = product.bare if product.sign > 0 else None, self.rows.axes(block)
            return product if twin is not None and (twin.block.axes, twin.at) == (axes, whole(twin.block).at) else None
        return product if len(product.factors) < 2 and not product.divisors else None

    def _define(self, block: Block) -> None:
        row = self.rows.adjoint(block)
        for letters in self._targets(block):
            total: Term = 0
            for term in self._terms(block, letters):
                total = plus(total, term)
            row[tuple(letters.get(axis, axis) for axis in row.axes)] = expression(total)
        self.rows.made.append(row)

    def _terms(self, block: Block, letters: dict[Axis, Axis]) -> Iterator[Term]:
        for use in self.graph.uses.get(block, ()):
            if (product := self._share(use, block, letters)) is not None:
                yield self._unless_off(product.term, product, use.reader)
        for declared in self.graph.declared.values():
            for read, back in declared.shares.items():
                if behind_links(read, self.graph.ends) is block and declared.of in self.graph.moving:
                    row = self.rows.adjoint(declared.of)
                    ahead = tuple(axis for axis in row.axes if axis not in declared.of.axes)
                    sent = back(Adjoint(row, ahead), partial(self.rows.one_hot, of=block))
                    # A textbook's line has a number wherever what it reads has one: a mean over nothing has none.
                    yield self._unless_off(sent, Product.of(sent), declared.of) if _is_of_means(block) else sent

    def _unless_off(self, term: Term, product: Product, reader: Block) -> Term:
        """Returns a share, a term that is this product: 0 where a switch has turned its reader off, whatever the slope is there.

        What is turned off has the adjoint 0. Where its slope has no number, as exp(1000), 0 times it would have none either.
        """
        row = self.rows.of.get(reader)
        of = next((each for each in product.factors if isinstance(each, Ref) and each.block is row), None)
        if of is None or not (_switched(of, self.rows) and may_end(product)):
            return term
        size = replace(product, sign=1).term
        assert not isinstance(size, int)
        return negative(where(equal(of, 0), 0, size)) if product.sign < 0 else where(equal(of, 0), 0, size)

    def _targets(self, block: Block) -> list[dict[Axis, Axis]]:
        """Returns the letters of each equation: one of its own for each part of a joined axis that is read part by part."""
        for use in self.graph.uses.get(block, ()):
            for slot, index in zip(block.axes, use.ref.at, strict=True):
                if isinstance(index, Position) and index.axis in slot.parts:
                    return [{slot: part} for part in slot.parts]
        return [{}]

    def _share(self, use: Use, block: Block, letters: dict[Axis, Axis]) -> Product | None:
        """Returns what one reader adds to the adjoint of a block; None where it reads other cells."""
        moves = {axis: axis for axis in self.rows.total.axes}
        if summed := [axis for axis in use.bound if axis in moves]:
            raise NotationError(f"{use.reader.name} adds up over each {summed[0].meaning}: then they have one total")
        shifts: dict[Axis, int] = {}
        ids = []
        for slot, index in zip(block.axes, use.ref.at, strict=True):
            letter = letters.get(slot, slot)
            match index:
                case Edge():
                    return None
                case Lookup(_, id):
                    ids.append((letter, id))
                case Position(axis, by):
                    if axis in slot.parts and axis is not letter:
                        return None
                    moves[axis] = letter
                    shifts |= {letter: -by} if by else {}
        made = share(self._in_own_letters(use), use, moves, ids, self.rows)
        return self._beside(made, use, block, letters, shifts) if shifts else made

    def _in_own_letters(self, use: Use) -> Product:
        own = {axis: index.axis for axis, index in zip(use.reader.axes, use.definition.target, strict=True)}
        return moved_product(self.adjoint(use.reader), own) * Product.of(use.slope)

    def _beside(
        self, made: Product, use: Use, block: Block, letters: dict[Axis, Axis], shifts: dict[Axis, int]
    ) -> Product:
        """Reads what a reader sends to its neighbour, from the neighbour; beyond the ends nobody sends anything."""
        if len(shifts) > 1:
            raise NotationError(
                f"{use.reader.name} reads a neighbour along two axes at once: make one of them a step of its own"
            )
        sent = made.bare
        if sent is None or sent.block not in self.rows.home:
            axes = tuple(letters.get(axis, axis) for axis in self.rows.axes(block))
            sent = self.rows.step(use, made, axes, "next" if -sum(shifts.values()) > 0 else "before", of=block)
            made = Product(1, (sent,))
        for slot, index in zip(sent.block.axes, sent.at, strict=True):
            if by := shifts.get(index.axis):
                self.rows.zero_beyond(sent.block, slot, by)
        at = tuple(Position(index.axis, shifts.get(index.axis, 0)) for index in sent.at)
        return Product(made.sign, (Ref(sent.block, at),))


def _switched(expr: Expr, rows: Rows) -> bool:
    """Tells whether what is sent back is 0 as a whole where another alternative is chosen, or a weight is 0."""
    match expr:
        case Op("choose" | "where", (_, *branches)):
            return any(isinstance(branch, Constant) and branch.value == 0 for branch in branches)
        case Op("mul", (one, other)):
            return _switched(one, rows) or _switched(other, rows)
        case Op("neg" | "div", (inner, *_)) | Reduce("sum", _, inner):
            return _switched(inner, rows)
        case Ref(block) if block in rows.home:
            return bool(block.definitions) and all(_switched(each.expr, rows) for each in block.definitions)
    return False


def _is_of_means(block: Block) -> bool:
    """Tells whether a block, or one that it reads, is divided by a sum, which may be 0."""
    read = (node.block for each in block.definitions for node in walk(each.expr) if isinstance(node, Ref))
    equations = (each.expr for of in (block, *read) for each in of.definitions)
    divisors = (
        node.args[1] for expr in equations for node in walk(expr) if isinstance(node, Op) and node.name == "div"
    )
    return any(isinstance(node, Reduce) for divisor in divisors for node in walk(divisor))


def _in_place(use: Use) -> bool:
    """Tells whether a use reads, for each cell of its equation, one cell of its own and no neighbour, sum or lookup."""
    letters = [index.axis for index in use.ref.at if isinstance(index, Position) and not index.by]
    own = [index.axis for index in use.definition.target]
    return not use.bound and len(letters) == len(use.ref.at) and set(letters) == set(own)
