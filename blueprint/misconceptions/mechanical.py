"""Misconceptions that follow from how an equation is built, so that every row has some, also of a workbook of one's own."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Count,
    Expr,
    Op,
    Position,
    Reduce,
    Ref,
    exp,
    log,
    text,
    walk,
)
from blueprint.language.nodes import Lookup
from blueprint.misconceptions.rewriting import everywhere, is_setting, left_out, negative, neighbour, put, rest, same

Part = tuple[str, str, Expr | None]
"""What may stand for a part of an equation: name and sentence of the mistake, and the other part; None: nothing."""


def means(part: Op) -> Iterator[Part]:
    """Yields the other means that a quotient of a sum may be."""
    above, below = part.args
    if not isinstance(above, Reduce) or above.name != "sum":
        return
    everything = _times([Count("size", axis) for axis in above.axes])
    yield "mean-over-everything", "It is divided by all columns, pads and all.", Op("div", (above, everything))
    if len(above.axes) > 1:
        first = above.axes[0]
        says = f"It is divided by the number of {first.plural}."
        yield f"mean-over-{first.letter}", says, Op("div", (above, Count("size", first)))
        yield from _mean_of_means(above)
    match below:
        case Op("maximum", (Op("sub", (number, _)), _)) | Op("sub", (number, _)):
            yield (
                "n-for-n-less",
                f"It is divided by {number}, from which nothing is taken off.",
                Op("div", (above, number)),
            )
        case _:
            less = Op("sub", (below, Constant(1)))
            yield "n-less-one", f"It is divided by {below} − 1.", Op("div", (above, less))


def means_of_sum(part: Reduce) -> Iterator[Part]:
    """Yields the mean that a sum may be."""
    mask = _mask(part)
    number = Reduce("sum", part.axes, mask) if mask is not None else _times([Count("size", each) for each in part.axes])
    yield "mean-for-sum", "It is averaged, and the sum is asked for.", Op("div", (part, number))


def _mean_of_means(above: Reduce) -> Iterator[Part]:
    """Yields the mean of the means along the other axes, of a sum of which a mask says what counts."""
    first, *others = above.axes
    mask = _mask(above)
    if mask is None:
        return
    along = tuple(others)
    counted = Op("maximum", (Reduce("sum", along, mask), Constant(1)))
    inner = Op("div", (Reduce("sum", along, above.body), counted))
    says = f"The means of the {first.plural} are averaged: here each {others[0].meaning} counts the same."
    yield "mean-of-means", says, Op("div", (Reduce("sum", (first,), inner), Count("size", first)))


def _mask(part: Reduce) -> Ref | None:
    """Returns the factor of a sum that says what counts: the one of whole numbers, 0 or 1."""
    if not isinstance(part.body, Op) or part.body.name != "mul":
        return None
    for each in part.body.args:
        if isinstance(each, Ref) and not each.block.about.decimals and {*part.axes} <= _runs(each):
            return each
    return None


def _runs(ref: Ref) -> set[Axis]:
    return {index.axis for index in ref.at if isinstance(index, Position)}


def _times(numbers: list[Expr]) -> Expr:
    product, *others = numbers
    for each in others:
        product = Op("mul", (product, each))
    return product


class Changed(NamedTuple):
    """A change of one part of an equation: its name, how it is said, and the whole right-hand side with it."""

    name: str
    says: str
    expr: Expr


FORGOTTEN = {"exp": "e^…", "log": "The logarithm", "tanh": "tanh", "sqrt": "The root", "abs": "|…|"}
OTHER = {"maximum": ("minimum", "min stands where max should."), "minimum": ("maximum", "max stands where min should.")}


def changed(expr: Expr) -> Iterator[Changed]:
    """Yields the equation with each mistake that can be made in one of its parts, and those that go through all of it."""
    yield Changed("sign", "The sign is turned.", negative(expr))
    settings = {node.block for node in walk(expr) if isinstance(node, Ref) and is_setting(node.block)}
    without = left_out(expr, lambda node: isinstance(node, Ref) and node.block in settings)
    if len(settings) > 1 and without is not None:
        yield Changed("settings-left-out", "All settings are left out.", without)
    for part in walk(expr):
        for name, says, other in _parts(part):
            if (whole := _replaced(expr, part, other)) is not None:
                yield Changed(name, says, whole)
    if not same(logarithm := everywhere(expr, of_logarithm), expr):
        yield Changed("bound-of-logarithm", "The logarithm is held between the bounds, not the ratio.", logarithm)
    yield from _swapped(expr)


def _parts(part: Expr) -> Iterator[Part]:
    """Yields what may stand by mistake for a part of an equation."""
    match part:
        case Op(_, (_, _)):
            yield from _of_two(part)
        case Op("where", (test, then, otherwise)):
            yield "branch", "The other branch is taken.", Op("where", (test, otherwise, then))
        case Op("choose", (_, *rows), labels):
            for label, row in zip(labels, rows, strict=True):
                yield f"choice-{label}", f"{_said(row)} is taken, whatever was chosen.", row
        case Op("log", (inner,)):
            yield "log-2", "The logarithm is to base 2, not the natural one.", Op("div", (part, log(Constant(2))))
            yield "forgotten-log", f"{FORGOTTEN['log']} is forgotten.", inner
        case Op(name, (inner,)) if name in FORGOTTEN:
            yield f"forgotten-{name}", f"{FORGOTTEN[name]} is forgotten.", inner
        case Reduce("sum", _, Op("mul", args)):
            yield from means_of_sum(part)
            for gone in args:
                yield f"factor-{_said(gone)}", f"{_said(gone)} is left out of the sum.", _summed(part, gone)
        case Ref():
            yield from _beside(part)


def _of_two(part: Op) -> Iterator[Part]:
    """Yields what may stand by mistake for an operation with two operands."""
    name, (left, right) = part.name, part.args
    match name:
        case "maximum" | "minimum":
            if not any(isinstance(each, Constant) for each in part.args):  # max(N, 1) only keeps from dividing by 0
                yield f"{name}-turned", OTHER[name][1], Op(OTHER[name][0], part.args)
            for kept, gone in ((left, right), (right, left)):
                yield f"{name}-only", f"Only {_said(kept)} counts, not {_said(gone)}.", kept
        case "add" | "sub":
            turned = Op("sub" if name == "add" else "add", part.args)
            yield "sign-within", f"The sign of {_said(right)} is turned.", turned
            for gone in part.args:
                within = f" of {_said(part)}" if isinstance(gone, Constant) else ""  # of 1 − p: which 1 is meant?
                yield f"term-{_said(gone)}", f"{_said(gone)} is left out{within}.", _kept(part, gone)
            if name == "sub":
                yield "forgotten-complement", f"{_said(right)} stands where {_said(part)} should.", right
                yield "divided-not-subtracted", f"It is divided by {_said(right)}, not less it.", Op("div", part.args)
        case "mul":
            for gone in part.args:
                yield f"factor-{_said(gone)}", f"{_said(gone)} is left out.", _kept(part, gone)
                if isinstance(gone, Ref) and is_setting(gone.block):
                    says = f"It is divided by {_said(gone)}, not multiplied with it."
                    yield "divided-not-multiplied", says, Op("div", (right if gone is left else left, gone))
            if _is_one(left, right):
                yield "not-squared", f"{_said(left)} is not squared.", left
                yield (
                    "size-for-square",
                    f"The size of {_said(left)} stands where its square should.",
                    Op("abs", (left,)),
                )
        case "div":
            yield "not-divided", f"It is not divided by {_said(right)}.", left
            yield "upside-down", "The fraction stands upside down.", Op("div", (right, left))
            yield (
                "multiplied-not-divided",
                f"It is multiplied with {_said(right)}, not divided by it.",
                Op("mul", part.args),
            )
            yield from means(part)
        case "less" | "at_most":
            yield "comparison-turned", "The comparison stands the other way round.", Op(name, (right, left))


def of_logarithm(part: Expr) -> Expr:
    """Returns a bound 1 ± ε of a ratio as it is for the ratio whose logarithm is held between −ε and ε: e^±ε."""
    if not isinstance(part, Op) or part.name not in OTHER:
        return part
    return Op(part.name, tuple(map(_bound_of_logarithm, part.args)))


def _bound_of_logarithm(bound: Expr) -> Expr:
    match bound:
        case Op("add", (Constant(value=1), Ref(setting) as by)) if is_setting(setting):
            return exp(by)
        case Op("sub", (Constant(value=1), Ref(setting) as by)) if is_setting(setting):
            return exp(-by)
    return bound


def _is_one(one: Expr, other: Expr) -> bool:
    return isinstance(one, Ref) and isinstance(other, Ref) and one.block is other.block and one.at == other.at


def _said(expr: Expr) -> str:
    """Returns how a part is printed; that it is of the cell's own column goes without saying."""
    refs = (node for node in walk(expr) if isinstance(node, Ref))
    return text(expr, frozenset(index.axis for ref in refs for index in ref.at if isinstance(index, Position)))


