"""Where the numbers of a row may have come from, if neither settings nor equations explain it: other rows, columns, groups, files,
or another tensor.

A place is found by its numbers: what was computed again is laid out as it may have been by mistake, and named only where every cell
then agrees, in every file that differs. Numbers of which there are too few, or too many alike, tell nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import gcd
from typing import NamedTuple, TypeVar

import numpy as np

from blueprint.dumps import Array

FEWEST = 2
"""Numbers of so many sizes a row must have in so many rows that are off: of one size, another order is but another sign."""
FEW_CELLS = 3
"""Of a single row so many tokens must be off, and of so many sizes, to tell where they are from."""
MOST_KNOWN = 0.5
"""Such a part of the cells must be known where others are moved in from beyond the end."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A row of a file: what was logged and what was computed again, [N] or [N, T], and where there are numbers, `cells`.

    groups: [N]. others: by name the other rows that were computed, and the file's tensors, of the same shape. whole: the row of
    all files of the step, in the order of files, NaN where that is known to have no number, and as they logged it. start: where
    this file begins in it, if that is known. earlier: [N], where each response stands in it in the pass before, or −1.
    called: what a report calls a row of all files, or of this one where it is alone.
    """

    name: str
    theirs: Array
    ours: Array
    cells: Array
    groups: Array | None = None
    others: Mapping[str, Array] = field(default_factory=dict)
    whole: Array | None = None
    logged: Array | None = None
    start: int | None = None
    earlier: Array | None = None
    called: Callable[[int], str] = "row {}".format

    @cached_property
    def at(self) -> int:
        """Where this file begins in the row of all files."""
        every, own = self.of_all, self.own
        if every is None or self.start is not None:
            return self.start or 0
        starts = range(len(every) - len(own) + 1)
        return next((at for at in starts if np.allclose(every[at : at + len(own)], own, equal_nan=True)), 0)

    @cached_property
    def own(self) -> Array:
        """The row, by response where each has one number."""
        return np.nan_to_num(self.by_response(self.ours)) if self.of_responses else self.ours

    @cached_property
    def of_all(self) -> Array | None:
        """The row of all files alike; None where files have other numbers of tokens, or there is one file."""
        every = self.whole
        if every is not None and self.of_responses and every.ndim > 1 and every.size:
            every = every[np.arange(len(every)), np.abs(every).argmax(axis=1)]
        there = every is not None and len(self.own) and every.shape[1:] == self.own.shape[1:]
        return every if there else None

    @cached_property
    def of_responses(self) -> bool:
        """Whether the row has one number for each response, in all of its cells."""
        if self.ours.ndim == 1:
            return True
        first = self.by_response(self.ours)
        return bool(np.all(np.where(self.cells, self.ours == first[:, None], True)))

    def by_response(self, row: Array) -> Array:
        """Returns the first number of each response, [N]; NaN where it has none."""
        if row.ndim == 1:
            return row
        first = row[np.arange(len(row)), self.cells.argmax(axis=1)]
        return np.where(self.cells.any(axis=1), first, np.nan)

    def in_order(self, order: Array) -> Array:
        """Returns what was computed, of other responses; NaN where they have no such token."""
        if self.ours.ndim == 1:
            return np.asarray(self.ours[order])
        if self.of_responses:
            return np.broadcast_to(self.by_response(self.ours)[order][:, None], self.ours.shape)
        return np.where(self.cells[order], self.ours[order], np.nan)


Put = Callable[[Seen], Array | None]
"""Lays a row out as it may have been; None where the file has nothing of the kind, NaN in cells that nothing is known of."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where numbers may have come from; said: behind the name of the row, as in "those of the responses in reverse order"."""

    said: str
    put: Put


def places_of(seen: Seen, allowed: float) -> Iterator[Place]:
    """Yields the places that explain every cell of a row; none where it has too few different numbers to tell."""
    if not _telling(seen):
        return
    some = False
    for place in _places(seen):
        row = place.put(seen)
        if row is not None and (_alike(row, seen, allowed) or _of_an_older_step(place, seen, allowed)):
            some = True
            yield place
    if some:
        return
    if seen.of_responses:
        row = _matched(seen)
        if row is not None and _alike(row, seen, allowed):
            yield Place("those of other responses", _matched)
    elif (found := _found(seen, allowed)) is not None:
        yield Place(found.said(seen), partial(_as_found, allowed))


