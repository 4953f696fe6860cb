"""Which places the numbers of a file tell by themselves, where neither settings nor equations explain them.

A place is named only where every cell then agrees, in every file that differs; or every cell of the rows that differ, if there are
enough numbers of them. Numbers of which there are too few, or too many alike, tell nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.places import FEWEST, MOST_KNOWN, STALE, Place, Seen, places_in_part, places_to_try

FEW_CELLS = 3
"""Of a single row so many tokens must be off, and of so many sizes, to tell where they are from."""
MOST_SAID = 2


def places_of(seen: Seen, allowed: float) -> Iterator[Place]:
    """Yields the places that explain every cell of a row; none where it has too few different numbers to tell."""
    if not _telling(seen):
        return
    found = [each for each in places_to_try(seen, across=True) if _explains(each, seen, allowed)]
    found = found or [each for each in places_in_part(seen) if _explains(each, seen, allowed, seen.part)]
    if not found and seen.of_responses:
        whole = Place("those of other responses", _matched)
        of_step = Place("those of other responses of the step", _nearest_in_step)
        found = [each for each in (whole, of_step) if _explains(each, seen, allowed)][:1]
    elif not found and (whose := _whose(seen, allowed)) is not None:
        found = [Place(f"those of other responses: {_said_of(whose, seen)}", partial(_found, allowed))]
    yield from found


def part_of(seen: Seen, allowed: float) -> Array | None:
    """Returns the responses that differ, [N]; None where all do."""
    off = (np.abs(seen.ours - seen.theirs) > allowed) & seen.cells
    rows = off if off.ndim == 1 else off.any(axis=1)
    return None if rows.all() else rows


def _telling(seen: Seen) -> bool:
    """Whether enough numbers of enough rows are different."""
    moved = (np.abs(seen.ours - seen.theirs) > 0) & seen.cells
    rows = moved if moved.ndim == 1 else moved.any(axis=1)
    size = np.abs(seen.ours[seen.cells]).max(initial=0.0)
    if not size or not np.isfinite(size) or (rows.sum() < FEWEST and (seen.of_responses or moved.sum() < FEW_CELLS)):
        return False
    return len(np.unique(np.abs(seen.ours[seen.cells] / size).round(5))) >= FEWEST


def _explains(place: Place, seen: Seen, allowed: float, part: Array | None = None) -> bool:
    """Whether a place explains every cell of a row, or of a part of the responses, here or in all files but the first."""
    row = place.put(seen)
    if row is None:
        return False
    if part is None:
        return _agree(row, seen.theirs, seen.cells, allowed) or _of_an_older_step(place, seen, allowed)
    told = _tells(row[part], seen.theirs[part], seen.cells[part], allowed)
    return told or _of_an_older_step(place, seen, allowed)


def _agree(laid: Array, theirs: Array, cells: Array, allowed: float) -> bool:
    """Whether numbers are those of the file in every cell of which something is known; of most of them something must be."""
    known = cells & ~np.isnan(laid)
    if known.sum() <= MOST_KNOWN * cells.sum():
        return False
    return bool(np.all(np.abs(laid - theirs)[known] <= allowed + 1e-6 * np.abs(theirs[known])))


def _tells(laid: Array, theirs: Array, cells: Array, allowed: float) -> bool:
    """Whether they are so in a part of the cells, and enough of them are different; a shorter response has 0 behind its end."""
    behind = np.isnan(laid) & (theirs == 0)
    various = len(np.unique(theirs[cells & ~np.isnan(laid)].round(5))) >= FEW_CELLS
    return various and _agree(np.where(behind, 0.0, laid), theirs, cells, allowed)


def _of_an_older_step(place: Place, seen: Seen, allowed: float) -> bool:
    """Whether the first file has numbers that are in none, where all others, or their rows that differ, have the file before's."""
    every, theirs, rows = seen.of_all, seen.logged, len(seen.ours)
    if not place.said.startswith(STALE) or every is None or theirs is None or seen.at or len(every) <= rows:
        return False
    theirs = np.asarray(theirs, np.float64)
    theirs = theirs[:, 0] if theirs.ndim > every.ndim else theirs
    if every.shape != theirs.shape:
        return False
    ours, own, theirs = every[:-rows], every[rows:], theirs[rows:]
    if place.said == STALE:
        return _agree(ours, theirs, np.isfinite(theirs), allowed)
    off = (np.abs(own - theirs) > allowed).reshape(len(own), -1).any(axis=1)
    cells = np.isfinite(theirs) & np.isfinite(own) & off.reshape(-1, *[1] * (own.ndim - 1))
    return bool(off.any()) and _tells(ours, theirs, cells, allowed)


