"""A run as text for people: how many steps agree, where they do not, and what was watched."""

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any

from blueprint.quoting import table, unquoted
from blueprint.verifying.runs.ledger import NOT_VERIFIED
from blueprint.verifying.runs.summary import (
    AGREES,
    AT_FIRST_UPDATE,
    DIFFERS,
    FOLLOWED,
    NEEDS_OTHERS,
    NOTHING,
    ORDER,
    TOO_COARSE,
    StepSummary,
    Summary,
)  # fmt: skip

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
