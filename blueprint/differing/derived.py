"""Where the derivation parts: the computed blocks that differ, in the order in which they are computed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from blueprint.differing.inputs import Value, called
from blueprint.language import Axis, Block
from blueprint.language.schedule import Loop, Step, schedule
from blueprint.reopening import SavedBook

Array = npt.NDArray[Any]


class Parting(NamedTuple):
    """A computed block that differs.

    label:   its first cell that differs, such as `ρ[1, 4]`: in the order of computation where that is a loop.
    cells:   where that cell stands in each file, and `values` what it is.
    differ:  how many cells differ, `of` how many there are.
    largest: the largest |a − b| of its numbers; None among words, and where only one file has a number.
    """

    name: str
    meaning: str
    label: str
    cells: tuple[str, str]
    values: tuple[Value, Value]
    differ: int
    of: int
    largest: float | None


def partings(one: SavedBook, other: SavedBook, shared: Collection[str], tolerance: float) -> list[Parting]:
    """Lists the computed blocks whose cells differ by more than tolerance · max(1, |a|, |b|), links left out.

    Blocks that are computed together, column after column, stand in the order in which their first cells part.
    """
    found: list[Parting] = []
    for step in schedule(one.blueprint.blocks()):
        loop = (step.axis, step.way) if isinstance(step, Loop) else None
        parted: list[tuple[int, Parting]] = []
        for block in _blocks(step):
            if block.name in shared and not (block.typed or block.link or other.blocks[block.name].typed):
                parted += _parted(one, other, block, loop, tolerance)
        found += [parting for _, parting in sorted(parted, key=lambda each: each[0])]
    return found


def _blocks(step: Step) -> Iterator[Block]:
    """Yields the blocks of a step, loops inside loops opened."""
    if isinstance(step, Block):
        yield step
    else:
        for inner in step.steps:
            yield from _blocks(inner)


def _parted(
    one: SavedBook, other: SavedBook, block: Block, loop: tuple[Axis, int] | None, tolerance: float
) -> Iterator[tuple[int, Parting]]:
    """Yields how a block parts, after its first moment in the loop (0 outside of one), if it does."""
    ours: Any = one.values.arrays[block]
    theirs: Any = other.values.arrays[other.blocks[block.name]]
    cells = np.argwhere(_apart(ours, theirs, tolerance))
    if not len(cells):
        return
    moments = _moments(cells, block, loop)
    at = tuple(map(int, cells[int(np.argmin(moments))]))
    addresses = tuple(book.file.address(block.name, at) for book in (one, other))
    yield int(moments.min()), Parting(
        block.name, block.about.meaning, called(one, block.name, at), (addresses[0], addresses[1]), (ours[at], theirs[at]),
        len(cells), ours.size, _largest(ours, theirs),
    )  # fmt: skip


def _apart(ours: Array, theirs: Array, tolerance: float) -> npt.NDArray[np.bool_]:
    """Marks the cells that differ; a blank differs from a number, and words as a sheet compares them."""
    if ours.dtype == object or theirs.dtype == object:
        pairs = zip(ours.flat, theirs.flat, strict=True)
        return np.array([str(a).casefold() != str(b).casefold() for a, b in pairs], dtype=bool).reshape(ours.shape)
    with np.errstate(invalid="ignore"):  # two limits that are off: ∞ − ∞
        near = np.abs(ours - theirs) <= tolerance * np.maximum(1, np.maximum(np.abs(ours), np.abs(theirs)))
    blank = np.isnan(ours)
    return np.asarray(
        np.where(blank | np.isnan(theirs), blank != np.isnan(theirs), ~near & (ours != theirs)), dtype=bool
    )


def _moments(cells: npt.NDArray[np.intp], block: Block, loop: tuple[Axis, int] | None) -> npt.NDArray[np.intp]:
    """Returns when each cell is computed: its place along the axis of the loop, from 0 up; all at once outside of one."""
    axes = [axis.extent for axis in block.axes]
    if loop is None or loop[0].extent not in axes:
        return np.zeros(len(cells), dtype=np.intp)
    axis, way = loop
    places = cells[:, axes.index(axis.extent)] - ((axis.extent, -1) in block.edges)
    return np.asarray(places * way, dtype=np.intp)


def _largest(ours: Array, theirs: Array) -> float | None:
    if ours.dtype == object:
        return None
    both = np.isfinite(ours) & np.isfinite(theirs)
    return float(np.abs(ours[both] - theirs[both]).max()) if both.any() else None
