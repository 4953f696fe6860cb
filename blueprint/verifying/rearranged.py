"""Causes that are two operations in another order, or a function around a row: the square of a sum and the sum of squares, a margin
that is taken off behind log σ, a probability in the place of log-odds.

Each is one line of a library's code, and no change of one part of one equation of the definitions.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from blueprint.language import Block, Constant, Expr, Op, Position, Reduce, Ref, exp, rebuilt, text, walk
from blueprint.misconceptions.rewriting import Change, is_setting
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import only_picks
from blueprint.verifying.in_memory import Try

MOST_ROWS = 60
"""Rows on the way to a quantity that are looked at, the nearest first."""
Labelled = tuple[str, dict[str, Change]]


def tries(of: Definitions, settings: Mapping[str, float | str], wanted: str, known: Collection[str]) -> Iterator[Try]:
    """Yields such causes between the rows that are known and the one that is wanted."""
    equations = of.under(settings)
    if wanted not in equations.rows:
        return
    on_the_way = equations.on_the_way(wanted, known)
    way = [name for name in on_the_way if _own(equations, name) is not None and not only_picks(equations.rows[name])][
        :MOST_ROWS
    ]
    for stage in (_read_on, _taken_later, _squared_before, _summed_before, _put_around):
        yield from (Try(label, settings, {"equations": changes}) for label, changes in stage(equations, way))


def _own(equations: Equations, name: str) -> Expr | None:
    """Returns the equation of a row; None where there is none, or more than one."""
    definitions = equations.rows[name].definitions
    return definitions[0].expr if len(definitions) == 1 else None


def _readers(equations: Equations, way: Collection[str], name: str) -> list[str]:
    """Returns the rows along the same axes that read a row, cell by cell."""
    row = equations.rows[name]
    return [
        each
        for each in way
        if each != name
        and equations.rows[each].axes == row.axes
        and any(read is row for read in equations.reads(equations.rows[each]))
    ]


def _read_on(equations: Equations, way: list[str]) -> Iterator[Labelled]:
    """Yields what goes on from a row in its place: the margin times β, where the margin is read."""
    for name in way:
        if (own := _own(equations, name)) is None:
            continue
        read = {text(node): node for node in walk(own) if isinstance(node, Ref) and node.block.axes}
        for part in read.values():
            for other in _made_of_it(equations, name, part):
                says = f"another equation of {_meaning(equations.rows[name])}: {other} is read, not {part.block.name}"
                yield says, {name: _instead(own, _put(own, part, Ref(equations.rows[other], part.at), alike=True))}


def _made_of_it(equations: Equations, name: str, part: Ref) -> list[str]:
    """Returns the rows that are made of one that is read, and of numbers, also where they are not on the way."""
    return [
        other
        for other, row in equations.rows.items()
        if row.axes == part.block.axes
        and any(each is part.block for each in equations.reads(row))
        and all(each is part.block or not each.axes for each in equations.reads(row))
        and row.edges >= part.block.edges
        and name not in equations.made_of((other,))
    ]


def _taken_later(equations: Equations, way: list[str]) -> Iterator[Labelled]:
    """Yields what a row adds, takes off, multiplies or divides by as done behind the row that reads it, not before."""
    for name in way:
        own = _own(equations, name)
        for kept, op, other in _parts(own):
            for reader in _readers(equations, way, name):
                later = _own(equations, reader)
                if later is not None and {*_axes(other)} <= {*equations.rows[reader].axes}:
                    said = f"{text(other)} comes in behind {reader}, not before it, in {name}: ({reader}) {SIGNS[op]} {text(other)}"
                    yield said, {name: _instead(own, kept), reader: _instead(later, Op(op, (later, other)))}


SIGNS = {"add": "+", "sub": "−", "mul": "·", "div": "/"}


def _parts(expr: Expr | None) -> Iterator[tuple[Expr, str, Expr]]:
    """Yields of x ∘ y both, x first; and y first, too, where the order is the same."""
    match expr:
        case Op("add" | "sub" | "mul" | "div" as op, (left, right)):
            if isinstance(right, Ref):
                yield left, op, right
            if isinstance(left, Ref) and op in ("add", "mul"):
                yield right, op, left


def _squared_before(equations: Equations, way: list[str]) -> Iterator[Labelled]:
    """Yields the sum of squares in the place of the square of a sum, and so for differences."""
    for name in way:
        own = _own(equations, name)
        inner = _squared(own)
        if inner is None or inner.block.name not in way:
            continue
        match _own(equations, inner.block.name):
            case Op("add" | "sub" as op, (left, right)):
                said = f"each part of {inner.block.name} is squared, not the whole, in {name}"
                yield said, {name: _instead(own, Op(op, (Op("mul", (left, left)), Op("mul", (right, right)))))}


def _summed_before(equations: Equations, way: list[str]) -> Iterator[Labelled]:
    """Yields the square, exponential or size of a sum in the place of the sum of those, and so for means."""
    for name in way:
        own = _own(equations, name)
        for total in _sums(own):
            for part in [node for node in walk(total.body) if isinstance(node, Ref) and node.block.name in way]:
                made = _own(equations, part.block.name)
                inner = _inside(made)
                if own is not None and made is not None and inner is not None:
                    whole = Reduce("sum", total.axes, _put(total.body, part, inner))
                    said = f"{part.block.name} is taken of the sum in {name}, not summed: {text(made)} of the whole"
                    yield said, {name: _instead(own, _put(own, total, _put(made, inner, whole, alike=True)))}


def _sums(expr: Expr | None) -> list[Reduce]:
    nodes = () if expr is None else walk(expr)
    return [node for node in nodes if isinstance(node, Reduce) and node.name == "sum"]


def _inside(expr: Expr | None) -> Ref | None:
    """Returns what a function of one cell is of."""
    match expr:
        case Op("exp" | "log" | "abs" | "neg", (Ref() as inner,)):
            return inner
    return _squared(expr)


def _squared(expr: Expr | None) -> Ref | None:
    """Returns what is squared, where an equation is the square of a cell of another row."""
    match expr:
        case Op("mul", (Ref() as one, Ref() as other)) if text(one) == text(other):
            return one if all(isinstance(at, Position) and not at.by for at in one.at) else None
    return None


AROUND: Mapping[str, Callable[[Expr], Expr]] = {
    "σ of it is taken first, as if it were log-odds": lambda x: Op(
        "div", (Constant(1), Op("add", (Constant(1), exp(-x))))
    ),
    "it is held between −1 and 1": lambda x: Op("maximum", (Constant(-1), Op("minimum", (Constant(1), x)))),
    "what is below 0 counts as 0": lambda x: Op("maximum", (Constant(0), x)),
}


def _put_around(equations: Equations, way: list[str]) -> Iterator[Labelled]:
    """Yields a function around every row."""
    for name in way:
        own = _own(equations, name)
        if own is not None and not is_setting(equations.rows[name]):
            for says, made in AROUND.items():
                yield f"another equation of {_meaning(equations.rows[name])}: {says}", {name: _instead(own, made(own))}


def _meaning(row: Block) -> str:
    return f"{row.name} ({row.about.meaning})" if row.about.meaning else row.name


def _axes(expr: Expr) -> Iterator[object]:
    """Yields the axes along which an expression runs."""
    yield from (at.axis for node in walk(expr) if isinstance(node, Ref) for at in node.at if isinstance(at, Position))


def _instead(own: Expr | None, other: Expr) -> Change:
    """Makes a change of one equation into another; under settings that have another equation nothing is changed."""
    said = "" if own is None else text(own)
    return lambda expr, names: other if expr is own or text(expr) == said else expr


def _put(expr: Expr, part: Expr, other: Expr, alike: bool = False) -> Expr:
    """Returns an expression with a part of it replaced; alike: also where the same stands again."""
    if expr is part or (alike and text(expr) == text(part)):
        return other
    return rebuilt(expr, lambda inner: _put(inner, part, other, alike))
