"""Changes of where an equation reads and along what it sums: the place before or behind, the pair before or behind, another mask,
the other side; and a sum, a mean or a spread along other axes than it should be, over the prompts in the place of the responses
of each, or over all of both.

Where a row along one axis, [q], sums along another one, [q, i], the same along the first is a row [i], and over both a number.
What the row is made of is laid out so, too, where it is itself along the first axis: the mean from which a spread is taken.
"""

from collections.abc import Collection, Iterator, Mapping

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Count,
    Edge,
    Expr,
    Lookup,
    Op,
    Position,
    Reduce,
    Ref,
    less,
    rebuilt,
    text,
    walk,
)
from blueprint.language.blocks import Definition
from blueprint.misconceptions.rewriting import Change, Names, is_setting, put
from blueprint.verifying.constant_rows import source
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.in_memory import Try


def running(ref: Ref) -> Iterator[Axis]:
    """Yields the axes along which a reference is to a place."""
    yield from (index.axis for index in ref.at if isinstance(index, Position))


def beside(ref: Ref, axis: Axis, by: int, edge: Expr | None = None) -> Expr:
    """Returns a reference one place before (−1) or behind (1) along an axis; at its end stands the other end, or an edge."""
    place: Expr = Op("sub", (Count("number", axis), Constant(axis.start))) if axis.start else Count("number", axis)
    last = Op("sub", (Count("size", axis), Constant(1)))
    inside = less(0, place) if by < 0 else less(place, last)
    moved = Op("sub" if by < 0 else "add", (place, Constant(1)))
    around = Op("where", (inside, moved, last if by < 0 else Constant(0)))
    at = tuple(Lookup(axis, around) if isinstance(i, Position) and i.axis is axis else i for i in ref.at)
    found = Ref(ref.block, at)
    return found if edge is None else Op("where", (inside, found, edge))


def read(expr: Expr) -> Iterator[Ref]:
    """Yields the references of an equation to cells of rows, each along some axis."""
    for part in walk(expr):
        if not isinstance(part, Ref) or is_setting(part.block) or part.block.text:
            continue
        if not any(isinstance(index, Lookup | Edge) for index in part.at):
            yield part


def is_here(part: Ref, axis: Axis | None = None) -> bool:
    """Whether a reference is to a cell of one's own place along an axis, or along all."""
    return not any(getattr(index, "by", 0) for index in part.at if axis is None or getattr(index, "axis", axis) is axis)


def places(expr: Expr, name: str, side: Block | None) -> Iterator[tuple[str, Expr]]:
    """Yields the place before and behind in that of one's own, along every axis; the last one stands before the first."""
    if any(isinstance(node, Op) for node in walk(expr)):
        yield from moved(expr, name, side)


def moved(expr: Expr, name: str, side: Block | None) -> Iterator[tuple[str, Expr]]:
    """Yields the same for an equation that is one row alone, too. name: the row whose equation it is."""
    yield from _differences_moved(expr)
    for part in [each for each in read(expr) if is_here(each) or each.block.name != name]:
        for axis in dict.fromkeys(each for each in running(part) if is_here(part, each)):
            for by, said in ((-1, "before"), (1, "behind")):
                yield f"{text(part)} of the {axis.meaning} {said} is read", put(expr, part, beside(part, axis, by))
                if len(part.at) > 1 and axis is part.at[0].axis:
                    first = f"the first {text(part)} of the {axis.meaning} {said} is read, wherever it is read"
                    yield first, put(expr, part, _first_of(beside(part, axis, by)))
                if side is not None and axis is side.axes[0]:
                    yield f"{text(part)} of the pair {said} is read", put(expr, part, _of_next_pair(part, axis, by))
        for axis in dict.fromkeys(each for each in running(part) if not is_here(part, each)):
            here = Ref(part.block, tuple(Position(axis) if getattr(i, "axis", None) is axis else i for i in part.at))
            yield (
                f"{text(here)} of the {axis.meaning} before is read, not {text(part)}",
                put(expr, part, before := beside(here, axis, -1)),
            )
            inside = less(Count("number", axis), Op("add", (Count("size", axis), Constant(axis.start - 1))))
            yield (
                f"{text(here)} of the {axis.meaning} before is read, not {text(part)}, and 0 at the end",
                put(expr, part, Op("where", (inside, before, Constant(0)))),
            )


