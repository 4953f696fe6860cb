"""Causes that are one change of a library's code, and no change of one part of an equation.

A library may read in one place what the definitions read in two, compute twice what they compute once, carry −x where they carry x,
hold a number between bounds in the other order, log one number under the name of another, do two operations in another order, and
put a function around a row.
"""

from collections.abc import Callable, Iterator, Mapping

from blueprint.language import Block, Constant, Expr, Op, Position, Reduce, Ref, reading, rebuilt, text, walk
from blueprint.misconceptions.rewriting import (
    BOUNDS,
    Change,
    Names,
    everywhere,
    inside,
    is_setting,
    other_bound_last,
    put,
    squared,
    sums,
)
from blueprint.verifying.equations import (
    AROUND,
    Between,
    alike,
    changes_of,
    meaning_of,
    only_picks,
    plain_of,
    reaches,
    read_from,
    to,
)
from blueprint.verifying.in_memory import Try
from blueprint.verifying.one_function import SEVERAL, Labelled, Way, all_means, halves, of_another_place, one_function

MOST_ROWS = 60
"""Rows on the way to a quantity that are looked at, the nearest first."""


def tries(
    between: Between, signs: bool = True, everywhere: bool = False, time: Callable[[], bool] = lambda: True
) -> Iterator[list[Try]]:
    """Yields such causes between the rows that are known and those that are wanted, in stages.

    signs: whether every change is tried with the sign of the whole turned, too; else only of rows that are one number.
    everywhere: whether what one function makes is changed in all rows that there are, too, and in where it reads.
    time: whether there is time for more; a stage for which there is none is not listed.
    """
    of, settings, equations = between.of, between.settings, between.equations
    asked = (each for each in between.wanted if each in equations.rows)
    before = frozenset(equations.made_of(tuple(name for name in between.known if name in equations.rows)))
    sided = of if of.side else None
    ways = [
        Way(equations, each, _changed_on_the_way(between, each), of.masks, before, everywhere, sided) for each in asked
    ]
    numbers = [each._replace(rows=[row for row in each.rows if not equations.rows[row].axes]) for each in ways]
    for stage in STAGES:
        found = dict[str, dict[str, Change]]()
        through = numbers if stage is _sign_turned and not signs else ways
        for label, changes in (one for way in through if time() for one in stage(way)):
            found.setdefault(label, changes)
        yield [Try(label, settings, {"equations": changes}) for label, changes in found.items()]


def _changed_on_the_way(between: Between, wanted: str) -> list[str]:
    """Returns the rows on the way, without those that take cells of another one by a block of 0 and 1."""
    equations = between.equations
    rows = ((name, equations.rows[name]) for name in equations.on_the_way(wanted, between.known))
    repeats = (name for name, row in rows if not only_picks(row) or _repeats(row))
    return [*repeats][:MOST_ROWS]


def _repeats(row: Block) -> bool:
    return all(isinstance(each.expr, Ref) for each in row.definitions)


def _taken_otherwise(way: Way) -> Iterator[Labelled]:
    """Yields every row that is given, or read in more than one place, as another one wherever it is read; and one that is also read
    by rows that are not on the way so in all of these."""
    rows = way.equations.rows
    names, anywhere = {block: name for name, block in rows.items()}, _all_readers(way)
    for block, read in way.readers().items():
        if block in names and (len(read) >= SEVERAL or block.typed):
            name = names[block]
            readers = [each for each in dict.fromkeys(read) if each != name]
            every = [] if block.typed else [each for each in anywhere[block] if each != name]
            for says, made in _otherwise(way, block):
                meaning = meaning_of(way.equations, name)
                yield f"{meaning}, wherever it is read: {says}", dict.fromkeys(readers, made)
                if {*every} > {*readers}:
                    yield f"{meaning}, in all that is made of it: {says}", dict.fromkeys(every, made)


