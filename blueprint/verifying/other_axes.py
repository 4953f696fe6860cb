"""Causes that are a sum, a mean or a spread along other axes than it should be: over the prompts in the place of the responses of
each, or over all of both.

Where a row along one axis, [q], sums along another one, [q, i], the same along the first is a row [i], and over both a number. What
the row is made of is laid out so, too, where it is itself along the first axis: the mean from which a spread is taken. And where
a number sums along both, the same along one of them is a row, as the mean and the spread of each group for those of the batch;
or the mean of that row is taken, as the mean of the groups' spreads.
A number of each prompt may also be laid out in turn, 1, 2, 3, 1, 2, 3, where it should stand as often as its prompt has responses.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Count,
    Expr,
    Lookup,
    Op,
    Position,
    Reduce,
    Ref,
    rebuilt,
    rounded,
    text,
    walk,
)
from blueprint.language.trees import free_axes
from blueprint.misconceptions.rewriting import Change, Names, put
from blueprint.verifying.definitions import Equations
from blueprint.verifying.equations import Between, another_row
from blueprint.verifying.in_memory import Try

Labelled = tuple[str, dict[str, Change]]
NO_SIZES: Mapping[str, Expr] = MappingProxyType({})


def tries(between: Between) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted."""
    equations, counts = between.equations, between.of.counts
    way = equations.on_the_way_to_any(between.wanted, between.known)
    axes = (_along_others(equations, way, counts), _along_one(equations, way, counts), _in_turn(equations, way))
    for label, changes in (each for some in axes for each in some):
        yield Try(label, between.settings, {"equations": changes})


def _along_others(equations: Equations, way: list[str], counts: Mapping[str, Axis]) -> Iterator[Labelled]:
    """Yields rows of some, in each of which a sum runs along other axes; those with the same equation together, too, as what one
    function makes. counts: by row that is a number, of which axis it is the size."""
    alike: dict[tuple[str, str, tuple[Block, ...]], dict[str, dict[str, Change]]] = {}
    for row in (equations.rows[name] for name in way):
        if len(row.axes) != 1 or len(row.definitions) != 1:
            continue
        for across in _summed(row, row.axes[0]):
            yield from _only_the_sum(row, across)
            for says, where, ending, changes in _taken_along(
                equations, _readers(equations, way, row), row, across, counts
            ):
                yield f"{row.name} is {says}{where}{ending}", changes
                key = says + ending, text(row.definitions[0].expr), equations.reads(row)
                alike.setdefault(key, {}).setdefault(row.name, changes)
    for (says, *_), found in alike.items():
        every = [each for changes in found.values() for each in changes]
        if len(found) > 1 and len({*every}) == len(every):
            changes = {name: change for each in found.values() for name, change in each.items()}
            yield f"{' and '.join(found)} are {says}", changes


def read_along_others(
    equations: Equations, row: Block, expr: Expr, counts: Mapping[str, Axis]
) -> Iterator[tuple[str, Expr]]:
    """Yields an equation of a row with each row along one axis that it reads taken along another one, or of all; and how."""
    for part in dict.fromkeys(node.block for node in walk(expr) if isinstance(node, Ref)):
        if len(part.axes) != 1 or len(part.definitions) != 1:
            continue
        for across in _summed(part, part.axes[0]):
            laid = _Laid(part.axes[0], across, counts)
            for over, of in (((across,), f"of each {across.meaning}"), ((), "of all")):
                other = laid.out(part, over) if {*part.axes, *over} <= {*row.axes} else None
                for ending, change in _taken(part, across, other, counts, False) if other is not None else ():
                    says = f"{part.name} is taken {of}, not of each {part.axes[0].meaning}{ending}"
                    yield says, change(expr, Names(equations.rows, {}))


def _taken_along(
    equations: Equations, readers: list[str], row: Block, across: Axis, counts: Mapping[str, Axis]
) -> Iterator[tuple[str, str, str, dict[str, Change]]]:
    """Yields how a row is taken along another axis, or of all; where it is read so, everywhere first; and what else changes."""
    laid = _Laid(row.axes[0], across, counts)
    for over, of in (((across,), f"of each {across.meaning}"), ((), "of all")):
        other = laid.out(row, over)
        there = [each for each in readers if {*row.axes, *over} <= {*equations.rows[each].axes}]
        if other is None or not there:
            continue
        for which in [there, *([each] for each in there if len(there) > 1)]:
            counted = any(_counts(equations.rows[each], across, counts) for each in which)
            for ending, change in _taken(row, across, other, counts, counted):
                says = f"taken {of}, not of each {row.axes[0].meaning}"
                yield says, f", in {' and '.join(which)}", ending, dict.fromkeys(which, change)


