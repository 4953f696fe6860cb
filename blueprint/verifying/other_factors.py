"""Causes that are a factor too many, or another one: a coefficient of the step, what it leaves of 1, a length or a temperature by
which a part of an equation is multiplied or divided, and should not be. λ that multiplies the next value, too; 1 − the weight of
one loss on the other; λ in the place of γ; a score that is paid to each token by its share; a length that counts the prompt, too.
"""

from collections.abc import Collection, Iterator, Mapping
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
    exp,
    text,
    walk,
)
from blueprint.misconceptions.rewriting import is_setting, put
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import (
    FLAG,
    MODELS,
    SIDES,
    Between,
    alike,
    another_row,
    instead,
    meaning_of,
    only_picks,
    plain_of,
    scalable,
    to,
    twin_of,
)
from blueprint.verifying.in_memory import Try

NEUTRAL = (0.0, 1.0)
"""By these nobody multiplies, or nothing is left to be seen of it."""
SIGNS = {"mul": "multiplied with", "div": "divided by"}
TENTHS = (5, 6, 7, 8, 9, 11, 12, 15)
"""Temperatures that runs have, times 10."""
LOGPROBS = "logprobs"
MOST_BY_FLAGS = 12
"""So many rows that are made, the nearest first, are tried as 0 where something is so."""


