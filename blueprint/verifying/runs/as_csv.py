"""A run as a table for programs: one line for each step."""

from __future__ import annotations

import csv
import io

from blueprint.verifying.runs.summary import Summary, Told
from blueprint.verifying.runs.watched import AT_FIRST_UPDATE, WATCHED

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
