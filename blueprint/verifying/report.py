"""Reports of a file and of a step: a table, where it first deviates and why, and what is too coarse to tell; as text for people, or
as plain data for programs.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprint.dumps import COUNTED_IN, PLACE_KEYS, Place
from blueprint.inputs import counted
from blueprint.quoting import table
from blueprint.verifying.compare import (
    AGREES,
    DIFFERS,
    FOLLOWS,
    NEEDS_OTHERS,
    SHARE,
    TOO_COARSE,
    Compared,
    Line,
    StepLine,
    only_in,
    summary,
)
from blueprint.verifying.rounding import HALF, SHARES
from blueprint.verifying.verdict import NOTHING, Causes, Match, StepVerdict, Verdict

HEADINGS = ("quantity", "in the file", "logged", "recomputed", "largest difference", "tolerance", "verdict")
MOST_CAUSES, MOST_STILL = 8, 3


def table_of(lines: Sequence[Line], more: tuple[str, ...] = (), cells: Sequence[tuple[str, ...]] = ()) -> str:
    """Prints a line for every logged quantity; more: headings of further columns, whose cells stand in `cells`."""
    tails = cells or [()] * len(lines)
    return "\n".join(table([HEADINGS + more, *(_row(line) + tail for line, tail in zip(lines, tails, strict=True))]))


def _row(line: Line) -> tuple[str, ...]:
    """Prints both numbers of a quantity; of a tensor those where it first deviates, else how many tokens were compared."""
    found = line.compared
    logged, ours = counted(found.cells, found.axes.cell), ""
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
    if not axes.column:
        return (
            f"{line.called}, {place}: logged {spot.logged:.9g}, recomputed {spot.recomputed:.9g}.\n"
            f"  It deviates in {found.deviating:,} of {counted(found.cells, axes.cell)}; the largest difference "
            f"is {found.largest:.3g}."
        )
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
    causes: Sequence[Match], verdicts: Sequence[Verdict], lines: Sequence[Line], unexplained: str = NOTHING.unexplained
) -> Iterator[str]:
    """Says what explains a deviation, and what then still deviates; lines: all that was logged, in the files of the verdicts."""
    if not causes:
        yield f"  {unexplained}"
    files, said = len(verdicts), set[str]()
    for each in causes[:MOST_CAUSES]:
        if each.said in said:  # with those that give the same numbers
            continue
        said |= {each.said, *each.same}
        yield f"  It matches with {each.said}{_rest(lines, each, verdicts)}"
        if each.stands_for:
            constant = "That quantity is then the same whatever the numbers are; " if each.constant else ""
            yield f"    {constant}{each.stands_for} other changes come to the same for any numbers: they are said once."
        where = "every logged value" if files == 1 else f"every logged value of all {files} files"
        yield from (
            f"    So it does, with the same numbers in {where}, with {other}." for other in each.same[:MOST_CAUSES]
        )
        if (more := len(each.same) - MOST_CAUSES) > 0:
            yield f"    … and with {more} other{'s' if more > 1 else ''}."
        if each.same:
            these = "These two" if len(each.same) == 1 else f"These {len(each.same) + 1}"
            yield f"    {these} cannot be told apart in {'this file' if files == 1 else 'these files'}."
    if left := [each for each in causes[MOST_CAUSES:] if each.said not in said]:
        yield f"  … and, with other numbers within the tolerance, with {len(left)} other{'s' if len(left) > 1 else ''}."


def _rest(lines: Sequence[Line], match: Match, verdicts: Sequence[Verdict]) -> str:
    """Says whether everything else agrees then, in which files that was tested, or what does not agree, and by how much."""
    files, unknown = len(verdicts), _unknown(verdicts, lines)
    every = f"all else that was compared agrees, too ({unknown})" if unknown else "everything else agrees, too"
    if match.rest and match.tried_on:
        return f"; it was tried on {match.tried_on} of the files that deviate, and everything else in them agrees then, too."
    if match.rest:
        return f"; then {every}{f', in all {files} files' if files > 1 else ''}."
    called = {line.compared.name: line.called for line in lines}
    named = [f"{called.get(name, name)} (by {largest:.2g})" for name, largest in match.still[:MOST_STILL]]
    more = len(match.still) - len(named)
    still = f"this still deviates: {', '.join(named)}{f' and {more} more' if more else ''}"
    lost = f"this cannot be computed: {', '.join(called.get(name, name) for name in match.unseen)}"
    return f"; then {', and '.join([still] * bool(named) + [lost] * bool(match.unseen))}."


def _unknown(verdicts: Sequence[Verdict], lines: Sequence[Line]) -> str:
    """Names what was logged and cannot be said to agree: what is not compared in some file, too coarse, or left open."""
    names = dict[str, None]()
    for verdict in verdicts:
        batch, there = verdict.replayed.batch, {line.compared.name for line in verdict.lines}
        names |= dict.fromkeys(verdict.uncompared)
        names |= dict.fromkeys(batch.called.get(each, each) for each in batch.logged if each not in there)
    coarse = [line.called for line in lines if line.says == TOO_COARSE]
    open_ = [line.called for line in lines if line.says == NEEDS_OTHERS]
    told = ("not compared", list(names)), ("too coarse to tell", coarse), ("left open", open_)
    return "; ".join(f"{what}: {', '.join(each)}" for what, each in told if each)


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
    if not found.cells:
        return f"rounding in {found.dtype} decides every number of it"
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


MOST_PERCENT = 1e6
"""More is said in words."""


def _share(width: float, compared: Compared) -> str:
    if not compared.size:
        return f"{width:.2g}"
    percent = 100 * width / compared.size
    if not percent < MOST_PERCENT:
        return "any amount"
    of = "" if compared.logged is not None else f" of the mean size of its {compared.axes.cell}s"
    return (f"{percent:.2g} %" if percent < 100 else f"{percent:,.0f} %") + of


def cause_data(match: Match) -> dict[str, Any]:
    """Returns a cause, for programs."""
    return {
        "matches_with": match.said,
        "rest_agrees": match.rest,
        "still_deviates": dict(match.still),
        "not_computed": list(match.unseen),
        "same_numbers_as": list(match.same),
        **({"tried_on": match.tried_on} if match.tried_on else {}),
        **({"stands_for": match.stands_for} if match.stands_for else {}),
    }


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


LOSSES = ("policy_loss", "value_loss", "entropy", "total_loss")
MOST_LISTED = 4


def text_of(verdict: Verdict) -> str:
    """Prints a line for every logged quantity, then what deviates first, why, and what merely follows."""
    head, forwards = verdict.replayed.batch.head, verdict.of_forwards
    parts = [
        *([f"{head}\n"] if head else []),
        *([table_of(verdict.lines)] if verdict.lines else _nothing_logged(verdict)),
        *(f"{name}: not compared, it takes {lacks}" for name, lacks in verdict.uncompared.items()),
        *(_first(verdict, verdict.first) if verdict.first and verdict.first not in forwards else []),
        *(line for title, said in _of_forwards(verdict) for line in ("", f"{title}:", *said)),
        *([summary(verdict.lines)] if verdict.agrees and verdict.lines else []),
        *reasons(verdict.lines),
        *(f"Note: {each}" for each in verdict.notes),
    ]
    return "\n".join(parts)


def _first(verdict: Verdict, first: Line) -> Iterator[str]:
    """Says where a file first deviates, why, and what follows."""
    yield f"\nFirst deviation: {where(first)}"
    search = verdict.search
    if search and first.says == DIFFERS:
        yield from explanations(verdict.causes, [verdict], verdict.lines, search.unexplained)
        yield from _tried(search)
    for line in verdict.lines:
        if line.within:
            shares = ", ".join(f"{name} ({100 * share:.0f} % of it)" for name, share in line.within.items())
            yield f"  {line.called} follows from differences within the tolerance of: {shares}."
    lines = [each for each in verdict.lines if each not in verdict.of_forwards]
    yield from others([each for each in lines if each != first and not each.within], "the file's own")


def _tried(search: Causes) -> Iterator[str]:
    """Says how many causes were tried where none explains anything and others were left."""
    if not search.matches and search.tried < search.known:
        yield f"  {search.tried:,} of at least {search.known:,} were tried, the likeliest: the others would take too long."


def _of_forwards(verdict: Verdict) -> Iterator[tuple[str, list[str]]]:
    """Yields what is wrong with what two forwards of the same policy make, in sentences, each with its title."""
    both = ("Before the first update", verdict.before_update), ("The generating engine", verdict.engine)
    yield from ((title, [f"  {each}" for each in found.said]) for title, found in both if found.said)


def _nothing_logged(verdict: Verdict) -> Iterator[str]:
    found = verdict.replayed
    yield (
        f"{found.batch.path}: nothing could be compared, since what was logged takes more than the file has."
        if verdict.uncompared
        else f"{found.batch.path} has no results that could be compared: no rewards, advantages, returns or logged numbers."
    )
    yield from (f"  {name}, recomputed: {found.numbers[name]:.9g}" for name in LOSSES if name in found.numbers)


def text_of_step(found: StepVerdict, each: bool = False) -> str:
    """Prints a line for every logged quantity of a step, where it is worst, then what deviates first, why, and what follows.

    each: every file's own table, too.
    """
    if not found.parts:
        return "\n".join(found.unread.values())
    chosen, notes = f"{found.parts[0].chosen}\n", [f"Note: {note}" for note in found.notes]
    if len(found.parts) == 1 and not found.unread:
        return "\n".join([chosen, text_of(found.parts[0].verdict), *_left_open(found), *notes])
    lines = [line.line for line in found.lines]
    files = [(f"{len(line.deviating)} of {line.files}", Path(line.worst.path).name) for line in found.lines]
    in_all = [f"{summary(lines)[:-1]}, in all {len(found.parts)} files.", *reasons(lines)]
    parts = [
        chosen,
        _head(found),
        table_of(lines, ("deviates in", "worst in"), files) if lines else "Nothing was logged that could be compared.",
        *(_first_of_step(found, found.first) if found.first else ()),
        *_of_forwards_in_step(found),
        *(in_all if found.agrees and lines else []),
        *_not_compared(found),
        *_left_open(found),
        *(f"Not read: {reason}" for reason in found.unread.values()),
        *notes,
        *(f"Note: {note}" for note in _of_files(found)),
        *(f"\n{part.path.name}\n{table_of(part.verdict.lines)}" for part in found.parts if each),
    ]
    return "\n".join(parts)


def _not_compared(found: StepVerdict) -> Iterator[str]:
    """Says what was logged and is compared in no file, or not in all, and what it takes."""
    takes = dict[str, list[str]]()
    for part in found.parts:
        for name, lacks in part.verdict.uncompared.items():
            takes.setdefault(name, []).append(lacks)
    for name, each in takes.items():
        where = f" in {len(each)} of {len(found.parts)} files" if len(each) < len(found.parts) else ""
        yield f"{name}: not compared{where}, it takes {each[0]}"


def _head(found: StepVerdict) -> str:
    """Says how many files there are, of what."""
    batches = [each.verdict.replayed.batch for each in found.parts]
    many, of = sum(each.many for each in batches), batches[0].counted
    counts = {what: len({getattr(each.place or Place(), what) for each in batches} - {None}) for what in COUNTED_IN}
    plurals = {what: f"{what}es" if what.endswith("batch") else f"{what}s" for what in COUNTED_IN}
    several = ", ".join(f"{count} {plurals[what]}" for what, count in counts.items() if count > 1)
    step = "Files without a step" if found.step is None else f"Step {found.step}"
    return f"{step}: {len(found.parts)} files of {many:,} {of}{f': {several}' if several else ''}.\n"


def _first_of_step(found: StepVerdict, first: StepLine) -> Iterator[str]:
    """Says where a step first deviates, in which files, what these have in common and no other file has, and why."""
    assert first.first is not None
    line, batch = first.first
    yield f"\nFirst deviation: {Path(batch.path).name}: {where(line)}"
    same = " and ".join(only_in(first.deviating, [each.verdict.replayed.batch for each in found.parts]))
    yield f"  It deviates in {len(first.deviating)} of {first.files} files{f', all of {same}' if same else ''}."
    if first.line.says == DIFFERS and not first.of_forwards:
        verdicts = [each.verdict for each in found.parts]
        yield from explanations(found.causes, verdicts, [each.line for each in found.lines])
        yield from _tried(found.search or NOTHING)
    yield from others([each.line for each in found.lines if each != first and not each.of_forwards], "the files' own")


def _of_forwards_in_step(found: StepVerdict) -> Iterator[str]:
    """Says what is wrong with it in the first file in which something is, and in how many others."""
    wrong: dict[str, list[tuple[str, list[str]]]] = {}
    for part in found.parts:
        for title, said in _of_forwards(part.verdict):
            wrong.setdefault(title, []).append((part.path.name, said))
    for title, files in wrong.items():
        more = f", and {len(files) - 1} other file{'s' if len(files) > 2 else ''}" if len(files) > 1 else ""
        yield f"\n{title}, {files[0][0]}{more}:"
        yield from files[0][1]


def _left_open(found: StepVerdict) -> Iterator[str]:
    """Says what only files that are not there could judge, and what was compared all the same."""
    lines = {each.name: each for each in found.lines if each.line.says == NEEDS_OTHERS}
    for name, each in lines.items():
        on = {str(line) for part in found.parts for of, line in part.verdict.left_open.items() if of == name and line}
        on_line = f"; all that is here agrees with {on.pop()} in the whitening" if len(on) == 1 else ""
        yield f"{each.line.called}: only the other files of the step can tell{on_line}."
    if lines or found.lacking:
        yield f"{_lack(found.lacking)}."


def _lack(lacking: Sequence[str]) -> str:
    if not lacking:
        return f"Nothing says of which part of the step it is: {', '.join(PLACE_KEYS)} in the metadata would"
    listed = ", ".join(lacking[:MOST_LISTED])
    if set(lacking) <= set(PLACE_KEYS):
        return f"The metadata do not say {listed}: then nobody knows whether all files of the step are here"
    return f"Not there: {listed}{f' and {len(lacking) - MOST_LISTED} more' if len(lacking) > MOST_LISTED else ''}"


def _of_files(found: StepVerdict) -> list[str]:
    """Returns the notes on files, those that all have once, others with the file."""
    notes = [(part.path.name, note) for part in found.parts for note in part.verdict.notes]
    shared = {note for _, note in notes if sum(note == other for _, other in notes) == len(found.parts)}
    own = [f"{name}: {note}" for name, note in notes if note not in shared]
    return [*_other_settings(found), *dict.fromkeys(note for _, note in notes if note in shared), *own]


def _other_settings(found: StepVerdict) -> Iterator[str]:
    """Names the files that are held against other conventions than the first: files of one step should have the same."""
    first, others = str(found.parts[0].chosen), dict[str, list[str]]()
    for part in found.parts:
        if str(part.chosen) != first:
            others.setdefault("; ".join(str(part.chosen).split("\n  ")), []).append(part.path.name)
    for chosen, files in others.items():
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        yield f"{files[0]}{more} by other conventions than {found.parts[0].path.name}: {chosen}"


def data_of(verdict: Verdict) -> dict[str, Any]:
    """Returns a verdict for programs, as JSON has it: what is not a number is null."""
    found = verdict.replayed
    return {
        "file": found.batch.path,
        "preset": verdict.preset,
        "agrees": all(line.says == AGREES for line in verdict.lines) if verdict.compared else None,
        "deviates": not verdict.agrees,
        **found.batch.facts,
        "quantities": [quantity_data(line) for line in verdict.lines],
        "not_compared": dict(verdict.uncompared),
        "first": quantity_data(verdict.first) if verdict.first else None,
        "causes": [cause_data(each) for each in verdict.causes],
        "causes_tried": _tried_data(verdict.search),
        "before_first_update": list(verdict.before_update.said),
        "generating_engine": list(verdict.engine.said),
        "recomputed": finite({name: found.numbers[name] for name in LOSSES if name in found.numbers}),
        "notes": list(verdict.notes),
    }


def _tried_data(search: Causes | None) -> dict[str, int] | None:
    return {"tried": search.tried, "known": search.known} if search else None


def data_of_step(found: StepVerdict) -> dict[str, Any]:
    """Returns a step for programs, as JSON has it; of a single file what it comes to, with the same names."""
    first, files = found.first, [data_of(part.verdict) for part in found.parts]
    return {
        "step": found.step,
        "agrees": all(file["agrees"] for file in files if file["agrees"] is not None) if found.compared else None,
        "deviates": not found.agrees,
        **(found.parts[0].verdict.replayed.batch.facts if found.parts else {}),
        "quantities": [_of_step(each) for each in found.lines],
        "first": _of_step(first) | {"file": first.first[1].path} if first and first.first else None,
        "causes": [cause_data(each) for each in found.causes],
        "causes_tried": _tried_data(found.parts[0].verdict.search if len(found.parts) == 1 else found.search),
        "lacking": list(found.lacking),
        "not_read": {str(path): reason for path, reason in found.unread.items()},
        "notes": list(found.notes),
        "files": files,
    }


def _of_step(line: StepLine) -> dict[str, Any]:
    return {
        **quantity_data(line.line),
        "worst_in": line.worst.path,
        "files": line.files,
        "deviating_in": [each.path for each in line.deviating],
    }