def tries(between: Between) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted."""
    equations, settings, masks, way = between.equations, between.settings, between.masks, between.way
    counts = [*_counts(equations, masks)]
    coefficients = _coefficients(between)
    left = [_left_of_one(each) for each in coefficients]
    factors = [*coefficients, *left, *_corrections(equations, between.of.counts), *counts]
    for name in (each for each in way if each not in masks and not only_picks(equations.rows[each])):
        row, own = equations.rows[name], plain_of(equations, name)
        if own is None or is_setting(row):
            continue
        whole, seen = row.inside, {text(own)}
        parts = [*scalable(equations, name, between.wanted, own)]
        others = _alike(equations, name, between.wanted, masks) if any(each is own for each in parts) else []
        cooled = [(f"it is {says}", made) for says, made in _by_temperatures(own)] if _is_log_ratio(own) else []
        by_settings = (
            *cooled,
            *_exchanged(own, [*coefficients, *left]),
            *_averaged(own, counts),
            *_scaled(row, own, parts, factors),
        )
        for says, made in (*by_settings, *_spread(row, own, counts), *_by_rows(own, others)):
            if (written := text(made)) not in seen:
                seen.add(written)
                label = f"another equation of {meaning_of(equations, name)}: {says}"
                yield Try(label, settings, {"equations": {name: to(whole, made)}}, far=True)
        yield from _counted(between, name, counts)
    for row in between.read:
        yield from _of_what_is_known(equations, row, factors, settings)
    yield from _by_flags(between)


def _exchanged(own: Expr, coefficients: list[Ref]) -> Iterator[tuple[str, Expr]]:
    """Yields an equation that reads another setting in the place of one."""
    there = {node.block: node for node in walk(own) if isinstance(node, Ref) and is_setting(node.block)}
    for node in (each for each in there.values() if each.block.name in {of.block.name for of in coefficients}):
        for other in (each for each in coefficients if each.block is not node.block):
            yield f"{_called(other)} is read, not {_called(node)}", put(own, node, other)


def _averaged(own: Expr, counts: list[Ref]) -> Iterator[tuple[str, Expr]]:
    """Yields an equation with a mean over all that a mask counts, where it is over something else: of pairs over their tokens."""
    for node in walk(own):
        match node:
            case Op("div", (Reduce("sum") as total, over)) if not isinstance(over, Reduce):
                for count in (each for each in counts if not each.block.axes):
                    yield f"{_called(count)} is read, not {text(over)}", put(own, node, Op("div", (total, count)))


def _counted(between: Between, name: str, counts: list[Ref]) -> Iterator[Try]:
    """Yields an equation that reads what a mask counts in the place of another number of tokens, as that of prompt and response.

    Where the other model, or the other side of a pair, reads one as well, it is so in both.
    """
    equations, twin = between.equations, twin_of(name, between.equations)
    read = {each: found for each in (name, twin) if each in between.way and (found := _count_in(equations, each))}
    if name not in read or (len(read) > 1 and name.partition(".")[0] in (SIDES[1], MODELS[1])):
        return  # of two rows it is said of the first
    for count in (each for each in counts if all(each.block.axes == node.block.axes for _, node in read.values())):
        changes = {
            each: to(equations.rows[each].inside, put(own, node, count, alike=True))
            for each, (own, node) in read.items()
        }
        what = f"{_called(count)} is read, not {text(read[name][1])}"
        label = f"another equation of {meaning_of(equations, name)}: {what}{f', and in {twin}' * (len(read) > 1)}"
        yield Try(label, between.settings, {"equations": changes}, far=True)


def _count_in(equations: Equations, name: str) -> tuple[Expr, Ref] | None:
    """Returns the equation of a row, and the one number of tokens that it reads; None where it reads none, or several."""
    own = plain_of(equations, name)
    if own is None:
        return None
    found = {node.block: node for node in walk(own) if isinstance(node, Ref) and _is_count(node.block)}
    return (own, next(iter(found.values()))) if len(found) == 1 else None


def _is_count(row: Block) -> bool:
    """Tells whether a row is computed, and has a whole number for each member of an axis: no 0 or 1."""
    about = row.about
    return len(row.axes) == 1 and not (row.typed or row.text or about.decimals or about.unit == FLAG)


def _left_of_one(setting: Ref) -> Ref:
    """Returns 1 less a setting."""
    made = another_row(setting.block, (), Op("sub", (Constant(1), setting)), f"1 − {setting.block.name}")
    about = setting.block.about
    made.about = replace(about, meaning=f"1 − {_called(setting)}", symbol=f"1−{about.symbol or setting.block.name}")
    return Ref(made, ())


def _scaled(row: Block, own: Expr, parts: list[Expr], factors: list[Ref]) -> Iterator[tuple[str, Expr]]:
    """Yields an equation with some parts of it multiplied or divided."""
    for part in parts:
        along = {*row.axes, *_summed_around(own, part)}
        for factor in (each for each in factors if {*each.block.axes} <= along):
            for sign, says in SIGNS.items():
                where = "it" if part is own else text(part)
                yield f"{where} is {says} {_called(factor)}", put(own, part, Op(sign, (part, factor)))


def _of_what_is_known(
    equations: Equations, row: Block, factors: list[Ref], settings: Mapping[str, float | str]
) -> Iterator[Try]:
    """Yields a row that is known, multiplied or divided wherever it is read; log-probs are divided by temperatures, too."""
    here = Ref(row, tuple(map(Position, row.axes)))
    others: list[tuple[str, Expr]] = [
        (f"{says} {_called(each)}", Op(sign, (here, each)))
        for each in factors
        if {*each.block.axes} <= {*row.axes}
        for sign, says in SIGNS.items()
    ]
    others += _by_temperatures(here) if row.name.endswith(LOGPROBS) else []
    readers = [name for name, each in equations.rows.items() if any(read is row for read in equations.reads(each))]
    for says, made in others:
        other = another_row(row, row.axes, made)
        change = instead(row, other)
        label = f"{meaning_of(equations, row.name)}, wherever it is read: it is {says}"
        yield Try(label, settings, {"equations": dict.fromkeys(readers, change)}, far=True)


def _by_temperatures(part: Expr) -> list[tuple[str, Expr]]:
    """Returns a part divided by temperatures that runs have."""
    made = {tenths: Op("div", (Op("mul", (part, Constant(10))), Constant(tenths))) for tenths in TENTHS}
    return [(f"divided by a temperature of {tenths / 10:g}", each) for tenths, each in made.items()]


def _is_log_ratio(own: Expr) -> bool:
    """Tells whether an equation is a difference of log-probs, times a mask or not."""
    refs = [node.block for node in walk(own) if isinstance(node, Ref)]
    return sum(each.name.endswith(LOGPROBS) for each in refs) == 2 and any(
        isinstance(node, Op) and node.name == "sub" for node in walk(own)
    )


def _by_flags(between: Between) -> Iterator[Try]:
    """Yields rows, as they are made or as they are read, that are 0 where something is so, or is not: scores that were cut off."""
    equations, masks = between.equations, between.masks
    made = [name for name in between.way if name not in masks and not only_picks(equations.rows[name])]
    plain = {equations.rows[name]: plain_of(equations, name) for name in made[:MOST_BY_FLAGS]}
    readers = {row: by for row, by in between.read.items() if row.name not in masks}
    for row in (*readers, *(row for row, own in plain.items() if own is not None)):
        own = plain.get(row)
        here = Ref(row, tuple(map(Position, row.axes))) if own is None else own
        for says, flag in _flags(between, row):
            for where, factor in ((f"not {says}", flag), (says, Op("sub", (Constant(1), flag)))):
                made_so = Op("mul", (here, factor))
                change = (
                    to(row.inside, made_so) if own is not None else instead(row, another_row(row, row.axes, made_so))
                )
                label = f"{meaning_of(equations, row.name)}: it is 0 where it is {where}"
                changes = dict.fromkeys(readers.get(row, [row.name]), change)
                yield Try(label, between.settings, {"equations": changes}, far=True)


def _flags(between: Between, row: Block) -> Iterator[tuple[str, Expr]]:
    """Yields what is 1 or 0 for each member of an axis of a row, and what is 1 for those that fill their row of a mask."""
    equations = between.equations
    for name, each in equations.rows.items():
        if each.about.unit != FLAG or not each.axes or not {*each.axes} <= {*row.axes} or name in between.masks:
            continue
        if each is not row and row.name not in equations.made_of((name,)):
            yield each.about.meaning or name, Ref(each, tuple(map(Position, each.axes)))
    for mask in (equations.rows[name] for name in between.masks if name in equations.rows):
        if len(mask.axes) > 1 and {*mask.axes[:-1]} <= {*row.axes}:
            last = Lookup(mask.axes[-1], Op("sub", (Count("size", mask.axes[-1]), Constant(1))))
            yield f"full in {mask.name}", Ref(mask, (*map(Position, mask.axes[:-1]), last))
        if mask.axes == row.axes:
            yield f"counted in {mask.name}", Ref(mask, tuple(map(Position, mask.axes)))


def _alike(equations: Equations, name: str, wanted: tuple[str, ...], masks: Collection[str]) -> list[Ref]:
    """Returns rows of the shape of one, given or on the way to what is wanted, that are not made of it."""
    row = equations.rows[name]
    here, near = tuple(map(Position, row.axes)), alike(equations, wanted[0], row) if row.axes else []
    return [Ref(equations.rows[each], here) for each in near if each not in masks]


def _by_rows(own: Expr, others: list[Ref]) -> Iterator[tuple[str, Expr]]:
    """Yields an equation that is multiplied or divided by another row of its shape; by e to a row of log-probs, too."""
    for other in others:
        for sign, says in SIGNS.items():
            yield f"it is {says} {text(other)}", Op(sign, (own, other))
            if other.block.name.endswith(LOGPROBS):
                yield f"it is {says} exp({text(other)})", Op(sign, (own, exp(other)))


def _spread(row: Block, own: Expr, counts: list[Ref]) -> Iterator[tuple[str, Expr]]:
    """Yields an equation in which what is 1 at one place of a response is its share at each that counts."""
    for part in (node for node in walk(own) if isinstance(node, Ref) and node.at == tuple(map(Position, row.axes))):
        for count in (each for each in counts if each.block.axes and not part.block.about.decimals and part.block.axes):
            mask = next(node for node in walk(count.block.definitions[0].expr) if isinstance(node, Ref)).block
            if mask.axes == part.block.axes and mask is not part.block:
                each = Op("div", (Ref(mask, part.at), count))
                yield f"{text(each)} is read, not {text(part)}", put(own, part, each)


def _called(factor: Ref) -> str:
    return factor.block.about.meaning or factor.block.name


def _coefficients(between: Between) -> list[Ref]:
    """Returns the settings that what is wanted is made of, and by which something may be multiplied: no limit, and no ε."""
    of, settings, equations = between.of, between.settings, between.equations
    there = equations.made_of(tuple(each for each in between.wanted if each in equations.rows))
    rows = (row for name, row in equations.rows.items() if name in there)  # in one order, always
    read = dict.fromkeys(read for row in rows for read in equations.reads(row) if is_setting(read))
    return [
        Ref(block, ()) for block in read if block.name in settings and _scales(of, block.name, settings[block.name])
    ]


def _scales(of: Definitions, name: str, value: float | str) -> bool:
    """Tells whether somebody may multiply by a setting."""
    record = of.settings[name]
    return (
        isinstance(value, int | float) and abs(value) not in NEUTRAL and not record.limit and not name.endswith("eps")
    )


def _corrections(equations: Equations, counts: Collection[str]) -> Iterator[Ref]:
    """Yields n/(n − 1) of how many there are, by which a library comes from one mean or variance to another."""
    for count in (equations.rows[each] for each in counts if each in equations.rows):
        here, about = Ref(count, ()), replace(count.about, meaning=f"n/(n − 1), of {count.name}")
        made = another_row(count, (), Op("div", (here, Op("sub", (here, Constant(1))))))
        made.about = about
        yield Ref(made, ())


def _counts(equations: Equations, masks: Collection[str]) -> Iterator[Ref]:
    """Yields what a mask counts: the tokens of each response, and all; and those of each with the one before the first column, to
    which no log-prob belongs."""
    for mask in dict.fromkeys(equations.rows[each] for each in masks if each in equations.rows):
        if len(mask.axes) < 2:
            continue
        first, last, here = mask.axes[0], mask.axes[-1], Ref(mask, tuple(map(Position, mask.axes)))
        each, every = Reduce("sum", mask.axes[1:], here), Reduce("sum", mask.axes, here)
        yield _count(mask, (first,), each, f"of each {first.meaning} that count in {mask.name}")
        yield _count(mask, (), every, f"of all that count in {mask.name}")
        if (last, -1) in mask.edges:
            before = Ref(mask, (*map(Position, mask.axes[:-1]), Edge(last, -1)))
            says = f"of each {first.meaning} that count in {mask.name} or come before it"
            yield _count(mask, (first,), Op("add", (before, each)), says, "_and_before")


def _count(mask: Block, axes: tuple[Axis, ...], count: Expr, says: str, more: str = "") -> Ref:
    """Returns how many count, by the symbol of the mask with something more behind it."""
    made = another_row(mask, axes, count, f"the number {says}")
    made.about = replace(mask.about, meaning=made.name, symbol=f"{mask.about.symbol or mask.name}{more}")
    return Ref(made, tuple(map(Position, axes)))


def _summed_around(own: Expr, part: Expr) -> set[Axis]:
    """Returns the axes along which the sums run in which a part stands."""
    around = (node for node in walk(own) if isinstance(node, Reduce) and any(each is part for each in walk(node.body)))
    return {axis for node in around for axis in node.axes}
