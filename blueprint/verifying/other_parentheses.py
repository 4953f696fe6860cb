"""Causes that are parentheses that stand elsewhere: r − m/s for (r − m)/s, γ(V′ − V) for γV′ − V, l/n·m for l/(n·m).

A library has on one line what the definitions have in two rows, so an equation is taken with each row that it reads written out,
too.
"""

from collections.abc import Collection, Iterator

from blueprint.language import Axis, Expr, Op, Position, Reduce, Ref, text, walk
from blueprint.misconceptions.rewriting import is_setting, put
from blueprint.verifying.definitions import Equations
from blueprint.verifying.equations import Between, meaning_of, only_picks, plain_of, to
from blueprint.verifying.in_memory import Try

SUMS, PRODUCTS, TWO = ("add", "sub"), ("mul", "div"), 2


def tries(between: Between) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted; no mask is changed."""
    equations, known = between.equations, between.known
    for name in between.way:
        own = plain_of(equations, name)
        if own is None or only_picks(equations.rows[name]) or name in between.masks:
            continue
        seen, whole = set[str](), equations.rows[name].inside
        for written in (own, *_written_out(equations, own, known, equations.rows[name].axes)):
            for part in walk(written):
                for other in (*_elsewhere(part), *_bound_first(equations, part)):
                    made = put(written, part, other)
                    if (said := text(made)) not in seen:
                        seen.add(said)
                        label = f"another equation of {meaning_of(equations, name)}: {text(other)} stands where {text(part)} should"
                        yield Try(label, between.settings, {"equations": {name: to(whole, made)}})


def _written_out(equations: Equations, own: Expr, known: Collection[str], along: tuple[Axis, ...]) -> Iterator[Expr]:
    """Yields an equation with the equation of a row that it reads in its own place, for each such row that is computed.

    along: the axes of the whole; what sums along one of them stays a row of its own.
    """
    refs = {text(node): node for node in walk(own) if isinstance(node, Ref) and not is_setting(node.block)}
    for part in refs.values():
        name, here = part.block.name, tuple(map(Position, part.block.axes))
        row = equations.rows.get(name)
        if (
            row is not part.block
            or name in known
            or part.at != here
            or any(each is row for each in equations.reads(row))
        ):
            continue
        inner = plain_of(equations, name)
        if isinstance(inner, Op) and not any(
            {*node.axes} & {*along} for node in walk(inner) if isinstance(node, Reduce)
        ):
            yield put(own, part, inner, alike=True)


def _bound_first(equations: Equations, part: Expr) -> Iterator[Expr]:
    """Yields the smaller of x and y times c in the place of the smaller of x·c and y·c, which two rows are."""
    match part:
        case Op("maximum" | "minimum" as name, (Ref() as one, Ref() as two)):
            for outer, x, c in _factors(equations, one):
                for other, y, d in _factors(equations, two):
                    if outer == other and text(c) == text(d):
                        yield Op(outer, (Op(name, (x, y)), c))


def _factors(equations: Equations, part: Ref) -> Iterator[tuple[str, Expr, Expr]]:
    """Yields of a row that is x ∘ c the operation, x and c."""
    own = plain_of(equations, part.block.name) if equations.rows.get(part.block.name) is part.block else None
    match own:
        case Op("mul" | "div" as name, (x, c)) if part.at == tuple(map(Position, part.block.axes)):
            yield name, x, c
            if name == "mul":
                yield name, c, x


def _elsewhere(part: Expr) -> Iterator[Expr]:
    """Yields an operation with its parentheses elsewhere: ∘ is a product or fraction, ± a sum or difference."""
    match part:
        case Op(outer, (Op(inner, (a, b)), c)) if outer in PRODUCTS and inner in SUMS:  # (a ± b) ∘ c
            yield Op(inner, (a, Op(outer, (b, c))))
            yield Op(inner, (Op(outer, (a, c)), b))
            yield from _of_one_term(outer, part.args[0], c, first=False)
    match part:
        case Op(outer, (c, Op(inner, (a, b)))) if outer in PRODUCTS and inner in SUMS:  # c ∘ (a ± b)
            yield Op(inner, (Op(outer, (c, a)), b))
            if outer == "mul":
                yield Op(inner, (a, Op(outer, (c, b))))
                yield from _of_one_term(outer, part.args[1], c, first=True)
        case Op("div", (c, Op("mul" | "div" as inner, (a, b)))):  # c / (a ∘ b)
            yield Op(inner, (Op("div", (c, a)), b))
        case Op(outer, (a, Op(inner, (b, c)))) if outer in SUMS and inner in PRODUCTS:  # a ± b ∘ c
            yield Op(inner, (Op(outer, (a, b)), c))
    match part:
        case Op(outer, (Op(inner, (b, c)), a)) if outer in SUMS and inner in PRODUCTS:  # b ∘ c ± a
            yield Op(inner, (b, Op(outer, (c, a))))


def _of_one_term(outer: str, total: Expr, by: Expr, first: bool) -> Iterator[Expr]:
    """Yields a sum of three terms or more of which one alone is multiplied or divided; first: whether by what stands before it."""
    terms = [*_terms(total)]
    for term in terms if len(terms) > TWO else ():
        yield put(total, term, Op(outer, (by, term) if first else (term, by)))


def _terms(expr: Expr) -> Iterator[Expr]:
    """Yields the terms of a sum, or what is none as it is."""
    match expr:
        case Op(name, (left, right)) if name in SUMS:
            yield from (*_terms(left), *_terms(right))
        case _:
            yield expr
