"""What a run comes to, gathered from its records one after another, so that only a few numbers of each step are held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from blueprint.runs.ledger import NOT_VERIFIED, Record
from blueprint.runs.work import DIFFERS

ORDER = {"agrees": 0, "too coarse": 1, "follows": 2, "DIFFERS": 3}
"""How severe a verdict on a quantity is; the severest of its files stands for the step."""


@dataclass(frozen=True)
class Told:
    """A step of a run, in a few numbers.

    number, name: of the step. outcome: a word of `work`, or not verified, with its reason.
    first: the quantity that deviates first, "" if none does.
    times: by quantity, its largest difference in tolerances. says: by quantity, the verdict.
    watched: by name, what was logged and what was recomputed.
    """

    number: int | None
    name: str
    outcome: str
    reason: str
    first: str
    times: Mapping[str, float]
    largest: Mapping[str, float]
    says: Mapping[str, str]
    watched: Mapping[str, tuple[float | None, float | None]]

    @property
    def worst(self) -> float:
        """The largest difference of the quantity that deviates first, in tolerances; 0 where none does."""
        return self.times.get(self.first, 0.0)


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

    def add(self, step: Told) -> None:
        """Counts a step."""
        said, times = step.says[self.name], step.times[self.name]
        self.counts[said] += 1
        if ORDER.get(said, 0) < ORDER["follows"]:
            return
        self.first = self.first or step.name
        if not self.worst or times > self.times:
            self.worst, self.times, self.largest = step.name, times, step.largest[self.name]


@dataclass
class Summary:
    """A run, step by step. deviation: the whole record of the first step that deviates."""

    steps: list[Told] = field(default_factory=list)
    quantities: dict[str, Quantity] = field(default_factory=dict)
    deviation: Record | None = None

    def add(self, record: Record) -> None:
        """Takes in the next step."""
        step = told(record)
        self.steps.append(step)
        if step.outcome == DIFFERS and self.deviation is None:
            self.deviation = record
        for name in step.says:
            self.quantities.setdefault(name, Quantity(name)).add(step)

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


def told(record: Record) -> Told:
    """Returns a record in a few numbers: of several files, the severest of each quantity."""
    times, largest, says = dict[str, float](), dict[str, float](), dict[str, str]()
    for quantity in (each for part in record["parts"] for each in part["quantities"]):
        name, size, allowed = quantity["quantity"], _size(quantity["largest"]), _size(quantity["allowed"])
        times[name] = max(times.get(name, 0.0), size / allowed if allowed else float(size > 0) * float("inf"))
        largest[name] = max(largest.get(name, 0.0), size)
        says[name] = max(says.get(name, "agrees"), quantity["verdict"], key=lambda said: ORDER.get(said, 0))
    first = next((part["first"]["quantity"] for part in record["parts"] if part["first"]), "")
    watched = {name: (pair["logged"], pair["recomputed"]) for name, pair in record["watched"].items()}
    told = (record["step"], record["name"], record["outcome"], record["reason"])
    return Told(*told, first, times, largest, says, watched)


def _size(value: Any) -> float:
    """Returns a size; what is not finite stands as null in a record."""
    return float("inf") if value is None else float(value)
