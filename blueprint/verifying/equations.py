"""Causes that nobody has listed: every change of one part of every equation on the way to a quantity that deviates.

A mistake in a trainer's code is mostly one part of one equation: another operation, an operand that is forgotten, doubled or of
another sign, a row of the same shape in its place. The definitions have these equations, so the changes are made of them; each is
computed from the file's own rows on. Where both sides of a pair have an equation, it is changed in both, then in either alone.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from blueprint.language import Block, Constant, Edge, Expr, Op, Reduce, Ref, exp, less, log, rebuilt, sqrt, text, walk
from blueprint.misconceptions.mechanical import changed
from blueprint.misconceptions.rewriting import Change, Names, is_setting
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.in_memory import Try
from blueprint.verifying.settings import Settings

MOST_ROWS, MOST_OTHERS = 80, 8
"""Rows on the way to a quantity that are changed, the nearest first; and rows that may stand in the place of one that is read."""
SIDES = ("chosen", "rejected")


class Changed(NamedTuple):
    """A change of a row: how it is said, and how its equation is changed."""

    says: str
    change: Change


def tries(of: Definitions, settings: Settings, wanted: str | tuple[str, ...], known: Collection[str]) -> Iterator[Try]:
    """Yields every change of one part of the equations between the rows that are known and those that are wanted."""
    equations = of.under(settings)
    alone = list[Try]()
    wanted = tuple(each for each in ((wanted,) if isinstance(wanted, str) else wanted) if each in equations.rows)
    on_the_way = list(dict.fromkeys(row for each in wanted for row in equations.on_the_way(each, known)))
    for name in [each for each in on_the_way if not _only_picks(equations.rows[each])][:MOST_ROWS]:
        side, _, rest = name.partition(".")
        other = f"{SIDES[1]}.{rest}"
        paired = side in SIDES and {f"{SIDES[0]}.{rest}", other} <= equations.rows.keys()
        for at, made in enumerate(_changes(equations, name, wanted)):
            label = f"another equation of {_meaning(equations, name)}: {made.says}"
            if not paired:
                yield Try(label, settings, {"equations": {name: made.change}})
                continue
            alone.append(Try(f"{label}, on the {side} side alone", settings, {"equations": {name: made.change}}))
            theirs = _changes(equations, other, wanted) if side == SIDES[0] else ()
            if len(theirs) == len(_changes(equations, name, wanted)):
                yield Try(
                    f"{label}, on both sides", settings, {"equations": {name: made.change, other: theirs[at].change}}
                )
    yield from alone


def _only_picks(row: Block) -> bool:
    """Whether a row takes cells of another one by a block of 0 and 1, or repeats one: where things stand is no mathematics."""
    expr = row.definitions[0].expr if row.definitions else None
    match expr:
        case Reduce("sum", _, Op("mul", (Ref() as one, Ref() as other))):
            return any(
                by.block.typed and len(by.block.axes) > len(of.block.axes) for by, of in ((one, other), (other, one))
            )
    return expr is None or isinstance(expr, Ref)


def _meaning(equations: Equations, name: str) -> str:
    """Returns what a row is called, and in words."""
    about = equations.rows[name].about
    return f"{name} ({about.meaning})" if about.meaning else name


@lru_cache(maxsize=2048)
def _changes(equations: Equations, name: str, wanted: tuple[str, ...]) -> tuple[Changed, ...]:
    """Returns every change of one part of a row's equation, each once; both sides of a pair have theirs in the same order."""
    row = equations.rows[name]
    inside = [each for each in row.definitions if not any(isinstance(index, Edge) for index in each.target)]
    if len(inside) != 1:  # beside it an end column may have an equation, which stays
        return ()
    own, found = inside[0].expr, dict[str, tuple[str, Expr]]()
    for says, expr in every_change(equations, name, wanted, own):
        if not _needs_itself(row, expr):
            found.setdefault(text(expr), (says, expr))
    found.pop(text(own), None)
    twice = Counter(says for says, _ in found.values())
    return tuple(
        Changed(_within(says if twice[says] == 1 else f"{says}: {text(expr)}"), _to(own, expr))
        for says, expr in found.values()
    )