def _taken(
    row: Block, across: Axis, other: Block, counts: Mapping[str, Axis], counted: bool
) -> Iterator[tuple[str, Change]]:
    """Yields that another row is read in the place of one; and what else changes where it is a mean, or what reads it takes one.

    counted: whether what reads it reads how many there are along the other axis, too.
    """
    yield "", _read_instead({row: other})
    every = Count("size", row.axes[0])
    if other.axes and not _counts(row, across, counts):
        mean = Op("mul", (Op("div", (every, Count("size", across))), Ref(other, tuple(map(Position, other.axes)))))
        times = f", times {row.axes[0].plural} over {across.plural}"
        yield times, _read_instead({row: another_row(row, other.axes, mean)})
    if counted:
        size = every if other.axes else Op("mul", (every, Count("size", across)))
        sizes = {each: size for each, axis in counts.items() if axis is across}
        yield ", and divided by as many", _read_instead({row: other}, sizes)


def _in_turn(equations: Equations, way: list[str]) -> Iterator[Labelled]:
    """Yields rows along one axis that are laid out in turn in those that read them along two, of which it is the outer one."""
    for name in way:
        row = equations.rows[name]
        there = [each for each in _readers(equations, way, row) if equations.rows[each].axes[:1] == row.axes]
        there = [each for each in there if len(equations.rows[each].axes) == len(row.axes) + 1 == 2]
        for which in [there, *([each] for each in there if len(there) > 1)] if there else []:
            outer, inner = equations.rows[which[0]].axes
            laid = another_row(row, (outer, inner), Ref(row, (Lookup(outer, _turn(outer, inner)),)))
            label = f"{name} is laid out in turn, not for each {inner.meaning}, in {' and '.join(which)}"
            yield label, dict.fromkeys(which, _read_laid(row, laid))


def _turn(outer: Axis, inner: Axis) -> Expr:
    """Returns the place along the outer axis, from 0, at which one comes who goes along it again and again."""
    rows, place = Count("size", outer), Op("mul", (_from_0(outer), Count("size", inner)))
    place = Op("add", (place, _from_0(inner)))
    half = Op("div", (Op("sub", (rows, Constant(1))), Op("mul", (Constant(2), rows))))
    rounds = rounded(Op("sub", (Op("div", (place, rows)), half)), 0)  # how often one has come to the end
    return Op("sub", (place, Op("mul", (rounds, rows))))


def _from_0(axis: Axis) -> Expr:
    return Op("sub", (Count("number", axis), Constant(axis.start)))


def _read_laid(row: Block, laid: Block) -> Change:
    """Makes a change of an equation: a row is read at both places, as it is laid out."""

    def change(expr: Expr, names: Names) -> Expr:
        if isinstance(expr, Ref) and expr.block is row:
            return Ref(laid, tuple(map(Position, laid.axes)))
        return rebuilt(expr, lambda inner: change(inner, names))

    return change


def _readers(equations: Equations, way: list[str], row: Block) -> list[str]:
    return [each for each in way if any(read is row for read in equations.reads(equations.rows[each]))]


def _counts(row: Block, axis: Axis, counts: Mapping[str, Axis]) -> bool:
    """Tells whether an equation reads how many there are along an axis."""
    refs = (node for of in row.definitions for node in walk(of.expr) if isinstance(node, Ref))
    return any(counts.get(each.block.name) is axis for each in refs)


def _along_one(equations: Equations, way: list[str], counts: Mapping[str, Axis]) -> Iterator[Labelled]:
    """Yields numbers that sum along two axes as rows along either; alone, and with all that they are made of, as a whitening."""
    for name in way:
        row = equations.rows[name]
        for along, across in _both_summed(row):
            laid = _Divided(along, across, counts)
            other, rows = laid.out(row), laid.rows
            readers = _readers(equations, way, row)
            there = [each for each in readers if along in equations.rows[each].axes]
            if other is row or laid.summed < 2:
                continue
            total = Reduce("sum", (along,), Ref(other, (Position(along),)))
            of_all = another_row(row, (), Op("div", (total, Count("size", along))))
            label = f"{name} is the mean of those of each {along.meaning}, not one of all, in {' and '.join(readers)}"
            yield label, dict.fromkeys(readers, _read_instead({row: of_all}))
            if not there:
                continue
            label = f"{name} is taken of each {along.meaning}, not of all, in {' and '.join(there)}"
            yield label, dict.fromkeys(there, _read_instead({row: other}))
            if len(rows) > 1:
                numbers = [each for each in rows if not each.axes]
                also = (name for each in numbers for name in _readers(equations, way, each))
                both = [*dict.fromkeys(name for name in also if along in equations.rows[name].axes)]
                made = " and ".join(each.name for each in numbers if each is not row)
                yield f"{label}{', and so ' * bool(made)}{made}", dict.fromkeys(both, _read_instead(rows))


