"""Causes that are another order: a function of what is read before it is used, a mean taken before its time, the function of each
token summed where the sum of tokens has the function, tokens added up before the function, a coefficient behind a function, not in
it, a function of each part of a difference by itself; in one row alone, or in those of both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.language import Axis, Block, Constant, Count, Edge, Expr, Lookup, Op, Position, Reduce, Ref, text, walk
from blueprint.language.blocks import Definition
from blueprint.misconceptions.rewriting import Change, is_setting, put
from blueprint.verifying.definitions import Equations
from blueprint.verifying.equations import AROUND, MODELS, SIDES, Between, another_row, only_picks, plain_of, to
from blueprint.verifying.in_memory import Try

Labelled = tuple[str, dict[str, Change]]


def tries(between: Between) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted."""
    equations, masks, way = between.equations, between.masks, between.way
    plain = {
        each: own
        for each in way
        if not only_picks(equations.rows[each]) and (own := plain_of(equations, each)) is not None
    }
    found = (
        _through(equations, plain),
        _coefficient_behind(equations, plain),
        _each_by_itself(equations, plain),
        _averaged_first(equations, plain, masks),
        _added_up_first(equations, plain, masks),
        _summed_after(equations, way, masks),
        _repeated(equations, way),
    )
    for label, changes in (each for some in found for each in some):
        yield Try(label, between.settings, {"equations": changes})


def _read_here(expr: Expr) -> dict[str, Ref]:
    """Returns by name the rows of which an equation reads the cell of its own place, once."""
    refs = [node for node in walk(expr) if isinstance(node, Ref) and node.block.axes and not is_setting(node.block)]
    names = [node.block.name for node in refs]
    here = (ref for ref in refs if ref.at == tuple(map(Position, ref.block.axes)))
    return {ref.block.name: ref for ref in here if names.count(ref.block.name) == 1}


def _through(equations: Equations, plain: Mapping[str, Expr]) -> Iterator[Labelled]:
    """Yields a function around what one row reads, of both sides or models at once where it reads both."""
    for name, own in plain.items():
        whole, refs = equations.rows[name].inside, _read_here(own)
        both = [
            [refs[f"{head}.{tail}"] for head in pair]
            for pair in (SIDES, MODELS)
            for tail in dict.fromkeys(each.partition(".")[2] for each in refs)
            if all(f"{head}.{tail}" in refs for head in pair)
        ]
        for parts in (*both, *([each] for each in refs.values())):
            for says, made in AROUND.items():
                expr: Expr = own
                for part in parts:
                    expr = put(expr, part, made(part), alike=True)
                yield f"{' and '.join(each.block.name for each in parts)} in {name}: {says}", {name: to(whole, expr)}


CURVED = ("exp", "log", "tanh", "sqrt", "maximum", "minimum", "where", "div")
"""Operations f for which c·f(x) may be another number than f(c·x)."""


def _of_one_row(equations: Equations, plain: Mapping[str, Expr]) -> Iterator[tuple[str, Expr, Ref, Expr]]:
    """Yields rows that are a function of one row of the same shape: their names and equations, what they read, and what that is."""
    for name, own in plain.items():
        curved = any(isinstance(node, Op) and node.name in CURVED for node in walk(own))
        read = {text(node): node for node in walk(own) if isinstance(node, Ref) and node.block.axes}
        if not curved or len(read) != 1:
            continue
        (ref,) = read.values()
        made: Expr | None = ref if ref.block.axes == equations.rows[name].axes else None
        while (
            isinstance(made, Ref)
            and made.at == tuple(map(Position, made.block.axes))
            and made.block.name in equations.rows
        ):
            made = plain_of(equations, made.block.name)  # what only repeats a row is gone through
        if made is not None and not isinstance(made, Ref):
            yield name, own, ref, made


def _coefficient_behind(equations: Equations, plain: Mapping[str, Expr]) -> Iterator[Labelled]:
    """Yields β·σ(x) in the place of σ(β·x), where a row has β·x and another one σ of it; of both sides at once, and of each."""
    found: dict[str, tuple[str, Change]] = {}
    for name, own, ref, made in _of_one_row(equations, plain):
        match made:
            case Op("mul", (Ref() as one, Ref() as other)) if is_setting(one.block) != is_setting(other.block):
                coefficient, inner = (one, other) if is_setting(one.block) else (other, one)
                behind = Op("mul", (coefficient, put(own, ref, inner, alike=True)))
                says = f"{coefficient.block.name} multiplies {name}, not {inner.block.name} in it"
                found[name] = says, to(equations.rows[name].inside, behind)
    for name, (says, change) in found.items():
        twin = f"{SIDES[1]}.{name.partition('.')[2]}"
        if name.partition(".")[0] == SIDES[0] and twin in found:
            yield f"{says}, and on the other side, too", {name: change, twin: found[twin][1]}
        yield says, {name: change}


