"""The numbers that are followed over the steps of a run: as they were logged, and as they are computed again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from blueprint.verifying import Line

AT_FIRST_UPDATE = "ratio_at_first_update"
WATCHED = {
    "ratio": ("loss.mean_ratio", "ratio.mean"),
    "approx_kl": ("approx_kl.used", "approx_kl.k3", "approx_kl.k1"),
    "clip_fraction": ("clip_fraction.used", "clip_fraction"),
    "kl": ("kl.statistic",),
    "policy_loss": ("policy_loss",),
    "value_loss": ("value_loss",),
    "entropy": ("entropy", "entropy.watched"),
    "total_loss": ("total_loss",),
}
"""By what they are called here, their names among what is computed again; any of them may be logged."""


class Pair(NamedTuple):
    """A number of a file; None where nothing was logged, or it cannot be computed."""

    logged: float | None
    recomputed: float | None


def pairs_of(lines: Sequence[Line], computed: Mapping[str, float]) -> dict[str, Pair]:
    """Returns the numbers of a file that are followed: those that were compared, else what was computed."""
    found = {name: _pair(names, lines, computed) for name, names in WATCHED.items()}
    return {name: pair for name, pair in found.items() if any(value is not None for value in pair)}


def _pair(names: Sequence[str], lines: Sequence[Line], computed: Mapping[str, float]) -> Pair:
    for line in lines:
        if line.compared.name in names and line.compared.logged is not None:
            return Pair(_finite(line.compared.logged), _finite(line.compared.recomputed))
    return Pair(None, next((_finite(computed[name]) for name in names if name in computed), None))


def mean_of(pairs: Iterable[Pair]) -> dict[str, float | None]:
    """Returns the means over the files of a step; if some of them log it, over those alone, so that both are of the same."""
    found = list(pairs)
    found = [pair for pair in found if pair.logged is not None] or found
    logged = [pair.logged for pair in found if pair.logged is not None]
    computed = [pair.recomputed for pair in found if pair.recomputed is not None]
    return {"logged": fmean(logged) if logged else None, "recomputed": fmean(computed) if computed else None}


def _finite(value: float | None) -> float | None:
    """Returns a number that JSON can hold, or None."""
    return value if value is not None and math.isfinite(value) else None