def places_to_try(seen: Seen) -> Iterator[Place]:
    """Yields every place of a row whose numbers only tell in what is made of it; columns aside."""
    yield from _of_others(seen)
    yield from (Place(said, _ordered(order)) for said, order in _orders(len(seen.ours), seen.groups))
    yield from _of_files(seen)


T = TypeVar("T")


def amid(stages: Iterable[list[T]], *later: Callable[[], list[T]]) -> Iterator[list[T]]:
    """Puts later stages of causes in front of numbers that are fitted; behind all others, where nothing is."""
    waiting = [*later]
    for stage in stages:
        while waiting and any(getattr(each, "fitted", False) for each in stage):
            yield waiting.pop(0)()
        yield stage
    for each in waiting:
        yield each()


def laid(place: Place, seen: Seen) -> Array:
    """Returns a row as a place has it; cells of which nothing is known are as the file has them."""
    row = place.put(seen)
    return seen.ours if row is None else np.asarray(np.where(np.isnan(row), seen.theirs, row))


def _telling(seen: Seen) -> bool:
    """Whether enough numbers of enough rows are different."""
    moved = (np.abs(seen.ours - seen.theirs) > 0) & seen.cells
    rows = moved if moved.ndim == 1 else moved.any(axis=1)
    size = np.abs(seen.ours[seen.cells]).max(initial=0.0)
    if not size or not np.isfinite(size) or (rows.sum() < FEWEST and (seen.of_responses or moved.sum() < FEW_CELLS)):
        return False
    return len(np.unique(np.abs(seen.ours[seen.cells] / size).round(5))) >= FEWEST


def _alike(laid: Array, seen: Seen, allowed: float) -> bool:
    """Whether numbers are those of the file in every cell of which something is known."""
    known = seen.cells & ~np.isnan(laid)
    if known.sum() <= MOST_KNOWN * seen.cells.sum():
        return False
    return bool(np.all(np.abs(laid - seen.theirs)[known] <= allowed + 1e-6 * np.abs(seen.theirs[known])))


def _of_an_older_step(place: Place, seen: Seen, allowed: float) -> bool:
    """Whether the first file has numbers that are in none, where all others have those of the file before."""
    every, theirs, rows = seen.of_all, seen.logged, len(seen.ours)
    if place.said != STALE or every is None or theirs is None or seen.at or len(every) <= rows:
        return False
    ours, theirs = every[:-rows], np.asarray(theirs, np.float64)[rows:]
    if theirs.ndim > ours.ndim:
        theirs = theirs[:, 0]
    if ours.shape != theirs.shape:
        return False
    known = np.isfinite(ours) & np.isfinite(theirs)
    there = np.isfinite(theirs).sum()
    return known.sum() > MOST_KNOWN * there and bool(
        np.all((np.abs(ours - theirs) <= allowed + 1e-6 * np.abs(ours))[known])
    )


STALE = "those of the file before (stale by one)"


def _places(seen: Seen) -> Iterator[Place]:
    """Yields every place, the plainest first."""
    yield from _of_others(seen)
    yield from (Place(said, _ordered(order)) for said, order in _orders(len(seen.ours), seen.groups))
    if seen.ours.ndim > 1 and not seen.of_responses:
        yield Place("those of one token later", _moved(-1))
        yield Place("those of one token earlier", _moved(1))
        yield Place("those of each response from its last token to its first", _turned)
    yield from _of_files(seen)


def _ordered(order: Callable[[Seen], Array | None]) -> Put:
    def put(seen: Seen) -> Array | None:
        found = order(seen)
        return None if found is None else seen.in_order(found)

    return put


