"""Rows and numbers of a small dump compared with those that were computed again, each within the room that its kind gives it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from blueprint.dumps import Array, Dump
from blueprint.verifying.compare import Axes, Compared, compare_number, distance, first_spot
from blueprint.verifying.tolerances import SUMS, TOLERANCES, coarsest, last_digit

LARGEST = {"float64": np.inf, "float32": 3.4e38, "bfloat16": 3.4e38, "float16": 65504.0}
"""By dtype, beyond what a library that computes in it has no number."""


class Quantity(NamedTuple):
    """A result. after: results that it is made of; made_of: tensors whose rounding it carries.

    means: the rows or numbers that may stand under the name, the usual one first, and what that means, in words.
    """

    name: str
    after: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()
    means: tuple[tuple[str, str], ...] = ()

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What may stand under the name."""
        return ((self.name, ""), *self.means)


@dataclass
class Again:
    """A dump computed again, and what came of it. All by name; `rows` [N], `numbers` of the whole.

    sizes: by number, the mean size of what it averages. room: how far rounding alone may move a row or number; extra: of a share,
    how much more, where rounding decides. lacks: by quantity, what the file has not that it takes.
    """

    batch: Any
    settings: Mapping[str, float | str]
    rows: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    room: dict[str, float] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)


class Judge:
    """Compares what a file logged with what was computed again. factor: multiplies every room; axes: what rows are called."""

    def __init__(
        self,
        dump: Dump,
        straight: Again,
        quantities: Mapping[str, Quantity],
        factor: float = 1.0,
        axes: Axes | None = None,
    ) -> None:
        """Takes room from the straight recomputation, so that what is allowed does not depend on what is tried."""
        self.dump, self.straight, self.quantities, self.factor = dump, straight, quantities, factor
        self._axes = axes or Axes()
        self._dtypes = {name: dtype for name, dtype in dump.dtypes.items() if dtype in TOLERANCES}

    def compared(self, found: Again, only: str = "") -> dict[str, Compared]:
        """Returns what each logged quantity comes to, in the order of derivation; of what may stand for it, the nearest.

        only: the one that is asked for; "": all.
        """
        both = [self._each(each, found) for each in self.quantities.values() if only in ("", each.name)]
        return {each.name: each for each in both if each is not None}

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.dump.called.get(name, name)

    def uncompared(self) -> dict[str, str]:
        """Returns by what the file calls it what was logged and cannot be computed, and what that takes."""
        lacks, logged = self.straight.lacks, self.dump.tensors.keys() | self.dump.logged.keys()
        return {self.called(each): lacks[each] for each in self.quantities if each in logged and each in lacks}

    def _each(self, quantity: Quantity, found: Again) -> Compared | None:
        if quantity.name in self.straight.lacks or quantity.name in found.lacks:
            return None
        if quantity.name in self.dump.tensors:
            return _nearest([self._row(quantity, *row, found) for row in quantity.rows if row[0] in found.rows])
        if quantity.name in self.dump.logged:
            return _nearest([self._number(quantity, *row, found) for row in quantity.rows if row[0] in found.numbers])
        return None

    def _dtype(self, quantity: Quantity) -> str:
        return coarsest(self._dtypes, (quantity.name, *quantity.made_of))

    def _room(self, quantity: Quantity, row: str) -> float:
        """Returns the room of a row; of one that the straight recomputation has not, that of the usual one."""
        return self.straight.room.get(row, self.straight.room.get(quantity.name, 0.0))

    def _row(self, quantity: Quantity, row: str, means: str, found: Again) -> Compared:
        dtype, usual = self._dtype(quantity), self.straight.rows.get(row, found.rows[row])
        theirs, ours = self.dump.tensors[quantity.name].astype(np.float64)[:, None], found.rows[row][:, None]
        allowed = self.factor * self._room(quantity, row)
        apart = _in_range(theirs, ours, dtype)
        wrong = ~(apart <= allowed) | np.isinf(apart)
        spot = first_spot(self.dump, wrong, theirs, ours, range(len(wrong)))
        size = _mean_size(usual)
        return Compared(
            quantity.name, row, means, int(apart.size), int(wrong.sum()), float(apart.max(initial=0.0)), allowed, spot,
            size=max(size, 1e-300), dtype=dtype, arithmetic=self.factor * SUMS[dtype] * (1 + size), axes=self._axes,
        )  # fmt: skip

    def _number(self, quantity: Quantity, row: str, means: str, found: Again) -> Compared:
        logged, ours, dtype = self.dump.logged[quantity.name], found.numbers[row], self._dtype(quantity)
        size = self.straight.sizes.get(row, abs(ours))
        extra = last_digit(logged) + self.straight.extra.get(row, 0.0)
        allowed = self.factor * self._room(quantity, row) + extra
        both = logged, _like(logged, ours, LARGEST[dtype])
        arithmetic = self.factor * SUMS[dtype] * (1 + size)
        found_so = compare_number(quantity.name, row, means, both, allowed)
        return replace(found_so, size=max(size, 1e-300), extra=extra, dtype=dtype, arithmetic=arithmetic)


def _in_range(theirs: Array, ours: Array, dtype: str) -> Array:
    """Returns how far numbers are apart; where ours is beyond what the dtype holds, infinity or no number of theirs is the same."""
    same = np.array([_like(*pair, LARGEST[dtype]) for pair in zip(theirs.ravel(), ours.ravel(), strict=True)])
    return distance(theirs, same.reshape(theirs.shape))


def _like(theirs: float, ours: float, largest: float) -> float:
    beyond = not abs(ours) <= largest
    return float(theirs) if beyond and not np.isfinite(theirs) else float(ours)


def _mean_size(row: Array) -> float:
    finite = np.abs(row[np.isfinite(row)])
    return float(finite.mean()) if finite.size else 0.0


def _nearest(found: Sequence[Compared]) -> Compared | None:
    """Returns the first that agrees, else the usual one."""
    return next((each for each in found if each.agrees), found[0] if found else None)


def given_of(dump: Dump, quantities: Mapping[str, Any]) -> dict[str, Array]:
    """Returns the results that a file has, to go on with in place of what was computed."""
    return {name: np.asarray(dump.tensors[name], np.float64) for name in quantities if name in dump.tensors}
