"""Causes that are a row less its mean, divided by its deviation, or both, where neither should be done: advantages that one of two
surrogates whitens once more, scores that a loss divides by their deviation, rewards that are centred over each response; and a row
divided by its mean, as weights are whose mean shall be 1.

A mean and a deviation are over what counts, or over all there is, pads too; of n or n − 1 numbers, with or without an ε.
"""

from collections.abc import Iterator, Mapping
from math import log2
from typing import NamedTuple

from blueprint.language import Axis, Block, Constant, Expr, Op, Position, Reduce, Ref, sqrt, walk
from blueprint.misconceptions.rewriting import is_setting
from blueprint.verifying.constant_rows import equations_apart, in_force
from blueprint.verifying.equations import CERTAIN, Between, another_row, instead, only_picks, plain_of, to
from blueprint.verifying.in_memory import Try


def tries(between: Between) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted: of a row as it is made, of one that is known
    wherever it is read, then of either in one of those that read it alone."""
    equations, small = between.equations, _small(between)
    made = [name for name in between.way if _may_be_whitened(between, name)]
    for name in made:
        row, own = equations.rows[name], plain_of(equations, name)
        for says, other in _whitened_or_centred(between, row, own, small) if own is not None else ():
            label = f"{name} is {says}"
            yield Try(label, between.settings, {"equations": {name: to(row.inside, other)}})
        if own is not None:
            for says, other in _by_deviations(between, own):
                label = f"{name} is {says}"
                yield Try(label, between.settings, {"equations": {name: to(row.inside, other)}}, far=True)
    for row, by in between.read.items():
        yield from _where_read(between, row, by, small, "wherever it is read")
    readers = {**between.read, **{equations.rows[name]: list[str]() for name in made}}
    for name in between.way:
        for row in equations.reads(equations.rows[name]):
            if row.name in made and row in readers:
                readers[row].append(name)
    for row, by in readers.items():
        for reader in by if len(by) > 1 else ():
            yield from _where_read(between, row, [reader], None, f"in {reader} alone")
    yield from _instead_of_another(between)


def _instead_of_another(between: Between) -> list[Try]:
    """Returns words of settings that take a deviation out, each with such a change of a row that is made otherwise without it:
    another whitening in the place of one. As of any two changes some come near a number by chance, so that these take evidence.
    """
    own, settings, found = between.equations, between.settings, list[Try]()
    plain = in_force(own, between.wanted, between.known)
    if not any(map(_is_deviation, (own.rows[name] for name in plain))):
        return []
    words = ((key, word) for key, record in between.of.settings.items() for word in record.words)
    for key, word in ((key, word) for key, word in words if word != settings[key]):
        there = Between(between.of, {**settings, key: word}, between.wanted, between.known, between.beside)
        left_out = plain - (left := in_force(there.equations, between.wanted, between.known))
        if not left < plain or not any(map(_is_deviation, (own.rows[name] for name in left_out))):
            continue
        apart, small = equations_apart(own, there.equations), _small(there)
        for name in there.way:
            row, inside = there.equations.rows[name], plain_of(there.equations, name)
            near = {name, *(each.name for each in there.equations.reads(row))}
            if not row.axes or inside is None or name in between.masks or not near & apart.keys():
                continue
            for eps in (None, *small):
                root = "" if eps is None else f", with {eps.name} under the root"
                for says, made in _whitened_or_centred(there, row, inside, small, eps):
                    if not root or "deviation" in says or "whitened" in says:
                        label = f"{key} = {word}, and {name} is {says}{root}"
                        found.append(Try(label, there.settings, {"equations": {name: to(row.inside, made)}}))
    return [each._replace(bits=log2(len(found)) + CERTAIN) for each in found]


def _is_deviation(row: Block) -> bool:
    return any(isinstance(node, Op) and node.name == "sqrt" for of in row.definitions for node in walk(of.expr))


def _may_be_whitened(between: Between, name: str) -> bool:
    """Tells whether a row has an equation that is mathematics, and no recursion."""
    row = between.equations.rows[name]
    own = any(each is row for each in between.equations.reads(row))
    return bool(row.axes) and name not in between.masks and not own and not only_picks(row)


def _where_read(
    between: Between, row: Block, readers: list[str], small: list[Block] | None, where: str
) -> Iterator[Try]:
    """Yields some rows that read another one otherwise."""
    for says, made in _whitened_or_centred(between, row, Ref(row, tuple(map(Position, row.axes))), small):
        change = instead(row, another_row(row, row.axes, made))
        label = f"{row.name} is {says}, {where}"
        yield Try(label, between.settings, {"equations": dict.fromkeys(readers, change)})


def _by_deviations(between: Between, own: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields an equation divided by the deviation of a row that is known, by which all that is made of it may be divided."""
    rows = (between.equations.rows[each] for each in sorted(between.known) if each in between.equations.rows)
    for row in (each for each in rows if each.axes and each.name not in between.masks):
        mask = _mask_of(between, row)
        own_cells = Ref(row, tuple(map(Position, row.axes)))
        for of_n, spread in _moments(row, own_cells, mask, row.axes).spread.items():
            yield f"divided by the deviation of {row.name}{of_n}", Op("div", (own, spread))


