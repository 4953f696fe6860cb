"""What a run comes to, gathered from its records one after another, so that few numbers of each step are held; and as CSV."""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

from blueprint.verifying import Part
from blueprint.verifying.runs.ledger import Record

AGREES, TOO_COARSE, NEEDS_OTHERS = "agrees", "too coarse", "needs the others"
DIFFERS, NOTHING = "differs", "nothing logged"
"""What a step may come to, besides `NOT_VERIFIED`: too coarse where no quantity of it can be told."""

ORDER = (AGREES, TOO_COARSE, NEEDS_OTHERS, "follows", "DIFFERS")
"""Verdicts on a quantity, from the mildest on; the severest of its files stands for the step."""
DEVIATES = ORDER[3:]
IN_WORDS = ("step", "name", "outcome", "reason", "first", "cause")


class Worst(NamedTuple):
    """A quantity in a step: the verdict, and the largest difference in tolerances, and as it is."""

    says: str
    times: float
    largest: float


@dataclass(frozen=True, slots=True)
class StepSummary:
    """A step of a run, in a few numbers.

    number, name: of the step. outcome: a word of `work`, or not verified, with its reason.
    first: the quantity that deviates first, "" if none does; cause: what likeliest explains it.
    quantities: by name, what each comes to. metrics: by name, what was logged and what was recomputed.
    """

    number: int | None
    name: str
    outcome: str
    reason: str
    first: str
    cause: str
    quantities: Mapping[str, Worst]
    metrics: Mapping[str, tuple[float | None, float | None]]

    @property
    def times(self) -> dict[str, float]:
        """By quantity, its largest difference in tolerances, of those that can be told."""
        return {name: each.times for name, each in self.quantities.items() if each.says != NEEDS_OTHERS}

    @property
    def worst(self) -> float:
        """The largest difference of the quantity that deviates first, in tolerances; 0 where none does."""
        return self.times.get(self.first, 0.0)


@dataclass
class Summary:
    """A run, step by step. deviation: the whole record of the first step that deviates."""

    steps: list[StepSummary] = field(default_factory=list)
    deviation: Record | None = None

    @property
    def counts(self) -> Counter[str]:
        """How many steps come to what."""
        return Counter(step.outcome for step in self.steps)

    @property
    def compared(self) -> bool:
        """Whether anything could be compared in any step."""
        return any(self.counts[outcome] for outcome in (AGREES, TOO_COARSE, DIFFERS))

    @property
    def quantities(self) -> dict[str, list[StepSummary]]:
        """The steps in which each quantity deviates, by itself or because another does."""
        return {
            name: [step for step in self.steps if name in step.quantities and step.quantities[name].says in DEVIATES]
            for name in dict.fromkeys(name for step in self.steps for name in step.quantities)
        }

    def stretches(self) -> list[list[StepSummary]]:
        """Returns steps that follow upon each other and come to the same: the same outcome, the same quantity first."""
        return [list(steps) for _, steps in groupby(self.steps, key=lambda step: (step.outcome, step.first))]


def summary_of(records: Iterable[Record]) -> Summary:
    """Gathers the records of a run, in the order of its steps."""
    found = Summary()
    for record in records:
        found.steps.append(step_summary(record))
        if record["outcome"] == DIFFERS:
            found.deviation = found.deviation or record
    return found


def step_summary(record: Record) -> StepSummary:
    """Returns a record in a few numbers."""
    metrics = {name: (pair["logged"], pair["recomputed"]) for name, pair in record["watched"].items()}
    number, name, outcome, reason, first, cause = (record[key] for key in IN_WORDS)
    return StepSummary(number, name, outcome, reason, first, cause, worst_of(record), metrics)


def worst_of(record: Record) -> dict[str, Worst]:
    """Returns by quantity what a step comes to; where it stands there twice, the severest verdict and the largest differences."""
    found: dict[str, Worst] = {}
    for quantity in record["quantities"]:
        largest, allowed = _size(quantity["largest"]), _size(quantity["allowed"])
        times = largest / allowed if allowed else float("inf") if largest else 0.0
        before = found.get(quantity["quantity"], Worst(AGREES, 0.0, 0.0))
        says = max(before.says, quantity["verdict"], key=ORDER.index)
        found[quantity["quantity"]] = Worst(says, max(before.times, times), max(before.largest, largest))
    return found


def _size(value: Any) -> float:
    """Returns a size; what is not finite stands as null in a record."""
    return float("inf") if value is None else float(value)


AT_FIRST_UPDATE = "ratio_at_first_update"
METRICS = {
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


def metrics_of(parts: Sequence[Part]) -> dict[str, Any]:
    """Returns the metrics that are followed over the steps, and the ratio of the files before the first update."""
    places = [part.verdict.replayed.batch.place for part in parts]
    before = [part for part, place in zip(parts, places, strict=True) if place and place.before_first_update]
    found = {name: _mean(_pair(names, part) for part in parts) for name, names in METRICS.items()}
    found[AT_FIRST_UPDATE] = _mean(_pair(METRICS["ratio"], part) for part in before)
    return {name: pair._asdict() for name, pair in found.items() if pair != Pair(None, None)}


def _pair(names: Sequence[str], part: Part) -> Pair:
    """Returns a metric of a file: as it was compared, else what was computed."""
    for line in part.verdict.lines:
        if line.compared.name in names and line.compared.logged is not None:
            return Pair(_finite(line.compared.logged), _finite(line.compared.recomputed))
    computed = part.verdict.replayed.numbers
    return Pair(None, next((_finite(computed[name]) for name in names if name in computed), None))


def _mean(pairs: Iterable[Pair]) -> Pair:
    """Returns the means over the files of a step; if some of them log it, over those alone, so that both are of the same."""
    found = list(pairs)
    found = [pair for pair in found if pair.logged is not None] or found
    known = ([number for number in numbers if number is not None] for numbers in zip(*found, strict=True))
    return Pair(*(fmean(numbers) if numbers else None for numbers in known)) if found else Pair(None, None)


def _finite(value: float | None) -> float | None:
    """Returns a number that JSON can hold, or None."""
    return value if value is not None and math.isfinite(value) else None


FOLLOWED = (AT_FIRST_UPDATE, *METRICS)


def csv_of(found: Summary) -> str:
    """Returns one line for each step: what it comes to, every quantity's difference in tolerances, and what was watched."""
    into, quantities = io.StringIO(), list(found.quantities)
    both = [f"{name}.{kind}" for name in FOLLOWED for kind in ("logged", "recomputed")]
    head = [
        "step",
        "name",
        "outcome",
        "first",
        "cause",
        "reason",
        *(f"{name}.tolerances" for name in quantities),
        *both,
    ]
    csv.writer(into, lineterminator="\n").writerows([head, *(_row(step, quantities) for step in found.steps)])
    return into.getvalue()


def _row(step: StepSummary, quantities: list[str]) -> list[object]:
    tolerances = step.times
    times = [f"{tolerances[name]:.6g}" if name in tolerances else "" for name in quantities]
    metrics = [value for name in FOLLOWED for value in step.metrics.get(name, (None, None))]
    return [step.number, step.name, step.outcome, step.first, step.cause, step.reason, *times, *metrics]
