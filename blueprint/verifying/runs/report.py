"""What a run comes to, gathered from its records one after another, so that few numbers of each step are held: how many steps
agree, where they do not, and what was watched; as text for people, as CSV, and as a plot over its steps: deviations in
tolerances, and what was watched, logged beside recomputed.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import fmean
from textwrap import indent
from typing import Any, NamedTuple

import numpy as np

from blueprint.dumps import Dump
from blueprint.files import check_plot_file, save_plot
from blueprint.quoting import table, unquoted
from blueprint.verifying import Part
from blueprint.verifying.runs.ledger import NOT_VERIFIED, Record

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
    "ratio": ("loss.mean_ratio", "ratio.mean", "mean.ratio"),
    "approx_kl": ("approx_kl.used", "approx_kl.k3", "approx_kl.k1", "approx_kl"),
    "clip_fraction": ("clip_fraction.used", "clip_fraction", "clip.fraction"),
    "kl": ("kl.statistic", "kl.mean_new"),
    "policy_loss": ("policy_loss",),
    "value_loss": ("value_loss",),
    "entropy": ("entropy", "entropy.watched"),
    "total_loss": ("total_loss",),
    "reward": ("mean.reward",),
    "chosen_reward": ("rewards.chosen", "mean.chosen"),
    "rejected_reward": ("rewards.rejected", "mean.rejected"),
    "margin": ("rewards.margins", "mean.margin"),
    "accuracy": ("rewards.accuracies", "accuracy"),
    "length": (),
}
"""By what they are called here, their names among what is computed again; any of them may be logged."""


class Pair(NamedTuple):
    """A number of a file; None where nothing was logged, or it cannot be computed."""

    logged: float | None
    recomputed: float | None


NO_PAIR = Pair(None, None)


def metrics_of(parts: Sequence[Part]) -> dict[str, Any]:
    """Returns the metrics that are followed over the steps, and the ratio of the files before the first update."""
    places = [part.verdict.replayed.batch.place for part in parts]
    before = [part for part, place in zip(parts, places, strict=True) if place and place.before_first_update]
    found = {name: _mean(_pair(names, part) for part in parts) for name, names in METRICS.items()}
    counted = [_of_inputs(part) for part in parts]
    for name in ("length", "reward"):
        if found[name] == NO_PAIR:
            found[name] = _mean(each.get(name, NO_PAIR) for each in counted)
    found[AT_FIRST_UPDATE] = _mean(_pair(METRICS["ratio"], part) for part in before)
    return {name: pair._asdict() for name, pair in found.items() if pair != NO_PAIR}


def _pair(names: Sequence[str], part: Part) -> Pair:
    """Returns a metric of a file: as it was compared, else what was computed."""
    for line in part.verdict.lines:
        if line.compared.name in names and line.compared.logged is not None:
            return Pair(_finite(line.compared.logged), _finite(line.compared.recomputed))
    computed = part.verdict.replayed.numbers
    return Pair(None, next((_finite(computed[name]) for name in names if name in computed), None))


def _of_inputs(part: Part) -> dict[str, Pair]:
    """Returns what is counted in a file, not computed: the mean score of its responses, and their mean length in tokens."""
    batch: Dump = part.verdict.replayed.batch
    found, mask = dict[str, float](), batch.mask if batch.counted == "tokens" else None
    if mask is not None and mask.ndim == 2 and len(mask):
        found["length"] = float(mask.sum(axis=1).mean())
    scores = batch.tensors.get("scores")
    if scores is not None and scores.size:
        each = np.asarray(scores, np.float64)
        found["reward"] = float((each if each.ndim == 1 else np.nansum(each, axis=1)).mean())
    return {name: Pair(None, _finite(number)) for name, number in found.items()}


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
    csv.writer(into, lineterminator="\n").writerows([head, *(_csv_row(step, quantities) for step in found.steps)])
    return into.getvalue()


def _csv_row(step: StepSummary, quantities: list[str]) -> list[object]:
    tolerances = step.times
    times = [f"{tolerances[name]:.6g}" if name in tolerances else "" for name in quantities]
    metrics = [value for name in FOLLOWED for value in step.metrics.get(name, (None, None))]
    return [step.number, step.name, step.outcome, step.first, step.cause, step.reason, *times, *metrics]


MOST_STRETCHES, MOST_UNVERIFIED = 24, 8
PLACES = ("first at", "worst at", "largest difference there")
STRETCHES = ("steps", "count", "verdict", "deviates first", "at most", "matches with")
NUMBERS = ("number", "steps", "recomputed", "logged", "largest |logged − recomputed|")
COMES_TO = {
    AGREES: ("agrees", "agree"),
    TOO_COARSE: ("is too coarse to tell", "are too coarse to tell"),
    NEEDS_OTHERS: ("needs files that are not there", "need files that are not there"),
    DIFFERS: ("deviates", "deviate"),
    NOTHING: ("has nothing logged to compare", "have nothing logged to compare"),
    NOT_VERIFIED: ("could not be verified", "could not be verified"),
}
CALLED = {AT_FIRST_UPDATE: "ratio at the first update"}


def text_of(found: Summary, notes: Sequence[str] = ()) -> str:
    """Prints the tables over the steps, then the first deviation, what could not be verified, and notes."""
    parts = [
        "\n".join(table(rows)) for rows in (_stretches(found), _quantities(found), _numbers(found)) if len(rows) > 1
    ]
    if record := found.deviation:  # what `blueprint verify` says of the file that deviates
        where, said = unquoted(record["where"], 200), indent(record["text"], "  ")
        parts.append(f"The first that deviates is {record['name']}, file {where}:\n\n{said}")
    unverified = [step for step in found.steps if step.outcome == NOT_VERIFIED]
    parts += ["\n".join(_unverified(unverified))] if unverified else []
    return "\n\n".join([*parts, "\n".join([summed(found), *(f"Note: {each}." for each in notes)])])


def summed(found: Summary) -> str:
    """Says in a line how many steps come to what."""
    counts = found.counts
    said = ", ".join(f"{counts[each]:,} {words[counts[each] != 1]}" for each, words in COMES_TO.items() if counts[each])
    return f"Of {len(found.steps):,} step{'s' * (len(found.steps) != 1)} {said}."


def _stretches(found: Summary) -> list[Sequence[str]]:
    stretches, left = found.stretches()[:MOST_STRETCHES], found.stretches()[MOST_STRETCHES:]
    more = (f"… {len(left):,} stretches more", f"{sum(map(len, left)):,}", "see --csv FILE", "", "", "")
    return [STRETCHES, *map(_stretch, stretches), *([more] if left else [])]


def _stretch(steps: Sequence[StepSummary]) -> Sequence[str]:
    worst = max(steps, key=lambda step: step.worst)
    at_most = f"{worst.worst:.3g} tolerances ({worst.name})" if worst.first else ""
    return span(steps), f"{len(steps):,}", steps[0].outcome, steps[0].first, at_most, unquoted(steps[0].cause, 200)


def span(steps: Sequence[StepSummary]) -> str:
    """Names the steps of a stretch by the first and the last of them."""
    ends = [unquoted(each.name if each.number is None else each.number) for each in (steps[0], steps[-1])]
    return ends[0] if len(steps) == 1 else " … ".join(ends)


def _quantities(found: Summary) -> list[Sequence[str]]:
    """Returns a row for each quantity, with a column for each verdict that there is."""
    deviating = found.quantities
    counts = {
        name: Counter(step.quantities[name].says for step in found.steps if name in step.quantities)
        for name in deviating
    }
    there = [verdict for verdict in ORDER if any(each[verdict] for each in counts.values())]
    rows: list[Sequence[str]] = [("quantity", *there, *(PLACES if any(deviating.values()) else ()))]
    for name, each in counts.items():
        many = (f"{each[verdict]:,}" if each[verdict] else "" for verdict in there)
        rows.append((name, *many, *_places(name, deviating[name]))[: len(rows[0])])
    return rows


def _places(quantity: str, steps: Sequence[StepSummary]) -> Sequence[str]:
    """Says in which step a quantity first deviates, in which most, and by how much."""
    if not steps:
        return "", "", ""
    worst = max(steps, key=lambda step: step.quantities[quantity].times)
    size = worst.quantities[quantity]
    return steps[0].name, worst.name, f"{size.largest:.2g}, {size.times:.3g} tolerances"


def _numbers(found: Summary) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [NUMBERS]
    for name in FOLLOWED:
        pairs = [(step, *step.metrics[name]) for step in found.steps if name in step.metrics]
        both = [(abs(logged - ours), step) for step, logged, ours in pairs if logged is not None and ours is not None]
        apart, where = max(both, key=lambda each: each[0], default=(0.0, None))
        said = f"{apart:.2g} ({where.name})" if where else "not logged"
        if pairs:
            theirs, ours = ([pair[at] for pair in pairs if pair[at] is not None] for at in (1, 2))
            rows.append((CALLED.get(name, name), f"{len(pairs):,}", _range(ours), _range(theirs), said))
    return rows


def _range(values: Sequence[Any]) -> str:
    ends = [min(values), max(values)] if values else []
    return " … ".join(dict.fromkeys(f"{each:.4g}" for each in ends))


def _unverified(steps: Sequence[StepSummary]) -> Iterator[str]:
    yield "Not verified:"
    yield from (f"  {unquoted(step.name, 200)}: {step.reason}" for step in steps[:MOST_UNVERIFIED])
    if len(steps) > MOST_UNVERIFIED:
        yield f"  … and {len(steps) - MOST_UNVERIFIED:,} others: see --csv FILE."


PANELS = {
    "ratio": "mean ratio",
    "approx_kl": "approximate KL, old to new policy",
    "kl": "KL to the reference",
    "clip_fraction": "share of clipped tokens",
    "reward": "mean score of the responses",
    "chosen_reward": "reward of chosen responses",
    "margin": "margin of chosen over rejected responses",
    "accuracy": "share of pairs in the right order",
    "length": "mean length of the responses, in tokens",
}
LOGGED, RECOMPUTED, FIRST_UPDATE = "#c44e52", "#4c72b0", "#55a868"
FLOOR, CEILING = 1e-6, 1e12
"""Differences in tolerances that are drawn at the edge when they are beyond it: of a 0 there is no logarithm."""


class PlotError(ValueError):
    """Says in one sentence why nothing can be drawn."""


def check_plot(path: Path) -> None:
    """Raises PlotError where a plot could not be drawn into a file of that name."""
    check_plot_file(path, PlotError)


def draw(found: Summary, path: Path) -> None:
    """Draws a run into a file, in the format that its ending names. Raises OSError.

    A step stands at its number, or, if one has none, at its place in the run.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    shown = [name for name in PANELS if any(name in step.metrics for step in found.steps)]
    figure = Figure(figsize=(10, 2.4 * (1 + len(shown)) + 0.8), layout="constrained")
    panels = figure.subplots(1 + len(shown), 1, sharex=True, squeeze=False)[:, 0]
    numbers = [step.number for step in found.steps if step.number is not None]
    places = numbers if len(numbers) == len(found.steps) else list(range(len(found.steps)))
    _draw_deviations(panels[0], found, places)
    for panel, name in zip(panels[1:], shown, strict=True):
        _draw_number(panel, found.steps, places, name)
    for panel in panels:
        _mark(panel, found.steps, places)
        panel.grid(alpha=0.25)
        if panel.get_legend_handles_labels()[1]:
            panel.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    panels[-1].set_xlabel("step")
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    save_plot(figure, path, 110)


