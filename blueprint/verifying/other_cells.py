"""Changes of where an equation reads: the place before or behind, the pair before or behind, another mask, the other side; what
goes on from a row in its place."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

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
    rounded,
    text,
    walk,
)
from blueprint.language.blocks import Definition
from blueprint.misconceptions.rewriting import is_setting, put
from blueprint.verifying.constant_rows import source
from blueprint.verifying.definitions import Equations


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
    yield from (*_differences_moved(expr), *_behind_the_last(expr, name))
    for part in [each for each in read(expr) if is_here(each) or each.block.name != name]:
        for axis in dict.fromkeys(each for each in running(part) if is_here(part, each)):
            for by, said in ((-1, "before"), (1, "behind")):
                yield f"{text(part)} of the {axis.meaning} {said} is read", put(expr, part, beside(part, axis, by))
                if len(part.at) > 1 and axis is part.at[0].axis:
                    first = f"the first {text(part)} of the {axis.meaning} {said} is read, wherever it is read"
                    yield first, put(expr, part, _first_of(beside(part, axis, by)))
                if side is not None and axis is side.axes[0]:
                    yield f"{text(part)} of the pair {said} is read", put(expr, part, _of_next_pair(part, axis, by))
            if axis is part.at[0].axis and not any(
                isinstance(each, Reduce) and axis in each.axes for each in walk(expr)
            ):
                if not any(each is part for node in walk(expr) for each in _squared(node)):
                    yield from ((says, put(expr, part, made)) for says, made in _of_all(part, axis, side))
                last = Op("sub", (Count("size", axis), Constant(1)))
                for said, there in (("first", Constant(0)), ("last", last)):
                    yield (
                        f"{text(part)} of the {said} {axis.meaning} is read for all",
                        put(expr, part, _at(part, axis, there)),
                    )
            yield f"{text(part)} is read in the reverse order of {axis.plural}", put(expr, part, _reversed(part, axis))
            if side is not None and axis is side.axes[0]:
                yield f"{text(part)} of the other side of the pair is read", put(expr, part, of_other_side(part, axis))
                beside_each_other = "stands at two neighbours, not at a chosen response and its rejected one"
                yield f"{text(part)} of each pair {beside_each_other}", put(expr, part, _at(part, axis, _half(axis)))
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
            if axis is part.at[-1].axis and len(part.at) > 1 and isinstance(part.at[0], Position):
                outer = part.at[0].axis
                for says, edge in (("", None), (", and 0 behind the last of all", Constant(0))):
                    after = beside(Ref(part.block, (*here.at[:-1], Lookup(axis, Constant(0)))), outer, 1, edge)
                    what = f"behind the last {text(here)} comes the first of the next {outer.meaning}{says}"
                    yield what, put(expr, part, Op("where", (inside, part, after)))


def _of_all(part: Ref, axis: Axis, side: Block | None) -> Iterator[tuple[str, Expr]]:
    """Yields the mean, the largest and the smallest of all numbers of a row along one axis, and the mean of those of its side."""
    if len(part.at) > 1:
        return
    yield from ((f"the {says} {text(part)} of all is read", made) for says, made in of_all(part, axis).items())
    total, size = Reduce("sum", (axis,), part), Count("size", axis)
    if side is not None and axis is side.axes[0]:
        first = Ref(side, (Position(axis),))
        of_first, many = Reduce("sum", (axis,), Op("mul", (first, part))), Reduce("sum", (axis,), first)
        of_second = Op("div", (Op("sub", (total, of_first)), Op("sub", (size, many))))
        means = (_number(part, "first", Op("div", (of_first, many))), _number(part, "second", of_second))
        yield f"the mean {text(part)} of its side of the pairs is read", Op("where", (first, *means))


def of_all(part: Ref, axis: Axis) -> dict[str, Ref]:
    """Returns the mean, the largest and the smallest of all numbers of a row along one axis."""
    below = Reduce("max", (axis,), Op("neg", (part,)))
    found = {
        "mean": Op("div", (Reduce("sum", (axis,), part), Count("size", axis))),
        "largest": Reduce("max", (axis,), part),
        "smallest": Op("neg", (below,)),
    }
    return {says: _number(part, says, expr) for says, expr in found.items()}


def _squared(node: Expr) -> tuple[Expr, ...]:
    """Returns both operands of a square: with the mean of all in it, it is the square of a mean, which is looked for elsewhere."""
    match node:
        case Op("mul", (Ref() as one, Ref() as other)) if text(one) == text(other):
            return one, other
    return ()


def _number(part: Ref, says: str, expr: Expr) -> Ref:
    """Returns a number that is made of all of a row; texts of equations tell it from another one by what it is."""
    made = Block(part.block.name, (), replace(part.block.about, symbol=f"{part.block.symbol}_{says}"))
    made.definitions = [Definition((), expr)]
    return Ref(made, ())


def _behind_the_last(expr: Expr, name: str) -> Iterator[tuple[str, Expr]]:
    """Yields, where the place behind is read, what may stand behind the last one: the last of the row itself, or of another one
    that the equation reads, as where a loop from the end does not start at 0."""
    for part in read(expr):
        for axis in (index.axis for index in part.at if isinstance(index, Position) and index.by > 0):
            here = Ref(part.block, tuple(Position(i.axis) if isinstance(i, Position) else i for i in part.at))
            inside = less(Count("number", axis), Op("add", (Count("size", axis), Constant(axis.start - 1))))
            for last in {text(each): each for each in (here, *read(expr)) if is_here(each)}.values():
                whole = last.block.about.decimals == 0  # one that is 0 or 1 would be 0 again, as often as not
                if last.block.axes == part.block.axes and last.block.name != name and not whole:
                    says = f"behind the last {text(here)} comes the last {text(last)}"
                    yield says, put(expr, part, Op("where", (inside, part, last)))


def _half(axis: Axis) -> Expr:
    """Returns half of one's own place along an axis, from 0, rounded down."""
    place = Op("sub", (Count("number", axis), Constant(axis.start)))
    return rounded(Op("sub", (Op("div", (place, Constant(2))), Op("div", (Constant(1), Constant(4))))), 0)


