"""A logged tensor, or a logged number, beside the row that was computed again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array, Dump, Minibatch

Rows = Mapping[str, Array]


class Axes(NamedTuple):
    """What rows and columns of a tensor are called, and one of its numbers."""

    row: str = "row"
    column: str = "column"
    cell: str = "word"


OF_RESPONSES = Axes()


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
    extra: the part of `allowed` that is due to few digits, or to words near a clip.
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
    axes: Axes = OF_RESPONSES

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


def compared_cells(name: str, rows: Rows, theirs: Array, mask: Array) -> Array:
    """Returns where a tensor [N, T] is compared: where it means something, and the file has a number or should."""
    if name == "scores":
        read = np.ones_like(theirs)
    elif name == "rewards":
        read = np.maximum(rows["kept"], rows["score.place"])
    elif name == "returns":
        read = np.maximum(rows["response"], rows["value.counted"]) if "value.counted" in rows else rows["response"]
    else:
        read = rows["response"]
    return np.asarray((read > 0) & (np.isfinite(theirs) | mask))


def ours_of(name: str, row: str, rows: Rows, theirs: Array) -> Array:
    """Returns the row [N, T] that a logged tensor is compared with; scores are moved to where the preset has them."""
    if name == "scores":
        place = rows.get(f"computed.{row}", rows[row])
        return np.asarray(place * np.nan_to_num(theirs).sum(axis=1, keepdims=True))
    return np.asarray(rows.get(f"computed.{row}", rows[row])[:, : theirs.shape[1]])


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
        name = self.found.name
        stop = start + len(rows["response"])
        theirs = np.asarray(self.batch.tensors[name][start:stop], dtype=np.float64)
        where = self._where(start, rows, theirs)
        ours = ours_of(name, self.row, rows, theirs)
        apart = np.where(where, distance(np.where(where, theirs, 0.0), ours), 0.0)
        wrong = ~(apart <= self.found.allowed) | np.isinf(apart)
        self.found = replace(
            self.found,
            cells=self.found.cells + int(where.sum()),
            deviating=self.found.deviating + int(wrong.sum()),
            largest=max(self.found.largest, float(apart.max(initial=0.0))),
            size=self._size(ours[where]),
            spot=self.found.spot or first_spot(self.batch, wrong, theirs, ours, range(start, stop)),
        )

    def _size(self, ours: Array) -> float:
        """Returns the mean size of everything compared so far, and now of some more."""
        before, here = self.found.cells, np.abs(ours[np.isfinite(ours)])
        return (self.found.size * before + float(here.sum())) / max(1, before + ours.size)

    def _where(self, start: int, rows: Rows, theirs: Array) -> Array:
        if self.cells is not None:
            return np.asarray(self.cells[start : start + len(theirs)])
        return compared_cells(self.found.name, rows, theirs, self.batch.mask[start : start + len(theirs)])


def first_spot(dump: Dump, wrong: Array, theirs: Array, ours: Array, rows: Sequence[int] | Array) -> Spot | None:
    """Returns where numbers [N, T] first deviate, None where none does; rows: which rows of the dump these are, [N]."""
    if not wrong.any():
        return None
    at = int(wrong.any(axis=1).argmax())
    columns = wrong[at].nonzero()[0]
    row, first, last = int(rows[at]), int(columns[0]), int(columns[-1])
    (file_row, moved), numbers = (
        dump.position(row),
        (float(each[at, first]) + 0.0 for each in (theirs, ours)),
    )  # −0 is 0
    return Spot(row, file_row, moved + first, moved + last, len(columns), *numbers)


def distance(theirs: Array, ours: Array) -> Array:
    """Returns |theirs − ours|: 0 where both are the same infinity or both no number, infinity where only one of them is."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(theirs - ours)
    same = (theirs == ours) | (np.isnan(theirs) & np.isnan(ours))
    return np.asarray(np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart)))


def compare_tiles(tallies: Iterable[Tally], tiles: Iterable[tuple[int, Rows]], patient: bool = True) -> None:
    """Compares tensors tile by tile; without patience only up to the first tile in which all of them deviate."""
    of_tensors = list(tallies)
    for start, rows in tiles:
        for each in of_tensors:
            each.add(start, rows)
        if not patient and not any(each.found.agrees for each in of_tensors):
            return


def compare_number(name: str, row: str, means: str, both: tuple[float, float], allowed: float) -> Compared:
    """Compares a logged number, the first of both, with the one that was computed again; −0 is 0."""
    logged, ours = (each + 0.0 for each in both)
    apart = float(distance(np.asarray(logged), np.asarray(ours)))
    wrong = not apart <= allowed or np.isinf(apart)
    return Compared(name, row, means, 1, int(wrong), apart, allowed, logged=logged, recomputed=ours, size=abs(ours))