def _each_by_itself(equations: Equations, plain: Mapping[str, Expr]) -> Iterator[Labelled]:
    """Yields log σ(x) + log σ(−y), and log σ(x) − log σ(y), in the place of log σ(x − y), where a row has x − y."""
    for name, own, ref, made in _of_one_row(equations, plain):
        match made:
            case Op("sub", (one, other)):
                first, turned, second = (put(own, ref, each, alike=True) for each in (one, Op("neg", (other,)), other))
                says, whole = (
                    f"{name} is made of {text(one)} and of {text(other)} by themselves",
                    equations.rows[name].inside,
                )
                yield f"{says}, the second with the other sign", {name: to(whole, Op("add", (first, turned)))}
                yield f"{says}, one less the other", {name: to(whole, Op("sub", (first, second)))}


def _averaged_first(equations: Equations, plain: Mapping[str, Expr], masks: tuple[str, ...]) -> Iterator[Labelled]:
    """Yields the mean of what a row reads in its place: over the tokens of each response, over all, and over these means."""
    there = [equations.rows[each] for each in masks if each in equations.rows]
    for name, own in plain.items():
        whole = equations.rows[name].inside
        for part in _read_here(own).values():
            mask = next((each for each in there if each.axes == part.block.axes and len(each.axes) > 1), None)
            if not part.block.typed and part.block.name not in masks:
                for says, block in _means(part, mask):
                    instead = Ref(block, tuple(map(Position, block.axes)))
                    label = f"{part.block.name} is averaged {says} before {name} reads it"
                    yield label, {name: to(whole, put(own, part, instead))}


def _added_up_first(equations: Equations, plain: Mapping[str, Expr], masks: tuple[str, ...]) -> Iterator[Labelled]:
    """Yields the sum of what a row reads over its token and all before it, or behind it: the ratio of all tokens up to one."""
    counted = {equations.rows[each].axes for each in masks if each in equations.rows}
    for name, own in plain.items():
        for part in _read_here(own).values():
            if len(part.block.axes) == 2 and part.block.axes in counted and part.block.name not in masks:
                axis, whole = part.block.axes[1], equations.rows[name].inside
                for side, says in ((-1, f"all {axis.plural} before it"), (1, f"all {axis.plural} behind it")):
                    label = f"{part.block.name} of a {axis.meaning} and of {says} is added up before {name} reads it"
                    yield label, {name: to(whole, put(own, part, Ref(_added_up(part.block, axis, side), part.at)))}


def _added_up(row: Block, axis: Axis, side: int) -> Block:
    """Returns the sums of a row's cells up to each (side −1), or from each on (1), along its last axis."""
    here = tuple(map(Position, row.axes))
    made = another_row(row, row.axes, Constant(0))
    further = Ref(made, (*here[:-1], Position(axis, side)))
    made.definitions = [
        Definition((*here[:-1], Edge(axis, side)), Constant(0)),
        Definition(here, Op("add", (Ref(row, here), further))),
    ]
    made.edges = {(axis, side)}
    return made


def _means(part: Ref, mask: Block | None) -> Iterator[tuple[str, Block]]:
    """Yields the mean of a row; of one of tokens those over what counts."""
    if mask is None:
        sizes = [Count("size", axis) for axis in part.block.axes]
        every = Op("div", (Reduce("sum", part.block.axes, part), sizes[0])) if len(sizes) == 1 else None
        yield from [("over all", another_row(part.block, (), every))] if every is not None else []
        return
    first, *rest = mask.axes
    counts = Ref(mask, part.at)
    whole = Op("mul", (counts, part))
    each = Op("div", (Reduce("sum", tuple(rest), whole), Reduce("sum", tuple(rest), counts)))
    of_rows = another_row(part.block, (first,), each)
    yield "over the tokens of each response", of_rows
    every = Op("div", (Reduce("sum", mask.axes, whole), Reduce("sum", mask.axes, counts)))
    yield "over all tokens", another_row(part.block, (), every)
    total = Reduce("sum", (first,), Ref(of_rows, (Position(first),)))
    yield "over each response and over all", another_row(part.block, (), Op("div", (total, Count("size", first))))