def _mask_of(between: Between, row: Block) -> Block | None:
    """Returns a row that says where cells of a row count; None where there is none of its shape."""
    masks = (between.equations.rows[each] for each in between.masks if each in between.equations.rows)
    return next((each for each in masks if each.axes == row.axes), None)


def _small(between: Between) -> list[Block]:
    """Returns the settings that are an ε, of equal ones the first."""
    equations, settings = between.equations, between.settings
    read = dict.fromkeys(read for row in equations.rows.values() for read in equations.reads(row) if is_setting(read))
    named = (each for each in read if each.name.endswith("eps") and settings.get(each.name, 0) != 0)
    return [*{settings[each.name]: each for each in [*named][::-1]}.values()]


class Moments(NamedTuple):
    """Mean and deviation of a row. off: it less its mean, 0 where nothing counts.

    spread: by what is said of n the deviation.
    """

    mean: Ref
    off: Ref
    spread: Mapping[str, Ref]


def _whitened_or_centred(
    between: Between, row: Block, own: Expr, small: list[Block] | None, under: Block | None = None
) -> Iterator[tuple[str, Expr]]:
    """Yields what is centred, whitened, or divided by its deviation, of a row with its equation.

    small: what may be added to a deviation; None where few are asked for, without those of each row of two axes.
    under: what is added to the variance.
    """
    mask, here = _mask_of(between, row), tuple(map(Position, row.axes))
    value = Ref(another_row(row, row.axes, own), here)
    for axis, other in zip(row.axes, row.axes[::-1], strict=True) if len(row.axes) > 1 else ():
        of = _moments(row, own, mask, (axis,), under)
        yield f"taken less its mean of each {other.meaning}", of.off
        if small is None:
            continue
        yield f"divided by its mean of each {other.meaning}", Op("div", (value, of.mean))
        if mask is not None:
            yield f"taken less its mean of each {other.meaning}, pads too", _moments(row, own, None, (axis,), under).off
        for of_n, spread in of.spread.items():
            yield f"whitened in each {other.meaning}{of_n}", Op("div", (of.off, _or_one(spread)))
    of = _moments(row, own, mask, row.axes, under)
    yield "taken less its mean over all", of.off
    yield "divided by its mean over all", Op("div", (value, of.mean))
    for of_n, spread in of.spread.items():
        yield f"whitened over all{of_n}", Op("div", (of.off, spread))
        yield f"divided by its deviation over all{of_n}", Op("div", (value, spread))
        for eps in small or ():
            yield f"whitened over all{of_n}, with {eps.name}", Op("div", (of.off, Op("add", (spread, Ref(eps, ())))))
    if mask is not None:
        every = _moments(row, own, None, row.axes, under)
        yield "taken less its mean over all, pads too", every.off
        for of_n, spread in every.spread.items():
            yield f"whitened over all, pads too{of_n}", Op("div", (every.off, spread))
    for counts in dict.fromkeys((mask, None)) if len(row.axes) > 1 and small is not None else ():
        each = another_row(row, row.axes[:1], Reduce("sum", row.axes[1:], _counted(row, own, counts)[1]))
        of = _moments(each, Ref(each, here[:1]), None, each.axes, under)
        pads = ", pads too" if counts is not mask else ""
        for of_n, spread in of.spread.items():
            says = f"divided by the deviation of its sums of each {row.axes[0].meaning}{pads}{of_n}"
            yield says, Op("div", (value, spread))


def _or_one(spread: Ref) -> Expr:
    """Returns a deviation, and 1 where it is 0: what is whitened alone is 0, and no number would be named otherwise."""
    return Op("add", (spread, Op("equal", (spread, Constant(0)))))


def _counted(row: Block, own: Expr, mask: Block | None) -> tuple[Ref, Expr]:
    """Returns 1 where a row counts in a mask, None: everywhere, and the row with its equation, 0 where it does not."""
    here = tuple(map(Position, row.axes))
    counts = Ref(another_row(row, row.axes, Constant(1) if mask is None else Ref(mask, here)), here)
    return counts, Op("mul", (counts, Ref(another_row(row, row.axes, own), here)))


def _moments(row: Block, own: Expr, mask: Block | None, along: tuple[Axis, ...], under: Block | None = None) -> Moments:
    """Returns mean and deviation of a row with its equation, along some of its axes, over what counts in a mask; None: over all.

    under: what is added to the variance.
    """
    here, kept = tuple(map(Position, row.axes)), tuple(each for each in row.axes if each not in along)
    there = tuple(map(Position, kept))
    counts, value = _counted(row, own, mask)
    some = Op("maximum", (Reduce("sum", along, counts), Constant(1)))
    mean = Ref(another_row(row, kept, Op("div", (Reduce("sum", along, value), some))), there)
    off = Ref(another_row(row, row.axes, Op("mul", (counts, Op("sub", (value, mean))))), here)
    square = Reduce("sum", along, Op("mul", (off, off)))
    least = Op("maximum", (Op("sub", (some, Constant(1))), Constant(1)))
    below = {"": least, ", with n below, not n − 1": some}
    variances = {says: Op("div", (square, each)) for says, each in below.items()}
    if under is not None:
        variances = {says: Op("add", (each, Ref(under, ()))) for says, each in variances.items()}
    spread = {says: Ref(another_row(row, kept, sqrt(each)), there) for says, each in variances.items()}
    return Moments(mean, off, spread)
