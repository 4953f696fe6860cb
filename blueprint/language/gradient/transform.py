"""The transform: from a total to the adjoint of every block on the way to its weights, each with an equation of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from blueprint.language.axes import Axis, Edge, NotationError, Position, require
from blueprint.language.blocks import Block
from blueprint.language.functions import equal, where
from blueprint.language.gradient.adjoints import Rows, share, whole
from blueprint.language.gradient.algebra import Product, Term, expression, may_end, moved_product, negative, plus
from blueprint.language.gradient.graph import Adjoint, Declared, Graph, Use, behind_links
from blueprint.language.nodes import Constant, Expr, Lookup, Op, Reduce, Ref
from blueprint.language.trees import walk


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
