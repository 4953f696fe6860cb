"""Causes that are a shape: two rows of which one has an axis too many, [B, 1] and [B], so that each number of one meets every one
of the other, [B, B], and the mean goes over all of these.

The row that reads both is laid out along the same axis twice, and so is all that is made of it, as far as a sum along that axis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from blueprint.language import Block, Count, Expr, Op, Position, Reduce, Ref, rebuilt, walk
from blueprint.language.blocks import Definition
from blueprint.misconceptions.rewriting import Change, is_setting
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.in_memory import Try

MOST, TWO = 1024, 2
"""Of more numbers their squares take long, and much memory."""


def tries(
    of: Definitions, settings: Mapping[str, float | str], wanted: tuple[str, ...], known: Collection[str], count: int
) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted; count: how many numbers a row has."""
    if count > MOST:
        return
    equations = of.under(settings)
    way = equations.on_the_way_to_any(wanted, known)
    met = {name: found for name in way if (found := _met(equations.rows[name]))}
    for names, other in _meetings(met):
        if changes := _Spread([equations.rows[each] for each in names], other).changes(equations, way):
            others = dict.fromkeys(each.name for name in names for each in met[name] if each is not other)
            where = f"{' and '.join(others)} in {' and '.join(names)}"
            label = f"each number of {other.name} meets every one of {where}, as [B, 1] and [B] are broadcast"
            yield Try(label, settings, {"equations": changes})


def _meetings(met: Mapping[str, Mapping[Block, None]]) -> Iterator[tuple[list[str], Block]]:
    """Yields which row meets the others, wherever it is read, and in each row alone. met: by row those that it reads."""
    for other in dict.fromkeys(block for found in met.values() for block in found):
        names = [name for name, found in met.items() if other in found]
        yield from [(names, other)] if len(names) > 1 else []
    for name, found in met.items():  # of two either comes to the same
        yield from (([name], other) for other in ([*found][:1] if len(found) == TWO else found))


def _met(row: Block) -> dict[Block, None]:
    """Returns the rows that a row reads beside others of its own shape."""
    if not row.axes or len(row.definitions) != 1 or row.typed:
        return {}
    refs = [node for node in walk(row.definitions[0].expr) if isinstance(node, Ref) and not is_setting(node.block)]
    here = tuple(map(Position, row.axes))
    met = dict.fromkeys(each.block for each in refs if each.at == here)
    return met if len(met) > 1 and row not in met and all(each.at in ((), here) for each in refs) else {}


class CannotSpreadError(Exception):
    """What is made of a row is no sum over all of it."""


class _Spread:
    """Lays rows that read another one out along their first axis twice, then along `again`, where the other one stands; and what is
    made of them. laid: by row what it is then."""

    def __init__(self, rows: list[Block], other: Block):
        self.rows, self.other, self.axes = dict.fromkeys(rows), other, rows[0].axes
        self.here = tuple(map(Position, self.axes))
        self.again, self.laid = self.axes[0].alias(f"{self.axes[0].letter}'"), dict[Block, Block]()

    def changes(self, equations: Equations, way: list[str]) -> dict[str, Change]:
        """Returns by number how its equation is changed; none where something is made of the rows that is no sum of it."""
        found = dict[str, Change]()
        try:
            for name in sorted(way, key=lambda each: len(equations.made_of((each,)))):
                block = equations.rows[name]
                if block in self.rows or any(each in self.laid for each in equations.reads(block)):
                    if block.axes:
                        self.laid[block] = self._made(block)
                    else:
                        found[name] = self._summed(block)
        except CannotSpreadError:
            return {}
        return found

    def _made(self, block: Block) -> Block:
        if block.axes != self.axes or len(block.definitions) != 1:
            raise CannotSpreadError
        axes, expr = (*self.axes, self.again), block.definitions[0].expr
        made = Block(block.name, axes, block.about)
        own = _with(expr, self._elsewhere) if block in self.rows else expr
        made.definitions = [Definition(tuple(map(Position, axes)), _with(own, self._read))]
        return made

    def _elsewhere(self, ref: Ref) -> Expr:
        return Ref(self.other, (Position(self.again), *self.here[1:])) if ref.block is self.other else ref

    def _read(self, ref: Ref) -> Expr:
        if ref.block not in self.laid:
            return ref
        if ref.at != self.here:
            raise CannotSpreadError
        return Ref(self.laid[ref.block], (*self.here, Position(self.again)))

    def _summed(self, block: Block) -> Change:
        """Makes a change of an equation: a sum is that of the means along the axis again."""
        if len(block.definitions) != 1:
            raise CannotSpreadError
        own = block.definitions[0].expr
        other = self._sums(own)
        return lambda expr, names: other if expr is own else expr

    def _sums(self, expr: Expr) -> Expr:
        match expr:
            case Reduce(name, axes, body) if {*axes} == {*self.axes}:
                if not any(isinstance(node, Ref) and node.block in self.laid for node in walk(body)):
                    return expr
                made = Reduce(name, (*axes, self.again), _with(body, self._read))
                return Op("div", (made, Count("size", self.again))) if name == "sum" else made
            case Ref(block) if block in self.laid:
                raise CannotSpreadError
        return rebuilt(expr, self._sums)


def _with(expr: Expr, read: Callable[[Ref], Expr]) -> Expr:
    """Returns an expression with something else in the place of each reference."""
    return read(expr) if isinstance(expr, Ref) else rebuilt(expr, lambda inner: _with(inner, read))
