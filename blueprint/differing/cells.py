"""The cells that differ: typed ones in reading order, computed ones in the order of derivation, and what a file shows anew."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from blueprint.explaining import label
from blueprint.language import Array, Axis, Block, Loop, in_order
from blueprint.reopening import SavedBook

Value = float | str
Way = tuple[Axis, int] | None
"""Along which axis blocks are computed together, and which way; None for a block by itself."""


@dataclass(frozen=True)
class Change:
    """A cell that differs: its block, what it is called, `ρ[1, 4]`, where it stands in each file, and both values."""

    name: str
    label: str
    cells: tuple[str, str]
    values: tuple[Value, Value]


@dataclass(frozen=True)
class Parting(Change):
    """A computed block that differs, and its first cell that does: in the order of computation where that is a loop.

    differ:  how many cells differ, `of` how many there are.
    largest: the largest |a − b| of its numbers; None among words, and where only one file has a number.
    """

    meaning: str
    differ: int
    of: int
    largest: float | None


class Stale(NamedTuple):
    """A file with cells that show something else than its inputs give: how many, the first of them, and what it says."""

    path: str
    cells: int
    cell: str
    told: str


def changes(one: SavedBook, other: SavedBook, shared: Collection[str]) -> list[Change]:
    """Lists the typed cells that differ, in reading order; what only changes the look of a file is listed too."""
    typed = (name for name in shared if _typed(one, name) and _typed(other, name))
    return [Change(**_facts(one, other, name, at)) for name in typed for at in _apart(one, other, name, 0)]


def partings(one: SavedBook, other: SavedBook, shared: Collection[str], tolerance: float) -> list[Parting]:
    """Lists the computed blocks whose cells differ by more than tolerance · max(1, |a|, |b|), links left out.

    Blocks that are computed together, column after column, stand in the order in which their first cells part.
    """
    found: list[Parting] = []
    for step in one.derivation():
        way = (step.axis, step.way) if isinstance(step, Loop) else None
        names = [block.name for block in in_order([step]) if block.name in shared and not block.link]
        computed = (name for name in names if not (_typed(one, name) or _typed(other, name)))
        parted = [each for name in computed for each in _parted(one, other, name, way, tolerance)]
        found += [parting for _, parting in sorted(parted, key=lambda each: each[0])]
    return found


def stale(book: SavedBook) -> Stale | None:
    """Looks through every computed cell of a file; returns None where all show what the inputs give, to 1e-9."""
    computed = (name for name in book.file.places if name in book.blocks and not _typed(book, name))
    cells = ((name, at) for name in computed for at in np.ndindex(_array(book, name).shape))
    doubts = ((book.file.address(name, at), book.doubts(book.cell_at(name, at))) for name, at in cells)
    doubted = [(address, why) for address, why in doubts if why]
    return Stale(str(book.file.path), len(doubted), *doubted[0]) if doubted else None


def _typed(book: SavedBook, name: str) -> bool:
    return book.typed(book.blocks[name])


def _array(book: SavedBook, name: str) -> Array:
    return book.values.arrays[book.blocks[name]]


def _facts(one: SavedBook, other: SavedBook, name: str, at: tuple[int, ...]) -> dict[str, Any]:
    """Returns what a cell that differs is called, where it stands, and what it holds; edge cells are counted in `at`."""
    return {
        "name": name,
        "label": label(one.cell_at(name, at), one.blueprint.names, one.values),
        "cells": (one.file.address(name, at), other.file.address(name, at)),
        "values": (_array(one, name)[at], _array(other, name)[at]),
    }


def _parted(one: SavedBook, other: SavedBook, name: str, way: Way, tolerance: float) -> Iterator[tuple[int, Parting]]:
    """Yields how a block parts, after its first moment in the loop (0 outside of one), if it does."""
    cells = _apart(one, other, name, tolerance)
    if cells:
        block, ours, theirs = one.blocks[name], _array(one, name), _array(other, name)
        moments = [_moment(at, block, way) for at in cells]
        facts = _facts(one, other, name, cells[int(np.argmin(moments))])
        answered = {at for book in (one, other) for spot, at in book.filled.cells if spot == name}
        meaning = block.about.meaning + " (a blank)" * (cells[int(np.argmin(moments))] in answered)
        largest = _largest(ours, theirs)
        yield (
            min(moments),
            Parting(**facts, meaning=meaning, differ=len(cells), of=ours.size, largest=largest),
        )


def _is_open(name: str, at: tuple[int, ...], *books: SavedBook) -> bool:
    """Says whether a cell is a blank that is empty, or waits for one, in one of the files."""
    return any(at in book.filled.open.get(name, ()) for book in books)


def _apart(one: SavedBook, other: SavedBook, name: str, tolerance: float) -> list[tuple[int, ...]]:
    """Lists the cells of a block that differ; a blank differs from a number, and words as a sheet compares them."""
    ours, theirs = _array(one, name), _array(other, name)
    if ours.dtype == object or theirs.dtype == object:
        words = zip(np.ndindex(ours.shape), ours.flat, theirs.flat, strict=True)
        differing = [at for at, a, b in words if str(a).casefold() != str(b).casefold()]
        return [at for at in differing if not _is_open(name, at, one, other)]
    with np.errstate(invalid="ignore"):  # two limits that are off: ∞ − ∞
        near = np.abs(ours - theirs) <= tolerance * np.maximum(1, np.maximum(np.abs(ours), np.abs(theirs)))
    blank = np.isnan(ours), np.isnan(theirs)
    differ = np.where(blank[0] | blank[1], blank[0] != blank[1], ~near & (ours != theirs))
    return [at for at in map(tuple, np.argwhere(differ).tolist()) if not _is_open(name, at, one, other)]


def _moment(at: tuple[int, ...], block: Block, way: Way) -> int:
    """Returns when a cell is computed: its place along the axis of the loop, from 0 up; all at once outside of one."""
    axes = [axis.extent for axis in block.axes]
    if way is None or way[0].extent not in axes:
        return 0
    axis, direction = way
    return (at[axes.index(axis.extent)] - ((axis.extent, -1) in block.edges)) * direction


def _largest(ours: Array, theirs: Array) -> float | None:
    if ours.dtype == object:
        return None
    both = np.isfinite(ours) & np.isfinite(theirs)
    return float(np.abs(ours[both] - theirs[both]).max()) if both.any() else None
