"""Everything that a file of a rollout logged compared with everything that was computed again, and how far apart it may be."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying import TOLERANCES, Axes, Compared, coarsest, compare_number, distance, first_spot, last_digit
from blueprint.workbooks.classic_ppo.dumps.rollout import Rollout
from blueprint.workbooks.classic_ppo.verifying.recompute import LOGPROBS
from blueprint.workbooks.classic_ppo.verifying.replayed import Given, Replayed

STEPS, ROWS_OF_MINIBATCH = Axes("environment", "step", "step"), Axes("row of the minibatch", "", "row")
OF_DIFFERENCES = 0.05
"""Of the tolerance: what estimates of a KL may be off. They are made of differences of log-probs, with nothing else to round."""
FIRST_RATIO = {"float64": 1e-9, "float32": 1e-4, "float16": 0.02, "bfloat16": 0.15}
"""By dtype, how far log-probs of the same policy are apart that were computed in batches of another size."""


class Quantity(NamedTuple):
    """A result. after: results that it is made of; made_of: tensors whose rounding it carries; scaled: divided by σ."""

    name: str
    after: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()
    scaled: bool = False


SIGNAL = ("rewards", "values_old")
FIRST = (
    Quantity("first.logprobs", made_of=LOGPROBS),
    Quantity("first.values", made_of=("values_old", "values_new")),
)
"""What must be alike before the first update of a rollout: new log-probs and old, new values and old."""

FIRST_CALLED = {"first.logprobs": "new log-probs against old", "first.values": "new values against old"}

ROWS = (
    Quantity("rewards", made_of=("rewards_env", "terminal_values")),
    Quantity("advantages", ("rewards",), SIGNAL),
    Quantity("returns", ("rewards", "advantages"), SIGNAL),
    Quantity("advantages_used", ("rewards", "advantages"), SIGNAL, scaled=True),
)
NUMBERS = (
    Quantity("policy_loss", ("rewards", "advantages", "advantages_used"), (*SIGNAL, *LOGPROBS), scaled=True),
    Quantity("value_loss", ("rewards", "advantages", "returns"), (*SIGNAL, "values_new")),
    Quantity("entropy", (), ("entropy",)),
    Quantity("adds.value_loss", ("rewards", "advantages", "returns", "value_loss"), (*SIGNAL, "values_new")),
    Quantity("adds.entropy", ("entropy",), ("entropy",)),
    Quantity(
        "total_loss",
        ("rewards", "advantages", "returns", "advantages_used", "policy_loss", "value_loss", "entropy"),
        (*SIGNAL, *LOGPROBS, "values_new", "entropy"),
        scaled=True,
    ),
    Quantity("approx_kl.k1", (), LOGPROBS),
    Quantity("approx_kl.k3", (), LOGPROBS),
    Quantity("clip_fraction", (), LOGPROBS),
    Quantity("explained_variance.old", ("rewards", "advantages", "returns"), SIGNAL),
)
ALL = {each.name: each for each in (*FIRST, *ROWS, *NUMBERS)}


class Judge:
    """Compares what a file logged with what was computed again. factor: multiplies every tolerance."""

    def __init__(self, rollout: Rollout, straight: Replayed, factor: float = 1.0) -> None:
        """Takes sizes from the straight recomputation, so that what is allowed does not depend on what is tried."""
        self.rollout, self.straight, self.factor = rollout, straight, factor
        self._dtypes = {name: dtype for name, dtype in rollout.dtypes.items() if dtype in TOLERANCES}

    def compared(self, found: Replayed) -> dict[str, Compared]:
        """Returns what each logged quantity comes to, in the order of derivation."""
        tensors, logged, place = self.rollout.tensors, self.rollout.logged, self.rollout.place
        first = FIRST if place is not None and place.before_first_update is True else ()
        both = [self.first_with(each, self.rollout) for each in first if tensors.keys() >= set(each.made_of)]
        both += [self._row(each, found) for each in ROWS if each.name in tensors and each.name in found.rows]
        both += [self._number(each, found) for each in NUMBERS if each.name in logged and each.name in found.numbers]
        return {each.name: each for each in both}

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity, or what it is called that must hold before the first update."""
        return FIRST_CALLED.get(name) or self.rollout.called.get(name, name)

    def uncompared(self) -> dict[str, str]:
        """Returns by what the file calls it what was logged and cannot be computed, and what that takes.

        Rewards are an input of others: a file has them whether or not it says what they are made of.
        """
        lacks, logged = self.straight.lacks, self.rollout.tensors.keys() | self.rollout.logged.keys()
        names = [each.name for each in (*ROWS[1:], *NUMBERS) if each.name in logged and each.name in lacks]
        return {self.rollout.called.get(name, name): lacks[name] for name in names}

    def _dtype(self, quantity: Quantity) -> str:
        return coarsest(self._dtypes, (quantity.name, *quantity.made_of))

    def _tolerance(self, quantity: Quantity) -> float:
        return self.factor * TOLERANCES[self._dtype(quantity)]

    def first_with(self, quantity: Quantity, rollout: Rollout) -> Compared:
        """Compares what is new with what is old, in a rollout as it is or as it may have been meant."""
        old, new = rollout.of_minibatch(quantity.made_of[0]), rollout.tensors[quantity.made_of[1]]
        allowed = self.factor * FIRST_RATIO[self._dtype(quantity)] * (1 + _largest(old))
        return self._compared(quantity, (new, old), allowed)

    def _row(self, quantity: Quantity, found: Replayed) -> Compared:
        rows, name = self.straight.rows, quantity.name
        scaled = _largest(rows.get("advantages", rows[name])) / self.straight.sigma if quantity.scaled else 0.0
        both = self.rollout.tensors[name], found.rows[name]
        return self._compared(quantity, both, self._tolerance(quantity) * (1 + max(_largest(rows[name]), scaled)))

    def _compared(self, quantity: Quantity, both: tuple[Array, Array], allowed: float) -> Compared:
        """Compares a tensor of the file, the first of both, with the row that was computed again."""
        name, axes = quantity.name, ROWS_OF_MINIBATCH if both[0].ndim == 1 else STEPS
        theirs, ours = (each[:, None] if each.ndim == 1 else each for each in both)
        apart = distance(theirs, ours)
        wrong = ~(apart <= allowed) | np.isinf(apart)
        spot = first_spot(self.rollout, wrong, theirs, ours, range(len(wrong)))
        counts = int(apart.size), int(wrong.sum()), float(apart.max(initial=0.0))
        size, dtype = float(np.abs(ours).mean()), self._dtype(quantity)
        return Compared(name, name, "", *counts, allowed, spot, size=size, dtype=dtype, axes=axes)

    def _number(self, quantity: Quantity, found: Replayed) -> Compared:
        name, tolerance = quantity.name, self._tolerance(quantity)
        logged, size = self.rollout.logged[name], self.straight.sizes[name]
        extra = last_digit(logged) + (self._near_the_clip(tolerance) if name == "clip_fraction" else 0.0)
        allowed = tolerance * self._rounding(quantity, size) + extra
        both = compare_number(name, name, "", (logged, found.numbers[name]), allowed)
        return replace(both, size=size, extra=extra, dtype=self._dtype(quantity))

    def _rounding(self, quantity: Quantity, size: float) -> float:
        """Returns how many tolerances rounding could move a number: a mean of terms, each of which is off as its tensors are."""
        if quantity.name == "clip_fraction":
            return 1.0
        if quantity.name.startswith("approx_kl"):
            return OF_DIFFERENCES * (1 + size)
        if quantity.name == "explained_variance.old":
            spread, largest = self.straight.sizes["returns.variance"], _largest(self.straight.rows["returns"])
            return size * max(1.0, (1 + largest) / spread if spread else 1.0)
        return size + max(size, 1.0) * (max(1.0, 1 / self.straight.sigma) if quantity.scaled else 1.0)

    def _near_the_clip(self, tolerance: float) -> float:
        """Returns the share of the minibatch whose clip rounding decides."""
        ratio, (low, high) = self.straight.rows["ratio"], self.straight.clip
        return float((np.minimum(abs(ratio - low), abs(ratio - high)) <= tolerance).mean())


def _largest(array: Array) -> float:
    return float(np.abs(array).max(initial=0.0))


def given_of(rollout: Rollout) -> Given:
    """Returns the results that a file has, to go on with in place of what was computed."""
    rows = {each.name: rollout.tensors[each.name] for each in ROWS[1:] if each.name in rollout.tensors}
    parts = ("policy_loss", "value_loss", "entropy")
    return rows | {name: np.asarray(rollout.logged[name]) for name in parts if name in rollout.logged}