def _draw_deviations(panel: Any, found: Summary, places: list[int]) -> None:
    """Draws the largest difference of each quantity that deviates anywhere; of the others the largest of all."""
    quantities, times = found.quantities, [step.times for step in found.steps]
    rest = [name for name, steps in quantities.items() if not steps]
    largest = [max((each[name] for name in rest if name in each), default=None) for each in times]
    for name in (name for name, steps in quantities.items() if steps):
        _line(panel, places, [_bounded(each.get(name)) for each in times], ".", name)
    called = "all others" if len(rest) < len(quantities) else "all quantities"
    _line(panel, places, map(_bounded, largest), ".", called, "#999999")
    panel.axhline(1.0, color="black", linewidth=0.8)
    panel.set_yscale("log")
    panel.set_title("largest difference, in tolerances (above 1 it deviates)", fontsize=9, loc="left")


def _bounded(value: float | None) -> float | None:
    return None if value is None else min(max(value, FLOOR), CEILING)


def _draw_number(panel: Any, steps: list[StepSummary], places: list[int], name: str) -> None:
    nothing = (None, None)
    logged, ours = zip(*(step.metrics.get(name, nothing) for step in steps), strict=True)
    _line(panel, places, logged, "o", "logged", LOGGED)
    _line(panel, places, ours, "-", "recomputed", RECOMPUTED)
    if name == "ratio":
        first = [step.metrics.get(AT_FIRST_UPDATE, nothing)[1] for step in steps]
        _line(panel, places, first, ".", "at the first update", FIRST_UPDATE)
        panel.axhline(1.0, color="black", linewidth=0.8)
    panel.set_title(PANELS[name], fontsize=9, loc="left")


def _line(
    panel: Any, places: list[int], values: Iterable[float | None], style: str, label: str, color: str | None = None
) -> None:
    """Draws what there is; a gap stays a gap."""
    numbers = [math.nan if value is None else value for value in values]
    if not all(map(math.isnan, numbers)):
        panel.plot(places, numbers, style, color=color, markersize=3, linewidth=1, fillstyle="none", label=label)


def _mark(panel: Any, steps: list[StepSummary], places: list[int]) -> None:
    """Marks the first step that deviates, and those that could not be verified."""
    first = next((place for place, step in zip(places, steps, strict=True) if step.outcome == DIFFERS), None)
    if first is not None:
        panel.axvline(first, color=LOGGED, linestyle="--", linewidth=0.8, label=f"first deviation: {first}")
    missing = [place for place, step in zip(places, steps, strict=True) if step.outcome == NOT_VERIFIED]
    for at, place in enumerate(missing):
        panel.axvline(place, color="#bbbbbb", linewidth=0.8, label="not verified" if not at else None)