def _all_readers(way: Way) -> dict[Block, list[str]]:
    """Returns by row all that read it, also those that are not on the way."""
    found: dict[Block, list[str]] = {}
    for name, row in way.equations.rows.items():
        for block in way.equations.reads(row):
            found.setdefault(block, []).append(name)
    return found


def _otherwise(way: Way, block: Block) -> Iterator[tuple[str, Change]]:
    """Yields how a row may be taken, and the change of an equation that takes it so."""
    two = Constant(2)
    yield "it is doubled", wherever(block, lambda ref: Op("mul", (two, ref)))
    yield "it is halved", wherever(block, lambda ref: Op("div", (ref, two)))
    yield "it is squared", wherever(block, lambda ref: Op("mul", (ref, ref)))
    yield "it is taken with the other sign", wherever(block, lambda ref: Op("neg", (ref,)))
    yield from ((says, wherever(block, made)) for says, made in AROUND.items())
    yield from ((says, wherever(block, made)) for says, made in of_another_place(block))
    for other in alike(way.equations, way.wanted, block):
        row = way.equations.rows[other]
        yield f"{other} is taken", wherever(block, lambda ref, row=row: Ref(row, ref.at) if reaches(row, ref) else ref)  # type: ignore[misc]


def wherever(block: Block, made: Callable[[Ref], Expr]) -> Change:
    """Makes a change of an equation: something else stands wherever a row is read."""

    def change(expr: Expr, names: Names) -> Expr:
        if isinstance(expr, Ref) and expr.block.name == block.name:
            return read_from(made(expr), names)
        return rebuilt(expr, lambda inner: change(inner, names))

    return change


def _by_one_reader(way: Way) -> Iterator[Labelled]:
    """Yields every change of a row that is read by several, or of one that only it reads, as one of them alone has it."""
    everything = way.readers()
    for block, read in everything.items():
        readers = [name for name in dict.fromkeys(read) if way.equations.rows[name] is not block]
        if block.name in way.rows and len(readers) >= SEVERAL:
            for inner, behind in _read_by_it_alone(way, block, everything):
                every = changes_of(way.equations, inner.name, (way.wanted,), way.sided)
                own_changes = [(made.says, made.change) for made in every]
                for reader in readers:
                    for says, change in (*own_changes, *_with_numbers(way, inner, reader)):
                        own = behind(way.equations.changed(inner.name, change))
                        label = (
                            f"another equation of {meaning_of(way.equations, inner.name)}, for {reader} alone: {says}"
                        )
                        yield label, {reader: _reading(block, own)}


def _read_by_it_alone(
    way: Way, block: Block, readers: Mapping[Block, list[str]]
) -> Iterator[tuple[Block, Callable[[Block], Block]]]:
    """Yields a row and those that nothing but it reads, each with what makes the row of it where it is another one; of what is
    counted in whole numbers, as masks are, the row alone."""
    yield block, lambda own: own
    for part, read in readers.items() if block.about.decimals else ():
        if {*read} == {block.name} and part.name in way.rows and part is not block:
            for inner, behind in _read_by_it_alone(way, part, readers):

                def made(own: Block, part: Block = part, behind: Callable[[Block], Block] = behind) -> Block:
                    return way.equations.changed(block.name, _reading(part, behind(own)))

                yield inner, made


def _reading(block: Block, own: Block) -> Change:
    def change(expr: Expr, names: Names) -> Expr:
        return reading(expr, {block: own})

    return change


def _other_numbers(way: Way) -> Iterator[Labelled]:
    """Yields another number of the file in the place of one that an equation reads, or of the one that is wanted."""
    for name in way.rows:
        for says, made in _with_numbers(way, way.equations.rows[name], name):
            yield f"another equation of {meaning_of(way.equations, name)}: {says}", {name: made}
    for other in (each for each in _numbers(way) if way.wanted not in _made_of(way, each)):
        if not way.equations.rows[way.wanted].axes:
            row = way.equations.rows[other]
            yield f"{meaning_of(way.equations, other)} in its place", {way.wanted: _instead(Ref(row, ()))}


