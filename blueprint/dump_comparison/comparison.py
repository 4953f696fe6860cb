"""Two dumps of one step compared: the responses aligned, quantities side by side, and the conventions that explain a difference;
as text for people and as data for programs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blueprint.dump_comparison.aligned import Aligned, Side, align, side_of
from blueprint.dump_comparison.conventions import Conventions, conventions
from blueprint.dump_comparison.differences import (
    DIFFERS,
    FOLLOWS,
    FORWARDS,
    OF_FORWARDS,
    SIDES,
    Difference,
    Place,
    differences,
)
from blueprint.dumps import Dump
from blueprint.quoting import printable, table

OWN = ("agrees", "too coarse")


@dataclass(frozen=True)
class Comparison:
    """Two dumps side by side. lines: what both have, in the order of the computation; conventions: what their settings explain."""

    pair: Aligned
    lines: tuple[Difference, ...]
    conventions: Conventions

    def __repr__(self) -> str:
        """Says where both first differ, and by which setting: a notebook shows it, and no arrays."""
        if self.first is None:
            return f"<Comparison: no difference in {len(self.lines)} quantities>"
        said = self.conventions
        causes = ", ".join(each.turned() if said.turned else str(each) for each in said.needed)
        by = f" {'A' if said.turned else 'B'}'s numbers come out with {causes}." if causes else ""
        return f"<Comparison: first difference: {self.first}{by}>"

    def __str__(self) -> str:
        """Says what `blueprint compare` prints: a line for every quantity, the first difference, and what explains it."""
        return text_of(self)

    @property
    def first(self) -> Difference | None:
        """The first difference that neither rounding nor what is before it explains; None where there is none."""
        return next((each for each in self.lines if each.says == DIFFERS), None)

    @property
    def inputs_differ(self) -> bool:
        """Whether something differs that is not computed from anything else in the files."""
        computed = self.conventions.computed
        return any(each.says == DIFFERS and each.name not in computed for each in self.lines)


def compare(
    one: Dump | Sequence[Dump], other: Dump | Sequence[Dump], presets: tuple[str | None, str | None] = (None, None)
) -> Comparison:
    """Compares two dumps of one step, or all files of the step of two frameworks.

    Raises:
        MinibatchError: dumps of different kinds, or of different batches; files that are not of one step.
    """
    return compare_sides(side_of(one), side_of(other), presets)


def compare_sides(one: Side, other: Side, presets: tuple[str | None, str | None]) -> Comparison:
    """Compares the files of one step of two frameworks. Raises MinibatchError as `compare`."""
    pair = align(one, other)
    found = differences(pair)
    explained = conventions(one.files, other.files, presets)
    return Comparison(pair, tuple(_followed(found, explained)), explained)


def _followed(lines: Iterable[Difference], explained: Conventions) -> Iterable[Difference]:
    """Says of what differs whether it follows: each dump's own settings give it, and so do the first one's in the second."""
    for each in lines:
        own = all(said.get(each.name) in OWN for said in explained.follows)
        crossed = explained.crossed.get(each.name)
        follows = each.says == DIFFERS and each.name not in OF_FORWARDS and own and crossed in (*OWN, "follows")
        yield replace(each, says=FOLLOWS) if follows else each


HEADINGS = ("quantity", "in A", "in B", "compared", "largest difference", "allowed", "verdict")
MOST_CAUSES, MOST_IDLE = 4, 12


def text_of(found: Comparison) -> str:
    """Prints what both dumps are, a line for every quantity that both have, where they first differ, and what explains it."""
    return "\n".join(
        [*_head(found), "", *table([HEADINGS, *map(_row, found.lines)]), *_first(found), *_conventions(found)]
    )


def _head(found: Comparison) -> Iterator[str]:
    """Says what each dump is, by which conventions it is computed, and which rows are the same."""
    chosen, pair = found.conventions.chosen, found.pair
    for at, (letter, side) in enumerate(zip(SIDES, pair.sides, strict=True)):
        by = f"; conventions of {chosen[at].preset.name}, {chosen[at].why}" if chosen else ""
        more = f" and {len(side.files) - 1} more" if len(side.files) > 1 else ""
        yield f"{letter}: {printable(side.whole.path)}{more}: {_what(side.whole)}{by}"
        yield from (f"   {printable(note)}" for note in side.notes)
    count, order = len(pair.rows), ", in another order" if pair.moved else ""
    some = "" if pair.whole else "; one of the two has more, so that logged numbers are not compared"
    parts = "; the files of both hold other rows, so that logged numbers are not compared"
    yield f"The same {count} rows are told {pair.by}{order}{some or (parts if not pair.files else '')}."


def _what(dump: Dump) -> str:
    library = " ".join(filter(None, (dump.library, dump.version))) or "unknown library"
    step = "" if dump.step is None else f", step {dump.step}"
    return f"{library}{step}, {dump.many:,} {dump.counted}"


def _row(each: Difference) -> tuple[str, ...]:
    compared = f"{each.both[0]:.7g} and {each.both[1]:.7g}" if each.both else f"{each.cells:,}"
    return each.name, *each.called, compared, f"{each.largest:.1e}", f"{each.allowed:.1e}", each.says


def _first(found: Comparison) -> Iterator[str]:
    """Says where both first differ: in which response and position, how much of it, and what it is like."""
    first = found.first
    if first is None:
        forwards = any(each.says == FORWARDS for each in found.lines)
        why = "two forwards of one model" if forwards else "rounding"
        yield f"\nNo difference: everything that both have is as far apart as {why} may make it, or follows from that."
        return
    yield f"\nFirst difference: {first}"
    if first.both and first.files:
        yield f"  It differs in {first.differing:,} of {first.cells:,} files, by {first.largest:.3g} at most."
    if first.first and first.worst:
        yield (
            f"  It differs in {first.differing:,} of {first.cells:,} places, by {first.rms:.3g} (root mean square); the largest "
            f"difference is {first.largest:.3g} ({first.worst})."
        )
        position = (
            f", and the position column {first.position[0]} (by {first.position[1]:.3g})" if first.position else ""
        )
        response = f"{_row_of_a(first.response[0])} (by {first.response[1]:.3g})" if first.response else ""
        yield f"  In the mean the response that differs most is {response}{position}."
    yield from (f"  {each}." for each in first.patterns)
    if first.name not in found.conventions.computed:
        yield "  It is not computed again from these files, so that no convention explains it."


def _row_of_a(place: Place) -> str:
    return f"row {place.row} of {f'{place.files[0]} in A' if place.files[0] else 'A'}"


def _conventions(found: Comparison) -> Iterator[str]:
    """Says by which settings the second dump's numbers come out, and which numbers no setting of a dump's own gives."""
    said = found.conventions
    if said.missing:
        yield f"\nConventions are not compared: {said.missing}"
        return
    yield ""
    for side, own in zip(SIDES, said.own, strict=True):
        for name, causes in list(own.items())[:1]:
            yield f"{side} has other {name} than its own settings give{_matches(causes)}."
    crossed = [name for name, says in said.crossed.items() if says == DIFFERS]
    by, of = ("B", "A") if said.turned else ("A", "B")
    if said.turned:
        yield "B lacks what A's settings need, so that it is A that is computed by the other's settings."
    if said.needed:
        first = crossed[0] if crossed else "numbers"
        yield f"Computed by {by}'s settings, {of}'s {first} would be another. {of}'s numbers come out with"
        lines = [(f"{each.moves}:", each.turned() if said.turned else str(each)) for each in said.needed]
        yield from (f"  {line}" for line in table(lines))
    elif crossed and not said.own[SIDES.index(of)]:
        yield f"Computed by {by}'s settings, {of}'s {crossed[0]} would be another, and no setting of theirs tells why."
    elif crossed:
        yield f"Computed by {by}'s settings, {of}'s {crossed[0]} would be another, too."
    elif said.crossed:
        yield f"Computed by {by}'s settings, {of}'s numbers are what {of} has: no convention makes a difference."
    else:
        yield f"Nothing in {of} can be computed again, so that conventions cannot be told apart."
    if said.idle:
        listed = ", ".join(f"{each.key} ({each.one}, {each.other})" for each in said.idle[:MOST_IDLE])
        more = f" and {len(said.idle) - MOST_IDLE} more" if len(said.idle) > MOST_IDLE else ""
        yield f"Settings that differ, and make no difference here: {listed}{more}."


def _matches(causes: tuple[str, ...]) -> str:
    if not causes:
        return ", and nothing known explains it"
    return f": they match with {', or with '.join(causes[:MOST_CAUSES])}"


def data_of(found: Comparison) -> dict[str, Any]:
    """Returns the same for programs, as JSON has it: what is no number is null."""
    said, first = found.conventions, found.first
    return {
        "a": found.pair.one.path,
        "b": found.pair.other.path,
        "files": [[each.path for each in side.files] for side in found.pair.sides],
        "presets": [each.preset.name for each in said.chosen] or None,
        "rows": found.pair.rows.tolist(),
        "rows_told": found.pair.by,
        "all_rows": found.pair.whole,
        "differs": first is not None,
        "quantities": [_quantity(each) for each in found.lines],
        "first": _quantity(first) if first else None,
        "first_is_input": first is not None and first.name not in said.computed,
        "explained_by": [
            {"key": each.key, "a": each.one, "b": each.other, "moves": each.moves} for each in said.needed
        ],
        "no_difference_by": [{"key": each.key, "a": each.one, "b": each.other} for each in said.idle],
        "own": [{name: list(causes) for name, causes in each.items()} for each in said.own],
        "a_by_settings_of_b" if said.turned else "b_by_settings_of_a": dict(said.crossed),
        "not_compared": said.missing or None,
    }


def _quantity(each: Difference) -> dict[str, Any]:
    return {
        "quantity": each.name,
        "called": list(each.called),
        "verdict": each.says,
        "cells": each.cells,
        "differing": each.differing,
        "largest": _finite(each.largest),
        "allowed": _finite(each.allowed),
        "first": _spot(each.first),
        "worst": _spot(each.worst),
        "response": None if each.response is None else {"row": each.response[0].row, "mean": _finite(each.response[1])},
        "position": None if each.position is None else {"column": each.position[0], "mean": _finite(each.position[1])},
        "patterns": list(each.patterns),
        "numbers": None if each.both is None else [_finite(number) for number in each.both],
    }


def _spot(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    row, other = place.row, place.other_row
    return {
        "row_of_a": row,
        "row_of_b": other,
        "column": place.column,
        "file_of_a": place.files[0] or None,
        "file_of_b": place.files[1] or None,
        "a": _finite(place.one),
        "b": _finite(place.other),
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
