"""What a run comes to, gathered from its records one after another, so that few numbers of each step are held; and as CSV."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from blueprint.verifying.runs.ledger import NOT_VERIFIED, Record
from blueprint.verifying.runs.metrics import AT_FIRST_UPDATE, WATCHED
from blueprint.verifying.runs.work import DIFFERS, NEEDS_OTHERS

ORDER = {"agrees": 0, "too coarse": 1, NEEDS_OTHERS: 2, "follows": 3, "DIFFERS": 4}
"""How severe a verdict on a quantity is; the severest of its files stands for the step."""
IN_WORDS = ("step", "name", "outcome", "reason", "first", "cause")


@dataclass(frozen=True, slots=True)
class Told:
    """A step of a run, in a few numbers.

    number, name: of the step. outcome: a word of `work`, or not verified, with its reason.
    first: the quantity that deviates first, "" if none does; cause: what likeliest explains it.
    times: by quantity, its largest difference in tolerances, of those that can be told.
    watched: by name, what was logged and what was recomputed.
    """

    number: int | None
    name: str
    outcome: str
    reason: str
    first: str
    cause: str
    times: Mapping[str, float]
    watched: Mapping[str, tuple[float | None, float | None]]

    @property
    def worst(self) -> float:
        """The largest difference of the quantity that deviates first, in tolerances; 0 where none does."""
        return self.times.get(self.first, 0.0)


class Worst(NamedTuple):
    """A quantity in a step: the verdict, and the largest difference in tolerances, and as it is."""

    says: str
    times: float
    largest: float


@dataclass
class Quantity:
    """What a quantity comes to over all steps.

    counts: by verdict, in how many steps. first, worst: names of steps, "" if it deviates in none; times, largest: there.
    """

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    first: str = ""
    worst: str = ""
    times: float = 0.0
    largest: float = 0.0

    def add(self, step: str, found: Worst) -> None:
        """Counts a step."""
        self.counts[found.says] += 1
        if ORDER.get(found.says, 0) < ORDER["follows"]:
            return
        self.first = self.first or step
        if not self.worst or found.times > self.times:
            self.worst, self.times, self.largest = step, found.times, found.largest


@dataclass
class Summary:
    """A run, step by step. deviation: the whole record of the first step that deviates."""

    steps: list[Told] = field(default_factory=list)
    quantities: dict[str, Quantity] = field(default_factory=dict)
    deviation: Record | None = None

    def add(self, record: Record) -> None:
        """Takes in the next step."""
        worst = worst_of(record)
        self.steps.append(told(record, worst))
        if record["outcome"] == DIFFERS and self.deviation is None:
            self.deviation = record
        for name, found in worst.items():
            self.quantities.setdefault(name, Quantity(name)).add(record["name"], found)

    @property
    def counts(self) -> Counter[str]:
        """How many steps come to what."""
        return Counter(step.outcome for step in self.steps)

    @property
    def unverified(self) -> list[Told]:
        """The steps that could not be verified."""
        return [step for step in self.steps if step.outcome == NOT_VERIFIED]

    def stretches(self) -> Iterator[list[Told]]:
        """Yields steps that follow upon each other and come to the same: the same outcome, the same quantity first."""
        for _, steps in groupby(self.steps, key=lambda step: (step.outcome, step.first)):
            yield list(steps)


def summary_of(records: Iterable[Record]) -> Summary:
    """Gathers the records of a run, in the order of its steps."""
    found = Summary()
    for record in records:
        found.add(record)
    return found


def told(record: Record, worst: Mapping[str, Worst]) -> Told:
    """Returns a record in a few numbers."""
    times = {name: found.times for name, found in worst.items() if found.says != NEEDS_OTHERS}
    watched = {name: (pair["logged"], pair["recomputed"]) for name, pair in record["watched"].items()}
    step, name, outcome, reason, first, cause = (record[key] for key in IN_WORDS)
    return Told(step, name, outcome, reason, first, cause, times, watched)


def worst_of(record: Record) -> dict[str, Worst]:
    """Returns by quantity what a step comes to; where it stands there twice, the severest verdict and the largest differences."""
    found: dict[str, Worst] = {}
    for quantity in record["quantities"]:
        largest, allowed = _size(quantity["largest"]), _size(quantity["allowed"])
        times = largest / allowed if allowed else float("inf") if largest else 0.0
        before = found.get(quantity["quantity"], Worst("agrees", 0.0, 0.0))
        says = max(before.says, quantity["verdict"], key=lambda said: ORDER.get(said, 0))
        found[quantity["quantity"]] = Worst(says, max(before.times, times), max(before.largest, largest))
    return found


def _size(value: Any) -> float:
    """Returns a size; what is not finite stands as null in a record."""
    return float("inf") if value is None else float(value)


FOLLOWED = (AT_FIRST_UPDATE, *WATCHED)


def csv_of(found: Summary) -> str:
    """Returns one line for each step: what it comes to, every quantity's difference in tolerances, and what was watched."""
    into = io.StringIO()
    quantities = list(found.quantities)
    writer = csv.writer(into, lineterminator="\n")
    both = [f"{name}.{kind}" for name in FOLLOWED for kind in ("logged", "recomputed")]
    writer.writerow(
        ["step", "name", "outcome", "first", "cause", "reason", *(f"{name}.tolerances" for name in quantities), *both]
    )
    writer.writerows(_row(step, quantities) for step in found.steps)
    return into.getvalue()


def _row(step: Told, quantities: list[str]) -> list[object]:
    times = [f"{step.times[name]:.6g}" if name in step.times else "" for name in quantities]
    watched = [value for name in FOLLOWED for value in step.watched.get(name, (None, None))]
    return [step.number, step.name, step.outcome, step.first, step.cause, step.reason, *times, *watched]