def _numbers(way: Way) -> list[str]:
    """Returns the rows that are one number, and no setting."""
    rows = way.equations.rows.items()
    return [name for name, row in rows if not row.axes and not row.text and not is_setting(row)]


def _with_numbers(way: Way, row: Block, reader: str) -> Iterator[tuple[str, Change]]:
    """Yields an equation with another number in the place of one that it reads, which is not made of its reader."""
    rows, numbers = way.equations.rows, _numbers(way)
    read = dict.fromkeys(
        node.block for of in row.definitions for node in walk(of.expr) if isinstance(node, Ref) and not node.block.axes
    )
    for block in (each for each in read if rows.get(each.name) is each and each.name in numbers):
        near = sorted(numbers, key=lambda each: each.partition(".")[0] != block.name.partition(".")[0])
        for other in (each for each in near if each != block.name and reader not in _made_of(way, each)):
            made = wherever(block, lambda ref, other=other: Ref(rows[other], ()))  # type: ignore[misc]
            yield f"{other} is read, not {block.name}", made


def _made_of(way: Way, name: str) -> set[str]:
    return way.equations.made_of((name,))


def _instead(other: Expr) -> Change:
    return lambda expr, names: other


def _sign_turned(way: Way) -> Iterator[Labelled]:
    """Yields every change of an equation with the sign of the whole turned."""
    for name in way.rows:
        for made in changes_of(way.equations, name, (way.wanted,)):
            label = f"another equation of {meaning_of(way.equations, name)}: {made.says}, and the sign of the whole is turned"
            yield label, {name: _negative(made.change)}


def _negative(made: Change) -> Change:
    return lambda expr, names: Op("neg", (made(expr, names),))


def _bounds_exchanged(way: Way) -> Iterator[Labelled]:
    """Yields every change of an equation that holds something between two bounds; where they then cross, the other one holds."""
    for name in way.rows:
        own = way.equations.rows[name].inside
        if own is not None and any(other_bound_last(node) is not node for node in walk(own)):
            for made in changes_of(way.equations, name, (way.wanted,)):
                label = f"another equation of {meaning_of(way.equations, name)}: {made.says}"
                yield f"{label}, and where the bounds cross the other holds", {name: _crossing(made.change)}


def _crossing(made: Change) -> Change:
    return lambda expr, names: everywhere(made(expr, names), other_bound_last)


def _readers(of: Way, name: str, other: Expr) -> list[str]:
    """Returns the rows that read a row and have the cells of another one that it reads: cell by cell, or by a sum of a number."""
    equations, along = of.equations, {*_axes(other)}
    row = equations.rows[name]
    return [
        each
        for each in of.plain
        if each != name
        and (equations.rows[each].axes == row.axes or not along)
        and along <= {*equations.rows[each].axes}
        and any(read is row for read in equations.reads(equations.rows[each]))
    ]


def _taken_later(of: Way) -> Iterator[Labelled]:
    """Yields what a row adds, takes off, multiplies or divides by as done behind the row that reads it, not before; there it may be
    another operation, too."""
    equations, way = of.equations, of.plain
    for name in way:
        for kept, op, other in _parts(own := equations.rows[name].inside):
            for reader in _readers(of, name, other):
                later = equations.rows[reader].inside
                for made, said in [] if later is None else _joined(later, other, op):
                    label = f"{text(other)} comes in behind {reader}, not before it, in {name}: {said.format(reader)}"
                    yield label, {name: to(own, kept), reader: to(later, made)}


