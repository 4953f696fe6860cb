"""Causes that are one change of a library's code, and no change of one part of an equation.

A library may read in one place what the definitions read in two, compute twice what they compute once, carry −x where they carry x,
hold a number between bounds in the other order, and log one number under the name of another.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from blueprint.language import Block, Constant, Expr, Op, Reduce, Ref, reading, rebuilt, walk
from blueprint.misconceptions.rewriting import Change, Names, is_setting
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import alike, changes_of, meaning_of, reaches
from blueprint.verifying.in_memory import Try

MOST_ROWS = 60
"""Rows on the way to a quantity that are looked at, the nearest first."""
SEVERAL = 2
"""What is read in fewer places is a part of one equation."""
BOUNDS = {"maximum": "minimum", "minimum": "maximum"}


class Way(NamedTuple):
    """The rows between those that are known and the one that is wanted, the nearest to it first."""

    equations: Equations
    wanted: str
    rows: list[str]

    def readers(self) -> dict[Block, list[str]]:
        """Returns by row the rows that read it, each as often as it does."""
        found: dict[Block, list[str]] = {}
        for name in self.rows:
            for node in (node for of in self.equations.rows[name].definitions for node in walk(of.expr)):
                if isinstance(node, Ref) and node.block.axes and not is_setting(node.block):
                    found.setdefault(node.block, []).append(name)
        return found


def tries(
    of: Definitions, settings: Mapping[str, float | str], wanted: str, known: Collection[str]
) -> Iterator[list[Try]]:
    """Yields such causes between the rows that are known and the one that is wanted, in stages."""
    equations = of.under(settings)
    if wanted not in equations.rows:
        return
    way = Way(equations, wanted, equations.on_the_way(wanted, known)[:MOST_ROWS])
    for stage in (
        _taken_otherwise,
        _all_means,
        _halves,
        _other_numbers,
        _by_one_reader,
        _sign_turned,
        _bounds_exchanged,
    ):
        yield [Try(label, settings, {"equations": changes}) for label, changes in stage(way)]


Labelled = tuple[str, dict[str, Change]]


def _taken_otherwise(way: Way) -> Iterator[Labelled]:
    """Yields every row that is given, or read in more than one place, as another one wherever it is read."""
    names = {block: name for name, block in way.equations.rows.items()}
    for block, read in way.readers().items():
        if block in names and (len(read) >= SEVERAL or block.typed):
            name = names[block]
            for says, made in _otherwise(way, block):
                readers = [each for each in dict.fromkeys(read) if each != name]
                yield f"{meaning_of(way.equations, name)}, wherever it is read: {says}", dict.fromkeys(readers, made)


def _otherwise(way: Way, block: Block) -> Iterator[tuple[str, Change]]:
    """Yields how a row may be taken, and the change of an equation that takes it so."""
    two = Constant(2)
    yield "it is doubled", _for(block, lambda ref: Op("mul", (two, ref)))
    yield "it is halved", _for(block, lambda ref: Op("div", (ref, two)))
    yield "it is squared", _for(block, lambda ref: Op("mul", (ref, ref)))
    yield "it is taken with the other sign", _for(block, lambda ref: Op("neg", (ref,)))
    for other in alike(way.equations, way.wanted, block):
        row = way.equations.rows[other]
        yield f"{other} is taken", _for(block, lambda ref, row=row: Ref(row, ref.at) if reaches(row, ref) else ref)  # type: ignore[misc]


def _for(block: Block, made: Callable[[Ref], Expr]) -> Change:
    """Makes a change of an equation: something else stands wherever a row is read."""

    def change(expr: Expr, names: Names) -> Expr:
        if isinstance(expr, Ref) and expr.block is block:
            return made(expr)
        return rebuilt(expr, lambda inner: change(inner, names))

    return change


def _by_one_reader(way: Way) -> Iterator[Labelled]:
    """Yields every change of a row that is read by several, as one of them alone has it."""
    for block, read in way.readers().items():
        readers = [name for name in dict.fromkeys(read) if way.equations.rows[name] is not block]
        if block.name in way.rows and len(readers) >= SEVERAL:
            for reader in readers:
                every = (*changes_of(way.equations, block.name, (way.wanted,)), *_with_numbers(way, block, reader))
                for says, change in every:
                    own = way.equations.changed(block.name, change)
                    label = f"another equation of {meaning_of(way.equations, block.name)}, for {reader} alone: {says}"
                    yield label, {reader: _reading(block, own)}


def _reading(block: Block, own: Block) -> Change:
    def change(expr: Expr, names: Names) -> Expr:
        return reading(expr, {block: own})

    return change


def _all_means(way: Way) -> Iterator[Labelled]:
    """Yields every mean as another number, as where the one function is changed by which a library takes all of them."""
    rows = [
        name for name in way.rows for of in way.equations.rows[name].definitions if any(map(_is_mean, walk(of.expr)))
    ]
    others: dict[str, Callable[[Expr, Expr], Expr]] = {
        "they are doubled": lambda above, below: Op("mul", (Constant(2), Op("div", (above, below)))),
        "they are taken with the other sign": lambda above, below: Op("neg", (Op("div", (above, below)),)),
        "they are sums": lambda above, below: above,
        "they are the number of what is averaged": lambda above, below: below,
        "they are upside down": lambda above, below: Op("div", (below, above)),
        "they are multiplied with the number, not divided by it": lambda above, below: Op("mul", (above, below)),
    }
    for says, made in others.items() if len({*rows}) >= SEVERAL else ():
        yield f"all means otherwise: {says}", dict.fromkeys(rows, _where(_is_mean, made))


def _is_mean(expr: Expr) -> bool:
    return (
        isinstance(expr, Op) and expr.name == "div" and isinstance(expr.args[0], Reduce) and expr.args[0].name == "sum"
    )


def _halves(way: Way) -> Iterator[Labelled]:
    """Yields another number or operation where half of something is taken, which a library may write as ½ times it."""
    half = Op("div", (Constant(1), Constant(2)))
    others: dict[str, Callable[[Expr, Expr], Expr]] = {
        "1½ times it": lambda above, below: Op("add", (above, Op("div", (above, below)))),
        "½ more than it": lambda above, below: Op("add", (half, above)),
        "½ less it": lambda above, below: Op("sub", (half, above)),
        "½ divided by it": lambda above, below: Op("div", (half, above)),
    }
    for name in way.rows:
        if any(_is_half(node) for of in way.equations.rows[name].definitions for node in walk(of.expr)):
            for says, made in others.items():
                label = f"another equation of {meaning_of(way.equations, name)}: {says} stands where half of it should"
                yield label, {name: _where(_is_half, made)}


def _is_half(expr: Expr) -> bool:
    match expr:
        case Op("div", (_, Constant(2))):
            return True
    return False


def _where(hit: Callable[[Expr], bool], made: Callable[[Expr, Expr], Expr]) -> Change:
    """Makes a change of an equation: something else stands for each of its fractions that is hit, of what is above and below."""

    def change(expr: Expr, names: Names) -> Expr:
        found = rebuilt(expr, lambda inner: change(inner, names))
        return made(*found.args) if hit(expr) and isinstance(found, Op) else found

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
            made = _for(block, lambda ref, other=other: Ref(rows[other], ()))  # type: ignore[misc]
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
        row = way.equations.rows[name]
        own = row.definitions[0].expr
        if any(_crossed(node) is not node for node in walk(own)):
            for made in changes_of(way.equations, name, (way.wanted,)):
                label = f"another equation of {meaning_of(way.equations, name)}: {made.says}"
                yield f"{label}, and where the bounds cross the other holds", {name: _then_crossed(made.change)}


def _then_crossed(made: Change) -> Change:
    def change(expr: Expr, names: Names) -> Expr:
        return _everywhere(made(expr, names))

    return change


def _everywhere(expr: Expr) -> Expr:
    return _crossed(rebuilt(expr, _everywhere))


def _crossed(expr: Expr) -> Expr:
    """Returns max(a, min(b, x)) as min(b, max(a, x)), and the other way round; all else as it is."""
    if not isinstance(expr, Op) or expr.name not in BOUNDS:
        return expr
    bound, inner = expr.args
    if not isinstance(inner, Op) or inner.name != BOUNDS[expr.name]:
        return expr
    return Op(inner.name, (inner.args[0], Op(expr.name, (bound, inner.args[1]))))
