"""A logged tensor, or a logged number, beside the row that was computed again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from blueprint.dumps import Array, Dump, Minibatch

Rows = Mapping[str, Array]


class Axes(NamedTuple):
    """What rows and columns of a tensor are called, and one of its numbers."""

    row: str = "row"
    column: str = "column"
    cell: str = "token"


@dataclass(frozen=True)
class Spot:
    """Where a tensor first deviates: a response, its first and last deviating column, and both numbers at the first.

    episode: the response in the minibatch, from 0; row: the row of the file that it is. Columns are those of the file.
    """

    episode: int
    row: int
    first: int
    last: int
    words: int
    logged: float
    recomputed: float


SHARE = 0.005
"""A quantity agrees only if its tolerance is at most this share of its size: a fault of twice as much, 1 %, is then found even
where rounding works against it."""


@dataclass(frozen=True)
class Compared:
    """A logged quantity beside its row.

    means: what the name means here, where that is not what the preset says.
    cells, deviating: how many numbers were compared, and how many of them are further apart than `allowed`, by which rounding
        alone may move them.
    largest: the largest difference. size: the mean size of what was computed again.
    extra: the part of `allowed` that is due to few digits, or to tokens near a clip.
    measured: by how much rounding was seen to move it (`measured.py`), where `allowed` is more than a `SHARE` of the size.
    arithmetic: by how much the library's own arithmetic may move it. dtype: the coarsest of what it is made of.
    logged, recomputed: both numbers, where it is a number.
    axes: what its rows, columns and numbers are called.
    """

    name: str
    row: str
    means: str
    cells: int
    deviating: int
    largest: float
    allowed: float
    spot: Spot | None = None
    logged: float | None = None
    recomputed: float | None = None
    size: float = 0.0
    extra: float = 0.0
    measured: float | None = None
    arithmetic: float = 0.0
    dtype: str = ""
    axes: Axes = field(default_factory=Axes)

    @property
    def agrees(self) -> bool:
        """Whether no number is further off than rounding alone may explain; it may still be too coarse to tell."""
        return not self.deviating

    @property
    def rounding(self) -> float:
        """How far rounding may move it."""
        return self.allowed - self.extra if self.measured is None else self.measured

    @property
    def doubtful(self) -> bool:
        """Whether rounding might hide more than a `SHARE` of it."""
        return not self.rounding <= SHARE * self.size

    @property
    def tolerance(self) -> float:
        """How far off a number may be and still be said to agree.

        Where rounding might hide too much, what agrees to within the library's arithmetic has not been rounded on the way.
        """
        if self.doubtful:
            return min(self.arithmetic, SHARE * self.size)
        return self.rounding + self.extra if self.rounding + self.extra <= SHARE * self.size else self.rounding

    @property
    def too_coarse(self) -> bool:
        """Whether rounding may explain the difference, but might hide a fault, too; what is equal to the last bit agrees."""
        return self.agrees and self.largest != 0 and not self.largest <= self.tolerance


COMPARED_WHERE = {"rewards": ("kept", "score.place"), "returns": ("response", "value.counted")}
"""By tensor, the rows that say where it means something; others do within the response, and scores everywhere."""


def computed(found: Mapping[str, Any], name: str) -> Any:
    """Returns what a row or number comes to, also where the file's own stands in its place."""
    return found.get(f"computed.{name}", found[name])


def tile_of(batch: Minibatch, name: str, start: int, rows: Rows, cells: Array | None = None) -> tuple[Array, Array]:
    """Returns the numbers [N, T] of a logged tensor in a tile, and where they are compared.

    That is where they mean something, and the file has a number or should; or where `cells` [B, T] says.
    """
    here = slice(start, start + len(rows["response"]))
    theirs = np.asarray(batch.tensors[name][here], dtype=np.float64)
    if cells is not None:
        return theirs, np.asarray(cells[here])
    read = np.maximum.reduce([rows[each] for each in COMPARED_WHERE.get(name, ("response",)) if each in rows])
    return theirs, np.asarray(((read > 0) | (name == "scores")) & (np.isfinite(theirs) | batch.mask[here]))


