"""Causes that are bounds where there should be none: a log-ratio that is held between −10 and 10 before its exponential, a KL that
is at most 10, a ratio whose logarithm is held between −ε and ε, advantages between the bounds of the rewards; a bound that is
taken as a distance from 1, as a share of a row, or as one over the other one, which it is not; and what is beyond taken for 0.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from blueprint.inputs.catalogue import OFF
from blueprint.language import Block, Constant, Expr, Op, Ref, less, log, text, walk
from blueprint.misconceptions.mechanical import of_logarithm
from blueprint.misconceptions.rewriting import everywhere, is_setting, put, same, squared
from blueprint.verifying.definitions import Equations
from blueprint.verifying.equations import Between, meaning_of, plain_of, to
from blueprint.verifying.in_memory import Try

CLIP = "clip"
MOST_HELD = 12
"""So many rows, the nearest first, are held between the bounds of another one."""
BOUNDS = (5, 10, 20)
"""Numbers between which libraries hold log-ratios, and estimates that are made of their exponentials."""


def tries(between: Between) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted; no mask is changed."""
    of, settings, equations, way = between.of, between.settings, between.equations, between.way
    read = dict.fromkeys(read for name in way for read in equations.reads(equations.rows[name]) if is_setting(read))
    limits = [each for each in read if each.name in of.settings and of.settings[each.name].limit]
    held = [Ref(each, ()) for each in limits if float(settings[each.name]) != OFF]
    around = [*_around_zero([*map(Constant, BOUNDS), *held]), *_around_one(held)]
    yield from _as_logarithms(equations, way, settings)
    yield from _as_another_row(between)
    yield from _at_a_limit(between, held)
    yield from _between_two(between, held)
    for name in way:
        own = plain_of(equations, name)
        if own is None or name in between.masks:
            continue
        whole = equations.rows[name].inside
        for bound in (each for each in held if _is_read_alone(own, each.block)):
            further = put(own, bound, Op("add", (Constant(1), bound)), alike=True)
            label = (
                f"another equation of {meaning_of(equations, name)}: 1 + {text(bound)} is the bound, not {text(bound)}"
            )
            yield Try(label, settings, {"equations": {name: to(whole, further)}})
        yield from _shares(between, name, own, held)
        for part in _of_exponentials(own):
            for low, high in around:
                for says, made in _held(part, low, high):
                    label = f"another equation of {meaning_of(equations, name)}: {text(part)} is held {says}"
                    yield Try(label, settings, {"equations": {name: to(whole, put(own, part, made))}})


def _as_another_row(between: Between) -> Iterator[Try]:
    """Yields rows that are held between the bounds of another row: advantages between those of the rewards."""
    equations, settings = between.equations, between.settings
    bounds = {f"{text(low)} and {text(high)}": (low, high) for low, high in _bounds_of_rows(equations)}
    for row, (said, (low, high)) in product(_held_rows(between), bounds.items()):
        own = plain_of(equations, row.name)
        assert own is not None
        if not any(same(each, low) or same(each, high) for each in walk(own)):
            made = Op("maximum", (low, Op("minimum", (high, own))))
            label = (
                f"another equation of {meaning_of(equations, row.name)}: it is held between {said}, as another row is"
            )
            yield Try(label, settings, {"equations": {row.name: to(row.inside, made)}}, far=True)


def _held_rows(between: Between) -> list[Block]:
    """Returns the rows that are held between bounds that are not theirs, the nearest first."""
    rows = [between.equations.rows[name] for name in between.way if name not in between.masks]
    return [row for row in rows if row.axes and plain_of(between.equations, row.name) is not None][:MOST_HELD]


def _at_a_limit(between: Between, held: list[Ref]) -> Iterator[Try]:
    """Yields rows that are cut off at a limit of something else, as the squared error of a value at the range of its clip; and two
    of them together, of which a third one takes the larger or the smaller."""
    equations, rows = between.equations, {row.name: row for row in _held_rows(between)}
    groups = [[row] for row in rows.values()]
    for own in (plain_of(equations, name) for name in rows):
        if isinstance(own, Op) and own.name in ("maximum", "minimum"):
            both = [each.block for each in own.args if isinstance(each, Ref) and each.block.name in rows]
            groups += [both] if len(both) == len(own.args) else []
    for group, bound in product(groups, held):
        each = {row: own for row in group if (own := plain_of(equations, row.name)) is not None}
        if any(_is_read_alone(own, bound.block) for own in each.values()):
            continue
        for says, low in ((f"at most {text(bound)}", None), (f"held between −{text(bound)} and {text(bound)}", -bound)):
            if low is not None and all(squared(own) is not None for own in each.values()):
                continue
            cut = {row: Op("minimum", (bound, own)) for row, own in each.items()}
            made = cut if low is None else {row: Op("maximum", (low, own)) for row, own in cut.items()}
            said = " and ".join(meaning_of(equations, row.name) for row in group)
            label = f"another equation of {said}: {'each' if len(group) > 1 else 'it'} is {says}"
            changes = {row.name: to(row.inside, other) for row, other in made.items()}
            yield Try(f"{label}, a limit of something else", between.settings, {"equations": changes}, far=True)


