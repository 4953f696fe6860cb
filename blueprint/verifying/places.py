"""Where the numbers of a quantity may have come from, if neither settings nor equations explain it: other rows, columns, groups,
files or passes, another tensor, or a row of the step that was moved, scaled or summed up.

A place lays out what was computed again as it may have been by mistake; `found_places.py` asks which of them the numbers of a file
tell by themselves. What stands for a quantity is a row or a number of the step: alone, or in all that is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import gcd
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array

FEWEST = 2
"""Numbers of so many sizes a row must have in so many rows that are off: of one size, another order is but another sign."""
MOST_KNOWN = 0.5
"""Such a part of the cells must be known where others are moved in from beyond the end."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A row of a file: what was logged and what was computed again, [N] or [N, T], and where there are numbers, `cells`.

    groups: [N]. others: by name the other rows that were computed, and the file's tensors, of the same shape. whole: the row of
    all files of the step, in the order of files, NaN where that is known to have no number, and as they logged it. start: where
    this file begins in it, if that is known. earlier: [N], where each response stands in it in the pass before, or −1.
    called: what a report calls a row of all files, or of this one where it is alone. part: [N], the responses that differ; None
    where all do.
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
    part: Array | None = None

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

    @cached_property
    def few_differ(self) -> bool:
        """Whether the tokens of most responses agree as they are: not all of them are then from elsewhere."""
        return self.part is not None and not self.of_responses and bool(self.part.mean() < MOST_KNOWN)

    def by_response(self, row: Array) -> Array:
        """Returns the first number of each response, [N]; NaN where it has none."""
        if row.ndim == 1:
            return row
        first = row[np.arange(len(row)), self.cells.argmax(axis=1)]
        return np.where(self.cells.any(axis=1), first, np.nan)

    def in_order(self, order: Array) -> Array:
        """Returns what was computed, of other responses; NaN where they have no such token, or, of one number, where 0 says so."""
        if self.ours.ndim == 1:
            return np.asarray(self.ours[order])
        if self.of_responses:
            ended = ~self.cells[order] & (self.theirs == 0)
            return np.where(ended, np.nan, self.by_response(self.ours)[order][:, None])
        return np.where(self.cells[order], self.ours[order], np.nan)


Put = Callable[[Seen], Array | None]
"""Lays a row out as it may have been; None where the file has nothing of the kind, NaN in cells that nothing is known of."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where numbers may have come from; said: behind the name of the row, as in "those of the responses in reverse order".

    far: how many files away; 1 for another pass; some files have none there.
    """

    said: str
    put: Put
    far: int = 0


def places_to_try(seen: Seen, across: bool = False) -> Iterator[Place]:
    """Yields every place of a row, the plainest first. across: of a row that has numbers of its own tokens, other columns, too."""
    if seen.few_differ:
        return
    yield from _of_files(seen)
    yield from (Place(said, _ordered(order)) for said, order in _orders(len(seen.ours), seen.groups))
    if across:
        yield from _of_columns(seen)
    yield from _of_others(seen)


def places_in_part(seen: Seen, columns: Callable[[Seen], Iterable[Place]] | None = None) -> Iterator[Place]:
    """Yields where the responses that differ alone may be from. columns: other columns of a row, if not the usual ones."""
    if seen.part is None or not seen.part.any() or (seen.of_responses and len(np.unique(seen.own)) < len(seen.own)):
        return
    rows = np.flatnonzero(seen.part)
    some = f"in some rows alone (such as {seen.called(seen.at + int(rows[0]))})"
    if len(rows) == len(EXCHANGED):
        one, other = (seen.called(seen.at + int(row)) for row in rows)
        yield Place(f"those of two rows that are exchanged (such as {one} and {other})", _exchanged)
    for place in (*_of_files(seen), *(columns or _of_columns)(seen), *_of_others(seen)):
        yield Place(f"{place.said} {some}", partial(_in_part, place.put), place.far)


EXCHANGED = (1, 0)


