"""Everything that a file of a rollout logged beside everything that was computed again, and how far apart it may be."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.compare import Axes, Compared, compare_number, distance, first_spot
from blueprint.verifying.tolerances import TOLERANCES, coarsest, last_digit
from blueprint.workbooks.classic_ppo.dumps import Rollout
from blueprint.workbooks.classic_ppo.verifying.quantities import FIRST, FIRST_CALLED, NUMBERS, ROWS, Quantity
from blueprint.workbooks.classic_ppo.verifying.work import Replayed

STEPS, ROWS_OF_MINIBATCH = Axes("environment", "step", "step"), Axes("row of the minibatch", "", "row")
OF_DIFFERENCES = 0.05
"""Of the tolerance: what estimates of a KL may be off. They are made of differences of log-probs, with nothing else to round."""
FIRST_RATIO = {"float64": 1e-9, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.15}
"""By dtype, how far log-probs of the same policy are apart that were computed in batches of another size."""


class Judge:
    """Compares what a file logged with what was computed again. factor: multiplies every tolerance."""

    def __init__(self, rollout: Rollout, straight: Replayed, factor: float = 1.0) -> None:
        """Takes sizes from the straight recomputation, so that what is allowed does not depend on what is tried."""
        self.rollout, self.straight, self.factor = rollout, straight, factor

    def compared(self, found: Replayed) -> dict[str, Compared]:
        """Returns what each logged quantity comes to, in the order of derivation."""
        tensors, logged = self.rollout.tensors, self.rollout.logged
        both = {each: self.first_with(each, self.rollout) for each in FIRST.values() if self._asks(each)}
        both |= {each: self._row(each, found) for each in ROWS if each.name in tensors and each.name in found.rows}
        both |= {
            each: self._number(each, found) for each in NUMBERS if each.name in logged and each.name in found.whole
        }
        return {each.name: compared for each, compared in both.items()}

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity, or what it is called that must hold before the first update."""
        return FIRST_CALLED.get(name) or self.rollout.called.get(name, name)

    def uncompared(self) -> dict[str, str]:
        """Returns by what the file calls it what was logged and cannot be computed, and what that takes."""
        lacks = self.straight.lacks
        names = [each.name for each in (*ROWS, *NUMBERS) if each.name in {*self.rollout.tensors, *self.rollout.logged}]
        return {
            self.rollout.called.get(name, name): lacks[name] for name in names if name in lacks and name not in INPUTS
        }

    def _asks(self, quantity: Quantity) -> bool:
        place = self.rollout.place
        first = place is not None and place.before_first_update is True
        return first and set(quantity.made_of) <= self.rollout.tensors.keys()

    def _tolerance(self, quantity: Quantity) -> float:
        return self.factor * TOLERANCES[self._dtype(quantity)]

    def _dtype(self, quantity: Quantity) -> str:
        return coarsest(self._dtypes(), (quantity.name, *quantity.made_of))

    def _dtypes(self) -> dict[str, str]:
        return {name: dtype for name, dtype in self.rollout.dtypes.items() if dtype in TOLERANCES}

    def first_with(self, quantity: Quantity, rollout: Rollout) -> Compared:
        """Compares what is new with what is old, in a rollout as it is or as it may have been meant."""
        old, new = rollout.of_minibatch(quantity.made_of[0]), rollout.tensors[quantity.made_of[1]]
        dtype = coarsest(self._dtypes(), quantity.made_of)
        allowed = self.factor * FIRST_RATIO[dtype] * (1 + _largest(old))
        return self._compared(quantity.name, (new, old), allowed, dtype)

    def _row(self, quantity: Quantity, found: Replayed) -> Compared:
        name, base = quantity.name, self.straight.rows[quantity.name]
        size = _largest(base)
        if quantity.scaled:
            size = max(size, _largest(self.straight.rows.get("advantages", base)) / self.straight.sigma)
        allowed = self._tolerance(quantity) * (1 + size)
        return self._compared(name, (self.rollout.tensors[name], found.rows[name]), allowed, self._dtype(quantity))

    def _compared(self, name: str, both: tuple[Array, Array], allowed: float, dtype: str) -> Compared:
        """Compares a tensor of the file, the first of both, with the row that was computed again."""
        axes = ROWS_OF_MINIBATCH if both[0].ndim == 1 else STEPS
        theirs, ours = (each[:, None] if each.ndim == 1 else each for each in both)
        apart = distance(theirs, ours)
        wrong = ~(apart <= allowed) | np.isinf(apart)
        spot = first_spot(self.rollout, wrong, theirs, ours, range(len(wrong)))
        counts = int(apart.size), int(wrong.sum()), float(apart.max(initial=0.0))
        size = float(np.abs(ours).mean())
        return Compared(name, name, "", *counts, allowed, spot, size=size, dtype=dtype, axes=axes)

    def _number(self, quantity: Quantity, found: Replayed) -> Compared:
        name, size = quantity.name, self.straight.sizes[quantity.name]
        logged, ours = self.rollout.logged[name], found.whole[name]
        extra = last_digit(logged) + (
            self._near_the_clip(self._tolerance(quantity)) if name == "clip_fraction" else 0.0
        )
        both = compare_number(name, name, "", (logged, ours), self._rounding(quantity) + extra)
        return replace(both, size=size, extra=extra, dtype=self._dtype(quantity))

    def _rounding(self, quantity: Quantity) -> float:
        """Returns how far rounding could move a number: a mean of terms, each of which is off as its tensors are."""
        name, size, tolerance = quantity.name, self.straight.sizes[quantity.name], self._tolerance(quantity)
        if name == "clip_fraction":
            return tolerance
        if name.startswith("approx_kl"):
            return tolerance * OF_DIFFERENCES * (1 + size)
        if name == "explained_variance.old":
            spread, largest = self.straight.sizes["returns.variance"], _largest(self.straight.rows["returns"])
            return tolerance * size * max(1.0, (1 + largest) / spread if spread else 1.0)
        return tolerance * (size + max(size, 1.0) * (max(1.0, 1 / self.straight.sigma) if quantity.scaled else 1.0))

    def _near_the_clip(self, tolerance: float) -> float:
        """Returns the share of the minibatch whose clip rounding decides."""
        ratio, (low, high) = self.straight.rows["ratio"], self.straight.clip
        return float((np.minimum(abs(ratio - low), abs(ratio - high)) <= tolerance).mean())


INPUTS = ("rewards",)
"""Results that are inputs of others: a file has them whether or not it says what they are made of."""


def _largest(array: Array) -> float:
    return float(np.abs(array).max(initial=0.0))


def given_of(rollout: Rollout) -> Mapping[str, Array]:
    """Returns the results that a file has, to go on with in place of what was computed."""
    rows = {each.name: rollout.tensors[each.name] for each in ROWS[1:] if each.name in rollout.tensors}
    parts = ("policy_loss", "value_loss", "entropy")
    return rows | {f"{name}": np.asarray(rollout.logged[name]) for name in parts if name in rollout.logged}