def _between_two(between: Between, held: list[Ref]) -> Iterator[Try]:
    """Yields rows that are held between two bounds: one bound is one over the other, or another limit; what is beyond them counts
    as 0; 1 is added behind them."""
    equations, settings = between.equations, between.settings
    for name in between.way:
        found = _two_bounds(equations, name)
        if found is None:
            yield from _beyond_one(between, name)
            yield from _added_behind(between, name)
            continue
        low, high, free, raised = found
        row = equations.rows[name]
        for of, bound, other in ((raised, low, high), (row, high, low)):
            own = plain_of(equations, of.name)
            assert own is not None
            label = f"another equation of {meaning_of(equations, of.name)}: 1 / ({text(other)}) is the bound, not {text(bound)}"
            change = to(of.inside, put(own, bound, Op("div", (Constant(1), other))))
            yield Try(label, settings, {"equations": {of.name: change}}, far=True)
            for limit in (each for each in held if not any(_is_of(node, each.block) for node in walk(bound))):
                label = f"another equation of {meaning_of(equations, of.name)}: {text(limit)} is the bound, not {text(bound)}"
                yield Try(label, settings, {"equations": {of.name: to(of.inside, put(own, bound, limit))}}, far=True)
        beyond = Op("where", (less(free, low), Constant(0), Op("where", (less(high, free), Constant(0), free))))
        around_0 = Op("maximum", (Op("sub", (low, Constant(1))), Op("minimum", (Op("sub", (high, Constant(1))), free))))
        for says, made in {
            f"it is 0 beyond {text(low)} and {text(high)}, not held between them": beyond,
            "1 is added to what is held, not to the bounds": Op("add", (Constant(1), around_0)),
        }.items():
            label = f"another equation of {meaning_of(equations, name)}: {says}"
            yield Try(label, settings, {"equations": {name: to(row.inside, made)}}, far=True)


def _beyond_one(between: Between, name: str) -> Iterator[Try]:
    """Yields a row that is held at one bound: what is beyond it counts as 0, as where a library leaves out what it should clip."""
    row, own = between.equations.rows[name], plain_of(between.equations, name)
    for sign in ("minimum", "maximum"):
        for bound, held in filter(None, [_bound_of(sign, own)]):
            beyond = less(bound, held) if sign == "minimum" else less(held, bound)
            made = Op("where", (beyond, Constant(0), held))
            label = f"another equation of {meaning_of(between.equations, name)}: it is 0 beyond {text(bound)}, not held at it"
            yield Try(label, between.settings, {"equations": {name: to(row.inside, made)}}, far=True)


def _added_behind(between: Between, name: str) -> Iterator[Try]:
    """Yields a row that is held between a − c and a + c as a and what is held between −c and c."""
    row, own = between.equations.rows[name], plain_of(between.equations, name)
    match own:
        case Op("maximum", (Op("sub", (one, low)), Op("minimum", (Op("add", (other, high)), free)))) if same(
            one, other
        ):
            made = Op("add", (one, Op("maximum", (-low, Op("minimum", (high, free))))))
            says = f"{text(one)} is added to what is held, not to the bounds"
            label = f"another equation of {meaning_of(between.equations, name)}: {says}"
            yield Try(label, between.settings, {"equations": {name: to(row.inside, made)}}, far=True)


class TwoBounds(NamedTuple):
    """The bounds between which a row is held, and what is held. raised: the row that holds it at least: itself, or one that it
    reads."""

    low: Expr
    high: Expr
    free: Expr
    raised: Block


def _two_bounds(equations: Equations, name: str) -> TwoBounds | None:
    """Returns the bounds of a row: max(low, min(high, x)), min(high, max(low, x)), or a minimum of a row that is a maximum."""
    own, row = plain_of(equations, name), equations.rows[name]
    if (at_least := _bound_of("maximum", own)) and (at_most := _bound_of("minimum", at_least[1])):
        return TwoBounds(at_least[0], at_most[0], at_most[1], row)
    at_most = _bound_of("minimum", own)
    if at_most is None:
        return None
    high, held = at_most
    raised = held.block if isinstance(held, Ref) and held.block.name in equations.rows else row
    at_least = _bound_of("maximum", held if raised is row else plain_of(equations, raised.name))
    return None if at_least is None else TwoBounds(at_least[0], high, at_least[1], raised)


def _bound_of(name: str, own: Expr | None) -> tuple[Expr, Expr] | None:
    """Returns the bound that is made of settings, and what it holds, of an equation that is a minimum or a maximum of both."""
    both = own.args if isinstance(own, Op) and own.name == name else ()
    return next(((one, other) for one, other in (both, both[::-1]) if _is_of_settings(one)), None) if both else None


