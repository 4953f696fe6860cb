"""Causes that are a change of one part of an equation as libraries spell it, where the definitions have it in several rows."""

from collections.abc import Iterator, Mapping
from itertools import chain

from blueprint.language import Constant, Expr, Op, Position, Ref, equal, text
from blueprint.misconceptions.rewriting import Change
from blueprint.verifying.equations import SIDES, Between, every_change, to, within
from blueprint.verifying.in_memory import Try
from blueprint.verifying.other_axes import read_along_others


def spelled(between: Between, name: str, expr: Expr, beside: Mapping[str, Change]) -> Iterator[Try]:
    """Yields every change of one part of an equation as libraries spell it, which the definitions have in several rows.

    name, expr: the row, and what it is then; beside: what its other rows are then. On both sides of a pair, and on either.
    """
    of, settings, equations = between.of, between.settings, between.equations
    row, side = equations.rows[name], equations.rows[of.side] if of.side else None
    own = row.definitions[0].expr
    along = read_along_others(equations, row, expr, of.counts)
    for says, made in chain(every_change(equations, name, between.wanted, expr, of.masks, side), along):
        whole = Try(f"another equation of {name}, as libraries spell it ({text(expr)}): {within(says)}", settings,
                    {"equations": {name: to(own, made), **beside}})  # fmt: skip
        yield whole
        if side is not None:
            here = equal(Ref(side, tuple(Position(axis) for axis in side.axes)), Constant(1))
            for which, (one, two) in zip(SIDES, ((made, expr), (expr, made)), strict=True):
                either = Op("where", (here, one, two))
                yield Try(f"{whole.label}, on the {which} side alone", settings,
                          {"equations": {name: to(own, either), **beside}})  # fmt: skip