def _kept(part: Op, gone: Expr) -> Expr | None:
    """Returns what is left of an operation on two; a part of an equation may stand in it twice, and is gone here alone."""
    left, right = part.args
    return rest(part, None, right) if gone is left else rest(part, left, None)


def _summed(part: Reduce, gone: Expr) -> Expr | None:
    """Returns a sum without a factor; None where then nothing runs along one of its axes."""
    kept = left_out(part.body, lambda node: node is gone)
    letters = {index.axis for index in getattr(kept, "at", ()) if isinstance(index, Position)}
    return Reduce(part.name, part.axes, kept) if kept is not None and set(part.axes) <= letters else None


def _beside(ref: Ref) -> Iterator[Part]:
    """Yields the neighbours of a cell that may be read in its place."""
    if any(isinstance(index, Lookup) for index in ref.at):
        return
    for index in ref.at:
        for by in {-1, 0, 1} - {index.by} if isinstance(index, Position) else ():
            if isinstance(index, Position) and (other := neighbour(ref, index.axis, by)) is not None:
                yield f"neighbour-{_said(other)}", f"{_said(other)} is read, not {_said(ref)}.", other


def _replaced(expr: Expr, part: Expr, other: Expr | None) -> Expr | None:
    """Returns the whole equation with one part of it replaced; None where another cannot stand there."""
    if other is None or expr is part:
        return other
    return put(expr, part, other) if _fits(expr, part, other) else None


def _fits(expr: Expr, part: Expr, other: Expr) -> bool:
    """Tells whether a sum takes the other part: it goes through one reference, or a product of two."""
    sums = [node for node in walk(expr) if isinstance(node, Reduce) and any(inner is part for inner in walk(node.body))]
    return not sums or isinstance(other, Ref) or (isinstance(other, Op) and all(isinstance(a, Ref) for a in other.args))


def _swapped(expr: Expr) -> Iterator[Changed]:
    """Yields the equation with two settings exchanged that it reads."""
    read = list({node.block: node for node in walk(expr) if isinstance(node, Ref) and is_setting(node.block)}.values())
    for place, one in enumerate(read):
        for other in read[place + 1 :]:
            both = f"{_said(one)}-{_said(other)}", f"{_said(one)} and {_said(other)} are exchanged."
            yield Changed(f"swapped-{both[0]}", both[1], _exchanged(expr, {one.block: other, other.block: one}))


def _exchanged(expr: Expr, into: Mapping[Block, Ref]) -> Expr:
    return everywhere(expr, lambda node: into.get(node.block, node) if isinstance(node, Ref) else node)
