"""What reports say of logged quantities: their table, where one deviates, what explains it, what is too coarse; also as data."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprint.quoting import table
from blueprint.verifying.compare import SHARE, Compared
from blueprint.verifying.lines import DIFFERS, FOLLOWS, NEEDS_OTHERS, TOO_COARSE, Line
from blueprint.verifying.tolerances import HALF, SHARES
from blueprint.verifying.verdict import NOTHING, Match

HEADINGS = ("quantity", "in the file", "logged", "recomputed", "largest difference", "tolerance", "verdict")
MOST_CAUSES, MOST_STILL = 8, 3


def table_of(lines: Sequence[Line], more: tuple[str, ...] = (), cells: Sequence[tuple[str, ...]] = ()) -> str:
    """Prints a line for every logged quantity; more: headings of further columns, whose cells stand in `cells`."""
    tails = cells or [()] * len(lines)
    return "\n".join(table([HEADINGS + more, *(_row(line) + tail for line, tail in zip(lines, tails, strict=True))]))


def _row(line: Line) -> tuple[str, ...]:
    """Prints both numbers of a quantity; of a tensor those where it first deviates, else how many tokens were compared."""
    found = line.compared
    logged, ours = f"{found.cells:,} {found.axes.cell}s", ""
    both = found if found.logged is not None else found.spot
    if both:
        logged, ours = f"{both.logged:.7g}", f"{both.recomputed:.7g}"
    called = f"{line.called} ({found.means})" if found.means else line.called
    return found.name, called, logged, ours, f"{found.largest:.1e}", f"{line.allowed:.1e}", line.says


def where(line: Line) -> str:
    """Says where a quantity first deviates, and how much of it does."""
    found, spot, axes = line.compared, line.compared.spot, line.compared.axes
    if spot is None:
        return f"{line.called}: logged {found.logged:.9g}, recomputed {found.recomputed:.9g}."
    deviate = "deviates" if spot.words == 1 else "deviate"
    columns = f" {spot.first}" if spot.first == spot.last else f"s {spot.first} … {spot.last}"
    place = f"{axes.row} {spot.row}{f', {axes.column}{columns}' if axes.column else ''}"
    return (
        f"{line.called}, {place}: logged {spot.logged:.9g}, recomputed {spot.recomputed:.9g}.\n"
        f"  In that {axes.row} {spot.words:,} of its {axes.cell}s {deviate}, in all {found.deviating:,} of {found.cells:,}; "
        f"the largest difference is {found.largest:.3g}."
    )


def others(lines: Sequence[Line], own: str) -> Iterator[str]:
    """Says what only follows from the first deviation, and what differs by itself, too; own: whose rows it is made of."""
    for says, what in (
        (FOLLOWS, "only follows from it"),
        (DIFFERS, f"differs by itself, too, from what {own} rows before it lead to"),
    ):
        if called := [line.called for line in lines if line.says == says]:
            yield f"  This {what}: {', '.join(called)}."


def explanations(
    causes: Sequence[Match], lines: Sequence[Line], unexplained: str = NOTHING.unexplained, files: int = 1
) -> Iterator[str]:
    """Says what explains a deviation, and what then still deviates; lines: all that was logged, in so many files."""
    if not causes:
        yield f"  {unexplained}"
    for each in causes[:MOST_CAUSES]:
        yield f"  It matches with {each.said}{_rest(lines, each, files)}"
    if len(causes) > MOST_CAUSES:
        yield f"  … and with {len(causes) - MOST_CAUSES} others: this file cannot tell them apart."


def _rest(lines: Sequence[Line], match: Match, files: int) -> str:
    """Says whether everything else agrees then, in which files that was tested, or what does not agree, and by how much."""
    if match.rest and match.tried_on:
        return f"; it was tried on {match.tried_on} of the files that deviate, and everything else in them agrees then, too."
    if match.rest:
        return f"; then everything else agrees, too{f', in all {files} files' if files > 1 else ''}."
    called = {line.compared.name: line.called for line in lines}
    named = [f"{called.get(name, name)} (by {largest:.2g})" for name, largest in match.still[:MOST_STILL]]
    more = len(match.still) - len(named)
    return f"; then this still deviates: {', '.join(named)}{f' and {more} more' if more else ''}."


def summary(lines: Sequence[Line]) -> str:
    """Says how many of the quantities agree, where nothing deviates; if none does, that must not read like success."""
    coarse, open_ = (sum(line.says == says for line in lines) for says in (TOO_COARSE, NEEDS_OTHERS))
    count = len(lines) - coarse - open_
    agree = f"{count} agree{'s' if count == 1 else ''}"
    too_coarse = f"{coarse} {'is' if coarse == 1 else 'are'} too coarse to tell"
    if open_ and not count and not coarse:
        every = "the one logged quantity is" if open_ == 1 else f"all {open_} logged quantities are"
        return f"Nothing could be compared: {every} left open."
    if open_:
        return f"{agree}, {open_} {'is' if open_ == 1 else 'are'} left open{f', {too_coarse}' if coarse else ''}."
    if not coarse:
        return f"All {count} logged quantities agree."
    if not count:
        every = "the one logged quantity is" if coarse == 1 else f"all {coarse} logged quantities are"
        return f"Nothing can be said to agree: {every} too coarse to tell."
    return f"{agree}; {too_coarse}."


def reasons(lines: Sequence[Line]) -> Iterator[str]:
    """Yields a line for each quantity that is too coarse, and what to do about it."""
    coarse = [line for line in lines if line.says == TOO_COARSE]
    yield from (f"  {line.called}: {why(line)}" for line in coarse)
    if any(line.compared.dtype in HALF for line in coarse):
        yield f"  A fault of {200 * SHARE:.0f} % could hide in what is too coarse: write float32 to tell."


def why(line: Line) -> str:
    """Says why a quantity is too coarse to tell."""
    found = line.compared
    if line.why:
        return line.why
    off, share = f"it is off by {_share(found.largest, found)}", _share(found.rounding, found)
    if found.largest <= found.rounding:
        nothing = found.logged is not None and abs(found.logged) <= found.rounding
        return f"rounding in {found.dtype} may move it by {share}{', and 0 would agree, too' if nothing else ''}"
    if found.name in SHARES:
        return f"{off}; rounding decides whether some of its tokens are clipped"
    if found.largest <= found.rounding + found.extra:
        return f"{off}; that it was itself rounded when it was written explains that"
    rounding = f"rounding of its tokens in {found.dtype} explains {share}"
    return f"{off}; {rounding}, arithmetic in {found.dtype} might explain the rest"


def _share(width: float, compared: Compared) -> str:
    if not compared.size:
        return f"{width:.2g}"
    percent = 100 * width / compared.size
    of = "" if compared.logged is not None else f" of the mean size of its {compared.axes.cell}s"
    return (f"{percent:.2g} %" if percent < 100 else f"{percent:,.0f} %") + of


def cause_data(match: Match) -> dict[str, Any]:
    """Returns a cause, for programs."""
    return {"matches_with": match.said, "rest_agrees": match.rest, "still_deviates": dict(match.still)}


def quantity_data(line: Line) -> dict[str, Any]:
    """Returns what is said of a quantity, for programs."""
    found, spot = line.compared, line.compared.spot
    numbers: dict[str, float | None] = {"largest": found.largest, "allowed": line.allowed, "size": found.size}
    if both := spot or (found if found.logged is not None else None):
        numbers |= {"logged": both.logged, "recomputed": both.recomputed}
    return {
        "quantity": found.name,
        "called": line.called,
        "means": found.means,
        "verdict": line.says,
        "cells": found.cells,
        "deviating": found.deviating,
        "why": why(line) if line.says == TOO_COARSE else None,
        "within": dict(line.within),
        "where": {"row": spot.row, "first_column": spot.first, "last_column": spot.last, "words": spot.words}
        if spot
        else None,
        **finite(numbers),
    }


def finite(numbers: Mapping[str, float | None]) -> dict[str, float | None]:
    """Returns numbers as JSON has them: what is none is null."""
    return {name: each if each is not None and math.isfinite(each) else None for name, each in numbers.items()}
