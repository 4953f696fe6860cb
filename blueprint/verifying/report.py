"""Reports: a verdict as text for people, or as plain data for programs."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from blueprint.quoting import table
from blueprint.verifying.causes import NOTHING, Match
from blueprint.verifying.coarse import reasons, summary, why
from blueprint.verifying.compare import Axes, Compared, Spot
from blueprint.verifying.lines import AGREES, DIFFERS, FOLLOWS, TOO_COARSE, Line
from blueprint.verifying.verdict import Verdict

HEADINGS = ("quantity", "in the file", "logged", "recomputed", "largest difference", "tolerance", "verdict")
LOSSES = ("policy_loss", "value_loss", "entropy", "total_loss")
MOST_CAUSES, MOST_STILL = 8, 3


def text_of(verdict: Verdict) -> str:
    """Prints a line for every logged quantity, then what deviates first, why, and what merely follows."""
    head = verdict.replayed.batch.head
    parts = [f"{head}\n"] if head else []
    parts += [table_of(verdict.lines)] if verdict.lines else list(_nothing_logged(verdict))
    parts += [f"{name}: not compared, it takes {lacks}" for name, lacks in verdict.uncompared.items()]
    parts += list(_told(verdict)) if verdict.first and verdict.first not in verdict.before_update.lines else []
    if verdict.before_update.said:
        parts += ["", "Before the first update:", *(f"  {each}" for each in verdict.before_update.said)]
    if verdict.agrees and verdict.lines:
        parts.append(summary(verdict.lines))
    parts += reasons(verdict.lines)
    return "\n".join([*parts, *(f"Note: {each}" for each in verdict.notes)])


def table_of(lines: Sequence[Line], more: tuple[str, ...] = (), cells: Sequence[tuple[str, ...]] = ()) -> str:
    """Prints a line for every logged quantity; more: headings of further columns, whose cells stand in `cells`."""
    tails = cells or [()] * len(lines)
    return "\n".join(table([HEADINGS + more, *(_row(line) + tail for line, tail in zip(lines, tails, strict=True))]))


def _row(line: Line) -> tuple[str, ...]:
    found = line.compared
    logged, ours = _both(found)
    called = f"{line.called} ({found.means})" if found.means else line.called
    return found.name, called, logged, ours, f"{found.largest:.1e}", f"{line.allowed:.1e}", line.says


def _both(found: Compared) -> tuple[str, str]:
    """Prints both numbers; of a tensor those where it first deviates, else how many words were compared."""
    if found.logged is not None and found.recomputed is not None:
        return f"{found.logged:.7g}", f"{found.recomputed:.7g}"
    if found.spot:
        return f"{found.spot.logged:.7g}", f"{found.spot.recomputed:.7g}"
    return f"{found.cells:,} {found.axes.cell}s", ""


def _told(verdict: Verdict) -> Iterator[str]:
    first = verdict.first
    assert first is not None
    yield ""
    yield f"First deviation: {where(first)}"
    yield from _causes(verdict) if first.says == DIFFERS else ()
    yield from (_within(line) for line in verdict.lines if line.within)
    later = [each for each in verdict.lines[len(verdict.before_update.lines) :] if each != first and not each.within]
    yield from others_told(later, "the file's own")


def others_told(lines: Sequence[Line], own: str) -> Iterator[str]:
    """Says what only follows from the first deviation, and what differs by itself, too; own: whose rows it is made of."""
    follow = [line.called for line in lines if line.says == FOLLOWS]
    differ = [line.called for line in lines if line.says == DIFFERS]
    if follow:
        yield f"  This only follows from it: {', '.join(follow)}."
    if differ:
        yield f"  This differs by itself, too, from what {own} rows before it lead to: {', '.join(differ)}."


def _within(line: Line) -> str:
    shares = ", ".join(f"{name} ({share:.0%} of it)".replace("%", " %") for name, share in line.within.items())
    return f"  {line.called} follows from differences within the tolerance of: {shares}."


def where(line: Line) -> str:
    """Says where a quantity first deviates, and how much of it does."""
    found, spot = line.compared, line.compared.spot
    axes = found.axes
    if spot is None:
        return f"{line.called}: logged {found.logged:.9g}, recomputed {found.recomputed:.9g}."
    deviate = "deviates" if spot.words == 1 else "deviate"
    return (
        f"{line.called}, {axes.row} {spot.row}{_columns(spot, axes)}: logged {spot.logged:.9g}, recomputed {spot.recomputed:.9g}.\n"
        f"  In that {axes.row} {spot.words:,} of its {axes.cell}s {deviate}, in all {found.deviating:,} of {found.cells:,}; "
        f"the largest difference is {found.largest:.3g}."
    )


def _columns(spot: Spot, axes: Axes) -> str:
    if not axes.column:
        return ""
    return (
        f", {axes.column} {spot.first}" if spot.first == spot.last else f", {axes.column}s {spot.first} … {spot.last}"
    )


def _causes(verdict: Verdict) -> Iterator[str]:
    search = verdict.search
    if search is None:
        return
    yield from causes_told(verdict.causes, verdict.lines, search.unexplained)
    if not verdict.causes and search.tried < search.known:
        yield f"  {search.tried:,} of {search.known:,} were tried: the others would take too long on a file of this size."


def causes_told(
    causes: Sequence[Match], lines: Sequence[Line], unexplained: str = NOTHING.unexplained
) -> Iterator[str]:
    """Says what explains a deviation, and what then still deviates; lines: all that was logged."""
    if not causes:
        yield f"  {unexplained}"
    for each in causes[:MOST_CAUSES]:
        yield f"  It matches with {each.said}{_rest(lines, each)}"
    if len(causes) > MOST_CAUSES:
        yield f"  … and with {len(causes) - MOST_CAUSES} others: this file cannot tell them apart."


def _rest(lines: Sequence[Line], match: Match) -> str:
    """Says whether everything else agrees then, or what does not, and by how much."""
    if match.rest:
        return "; then everything else agrees, too."
    called = {line.compared.name: line.called for line in lines}
    said = [f"{called.get(name, name)} (by {largest:.2g})" for name, largest in match.still[:MOST_STILL]]
    more = len(match.still) - len(said)
    others = f" and {more} more" if more else ""
    return f"; then this still deviates: {', '.join(said)}{others}."


def _nothing_logged(verdict: Verdict) -> Iterator[str]:
    found = verdict.replayed
    yield f"{found.batch.path} has no results that could be compared: no rewards, advantages, returns or logged numbers."
    yield from (f"  {name}, recomputed: {found.numbers[name]:.9g}" for name in LOSSES if name in found.numbers)


def data_of(verdict: Verdict) -> dict[str, Any]:
    """Returns a verdict for programs, as JSON has it: what is not a number is null."""
    found = verdict.replayed
    return {
        "file": found.batch.path,
        "preset": verdict.preset,
        "agrees": all(line.says == AGREES for line in verdict.lines),
        "deviates": not verdict.agrees,
        **found.batch.facts,
        "quantities": [quantity(line) for line in verdict.lines],
        "not_compared": dict(verdict.uncompared),
        "first": quantity(verdict.first) if verdict.first else None,
        "causes": [cause_data(each) for each in verdict.causes],
        "causes_tried": {"tried": verdict.search.tried, "known": verdict.search.known} if verdict.search else None,
        "before_first_update": list(verdict.before_update.said),
        "recomputed": {name: number(found.numbers[name]) for name in LOSSES if name in found.numbers},
        "notes": list(verdict.notes),
    }


def cause_data(match: Match) -> dict[str, Any]:
    """Returns a cause for programs."""
    return {"matches_with": match.said, "rest_agrees": match.rest, "still_deviates": dict(match.still)}


def quantity(line: Line) -> dict[str, Any]:
    """Returns what is said of a quantity, for programs."""
    found, spot = line.compared, line.compared.spot
    numbers: dict[str, float | None] = {"largest": found.largest, "allowed": line.allowed, "size": found.size}
    numbers |= {"logged": found.logged, "recomputed": found.recomputed} if found.logged is not None else {}
    where = None
    if spot:
        where = {"row": spot.row, "first_column": spot.first, "last_column": spot.last, "words": spot.words}
        numbers |= {"logged": spot.logged, "recomputed": spot.recomputed}
    return {
        "quantity": found.name,
        "called": line.called,
        "means": found.means,
        "verdict": line.says,
        "cells": found.cells,
        "deviating": found.deviating,
        "why": (line.why or why(found)) if line.says == TOO_COARSE else None,
        "within": dict(line.within),
        "where": where,
        **{name: number(value) for name, value in numbers.items()},
    }


def number(value: float | None) -> float | None:
    """Returns a number as JSON has it: what is none is null."""
    return value if value is not None and math.isfinite(value) else None