def ours_of(name: str, row: str, rows: Rows, theirs: Array) -> Array:
    """Returns the row [N, T] that a logged tensor is compared with; scores are moved to where the preset has them."""
    ours = computed(rows, row)[:, : theirs.shape[1]]
    return np.asarray(ours * np.nan_to_num(theirs).sum(axis=1, keepdims=True) if name == "scores" else ours)


class Tally:
    """Adds up what tiles of a tensor come to."""

    def __init__(
        self, batch: Minibatch, name: str, row: str, means: str, allowed: float, cells: Array | None = None
    ) -> None:
        """Starts with nothing compared. `cells` [B, T] says where to compare, if not where the rows mean something."""
        self.batch, self.row, self.cells = batch, row, cells
        self.found = Compared(name, row, means, 0, 0, 0.0, allowed)

    def add(self, start: int, rows: Rows) -> None:
        """Compares the responses of a tile, of which `start` is the first."""
        before = self.found
        theirs, where = tile_of(self.batch, before.name, start, rows, self.cells)
        ours = ours_of(before.name, self.row, rows, theirs)
        apart = np.where(where, distance(np.where(where, theirs, 0.0), ours), 0.0)
        wrong = ~(apart <= before.allowed) | np.isinf(apart)
        cells, sizes = before.cells + int(where.sum()), np.abs(ours[where])
        size = before.size * before.cells + float(sizes[np.isfinite(sizes)].sum())
        self.found = replace(
            before,
            cells=cells,
            deviating=before.deviating + int(wrong.sum()),
            largest=max(before.largest, float(apart.max(initial=0.0))),
            size=size / max(1, cells),
            spot=before.spot or first_spot(self.batch, wrong, theirs, ours, range(start, start + len(theirs))),
        )


def first_spot(dump: Dump, wrong: Array, theirs: Array, ours: Array, rows: Sequence[int] | Array) -> Spot | None:
    """Returns where numbers [N, T] first deviate, None where none does; rows: which rows of the dump these are, [N]."""
    if not wrong.any():
        return None
    at = int(wrong.any(axis=1).argmax())
    columns = wrong[at].nonzero()[0]
    file_row, moved = dump.position(int(rows[at]))
    first, last = moved + int(columns[0]), moved + int(columns[-1])
    logged, recomputed = (float(each[at, columns[0]]) + 0.0 for each in (theirs, ours))  # −0 is 0
    return Spot(int(rows[at]), file_row, first, last, len(columns), logged, recomputed)


def distance(theirs: Array, ours: Array) -> Array:
    """Returns |theirs − ours|: 0 where both are the same infinity or both no number, infinity where only one of them is."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(theirs - ours)
    same = (theirs == ours) | (np.isnan(theirs) & np.isnan(ours))
    return np.asarray(np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart)))


def compare_tiles(tallies: Sequence[Tally], tiles: Iterable[tuple[int, Rows]], patient: bool = True) -> None:
    """Compares tensors tile by tile; without patience only up to the first tile in which all of them deviate."""
    for start, rows in tiles:
        for each in tallies:
            each.add(start, rows)
        if not patient and not any(each.found.agrees for each in tallies):
            return


def compare_number(name: str, row: str, means: str, both: tuple[float, float], allowed: float) -> Compared:
    """Compares a logged number, the first of both, with the one that was computed again; −0 is 0."""
    logged, ours = (each + 0.0 for each in both)
    apart = float(distance(np.asarray(logged), np.asarray(ours)))
    wrong = not apart <= allowed or np.isinf(apart)
    return Compared(name, row, means, 1, int(wrong), apart, allowed, None, logged, ours, abs(ours))