def _orders(rows: int, groups: Array | None) -> Iterator[tuple[str, Callable[[Seen], Array | None]]]:
    """Yields other orders of the responses, each as the places that they are read from."""
    yield "those of the responses in reverse order", lambda seen: np.arange(len(seen.ours))[::-1]
    if rows == FEWEST:  # every other order is that one
        return
    yield "those of the response behind (rows are shifted by one)", lambda seen: np.roll(np.arange(len(seen.ours)), -1)
    yield "those of the response before (rows are shifted by one)", lambda seen: np.roll(np.arange(len(seen.ours)), 1)
    if rows % 2 == 0:
        yield "those of the other half of the batch (halves are swapped)", _halves
    sizes = {2, *(() if groups is None else np.bincount(groups).tolist())}
    for size in sorted(each for each in sizes if 1 < each < rows and rows % each == 0):
        yield f"those of rows that are interleaved by {size}", _interleaved(size)
        yield f"those of rows that are taken apart by {size}", _interleaved(rows // size)
    if groups is None and rows % 2 == 0:
        yield "those of the other row of each pair", lambda seen: np.arange(len(seen.ours)) ^ 1
    if groups is not None and len(np.unique(groups)) > 1:
        yield "those of the groups in reverse order", _of_groups(lambda members: members[::-1])
        yield "those of the group behind", _of_groups(lambda members: [*members[1:], members[0]])
        yield "those of the group before", _of_groups(lambda members: [members[-1], *members[:-1]])
    if groups is not None:
        yield "those of the responses of each group in reverse order", _within(lambda rows: rows[::-1])
        yield "those of the next response of the group", _within(lambda rows: np.roll(rows, -1))
        yield "those of the response before in the group", _within(lambda rows: np.roll(rows, 1))


def _halves(seen: Seen) -> Array | None:
    rows = len(seen.ours)
    return np.roll(np.arange(rows), rows // 2) if rows % 2 == 0 else None


def _interleaved(by: int) -> Callable[[Seen], Array | None]:
    def order(seen: Seen) -> Array | None:
        rows = len(seen.ours)
        return np.arange(rows).reshape(by, rows // by).T.ravel() if gcd(rows, by) == by else None

    return order


def _of_groups(moved: Callable[[list[Array]], list[Array]]) -> Callable[[Seen], Array | None]:
    """Gives each group the rows of another one of the same size."""

    def order(seen: Seen) -> Array | None:
        if seen.groups is None:
            return None
        members = [np.flatnonzero(seen.groups == each) for each in np.unique(seen.groups)]
        if len({len(each) for each in members}) > 1:
            return None
        found = np.empty(len(seen.ours), np.intp)
        found[np.concatenate(members)] = np.concatenate(moved(members))
        return found

    return order


def _within(moved: Callable[[Array], Array]) -> Callable[[Seen], Array | None]:
    def order(seen: Seen) -> Array | None:
        if seen.groups is None:
            return None
        found = np.arange(len(seen.ours))
        for each in np.unique(seen.groups):
            found[seen.groups == each] = moved(np.flatnonzero(seen.groups == each))
        return found

    return order


def _moved(by: int) -> Put:
    """Takes each token's number from a neighbour; of what lies beyond the response nothing is known."""

    def put(seen: Seen) -> Array | None:
        if seen.ours.ndim == 1:
            return None
        padded = np.pad(np.where(seen.cells, seen.ours, np.nan), ((0, 0), (1, 1)), constant_values=np.nan)
        return np.asarray(np.roll(padded, by, axis=1)[:, 1:-1])

    return put


def _turned(seen: Seen) -> Array | None:
    if seen.ours.ndim == 1:
        return None
    turned = np.full(seen.ours.shape, np.nan)
    for row, cells in enumerate(seen.cells):
        turned[row, cells] = seen.ours[row, cells][::-1]
    return turned


def _of_others(seen: Seen) -> Iterator[Place]:
    for name in seen.others:
        yield Place(f"the numbers of {name}", lambda seen, name=name: seen.others.get(name))  # type: ignore[misc]


def _of_files(seen: Seen) -> Iterator[Place]:
    """Yields the same rows of other files of the step."""
    if seen.of_all is None:
        return
    before = seen.at // len(seen.ours)
    for by in dict.fromkeys((-1, 1, *range(-before, len(seen.of_all) // len(seen.ours) - before))):
        if by:
            said = f"those of the file {abs(by)} {'before' if by < 0 else 'behind'}"
            yield Place({-1: STALE, 1: "those of the file behind"}.get(by, said), _of_file(by))
    if seen.earlier is not None and (seen.earlier >= 0).any():
        yield Place("those of the same responses in the pass before (stale by an epoch)", _of_the_pass_before)


def _of_file(by: int) -> Put:
    def put(seen: Seen) -> Array | None:
        every, rows = seen.of_all, len(seen.ours)
        start = seen.at + by * rows
        if every is None or start > len(every) - rows:
            return None
        if start < 0:  # those are of a step that is not here
            return np.full(seen.ours.shape, np.nan)
        found = every[start : start + rows]
        return np.broadcast_to(found[:, None] if found.ndim < seen.ours.ndim else found, seen.ours.shape)

    return put


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


def _of_the_pass_before(seen: Seen) -> Array | None:
    if seen.earlier is None or seen.of_all is None:
        return None
    there = (seen.earlier >= 0).reshape(-1, *[1] * (seen.ours.ndim - 1))
    return np.where(there, seen.of_all[seen.earlier], np.nan)


class Found(NamedTuple):
    """Where rows of tokens were found by their numbers: `whose`, [N], in the rows of all files; `by`, so many columns on."""

    whose: Array
    by: Array

    def said(self, seen: Seen) -> str:
        """Says of the first few rows whose they are."""
        moved = np.flatnonzero(self.by)
        rows = moved if len(moved) else np.flatnonzero(self.whose != seen.at + np.arange(len(self.whose)))
        more = f", and {len(rows) - MOST_SAID} more" if len(rows) > MOST_SAID else ""
        names = [(seen.called(seen.at + row), seen.called(int(self.whose[row]))) for row in rows[:MOST_SAID]]
        if len(moved):
            columns = {"earlier" if each > 0 else "later" for each in self.by[moved]}
            return (
                f"those of one token {' or '.join(sorted(columns))} in {', '.join(own for own, _ in names)}{more} alone"
            )
        return "those of other responses: " + ", ".join(f"{own} has what belongs to {of}" for own, of in names) + more


MOST_SAID = 2


def _found(seen: Seen, allowed: float) -> Found | None:
    """Finds each row that is off by its numbers, among the rows of all files, or a column on or back; None unless all are found."""
    own = np.where(seen.cells, seen.ours, np.nan)
    pool, at = (own, 0) if seen.of_all is None else (seen.of_all, seen.at)
    off = ((np.abs(seen.ours - seen.theirs) > allowed) & seen.cells).any(axis=1)
    whose, by = at + np.arange(len(own)), np.zeros(len(own), np.intp)
    for row in np.flatnonzero(off):
        theirs, cells = seen.theirs[row], seen.cells[row]
        first = int(cells.argmax())
        near = np.flatnonzero(np.abs(pool[:, first] - theirs[first]) <= allowed + 1e-6 * abs(theirs[first]))
        source = next((each for each in near if _tells(pool[each], theirs, cells, allowed)), None)
        if source is not None:
            whose[row] = source
            continue
        shifts = (each for each in (1, -1) if _tells(_beside(own[row], each), theirs, cells, allowed))
        by[row] = next(shifts, 0)
        if not by[row]:
            return None
    return Found(whose, by) if off.any() and not (by.any() and (whose != at + np.arange(len(own))).any()) else None


def _tells(row: Array, theirs: Array, cells: Array, allowed: float) -> bool:
    """Whether the numbers of a response are those of a row in all that is known of it, and enough of them are different."""
    known = cells & ~np.isnan(row)
    if known.sum() <= MOST_KNOWN * cells.sum() or len(np.unique(theirs[known].round(5))) < FEW_CELLS:
        return False
    return bool(np.all(np.abs(row - theirs)[known] <= allowed + 1e-6 * np.abs(theirs[known])))


def _beside(row: Array, by: int) -> Array:
    """Returns a row so many columns on; NaN where nothing comes in."""
    return np.concatenate([np.full(1, np.nan), row[:-1]]) if by > 0 else np.concatenate([row[1:], np.full(1, np.nan)])


def _as_found(allowed: float, seen: Seen) -> Array | None:
    """Lays the rows of a file out as they are found by their numbers; None where some are not."""
    found = _found(seen, allowed)
    if found is None:
        return None
    pool = seen.ours if seen.of_all is None else seen.of_all
    rows = np.where(
        seen.cells & (found.whose == seen.at + np.arange(len(seen.ours)))[:, None], seen.ours, pool[found.whose]
    )
    return np.stack([_beside(row, by) if by else row for row, by in zip(rows, found.by, strict=True)])