def _factor_elsewhere(of: Way) -> Iterator[Labelled]:
    """Yields a coefficient of one term as that of another, or of both."""
    for name in of.plain:
        for kept, op, factor in _parts(own := of.equations.rows[name].inside):
            readers = _readers(of, name, factor) if is_setting(factor.block) else []
            for reader in readers:
                if (later := of.equations.rows[reader].inside) is None:
                    continue
                refs = {node.block.name: node for node in walk(later) if isinstance(node, Ref)}
                for other in (each for each in refs if each in of.equations.rows and each != name):
                    made = to(later, put(later, refs[other], Op(op, (refs[other], factor))))
                    said = f"{text(factor)} is a coefficient of {other} in {reader}"
                    yield f"{said}, not of {name}", {name: to(own, kept), reader: made}
                    yield f"{said}, too, not of {name} alone", {reader: made}


def _taken_much_later(of: Way) -> Iterator[Labelled]:
    """Yields what a row adds or takes off as done behind a row that is made of it, however far behind."""
    equations = of.equations
    for name in of.plain:
        own = equations.rows[name].inside
        for kept, op, other in _parts(plain_of(equations, name)):
            along = {*_axes(other)}
            rows = [each for each in of.rows if each != name and along <= {*equations.rows[each].axes}]
            for reader in (each for each in rows if along and op in ("add", "sub") and name in _made_of(of, each)):
                later = equations.rows[reader].inside
                label = f"{text(other)} comes in behind {reader}, not in {name}: ({reader}) {SIGNS[op]} {text(other)}"
                if later is not None:
                    yield label, {name: to(own, kept), reader: to(later, Op(op, (later, other)))}


def _joined(later: Expr, other: Expr, op: str) -> Iterator[tuple[Expr, str]]:
    """Yields what two come to by every operation, and how that is said; with the first last, too, where that is another number."""
    for then, sign in SIGNS.items():
        yield Op(then, (later, other)), f"({{}}) {sign} {text(other)}"
        if then != op and then in ("sub", "div"):
            yield Op(then, (other, later)), f"{text(other)} {sign} ({{}})"


SIGNS = {"add": "+", "sub": "−", "mul": "·", "div": "/"}


def _parts(expr: Expr | None) -> Iterator[tuple[Expr, str, Ref]]:
    """Yields of x ∘ y both, x first; and y first, too, where the order is the same."""
    match expr:
        case Op("add" | "sub" | "mul" | "div" as op, (left, right)):
            if isinstance(right, Ref):
                yield left, op, right
            if isinstance(left, Ref) and op in ("add", "mul"):
                yield right, op, left


def _squared_before(of: Way) -> Iterator[Labelled]:
    """Yields the sum of squares in the place of the square of a sum, and so for differences."""
    equations, way = of.equations, of.plain
    for name in way:
        own = equations.rows[name].inside
        inner = squared(own)
        if inner is None or inner.block.name not in way:
            continue
        match equations.rows[inner.block.name].inside:
            case Op("add" | "sub" as op, (left, right)):
                squares = Op("mul", (left, left)), Op("mul", (right, right))
                yield (
                    f"each part of {inner.block.name} is squared, not the whole, in {name}",
                    {name: to(own, Op(op, squares))},
                )
                said = f"the second part of {inner.block.name} alone is squared, not the whole, in {name}"
                yield said, {name: to(own, Op(op, (left, squares[1])))}


def _summed_before(of: Way) -> Iterator[Labelled]:
    """Yields the square, exponential or size of a sum, or of a mean, in the place of the sum or mean of those; and the larger or
    smaller of two sums in the place of the sum of the larger or smaller numbers."""
    equations, way = of.equations, of.plain
    for name in way:
        own = equations.rows[name].inside
        if own is None:
            continue
        for total in sums(own):
            read = [node for node in walk(total.body) if isinstance(node, Ref) and node.block.name in of.rows]
            for part in (each for each in read if _is_here(each)):
                made = _as_made(equations.rows, part.block)
                if made is None:
                    continue
                for said, chosen in _chosen_after(total, part, made):
                    yield f"{said}, in {name}", {name: to(own, put(own, total, chosen))}
                inner = _curved(made) if (of_one := inside(made)) is None else of_one
                if inner is None:
                    continue
                for whole, said in _wholes(own, total):
                    other = put(made, inner, put(whole, part, inner), alike=True)
                    label = f"{part.block.name} is taken of the {said} in {name}, not summed: {text(made)} of the whole"
                    yield label, {name: to(own, put(own, whole, other))}


