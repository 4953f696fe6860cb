"""Numbers that a file itself gives away: the ε beside a spread, and the KL coefficient, where a round number explains all of it."""

from collections.abc import Iterator
from math import isfinite

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying import Settings
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.recompute import recompute
from blueprint.workbooks.grpo.verifying.replayed import Given, Whole

DIGITS = 3
"""So many digits a number has that somebody typed; of one with more, nothing is said."""


def fitted(
    batch: GroupedStep, settings: Settings, name: str, given: Given, whole: Whole | None
) -> Iterator[tuple[str, float]]:
    """Yields settings with the number that a quantity comes to lie nearest to."""
    if name == "advantages" and settings["group.std"] != "none":
        yield from _round("group.eps", _eps(batch, settings, whole))
    if name == "total_loss" and settings["kl.place"] == "loss":
        low, high = (
            recompute(batch, {**settings, "kl.coef": value}, given=given, until=name, whole=whole).numbers.get(
                name, np.nan
            )
            for value in (0.0, 1.0)
        )
        yield from _round("kl.coef", (batch.logged[name] - low) / (high - low) if high != low else np.nan)


def _eps(batch: GroupedStep, settings: Settings, whole: Whole | None) -> float:
    """Returns ε of A = left/(spread + ε): 1/A is straight in ε, so that two of them give the line."""
    none, one = (_reciprocal(batch, {**settings, "group.eps": value}, whole) for value in (0.0, 1.0))
    theirs = np.asarray(batch.tensors["advantages"], np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        eps = (1 / theirs - none) / (one - none)
    some = eps[batch.mask & np.isfinite(eps)]
    return float(np.median(some)) if len(some) else np.nan


def _reciprocal(batch: GroupedStep, settings: Settings, whole: Whole | None) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(1 / recompute(batch, settings, until="advantages", whole=whole).rows["advantages"])


def _round(key: str, value: float) -> Iterator[tuple[str, float]]:
    """Yields a number that is not below 0, as it would be typed."""
    if isfinite(value) and value > 0:
        yield key, float(f"{value:.{DIGITS}g}")