def _exchanged(seen: Seen) -> Array | None:
    order, rows = np.arange(len(seen.ours)), np.flatnonzero(np.ones(0) if seen.part is None else seen.part)
    if len(rows) == len(EXCHANGED):
        order[rows] = rows[[*EXCHANGED]]
    return seen.in_order(order)


def _in_part(put: Put, seen: Seen) -> Array | None:
    row = put(seen)
    if row is None or seen.part is None:
        return row
    return np.where(seen.part.reshape(-1, *[1] * (row.ndim - 1)), row, seen.ours)


def laid(place: Place, seen: Seen) -> Array:
    """Returns a row as a place has it; cells of which nothing is known are as the file has them."""
    row = place.put(seen)
    return seen.ours if row is None else np.asarray(np.where(np.isnan(row), seen.theirs, row))


def file_called(by: int) -> str:
    """Returns what a report calls the file so many behind one."""
    near = {-1: "the file before (stale by one)", 1: "the file behind"}
    return near.get(by, f"the file {abs(by)} {'before' if by < 0 else 'behind'}")


STALE = f"those of {file_called(-1)}"


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
        return _across(np.where(seen.cells, seen.ours, np.nan), by)

    return put


def _of_columns(seen: Seen) -> Iterator[Place]:
    if seen.ours.ndim > 1 and not seen.of_responses:
        yield Place("those of one token later", _moved(-1))
        yield Place("those of one token earlier", _moved(1))
        yield Place("those of each response from its last token to its first", _turned)


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
    rows = len(seen.ours)
    before, most = seen.at // rows, MOST_KNOWN * len(seen.of_all)
    for by in dict.fromkeys((-1, 1, *range(-before, len(seen.of_all) // rows - before))):
        if abs(by) == 1 or 0 < abs(by) * rows <= most:  # most files must have one there
            yield Place(f"those of {file_called(by)}", _of_file(by), far=abs(by))
    if seen.earlier is not None and (seen.earlier >= 0).any():
        yield Place("those of the same responses in the pass before (stale by an epoch)", _of_the_pass_before, far=1)


def _of_file(by: int) -> Put:
    def put(seen: Seen) -> Array | None:
        every, rows = seen.of_all, len(seen.ours)
        start = seen.at + by * rows
        if every is None:
            return None
        if not 0 <= start <= len(every) - rows:  # those are of a step that is not here
            return np.full(seen.ours.shape, np.nan)
        found = every[start : start + rows]
        return np.broadcast_to(found[:, None] if found.ndim < seen.ours.ndim else found, seen.ours.shape)

    return put


def _of_the_pass_before(seen: Seen) -> Array | None:
    if seen.earlier is None or seen.of_all is None:
        return None
    there = (seen.earlier >= 0).reshape(-1, *[1] * (seen.ours.ndim - 1))
    return np.where(there, seen.of_all[seen.earlier], np.nan)


def _across(rows: Array, by: int) -> Array:
    """Returns rows, [T] or [N, T], one column on or back; NaN where nothing comes in."""
    wider = np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(1, 1)], constant_values=np.nan)
    return np.asarray(np.roll(wider, by, axis=-1)[..., 1:-1])


Change = Callable[[Array], Array]
MOVED: dict[str, Change] = {
    "doubled": lambda row: 2 * row,
    "halved": lambda row: row / 2,
    "of the opposite sign": lambda row: -row,
    "that of the row before": lambda row: np.roll(row, 1),
    "that of the row behind": lambda row: np.roll(row, -1),
    "in the opposite order": lambda row: row[::-1],
    "squared": lambda row: row * row,
    "its size, without the sign": np.abs,
}  # fmt: skip
BOTH: dict[str, Change] = {
    "those of the response before": lambda rows: np.roll(rows, 1),
    "those of the response behind": lambda rows: np.roll(rows, -1),
    "taken from pairs that lie side by side, chosen and rejected in turns": lambda rows: rows.reshape(-1, 2).T.ravel(),
    "taken from pairs whose halves were stacked, as if they lay side by side": lambda rows: rows.reshape(2, -1).T.ravel(),
}  # fmt: skip
"""What is done to the rows of both sides at once, the chosen ones in front."""
STATISTICS: Mapping[str, Callable[[Array], float]] = MappingProxyType({
    "the mean": lambda row: float(row.mean()),
    "the sum": lambda row: float(row.sum()),
    "the largest": lambda row: float(row.max()),
    "the smallest": lambda row: float(row.min()),
    "the median": lambda row: float(np.median(row)),
    "the standard deviation (by N)": lambda row: float(row.std()),
    "the standard deviation (by N − 1)": lambda row: float(row.std(ddof=1)) if len(row) > 1 else np.nan,
})  # fmt: skip
SIDES = ("chosen", "rejected")


class Stand(NamedTuple):
    """What stands where a quantity should: rows by name, one behind the other, and what is made of them, by its name.

    on: whether everything that is made of the quantity is made of what stands there. half: which half of it is meant, 1 or 2;
        0: all of it.
    """

    of: tuple[str, ...]
    how: str = ""
    on: bool = False
    half: int = 0

    def made(self, rows: Mapping[str, Array]) -> Array | float:
        """Returns it, a row or a number."""
        row = np.concatenate([rows[name] for name in self.of])
        if self.how in STATISTICS:
            return STATISTICS[self.how](row)
        row = (MOVED | BOTH)[self.how](row) if self.how else row
        return np.split(row, 2)[self.half - 1] if self.half else row


Stands = Mapping[str, Stand]
"""By quantity."""


def stands(rows: Mapping[str, Array], name: str) -> Iterator[tuple[str, Stands]]:
    """Yields what may stand for a quantity, and how that is said; rows: those of the step, by name."""
    if name in rows:
        yield from _of_row(rows, name)
    else:
        yield from _of_number(rows, name)


def _of_row(rows: Mapping[str, Array], name: str) -> Iterator[tuple[str, Stands]]:
    """Of a row that either side of a pair has, both are changed, then the one alone."""
    other = _of_other_side(name)
    sources = [each for each in rows if each != name and rows[each].shape == rows[name].shape]
    said = {f"{{}} is {how}": Stand((name,), how) for how in MOVED}
    said |= {f"{each} stands for {{}}": Stand((each,)) for each in sources}
    for on, more in ((True, ", and in all that is made of it"), (False, ", in what is written of it alone")):
        for label, stand in said.items():
            theirs = Stand(tuple(map(_of_other_side, stand.of)), stand.how, on)
            if other in rows and rows.keys() >= {*theirs.of}:
                yield f"{label.format(name)}, on both sides{more}", {name: stand._replace(on=on), other: theirs}
        for how in BOTH if other != name and other in rows else ():
            sides = sorted((name, other))  # the chosen one in front
            yield (
                f"{sides[0]} and {sides[1]} are {how}{more}",
                {each: Stand((*sides,), how, on, 1 + at) for at, each in enumerate(sides)},
            )
        for label, stand in said.items():
            yield f"{label.format(name)}{more}", {name: stand._replace(on=on)}


def _of_number(rows: Mapping[str, Array], name: str) -> Iterator[tuple[str, Stands]]:
    together = [(each, _of_other_side(each)) for each in rows if each.startswith(SIDES[0])]
    for of in (*((each,) for each in rows), *(each for each in together if each[1] in rows)):
        for how in STATISTICS:
            yield f"{name} is {how} of {' and '.join(of)}", {name: Stand(of, how)}


def _of_other_side(name: str) -> str:
    """Returns what a quantity of one side is called on the other; of no side, its own name."""
    side, dot, rest = name.partition(".")
    return f"{SIDES[SIDES[0] == side]}{dot}{rest}" if side in SIDES else name


def made(of: Stands, rows: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, float]]:
    """Returns what stands for quantities, rows and numbers; rows: what it is made of."""
    found = {name: stand.made(rows) for name, stand in of.items()}
    numbers = {name: each for name, each in found.items() if isinstance(each, float)}
    return {name: np.asarray(each) for name, each in found.items() if name not in numbers}, numbers