def _matched(seen: Seen) -> Array | None:
    """Finds by its numbers whose row each one is; None unless all responses can be told apart."""
    ours, theirs = seen.by_response(seen.ours), seen.by_response(np.where(seen.cells, seen.theirs, np.nan))
    some = np.flatnonzero(np.isfinite(ours) & np.isfinite(theirs))
    size = np.abs(ours[some]).max(initial=0.0)
    if len(some) < FEWEST + 1 or not size or len(np.unique((ours[some] / size).round(5))) < len(some):
        return None
    order = np.arange(len(ours))
    order[some[theirs[some].argsort()]] = some[ours[some].argsort()]
    return seen.in_order(order)


def _nearest_in_step(seen: Seen) -> Array | None:
    """Finds each number among those of all files, whichever is nearest; None where these are of too few sizes to tell."""
    every = seen.of_all
    theirs = seen.by_response(np.where(seen.cells, seen.theirs, np.nan))
    if every is None or every.ndim > 1 or not np.isfinite(every).any() or not np.isfinite(theirs).all():
        return None
    pool = np.unique(every[np.isfinite(every)])
    if len(np.unique(np.abs(pool / np.abs(pool).max()).round(5))) <= FEW_CELLS:
        return None
    found = pool[np.abs(pool[None] - theirs[:, None]).argmin(axis=1)]
    return np.broadcast_to(found[:, None] if seen.ours.ndim > 1 else found, seen.ours.shape)


def _said_of(whose: Array, seen: Seen) -> str:
    """Says of the first few rows whose they are."""
    rows = np.flatnonzero(whose != seen.at + np.arange(len(whose)))
    said = [
        f"{seen.called(seen.at + row)} has what belongs to {seen.called(int(whose[row]))}" for row in rows[:MOST_SAID]
    ]
    return ", ".join(said) + (f", and {len(rows) - MOST_SAID} more" if len(rows) > MOST_SAID else "")


def _whose(seen: Seen, allowed: float) -> Array | None:
    """Finds each row of tokens that differs by its numbers, [N], among the rows of all files; None unless all are found."""
    own = np.where(seen.cells, seen.ours, np.nan)
    pool, at = (own, 0) if seen.of_all is None else (seen.of_all, seen.at)
    off = ((np.abs(seen.ours - seen.theirs) > allowed) & seen.cells).any(axis=1)
    whose = at + np.arange(len(own))
    for row in np.flatnonzero(off):
        theirs, cells = seen.theirs[row], seen.cells[row]
        first = int(cells.argmax())
        near = np.flatnonzero(np.abs(pool[:, first] - theirs[first]) <= allowed + 1e-6 * abs(theirs[first]))
        source = next((each for each in near if _tells(pool[each], theirs, cells, allowed)), None)
        if source is None:
            return None
        whose[row] = source
    return whose if off.any() else None


def _found(allowed: float, seen: Seen) -> Array | None:
    """Lays the rows of a file out as they are found by their numbers; None where some are not."""
    whose = _whose(seen, allowed)
    if whose is None:
        return None
    own = whose == seen.at + np.arange(len(seen.ours))
    return np.where(seen.cells & own[:, None], seen.ours, (seen.ours if seen.of_all is None else seen.of_all)[whose])
