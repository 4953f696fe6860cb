"""Causes that read another tensor in the place of one, or the sum or the difference of two: advantages made anew of returns and new
values, a log-prob to which a difference of two others is added; or 1 where there is 0, a margin that no file has.

Two are taken of the tensors that a trainer holds: what a dump gives, and the rows that have a plain name, such as `returns`. One is
taken that nothing on the way reads; rows on the way are among the changes of equations.
"""

from collections.abc import Iterator
from functools import partial
from itertools import combinations, permutations
from typing import NamedTuple

from blueprint.language import Block, Constant, Expr, Op, Position, Ref, rebuilt, text
from blueprint.misconceptions.rewriting import Change, Names
from blueprint.verifying.constant_rows import constant_rows
from blueprint.verifying.equations import FLAG, Between, meaning_of, read_from, to
from blueprint.verifying.in_memory import Try

MOST_READ, MOST_MADE = 4, 12
"""So many rows that are read, and that are made, are taken for others."""
MOST_FAR, MOST_HELD = 24, 16
"""So many others are one of them, and of so many tensors two are."""


class Place(NamedTuple):
    """A row for which something else may stand. readers: those that read it, where it is not made on the way itself."""

    row: Block
    readers: tuple[str, ...] = ()

    def taken(self, between: Between, expr: Expr, says: str) -> Try:
        """Returns that something else is taken: where the row is read, or as its equation."""
        row = self.row
        change = _read_as(row, expr) if self.readers else to(row.inside, expr)
        label = f"{meaning_of(between.equations, row.name)}: {says} is taken"
        return Try(label, between.settings, {"equations": dict.fromkeys(self.readers or (row.name,), change)}, far=True)


def tries(between: Between) -> Iterator[Try]:
    """Yields other rows for those that are read or made on the way; two tensors for those that are read, or wanted; and 1 for a row
    that is 0 throughout, as a margin that a file has not, or 0 for 1."""
    equations, masks = between.equations, between.masks
    rows = [equations.rows[name] for name in between.way if name not in masks]
    made = [Place(row) for row in rows if row.axes and row.inside is not None]
    read = [Place(row, tuple(by)) for row, by in between.read.items() if row.name not in masks][:MOST_READ]
    for place in (*read, *made[:MOST_MADE]):
        for other in _far(between, place.row):
            yield place.taken(between, _here(other), meaning_of(equations, other.name))
    for place in (*(each for each in made if each.row.name in between.wanted), *read):
        held = _held(between, place.row)
        for name, pairs in (("sub", permutations(held, 2)), ("add", combinations(held, 2))):
            for pair in pairs:
                expr = Op(name, tuple(map(_here, pair)))
                yield place.taken(between, expr, text(expr))
    for name in equations.on_the_way_to_any(between.wanted, between.known):
        own = equations.rows[name].inside
        if isinstance(own, Constant) and own.value in (0, 1):  # what it is for is off
            says = f"{1 - own.value} stands for {own.value}"
            label = f"another equation of {meaning_of(equations, name)}: {says}"
            yield Try(label, between.settings, {"equations": {name: to(own, Constant(1 - own.value))}})


def _read_as(row: Block, made: Expr) -> Change:
    """Makes a change of an equation: wherever a row is read, what is made of others is, at the same cells."""

    def change(expr: Expr, names: Names) -> Expr:
        if isinstance(expr, Ref) and expr.block.name == row.name:
            return read_from(_at(made, expr), names)
        return rebuilt(expr, lambda inner: change(inner, names))

    return change


def _at(made: Expr, ref: Ref) -> Expr:
    return Ref(made.block, ref.at) if isinstance(made, Ref) else rebuilt(made, lambda inner: _at(inner, ref))


def _far(between: Between, row: Block) -> list[Block]:
    """Returns rows of the shape of one that are not on the way to what is wanted, the likelier first."""
    near = {*between.way, *between.equations.made_of(between.wanted)}
    found = [each for each in _others(between, row) if each.name not in near and not each.typed]
    return sorted(found, key=partial(_how_far, row))[:MOST_FAR]


def _how_far(row: Block, other: Block) -> tuple[bool, bool]:
    """Puts what belongs to a row first, `kl_new.k3` for `kl_new.k1`, then what has a plain name."""
    return other.name.partition(".")[0] != row.name.partition(".")[0], "." in other.name


def _held(between: Between, row: Block) -> list[Block]:
    """Returns the tensors of the shape of a row that a trainer holds."""
    others = (each for each in _others(between, row) if each.name not in between.wanted)
    return [each for each in others if each.typed or "." not in each.name][:MOST_HELD]


def _others(between: Between, row: Block) -> Iterator[Block]:
    """Yields rows of numbers of the shape of one, without masks, and without those that are made of it."""
    equations, constant = between.equations, constant_rows(between.equations)
    for name, other in equations.rows.items():
        if other is row or other.axes != row.axes or other.text or other.about.unit == FLAG:
            continue
        if name not in between.masks and other not in constant and row.name not in equations.made_of((name,)):
            yield other


def _here(row: Block) -> Ref:
    return Ref(row, tuple(map(Position, row.axes)))