def _repeated(equations: Equations, way: list[str]) -> Iterator[Labelled]:
    """Yields a row of some that is repeated as a whole, not each of its numbers, where each of some reads that of its own."""
    for name in way:
        axes, own = equations.rows[name].axes, plain_of(equations, name)
        if own is None or len(axes) != 2:
            continue
        for part in _read_along(own, axes[:1]).values():
            first, size = Op("mul", (_place(axes[0]), Count("size", axes[1]))), Count("size", axes[0])
            flat, half = Op("add", (first, _place(axes[1]))), Op("div", (Constant(1), Constant(2)))
            rounds = Op("rounded", (Op("sub", (Op("div", (Op("add", (flat, half)), size)), half)), Constant(0)))
            behind = Lookup(axes[0], Op("sub", (flat, Op("mul", (rounds, size)))))
            label = f"{part.block.name} is repeated as a whole in {name}, not each of its numbers"
            whole = equations.rows[name].inside
            yield label, {name: to(whole, put(own, part, Ref(part.block, (behind,)), alike=True))}


def _read_along(own: Expr, axes: tuple[Axis, ...]) -> dict[str, Ref]:
    """Returns by name the rows along some axes of which an equation reads the cell of its own place."""
    refs = (node for node in walk(own) if isinstance(node, Ref) and node.block.axes == axes)
    return {ref.block.name: ref for ref in refs if ref.at == tuple(map(Position, axes)) and not ref.block.text}


def _place(axis: Axis) -> Expr:
    """Returns the place along an axis, from 0."""
    return Op("sub", (Count("number", axis), Constant(axis.start))) if axis.start else Count("number", axis)


def _summed_after(equations: Equations, way: list[str], masks: tuple[str, ...]) -> Iterator[Labelled]:
    """Yields the sum and the mean of the exponentials of tokens in the place of the exponential of their sum or mean."""
    for name in way:
        row = equations.rows[name]
        above, below = _divided(row)
        total, body = _total(above)
        there = [equations.rows[each] for each in masks if each in equations.rows]
        mask = next((each for each in there if body is not None and each.axes == body.block.axes), None)
        if total is None or body is None or mask is None:
            continue
        exponential = another_row(body.block, body.block.axes, Op("exp", (body,)))
        counts, each = Ref(mask, body.at), Ref(exponential, body.at)
        summed = Reduce("sum", total.axes, Op("mul", (counts, each)))
        count = below if below is not None else Op("maximum", (Reduce("sum", total.axes, counts), Constant(1)))
        readers = [*_exponentials(equations, row)]
        for says, expr in (("mean", Op("div", (summed, count))), ("sum", summed)):
            made = Ref(another_row(row, row.axes, expr), tuple(map(Position, row.axes)))
            changes = {reader: to(own, put(own, part, made)) for reader, own, part in readers}
            label = f"of the exponentials of {body.block.name}, not the exponential of {name}"
            here = [each for each in changes if each in way]
            if here and len(changes) > 1:
                yield f"{' and '.join(changes)} are the {says} {label}", changes
            yield from ((f"{each} is the {says} {label}", {each: changes[each]}) for each in here)


def _divided(row: Block) -> tuple[Block, Expr | None]:
    """Returns the row that a row divides, as a mean divides a sum, and by what; itself where it divides none."""
    match row.inside:
        case Op("div", (Ref(above), below)) if above.axes == row.axes:
            return above, below
    return row, None


def _total(row: Block) -> tuple[Reduce | None, Ref | None]:
    """Returns the sum of a row in which another one is summed, and that."""
    totals = [
        node for of in row.definitions for node in walk(of.expr) if isinstance(node, Reduce) and node.name == "sum"
    ]
    total = totals[0] if row.axes and len(totals) == 1 else None
    return total, total.body if total is not None and isinstance(total.body, Ref) else None


def _exponentials(equations: Equations, of: Block) -> Iterator[tuple[str, Expr, Expr]]:
    """Yields the rows with one exponential of a row, by whatever other name it is read, or of it where something counts; their
    equations, and the exponential."""
    for name, row in equations.rows.items():
        own = row.inside
        parts = [node for node in walk(own) if isinstance(node, Op) and node.name == "exp"] if own is not None else []
        parts = [part for part in parts if any(_origin(read.block) is of for read in _factors(part.args[0]))]
        if own is not None and len(parts) == 1:
            yield name, own, parts[0]


def _factors(expr: Expr) -> Iterator[Ref]:
    """Yields the rows of which an expression is the product, or which it is."""
    match expr:
        case Ref():
            yield expr
        case Op("mul", (one, other)):
            yield from (*_factors(one), *_factors(other))


def _origin(block: Block) -> Block:
    """Returns the row that a row repeats, also as x − x + y, or itself."""
    while len(block.definitions) == 1:
        match block.definitions[0].expr:
            case Ref(other):
                block = other
            case Op("add", (Op("sub", (one, same)), Ref(other))) if text(one) == text(same):
                block = other
            case _:
                break
    return block