def _is_of_settings(part: Expr) -> bool:
    read = [each for each in walk(part) if isinstance(each, Ref)]
    return bool(read) and all(is_setting(each.block) for each in read)


def _bounds_of_rows(equations: Equations) -> Iterator[tuple[Expr, Expr]]:
    """Yields the lower and the upper bound of every row that is held between two that are made of settings."""
    for name in (each for each, row in equations.rows.items() if row.axes):
        if (found := _two_bounds(equations, name)) is not None:
            yield found.low, found.high


def _around_zero(bounds: list[Expr]) -> Iterator[tuple[Expr, Expr]]:
    """Yields −c and c."""
    yield from ((Op("neg", (each,)), each) for each in bounds)


def _around_one(limits: list[Ref]) -> Iterator[tuple[Expr, Expr]]:
    """Yields 1 − ε and 1 + ε of the limits of a clip, and their logarithms."""
    clips = [each for each in limits if CLIP in each.block.name]
    for low, high in product(clips, clips):
        below, above = Op("sub", (Constant(1), low)), Op("add", (Constant(1), high))
        yield from ((below, above), (log(below), log(above)))


def _shares(between: Between, name: str, own: Expr, held: list[Ref]) -> Iterator[Try]:
    """Yields a bound that is a share of a row that the equation reads, or of its size: V is held between V_old ± ε·|V_old|."""
    rows = {node.block: node for node in walk(own) if isinstance(node, Ref) and node.block.axes and not node.block.text}
    read = [ref for block, ref in rows.items() if block.name not in between.masks]
    for bound in (each for each in held if any(_is_of(node, each.block) for node in walk(own))):
        for part in (each for ref in read for each in (ref, Op("abs", (ref,)))):
            share = put(own, bound, Op("mul", (bound, part)), alike=True)
            what = f"{text(bound)}·{text(part)} is the bound, not {text(bound)}"
            for made, says in ((share, ""), *((each, ", and the upper bound holds") for each in _upper_last(share))):
                label = f"another equation of {meaning_of(between.equations, name)}: {what}{says}"
                change = to(between.equations.rows[name].inside, made)
                yield Try(label, between.settings, {"equations": {name: change}}, far=True)


def _upper_last(own: Expr) -> Iterator[Expr]:
    """Yields max(low, min(high, x)) as min(high, max(low, x)), as torch.clamp does where the bounds have changed sides."""
    match own:
        case Op("maximum", (low, Op("minimum", (high, free)))):
            yield Op("minimum", (high, Op("maximum", (low, free))))


def _is_read_alone(own: Expr, bound: Block) -> bool:
    """Tells whether an equation reads a bound, and nowhere takes it off 1 or adds it to 1."""
    around = [node.args for node in walk(own) if isinstance(node, Op) and node.name in ("add", "sub")]
    from_one = any(
        _is_of(other, bound) and same(one, Constant(1)) for args in around for one, other in (args, args[::-1])
    )
    return any(_is_of(node, bound) for node in walk(own)) and not from_one


def _is_of(node: object, block: Block) -> bool:
    return isinstance(node, Ref) and node.block is block


def _as_logarithms(equations: Equations, way: list[str], settings: Mapping[str, float | str]) -> Iterator[Try]:
    """Yields all bounds 1 ± ε as e^±ε, where one row has the lower and another the upper: the logarithm is held, not the ratio."""
    rows = [name for name in way if any(_moves(each.expr) for each in equations.rows[name].definitions)]
    if len(rows) > 1:
        changes = dict.fromkeys(rows, lambda expr, names: everywhere(expr, of_logarithm))
        yield Try(
            f"the logarithm is held between the bounds, not the ratio, in {' and '.join(rows)}",
            settings,
            {"equations": changes},
        )


def _moves(expr: Expr) -> bool:
    return not same(everywhere(expr, of_logarithm), expr)


def _of_exponentials(own: Expr) -> Iterator[Expr]:
    """Yields the exponentials in an equation, what each is of, and what is made of them by sums and products alone; and differences
    of two rows of tokens, which log-ratios are."""
    for part in walk(own):
        if isinstance(part, Op) and part.name == "exp":
            yield from (part, part.args[0])
        elif (
            isinstance(part, Op)
            and part.name in ("add", "sub", "mul")
            and (_has_exponential(part) or _is_log_ratio(part))
        ):
            yield part


def _has_exponential(expr: Expr) -> bool:
    return any(isinstance(node, Op) and node.name == "exp" for node in walk(expr))


def _is_log_ratio(expr: Expr) -> bool:
    match expr:
        case Op("sub", (Ref(one), Ref(other))):
            return len(one.axes) > 1 and one.axes == other.axes
    return False


def _held(part: Expr, low: Expr, high: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields a part between two bounds, and by either alone."""
    yield f"between {text(low)} and {text(high)}", Op("maximum", (Op("minimum", (part, high)), low))
    yield f"at least at {text(low)}", Op("maximum", (part, low))
    yield f"at most at {text(high)}", Op("minimum", (part, high))