def every_change(equations: Equations, name: str, wanted: tuple[str, ...], own: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields every change of one part of an equation of a row, as it is said, and the equation with it."""
    yield from ((each.says, each.expr) for each in changed(own))
    yield from (*_sizes(own), *_others(equations, name, wanted, own), *_operations(own), *_constants(own))


def _needs_itself(row: Block, expr: Expr) -> bool:
    """Whether a cell of a recursion would be made of itself, not of its neighbour."""
    own = (node for node in walk(expr) if isinstance(node, Ref) and node.block is row)
    return any(not any(getattr(index, "by", 0) for index in node.at) for node in own)


def _within(sentence: str) -> str:
    """Returns a sentence as a part of one; one that begins with a symbol keeps it."""
    word, space, rest = sentence.removesuffix(".").partition(" ")
    return f"{word.lower() if word.istitle() and word.isalpha() and len(word) > 1 else word}{space}{rest}"


def _to(own: Expr, other: Expr) -> Change:
    """Makes a change of one equation into another; under settings that have another equation nothing is changed."""

    def change(expr: Expr, names: Names) -> Expr:
        return other if expr is own else expr

    return change


def _sizes(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields the whole and each part of it doubled, halved, squared, with the other sign; and the largest for a sum."""
    parts = [node for node in walk(expr) if node is not expr and isinstance(node, Ref | Op | Reduce)]
    parts.sort(key=lambda node: not isinstance(node, Ref))
    for said, part in [("it", expr), *((text(node), node) for node in parts if not _is_test(expr, node))]:
        yield f"{said} is doubled", _put(expr, part, Op("mul", (Constant(2), part)))
        yield f"{said} is halved", _put(expr, part, Op("div", (part, Constant(2))))
        yield f"{said} is squared", _put(expr, part, Op("mul", (part, part)))
        yield f"{said} is taken with the other sign", _put(expr, part, Op("neg", (part,)))
    for node in walk(expr):
        if isinstance(node, Reduce) and node.name == "sum":
            yield "the largest is taken, not the sum", _put(expr, node, Reduce("max", node.axes, node.body))


def _others(equations: Equations, name: str, wanted: tuple[str, ...], expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields rows of the same shape in the place of one that is read, those that are called alike first."""
    near = set(equations.made_of(wanted))
    near |= {other for each in near if (other := _other_side(each)) in equations.rows}
    for part in [node for node in walk(expr) if isinstance(node, Ref) and not is_setting(node.block)]:
        alike = [
            other
            for other in near
            if _of_one_shape(equations.rows[other], part.block)
            and _has_cells(equations.rows[other], part)
            and name not in equations.made_of((other,))
        ]
        tail = part.block.name.rpartition(".")[2]
        for other in sorted(alike, key=lambda each: (each.rpartition(".")[2] != tail, each))[:MOST_OTHERS]:
            yield f"{other} is read, not {part.block.name}", _put(expr, part, Ref(equations.rows[other], part.at))


def _other_side(name: str) -> str:
    """Returns what a row of one side of a pair is called on the other."""
    side, dot, rest = name.partition(".")
    return f"{SIDES[SIDES[0] == side]}{dot}{rest}" if side in SIDES else name


def _of_one_shape(one: Block, other: Block) -> bool:
    return one is not other and one.axes == other.axes and not one.text and bool(one.axes) and not is_setting(one)


def _has_cells(row: Block, part: Ref) -> bool:
    """Whether a row has the cell that is read of another one, also where that stands behind its last column."""
    moved = [(slot, getattr(index, "by", 0)) for slot, index in zip(part.block.axes, part.at, strict=True)]
    return all(not by or (slot, by) in row.edges for slot, by in moved)


def _is_test(expr: Expr, part: Expr) -> bool:
    """Whether a part is what a branch is taken by."""
    return any(isinstance(node, Op) and node.name in BRANCHES and node.args[0] is part for node in walk(expr))


BRANCHES = ("where", "choose", "is_off")
OPERATIONS = ("add", "sub", "mul", "div")
COMPARED = {"less": "at_most", "at_most": "less"}
HALF = Op("div", (Constant(1), Constant(2)))


def _operations(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields another operation or function in the place of one, and an ε that stands elsewhere."""
    for part in walk(expr):
        others = list[Expr]()
        match part:
            case Op(name, (left, right)) if name in OPERATIONS:
                others += [Op(other, (left, right)) for other in OPERATIONS if other != name]
                if name == "add" and isinstance(right, Ref) and is_setting(right.block):  # ε in the root, or the least
                    others += [sqrt(Op("mul", (left, left)) + right), Op("maximum", (left, right))]
            case Op("maximum" | "minimum" as name, args):
                others += [Op("minimum" if name == "maximum" else "maximum", args)]
            case Op("less" | "at_most" as name, args):
                others += [Op(COMPARED[name], args)]
            case Op("exp", (inner,)):
                others += [log(1 + inner), 1 + inner, exp(inner) - 1]
            case Op("log", (inner,)):
                others += [exp(inner), log(1 + inner)]
            case Op("abs", (inner,)):
                others += [Op("where", (less(0, inner), Constant(1), Op("neg", (Constant(1),))))]
            case Reduce("max", axes, Ref() as body):
                others += [Reduce("sum", axes, body), Op("neg", (Reduce("max", axes, Op("neg", (body,))),))]
        for other in others:
            yield f"{text(other)} stands where {text(part)} should", _put(expr, part, other)


def _constants(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields other numbers in the place of one that is written: 0, ½, 1, 2, one more, twice."""
    for part in walk(expr):
        if isinstance(part, Constant) and isinstance(part.value, int):
            for other in (
                Constant(0),
                HALF,
                Constant(1),
                Constant(2),
                Constant(part.value + 1),
                Constant(2 * part.value),
            ):
                yield f"{text(other)} stands for {text(part)} in {text(expr)}", _put(expr, part, other)


def _put(expr: Expr, part: Expr, other: Expr) -> Expr:
    """Returns an expression with a part of it replaced."""
    return other if expr is part else rebuilt(expr, lambda inner: _put(inner, part, other))
