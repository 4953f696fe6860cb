"""The way from a total to what it is differentiated by: how an expression grows with a cell, and which blocks read whom."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from blueprint.language.axes import Axis, Edge, NotationError
from blueprint.language.blocks import Block, Definition
from blueprint.language.functions import CONDITIONS
from blueprint.language.gradient.algebra import Term, choice, negative, over, plus, same, times
from blueprint.language.making import behind_links, linked
from blueprint.language.nodes import Expr, Op, Reduce, Ref, wrap

OneHot = Callable[[Axis, Expr], Ref]
"""Makes a row that is 1 at the member of an axis whose number is given, else 0."""


@dataclass(frozen=True)
class Adjoint:
    """The adjoint of a block, read by that block's own letters.

    ahead: the axes of the total along which it lies besides.
    """

    row: Block
    ahead: tuple[Axis, ...] = ()

    def __getitem__(self, at: Axis | tuple[Axis, ...]) -> Ref:
        """Returns the cell at a place."""
        return self.row[(*self.ahead, *(at if isinstance(at, tuple) else (at,)))]


@dataclass(frozen=True)
class Declared:
    """What the adjoint of `of` adds to that of each block on which it is declared to hang, past the steps between.

    of:     the block whose derivative is declared.
    shares: for each block that it hangs on, a function from the adjoint of `of`, and what makes rows of 1 and 0, to an
            expression over that block's letters: `{z: lambda g, hot: g[n, t] * (hot(v, a[n, t]) - p[n, t, v])}`.
    """

    of: Block
    shares: Mapping[Block, Callable[[Adjoint, OneHot], Expr]]


Atom = Ref | Reduce
"""What a slope is taken by: a cell that is read, or a whole sum of such cells."""
Moving = Callable[[Expr], bool]
"""Tells whether an expression hangs on what the total is differentiated by."""


def atoms(expr: Expr) -> Iterator[Atom]:
    """Yields the cells and sums through which a slope may pass: none in conditions, ids and the number of a choice."""
    match expr:
        case Ref() | Reduce():
            yield expr
        case Op(name, args):
            for arg in () if name in CONDITIONS else args[1:] if name in ("where", "choose") else args:
                yield from atoms(arg)


def slope(expr: Expr, by: Atom, moving: Moving, value: Expr | None = None) -> Term:
    """Returns how much an expression grows with one more of an atom.

    value: a cell that holds the expression's own number, where there is one: exp(a) grows by it.
    Raises NotationError for an operation without a rule.
    """
    if same(expr, by):
        return 1
    if isinstance(expr, Ref | Reduce) or not any(same(atom, by) for atom in atoms(expr)):
        return 0
    assert isinstance(expr, Op)
    return _of_operation(expr, expr if value is None else value, lambda inner: slope(inner, by, moving), moving)


def _of_operation(expr: Op, value: Expr, d: Callable[[Expr], Term], moving: Moving) -> Term:
    match expr.name, expr.args:
        case "neg", (a,):
            return negative(d(a))
        case "add", (a, b):
            return plus(d(a), d(b))
        case "sub", (a, b):
            return plus(d(a), negative(d(b)))
        case "mul", (a, b):
            return plus(times(d(a), b), times(d(b), a))
        case "div", (a, b):
            return plus(over(d(a), b), negative(over(times(d(b), value), b)))
        case "exp", (a,):
            return times(d(a), value)
        case "log", (a,):
            return over(d(a), a)
        case "tanh", (a,):
            return times(d(a), 1 - value * value)
        case "sqrt", (a,):
            return over(d(a), 2 * value)
        case "abs", (a,):
            return times(d(a), Op("less", (wrap(0), a)) - Op("less", (a, wrap(0))))
        case "maximum" | "minimum", (a, b):
            return plus(times(d(a), _taken(expr, 0, moving)), times(d(b), _taken(expr, 1, moving)))
        case "where" | "choose", (_, *branches):
            return choice(expr, [d(branch) for branch in branches])
    raise NotationError(f"no derivative is known of {expr}: declare one, or hold what it reads constant")


def _taken(expr: Op, place: int, moving: Moving) -> Expr:
    """Returns the condition on which the larger (or smaller) of two is the one at this place."""
    mine, other = expr.args[place], expr.args[1 - place]
    loses_ties = place == 1 and moving(other)
    mine = _inside(mine, moving)
    pair = (mine, other) if expr.name == "minimum" else (other, mine)
    return Op("less" if loses_ties else "at_most", pair)


def _inside(expr: Expr, moving: Moving) -> Expr:
    """Returns what moves inside of a limit: where x is let through by min(high, x), max(low, min(high, x)) asks for low ≤ x."""
    if isinstance(expr, Op) and expr.name in ("maximum", "minimum"):
        movers = [arg for arg in expr.args if moving(arg)]
        if len(movers) == 1:
            return _inside(movers[0], moving)
    return expr


@dataclass(frozen=True)
class Use:
    """One equation reads a block.

    reader, definition: whose equation; ref: the cell that is read, behind links.
    slope:  how much the equation's result grows with it, or with the sum in which it stands.
    inside: what it is multiplied by within that sum; bound: the letters of the sum.
    """

    reader: Block
    definition: Definition
    ref: Ref
    slope: Term
    inside: tuple[Expr, ...] = ()
    bound: tuple[Axis, ...] = ()


class Graph:
    """The blocks between a total and its leaves. `order` goes from the total down; `uses` says who reads each of them."""

    def __init__(
        self, total: Block, leaves: Collection[Block], constant: Collection[Block], declared: Mapping[Block, Declared]
    ):
        self.ends = {*leaves, *constant}
        self.leaves, self.declared = leaves, declared
        reached = self._reached(total)
        self.moving = self._moving(reached)
        self.order = [block for block in reached if block in self.moving]
        self.uses: dict[Block, list[Use]] = {block: [] for block in self.order}
        for block in self.order:
            for use in () if block in self.ends or block in declared else self._uses_in(block):
                self.uses[use.ref.block].append(use)

    def moves(self, expr: Expr) -> bool:
        """Tells whether an expression hangs on the leaves."""
        return any(read in self.moving for atom in atoms(expr) for read in self._read_by(atom))

    def _reads(self, block: Block) -> Iterator[Block]:
        if block in self.ends:
            return
        if block in self.declared:
            yield from (behind_links(each, self.ends) for each in self.declared[block].shares)
            return
        for definition in block.definitions:
            for atom in atoms(definition.expr):
                yield from self._read_by(atom)

    def _read_by(self, atom: Atom) -> Iterator[Block]:
        for ref, _ in [(atom, ())] if isinstance(atom, Ref) else _factors(atom):
            yield behind_links(ref.block, self.ends)

    def _reached(self, total: Block) -> list[Block]:
        """Returns every block that is read on the way, each after those that read it (but for loops)."""
        done: dict[Block, None] = {}
        path = [(total, self._reads(total))]
        seen = {total}
        while path:
            block, ahead = path[-1]
            if (read := next((each for each in ahead if each not in seen), None)) is not None:
                seen.add(read)
                path.append((read, self._reads(read)))
            else:
                done[block] = None
                path.pop()
        return list(reversed(done))

    def _moving(self, reached: list[Block]) -> set[Block]:
        moving = {block for block in reached if block in self.leaves}
        grown = True
        while grown:
            more = {block for block in reached if block not in moving and not moving.isdisjoint(self._reads(block))}
            moving |= more
            grown = bool(more)
        return moving

    def _uses_in(self, block: Block) -> Iterator[Use]:
        for definition in block.definitions:
            taken: list[Atom] = []
            for atom in atoms(definition.expr):
                if self.moves(atom) and not any(same(atom, other) for other in taken):
                    taken.append(atom)
                    yield from self._uses_of(atom, block, definition)

    def _uses_of(self, atom: Atom, block: Block, definition: Definition) -> Iterator[Use]:
        if any(isinstance(index, Edge) for index in definition.target):
            cell = Ref(block, definition.target)
            raise NotationError(
                f"the edge {cell} hangs on what is differentiated by, and has no adjoint: hold it constant"
            )
        grows = slope(definition.expr, atom, self.moves, Ref(block, definition.target))
        if isinstance(atom, Ref):
            yield Use(block, definition, linked(atom, self.ends), grows)
            return
        for factor, inside in _factors(atom):
            if self.moves(factor):
                yield Use(block, definition, linked(factor, self.ends), grows, inside, atom.axes)


def _factors(summed: Reduce) -> Iterator[tuple[Ref, tuple[Expr, ...]]]:
    """Yields each cell within a sum, with what it is multiplied by there."""
    match summed.name, summed.body:
        case "max", Ref() as body:
            # Of several largest each gets the whole slope.
            yield body, (Op("equal", (body, summed)),)
        case _, Op("mul", (Ref() as a, Ref() as b)) if same(a, b):
            yield a, (wrap(2), a)
        case _, Op("mul", (Ref() as a, Ref() as b)):
            yield a, (b,)
            yield b, (a,)
        case _, Ref() as body:
            yield body, ()