def _both_summed(row: Block) -> list[tuple[Axis, Axis]]:
    """Returns the two axes along which a number sums, itself or by numbers that it is made of, in either order."""
    axes, seen, ahead = dict[tuple[Axis, ...], None](), {row}, [row]
    for each in (each for each in ahead if not each.axes and len(each.definitions) == 1):
        nodes = [*walk(each.definitions[0].expr)]
        axes |= dict.fromkeys(node.axes for node in nodes if isinstance(node, Reduce) and len(node.axes) == 2)
        read = {node.block for node in nodes if isinstance(node, Ref)} - seen
        ahead += sorted(read, key=lambda block: block.name)
        seen |= read
    return [both for one, two in axes for both in ((one, two), (two, one))]


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
            total = another_row(row, (), Reduce(node.name, (*row.axes, across), node.body))
            made = put(row.definitions[0].expr, node, Ref(total, ()))
            yield f"the {node.name} in {row.name} goes over all", {row.name: _becomes(row.definitions[0].expr, made)}


def _becomes(own: Expr, other: Expr) -> Change:
    return lambda expr, names: other if expr is own else expr


def _read_instead(others: Mapping[Block, Block], sizes: Mapping[str, Expr] = NO_SIZES) -> Change:
    """Makes a change of an equation: other rows are read in the place of some; sizes: by number that is read, another one."""

    def change(expr: Expr, names: Names) -> Expr:
        if isinstance(expr, Ref) and (other := others.get(expr.block)) is not None:
            return Ref(other, tuple(map(Position, other.axes)))
        if isinstance(expr, Ref) and expr.block.name in sizes:
            return sizes[expr.block.name]
        return rebuilt(expr, lambda inner: change(inner, names))

    return change


class _Laid:
    """Lays rows along one axis, `along`, that sum along another one, `across`, out along that, or over all."""

    def __init__(self, along: Axis, across: Axis, counts: Mapping[str, Axis]):
        self.along, self.across, self.counts = along, across, counts

    def out(self, block: Block, over: tuple[Axis, ...]) -> Block | None:
        """Returns a row along the axes that are left, `over`; None where it is made of what has only the first, or still needs a
        place along it. A row along both axes stays as it is then."""
        if not block.definitions and self.along in block.axes and self.across not in block.axes:
            return None
        if len(block.definitions) != 1 or self.along not in block.axes:
            return block
        expr = block.definitions[0].expr
        read = dict.fromkeys(node.block for node in walk(expr) if isinstance(node, Ref))
        other = {each: block if each is block else self.out(each, over) for each in read}
        if any(each is None for each in other.values()):  # what is along both axes can stay as it is
            return block if self.across in block.axes else None
        if self.across in block.axes and all(one is two for one, two in other.items()):
            return block
        own = (self.along,) == block.axes
        made, axes = self._expr(expr, other, over, own), over if own else block.axes
        return another_row(block, axes, made) if free_axes(made) <= {*axes} else None

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


class _Divided:
    """Lays numbers that sum along two axes out along one, with all rows that are made of them.

    rows: by row what it is then. summed: how many sums and sizes are others: of one alone a number is no mean.
    """

    def __init__(self, along: Axis, across: Axis, counts: Mapping[str, Axis]):
        self.along, self.across, self.counts, self.rows = along, across, counts, dict[Block, Block]()
        self.summed = 0

    def out(self, block: Block) -> Block:
        """Returns a row with another one for each number that it is made of; itself where it is made of none."""
        if block in self.rows or len(block.definitions) != 1:
            return self.rows.get(block, block)
        expr = block.definitions[0].expr
        number = not block.axes
        sums = number and any(isinstance(node, Reduce) and self._sums(node) for node in walk(expr))
        if not number and self.along not in block.axes:
            return block
        read = dict.fromkeys(node.block for node in walk(expr) if isinstance(node, Ref))
        if sums or any(self.out(each) is not each for each in read if each is not block):
            self.rows[block] = another_row(
                block, (self.along,) if number else block.axes, self._expr(expr, block if sums else None)
            )
        return self.rows.get(block, block)

    def _expr(self, expr: Expr, number: Block | None) -> Expr:
        """number: the one whose equation it is; it counts what is along the other axis then."""
        match expr:
            case Reduce(name, axes, body) if number is not None and self._sums(expr):
                inner = self._expr(body, number)
                self.summed += 1
                return inner if axes == (self.along,) else Reduce(name, (self.across,), inner)
            case Ref(block):
                if number is not None and block.name in self.counts:
                    self.summed += 1
                    return Constant(1) if self.counts[block.name] is self.along else Count("size", self.across)
                made = self.out(block)
                return expr if made is block else Ref(made, tuple(map(Position, made.axes)))
        return rebuilt(expr, lambda part: self._expr(part, number))

    def _sums(self, total: Reduce) -> bool:
        """Tells whether a sum goes over both axes, or over the first alone."""
        return {*total.axes} == {self.along, self.across} or total.axes == (self.along,)