def _reversed(ref: Ref, axis: Axis) -> Expr:
    """Returns a reference to the place that is as far from the end along an axis as one's own is from the beginning."""
    place = Op("sub", (Count("number", axis), Constant(axis.start)))
    return _at(ref, axis, Op("sub", (Op("sub", (Count("size", axis), Constant(1))), place)))


def _at(ref: Ref, axis: Axis, place: Expr) -> Ref:
    """Returns a reference to another place along an axis, from 0."""
    return Ref(
        ref.block, tuple(Lookup(axis, place) if isinstance(i, Position) and i.axis is axis else i for i in ref.at)
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


def of_other_side(ref: Ref, axis: Axis) -> Expr:
    """Returns a reference to the other side of the same pair; chosen ones come first, then as many rejected ones."""
    place = Op("sub", (Count("number", axis), Constant(axis.start)))
    half = Op("div", (Count("size", axis), Constant(2)))
    other = Op("where", (Op("less", (place, half)), Op("add", (place, half)), Op("sub", (place, half))))
    at = (Lookup(axis, other) if isinstance(i, Position) and i.axis is axis else i for i in ref.at)
    return Ref(ref.block, tuple(at))


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
        yield f"{said} is of the first one alone", put(expr, part, Op("sub", (part, Op("mul", (part, before)))))
        yield f"{said} is of the last one alone", put(expr, part, Op("sub", (part, Op("mul", (part, behind)))))
        yield f"{said} goes on for one more", put(expr, part, Op("maximum", (part, before)))
        yield f"{said} is taken off 1: what does not count, does", put(expr, part, Op("sub", (Constant(1), part)))
        last = Lookup(axis, Op("sub", (Count("size", axis), Constant(1))))
        full = Ref(part.block, (*part.at[:-1], last))
        if len(part.at) > 1:
            yield (
                f"{said} leaves rows out that are full",
                put(expr, part, Op("mul", (part, Op("sub", (Constant(1), full))))),
            )
            unless_full = put(expr, part, Op("mul", (part, Op("maximum", (behind, full)))))
            yield f"{said} leaves the last one out, but of rows that are full", unless_full
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
    """Yields rejected responses in the place of chosen ones, and one response more or less; and of a row the larger or the smaller
    of both sides of the pair, or the mean, wherever it is read."""
    for part in [each for each in read(expr) if each.block is side]:
        axis = part.block.axes[0]
        before, behind = (beside(part, axis, by, Constant(0)) for by in (-1, 1))
        yield "rejected responses count, not chosen ones", put(expr, part, Op("sub", (Constant(1), part)))
        yield "one rejected response counts as chosen, too", put(expr, part, Op("maximum", (part, before)))
        yield "one chosen response does not count", put(expr, part, Op("mul", (part, behind)))
    sided = [each for each in read(expr) if side is not None and each.block.axes[:1] == side.axes]
    for block in dict.fromkeys(each.block for each in sided if each.block is not side):
        for says, of_both in OF_BOTH.items():
            yield f"the {says} {block.name} of both sides of the pair is read", _of_both_sides(expr, block, of_both)


OF_BOTH: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "larger": lambda one, other: Op("maximum", (one, other)),
    "smaller": lambda one, other: Op("minimum", (one, other)),
    "mean": lambda one, other: Op("div", (Op("add", (one, other)), Constant(2))),
}
"""What a row of each side of a pair may come to for both."""


def _of_both_sides(expr: Expr, block: Block, of_both: Callable[[Expr, Expr], Expr]) -> Expr:
    if isinstance(expr, Ref) and expr.block is block and isinstance(expr.at[0], Position):
        return of_both(expr, of_other_side(expr, block.axes[0]))
    return rebuilt(expr, lambda inner: _of_both_sides(inner, block, of_both))


def going_on(expr: Expr, name: str, equations: Equations) -> Iterator[tuple[str, Expr]]:
    """Yields what goes on from a row in its place, once or everywhere: the ratio where the log-ratio is read."""
    parts = [node for node in walk(expr) if isinstance(node, Ref) and node.block.axes]
    for part in {text(node): node for node in parts}.values():
        same = [node for node in parts if text(node) == text(part)]
        for other in _made_of_it(equations, name, part):
            says, made = f"{other} is read, not {part.block.name}", Ref(equations.rows[other], part.at)
            yield says, put(expr, part, made, alike=True)
            once = [put(expr, one, made) for one in same if len(same) > 1]
            yield from ((f"{says}: {text(each)}", each) for each in once)


def _made_of_it(equations: Equations, name: str, part: Ref) -> list[str]:
    """Returns the rows that are made of one that is read, and of numbers, also where they are not on the way."""
    own = source(part.block)

    def goes_on(row: Block) -> bool:
        made = [source(each) for each in equations.reads(row) if each.axes]
        return bool(made) and all(each is own for each in made) and source(row) is not own

    return [
        other
        for other, row in equations.rows.items()
        if row.axes == part.block.axes
        and row.edges >= part.block.edges
        and goes_on(row)
        and name not in equations.made_of((other,))
    ]
