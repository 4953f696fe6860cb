"""Equations of GRPO as TRL spells them, and whose reward or advantage a response may have by mistake: both are no change of one
part of a definition.

RLOO's advantage is defined by the mean of the others, and computed from the mean of all: (r − mean)·n/(n − 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from blueprint.dumps import Array
from blueprint.language import Constant, Expr, Op, Position, Ref, Sum, exp, reading, text
from blueprint.misconceptions import Change, Names
from blueprint.verifying import Settings, Try
from blueprint.verifying.constant_rows import without_ones
from blueprint.verifying.equations import every_change
from blueprint.workbooks.grpo.definitions.group_advantages import i, q
from blueprint.workbooks.grpo.verifying.feeding import EQUATIONS, PLACE, Fed

LEFT, MEAN = "group.less_baseline", "group.mean"


def _of_all(expr: Expr, b: Names) -> Expr:
    """Returns a reward less the mean of the others by the mean of all: (r − mean)·n/(n − 1)."""
    n = b("count.group")
    mean = Ref(b[MEAN], (Position(q),))
    return (b("group.reward") - mean) * n / (n - 1)


def _mean_at_once(expr: Expr, b: Names) -> Expr:
    return Sum(i, Ref(b["group.reward"], (Position(q), Position(i)))) / b("count.group")


def _k3(expr: Expr, b: Names) -> Expr:
    """Returns e^x − x − 1 of the log-ratio x of the reference to the policy."""
    x = Op("neg", (b("kl_new.k1"),))
    return exp(x) - x - Constant(1)


def of_trl(settings: Settings, wanted: tuple[str, ...], known: tuple[str, ...]) -> Iterator[Try]:
    """Yields every change of one part of an equation as TRL spells it, between what is known and what is wanted."""
    equations = EQUATIONS.under(settings)
    rows = tuple(each for each in wanted if each in equations.rows)
    on_the_way = {name for row in rows for name in equations.on_the_way(row, known)}
    spelled: dict[str, Change] = {}
    if "kl_new.k3" in on_the_way:
        spelled["kl_new.k3"] = _k3
    if LEFT in on_the_way and settings["group.baseline"] == "mean":
        spelled[MEAN] = _mean_at_once
    names = Names({**{block.name: block for block in equations.numbers}, **equations.rows}, {})
    if LEFT in on_the_way and settings["group.baseline"] == "others":
        yield from _of_others(settings, rows, names)
    for name, change in spelled.items():
        row = equations.rows[name]
        yield from _changed(settings, rows, name, change(row.definitions[0].expr, names))


def _changed(settings: Settings, wanted: tuple[str, ...], name: str, own: Expr) -> Iterator[Try]:
    equations = EQUATIONS.under(settings)
    seen = {text(without_ones(own))}
    for says, made in every_change(equations, name, wanted, own):
        if (said := text(without_ones(made))) not in seen:
            seen.add(said)
            label = f"another equation of {name}, as libraries spell it: {says.removesuffix('.')}"
            yield Try(label, settings, {"equations": {name: _becomes(made)}})


def _becomes(made: Expr) -> Change:
    return lambda expr, names: made


def _of_others(settings: Settings, wanted: tuple[str, ...], names: Names) -> Iterator[Try]:
    """Yields changes of RLOO's advantage, and of the mean in it."""
    left = _of_all(Constant(0), names)
    yield from _changed(settings, wanted, LEFT, left)
    for each in _changed(settings, wanted, MEAN, _mean_at_once(Constant(0), names)):
        own = EQUATIONS.under(settings).changed(MEAN, each.ways["equations"][MEAN])
        yield each._replace(ways={"equations": {LEFT: _becomes(reading(left, {names[MEAN]: own}))}})


Rows = Callable[[Fed], Array]


def _before(by: int) -> Rows:
    """Takes the response before (1) or behind (−1) in the rollout; the last stands before the first."""

    def rows(of: Fed) -> Array:
        order = np.argsort(of[PLACE], kind="stable")
        found = np.empty_like(order)
        found[order] = np.roll(order, by)
        return found

    return rows


def _table(axis: int, by: int) -> Rows:
    """Takes the response before or behind in the group (1), or in the same place of another group (0)."""

    def rows(of: Fed) -> Array:
        sizes = np.bincount(of["group"])
        order = np.lexsort((of[PLACE], of["group"]))
        found = np.arange(len(order))
        if sizes.min() == sizes.max():
            table = order.reshape(len(sizes), -1)
            found[table.ravel()] = np.roll(table, by, axis=axis).ravel()
        return found

    return rows


ROWS: Mapping[str, Rows] = {
    "of the response before in the rollout": _before(1), "of the response behind in the rollout": _before(-1),
    "of the response before in its group": _table(1, 1), "of the response behind in its group": _table(1, -1),
    "of the group before": _table(0, 1), "of the group behind": _table(0, -1),
}  # fmt: skip


def of_other_rows(settings: Settings) -> Iterator[Try]:
    """Yields rewards, then advantages, that are those of other responses."""
    for says, rows in ROWS.items():
        yield Try(f"the advantage {says}", settings, {"rows_given": rows})
        if "rollout" in says:  # within a group it is the same
            yield Try(f"the reward {says}", settings, {"rows_read": rows})
