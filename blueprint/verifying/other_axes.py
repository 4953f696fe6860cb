"""Causes that are a sum, a mean or a spread along other axes than it should be: over the prompts in the place of the responses of
each, or over all of both.

Where a row along one axis, [q], sums along another one, [q, i], the same along the first is a row [i], and over both a number. What
the row is made of is laid out so, too, where it is itself along the first axis: the mean from which a spread is taken.
"""

from collections.abc import Collection, Iterator, Mapping

from blueprint.language import Axis, Block, Count, Expr, Op, Position, Reduce, Ref, rebuilt, walk
from blueprint.language.blocks import Definition
from blueprint.misconceptions.rewriting import Change, Names, put
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.in_memory import Try

Labelled = tuple[str, dict[str, Change]]


def tries(
    of: Definitions, settings: Mapping[str, float | str], wanted: tuple[str, ...], known: Collection[str]
) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted."""
    equations = of.under(settings)
    asked = [each for each in wanted if each in equations.rows]
    way = list(dict.fromkeys(row for each in asked for row in equations.on_the_way(each, known)))
    for label, changes in _along_others(equations, way, of.counts):
        yield Try(label, settings, {"equations": changes})


def _along_others(equations: Equations, way: list[str], counts: Mapping[str, Axis]) -> Iterator[Labelled]:
    """Yields rows of some, in each of which a sum runs along other axes. counts: by row that is a number, of which axis it is the
    size."""
    for name in way:
        row = equations.rows[name]
        if len(row.axes) != 1 or len(row.definitions) != 1:
            continue
        for across in _summed(row, row.axes[0]):
            yield from _only_the_sum(row, across)
            laid = _Laid(row.axes[0], across, counts)
            readers = [each for each in way if any(read is row for read in equations.reads(equations.rows[each]))]
            for over, says in (((across,), f"of each {across.meaning}"), ((), "of all")):
                other = laid.out(row, over)
                there = [each for each in readers if {*row.axes, *over} <= {*equations.rows[each].axes}]
                if other is None or not there:
                    continue
                for which in [there, *([each] for each in there if len(there) > 1)]:
                    label = f"{name} is taken {says}, not of each {row.axes[0].meaning}, in {' and '.join(which)}"
                    yield label, dict.fromkeys(which, _read_instead(row, other))


def _summed(row: Block, along: Axis) -> list[Axis]:
    """Returns the other axis along which a row sums what has both, by itself or by rows along the same axis."""
    found, rows = dict[Axis, None](), {row: None}
    for block in (ahead := [row]):
        for node in (node for of in block.definitions for node in walk(of.expr)):
            if isinstance(node, Reduce) and len(node.axes) == 1:
                refs = [each for each in walk(node.body) if isinstance(each, Ref)]
                found |= (
                    dict.fromkeys(node.axes) if all({along, *node.axes} == {*each.block.axes} for each in refs) else {}
                )
            elif isinstance(node, Ref) and node.block.axes == (along,) and node.block not in rows:
                rows[node.block] = None
                ahead.append(node.block)
    return [*found]


def _only_the_sum(row: Block, across: Axis) -> Iterator[Labelled]:
    """Yields a row of which the sum alone goes over all of both axes."""
    for node in walk(row.definitions[0].expr):
        if isinstance(node, Reduce) and node.axes == (across,):
            total = _made(row, (), Reduce(node.name, (*row.axes, across), node.body))
            made = put(row.definitions[0].expr, node, Ref(total, ()))
            yield f"the {node.name} in {row.name} goes over all", {row.name: _becomes(row.definitions[0].expr, made)}


def _becomes(own: Expr, other: Expr) -> Change:
    return lambda expr, names: other if expr is own else expr


def _read_instead(row: Block, other: Block) -> Change:
    """Makes a change of an equation: another row is read in the place of one."""

    def change(expr: Expr, names: Names) -> Expr:
        if isinstance(expr, Ref) and expr.block is row:
            return Ref(other, tuple(map(Position, other.axes)))
        return rebuilt(expr, lambda inner: change(inner, names))

    return change


class _Laid:
    """Lays rows along one axis, `along`, that sum along another one, `across`, out along that, or over all."""

    def __init__(self, along: Axis, across: Axis, counts: Mapping[str, Axis]):
        self.along, self.across, self.counts = along, across, counts

    def out(self, block: Block, over: tuple[Axis, ...]) -> Block | None:
        """Returns a row along the axes that are left, `over`; None where it is made of what has only the first."""
        if not block.definitions and self.along in block.axes and self.across not in block.axes:
            return None
        if len(block.definitions) != 1 or self.along not in block.axes:
            return block
        expr = block.definitions[0].expr
        read = dict.fromkeys(node.block for node in walk(expr) if isinstance(node, Ref))
        other = {each: block if each is block else self.out(each, over) for each in read}
        if any(each is None for each in other.values()):
            return None
        if self.across in block.axes and all(one is two for one, two in other.items()):
            return block
        own = (self.along,) == block.axes
        return _made(block, over if own else block.axes, self._expr(expr, other, over, own))

    def _expr(self, expr: Expr, other: Mapping[Block, Block | None], over: tuple[Axis, ...], own: bool) -> Expr:
        """own: whether the equation is of a row along the first axis: what it sums, and counts, goes along the others then."""
        inner = (self.along,) if over else (self.along, self.across)
        match expr:
            case Ref(block, at):
                if own and block.name in self.counts and self.counts[block.name] is self.across:
                    sizes: list[Expr] = [Count("size", axis) for axis in inner]
                    return sizes[0] if over else Op("mul", tuple(sizes))
                made = other[block]
                assert made is not None
                return (
                    expr
                    if made is block
                    else Ref(made, at if made.axes == block.axes else tuple(map(Position, made.axes)))
                )
            case Reduce(name, (axis,), body) if own and axis is self.across:
                return Reduce(name, inner, self._expr(body, other, over, own))
        return rebuilt(expr, lambda part: self._expr(part, other, over, own))


def _made(of: Block, axes: tuple[Axis, ...], expr: Expr) -> Block:
    made = Block(of.name, axes, of.about)
    made.definitions = [Definition(tuple(map(Position, axes)), expr)]
    return made