def _wholes(own: Expr, total: Reduce) -> Iterator[tuple[Expr, str]]:
    """Yields a sum, and the quotient of which it is the upper part, and how they are called."""
    yield total, "sum"
    for node in walk(own):
        if isinstance(node, Op) and node.name == "div" and node.args[0] is total:
            yield node, "mean"


def _as_made(rows: Mapping[str, Block], row: Block) -> Expr | None:
    """Returns the equation of a row; of one that only repeats another one, that of the other."""
    made = row.inside
    while isinstance(made, Ref) and made.block.name in rows and made.block.axes == row.axes and _is_here(made):
        made = made.block.inside
    return made


def _curved(made: Expr | None) -> Ref | None:
    """Returns the one row that an equation reads, at its own place, and more than once: its square, halved, or e^x − 1 − x."""
    nodes = [] if made is None else [*walk(made)]
    if any(isinstance(node, Reduce) for node in nodes):
        return None
    read = [node for node in nodes if isinstance(node, Ref) and node.block.axes]
    return read[0] if len(read) > 1 and len({text(each) for each in read}) == 1 and _is_here(read[0]) else None


def _is_here(ref: Ref) -> bool:
    return ref.at == tuple(map(Position, ref.block.axes))


CHOICES = {"maximum": "larger", "minimum": "smaller"}


def _chosen_after(total: Reduce, part: Ref, made: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields the larger or smaller of two sums, where a row that is summed is made of the larger or smaller of two numbers."""
    for which, turned in _choices(made, False):
        bodies = (put(total.body, part, put(made, which, each)) for each in which.args)
        both = Op(
            BOUNDS[which.name] if turned else which.name, tuple(Reduce("sum", total.axes, each) for each in bodies)
        )
        yield f"the {CHOICES[which.name]} in {part.block.name} is one of two sums", both


def _choices(expr: Expr, turned: bool) -> Iterator[tuple[Op, bool]]:
    """Yields the larger or smaller of two numbers that an equation adds, or multiplies by a number of all; turned: whether with the
    other sign."""
    match expr:
        case Op("maximum" | "minimum"):
            yield expr, turned
        case Op("neg", (inner,)):
            yield from _choices(inner, not turned)
        case Op("add" | "sub" as name, (one, other)):
            yield from _choices(one, turned)
            yield from _choices(other, turned != (name == "sub"))
        case Op("mul" | "div" as name, (one, other)):
            if not [*_axes(other)]:
                yield from _choices(one, turned)
            elif name == "mul" and not [*_axes(one)]:
                yield from _choices(other, turned)


def _put_around(of: Way) -> Iterator[Labelled]:
    """Yields a function around every row."""
    equations, way = of.equations, of.plain
    for name in way:
        own = equations.rows[name].inside
        if own is not None and not is_setting(equations.rows[name]):
            for says, made in AROUND.items():
                yield f"another equation of {meaning_of(equations, name)}: {says}", {name: to(own, made(own))}


def _axes(expr: Expr) -> Iterator[object]:
    """Yields the axes along which an expression runs."""
    yield from (at.axis for node in walk(expr) if isinstance(node, Ref) for at in node.at if isinstance(at, Position))


STAGES: tuple[Callable[[Way], Iterator[Labelled]], ...] = (
    _taken_otherwise, all_means, one_function, halves, _squared_before, _other_numbers, _by_one_reader, _taken_later,
    _summed_before, _put_around, _factor_elsewhere, _taken_much_later, _sign_turned, _bounds_exchanged,
)  # fmt: skip
"""The likelier first."""