def _first_of(ref: Expr) -> Expr:
    """Returns a reference to the first cell of a row, as where each cell of it has the number of its text."""
    assert isinstance(ref, Ref)
    return Ref(
        ref.block,
        (ref.at[0], *(Lookup(index.axis, Constant(0)) for index in ref.at[1:] if isinstance(index, Position))),
    )


def _differences_moved(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields both operands of a sum or difference of the place before or behind, along the first axis that they have."""
    for part in walk(expr):
        match part:
            case Op("add" | "sub" as name, (Ref() as one, Ref() as other)) if (
                one.at and one.block.axes == other.block.axes
            ):
                if all(isinstance(index, Position) and not index.by for index in (*one.at, *other.at)):
                    axis = next(running(one))
                    for by, said in ((-1, "before"), (1, "behind")):
                        made = Op(name, (beside(one, axis, by), beside(other, axis, by)))
                        yield f"{text(part)} of the {axis.meaning} {said} is read", put(expr, part, made)


def _of_next_pair(ref: Ref, axis: Axis, by: int) -> Expr:
    """Returns a reference to the same side of the pair before (−1) or behind (1); the last pair stands before the first."""
    place = Op("sub", (Count("number", axis), Constant(axis.start)))
    half = Op("div", (Count("size", axis), Constant(2)))
    first = Op("less", (place, half))  # chosen ones come first
    own = Op("where", (first, place, Op("sub", (place, half))))
    last = Op("sub", (half, Constant(1)))
    if by < 0:
        moved = Op("where", (Op("less", (Constant(0), own)), Op("sub", (own, Constant(1))), last))
    else:
        moved = Op("where", (Op("less", (own, last)), Op("add", (own, Constant(1))), Constant(0)))
    back = Op("where", (first, moved, Op("add", (moved, half))))
    return Ref(
        ref.block, tuple(Lookup(axis, back) if isinstance(i, Position) and i.axis is axis else i for i in ref.at)
    )


def other_places_of_masks(expr: Expr, masks: tuple[str, ...]) -> Iterator[tuple[str, Expr]]:
    """Yields what counts as another mask has it: everywhere, moved by one, one shorter at either end, one longer."""
    for part in [each for each in read(expr) if each.block.name in masks and is_here(each)]:
        axis = [*running(part)][-1]
        before, behind = (beside(part, axis, by, Constant(0)) for by in (-1, 1))
        said = text(part)
        yield f"{said} is 1 everywhere", put(expr, part, Op("add", (Constant(1), Op("mul", (Constant(0), part)))))
        yield f"{said} begins and ends one later", put(expr, part, before)
        yield f"{said} begins and ends one earlier", put(expr, part, behind)
        yield f"{said} leaves the first one out", put(expr, part, Op("mul", (part, before)))
        yield f"{said} leaves the last one out", put(expr, part, Op("mul", (part, behind)))
        yield f"{said} goes on for one more", put(expr, part, Op("maximum", (part, before)))
        yield f"{said} is taken off 1: what does not count, does", put(expr, part, Op("sub", (Constant(1), part)))
        yield f"1 is added to {said}", put(expr, part, Op("add", (Constant(1), part)))


def other_masks(expr: Expr, equations: Equations, masks: tuple[str, ...]) -> Iterator[tuple[str, Expr]]:
    """Yields another mask in the place of one; and what counts of it everything but what the other has alone, as the prompt."""
    for part in [each for each in read(expr) if each.block.name in masks]:
        once = {source(equations.rows[each]): each for each in masks[::-1] if each in equations.rows}
        once.pop(source(part.block), None)
        for other in (each for each in masks if each in once.values() and equations.rows[each].axes == part.block.axes):
            row = Ref(equations.rows[other], part.at)
            yield f"{other} is read, not {part.block.name}", put(expr, part, row)
            behind = Op("add", (part, Op("sub", (Constant(1), row))))
            yield f"{text(part)} is 1 wherever {text(row)} is 0, too", put(expr, part, behind)


def other_side(expr: Expr, side: Block | None) -> Iterator[tuple[str, Expr]]:
    """Yields rejected responses in the place of chosen ones."""
    for part in [each for each in read(expr) if each.block is side]:
        yield "rejected responses count, not chosen ones", put(expr, part, Op("sub", (Constant(1), part)))


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
