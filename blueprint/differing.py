"""Two saved workbooks side by side: which inputs differ, and where the derivation first parts; as text and as data."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from blueprint.explaining import label
from blueprint.language import Array, Axis, Block, Loop, in_order
from blueprint.quoting import table
from blueprint.reopening import SavedBook, shown

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


__all__ = ["Change", "Differences", "Parting", "Stale", "data", "differences", "text"]

LISTED = 12
"""How many blocks that only one file has are named; the others are counted."""


class Differences(NamedTuple):
    """What differs between two files.

    sizes:    a line for everything they have different numbers of: episodes, tokens, words, their level.
    only:     for each file, the blocks that the other lacks.
    shapes:   the blocks that both have in different shapes.
    inputs:   typed cells that differ, in reading order.
    partings: computed blocks that differ, in the order of derivation.
    compared: how many typed and computed blocks both have in equal shapes.
    stale:    for each file that shows something else than its inputs give, where.
    taken:    the files of no known kind, whose computed cells are taken as they are shown.
    blanks:   a line for each worksheet: its blanks, and what is not compared because of them.
    """

    names: tuple[str, str]
    tolerance: float
    sizes: list[str]
    only: tuple[list[str], list[str]]
    shapes: list[str]
    inputs: list[Change]
    partings: list[Parting]
    compared: int
    stale: list[Stale]
    taken: list[str]
    blanks: list[str]

    @property
    def unlike(self) -> bool:
        """Says whether the files differ before their cells are looked at."""
        return bool(self.sizes or any(self.only) or self.shapes)

    @property
    def alike(self) -> bool:
        """Says whether the files have the same inputs and give the same numbers."""
        return not (self.unlike or self.inputs or self.partings)


def differences(one: SavedBook, other: SavedBook, tolerance: float) -> Differences:
    """Compares two saved books: inputs exactly, what follows from them to |a − b| ≤ tolerance · max(1, |a|, |b|)."""
    books = one, other
    ours, theirs = ({block.name: array.shape for block, array in book.values.arrays.items()} for book in books)
    both = [block.name for block in one.blueprint.blocks() if block.name in theirs]
    shared = [name for name in both if ours[name] == theirs[name]]
    return Differences(
        names=(str(one.file.path), str(other.file.path)),
        tolerance=tolerance,
        sizes=_sizes(one, other),
        only=(_only(one, other), _only(other, one)),
        shapes=[name for name in both if ours[name] != theirs[name]],
        inputs=changes(one, other, shared),
        partings=partings(one, other, shared, tolerance),
        compared=len(shared),
        stale=[found for book in books if book.computes and (found := stale(book)) is not None],
        taken=[str(book.file.path) for book in books if not book.computes],
        blanks=[*_blanks("a", one, other), *_blanks("b", other, one)],
    )


def _only(one: SavedBook, other: SavedBook) -> list[str]:
    """Lists the blocks that the second file lacks; what is left out of a worksheet is none of them."""
    return [] if other.filled.blanks else [name for name in one.blocks if name not in other.blocks]


def _blanks(letter: str, book: SavedBook, other: SavedBook) -> list[str]:
    """Says, of a worksheet, how far it is filled in, and what is not compared."""
    cells, empty, waiting = (len(each) for each in (book.filled.cells, book.filled.empty, book.filled.waiting))
    if not cells:
        return []
    left_out = sum(name not in book.blocks for name in other.blocks)
    more = f"; {left_out} blocks of the other file are left out of it" if left_out else ""
    return [
        f"{letter} is a worksheet: {cells - empty} of {cells} cells of its blanks are filled in; {empty} that are empty and "
        f"{waiting} that wait for them are not compared{more}"
    ]


def _sizes(one: SavedBook, other: SavedBook) -> list[str]:
    """Names the level, and the axes of which the files have different numbers of members, by meanings and letters."""
    ours, theirs = (
        {"": _level(book)} | {f"{axis.meaning} {axis.letter}: ": size for axis, size in book.blueprint.sizes.items()}
        for book in (one, other)
    )
    return [f"{axis}{size} and {theirs[axis]}" for axis, size in ours.items() if theirs.get(axis, size) != size]


def _level(book: SavedBook) -> str:
    facts = book.blueprint.facts
    live = ", live conventions" if facts.get("conventions") == "live" else ""
    return f"level {facts['level']}{live}" if "level" in facts else "no level"


def text(found: Differences) -> str:
    """Returns the report: sizes, inputs, where the derivation first parts, and every quantity that does."""
    none = f"{found.compared} blocks compared, no difference (tolerance {found.tolerance:g})"
    lines = [
        *(f"{letter}: {name}" for letter, name in zip("ab", found.names, strict=True)),
        *_unlike(found),
        *found.blanks,
        *_inputs(found),
        *_partings(found),
        *(
            f"{each.path}: {each.cells} cells do not show what its inputs give, first {each.cell}: {each.told}"
            for each in found.stale
        ),
        *(
            f"{path}: of no kind that is known here, so that what it computes is taken as it shows it"
            for path in found.taken
        ),
        *([none] if found.alike else []),
    ]
    return "\n".join(lines)


def _unlike(found: Differences) -> list[str]:
    return [
        *(f"sizes differ: {line}" for line in found.sizes),
        *(f"only in {letter}: {_some(names)}" for letter, names in zip("ab", found.only, strict=True) if names),
        *([f"other shape, not compared: {_some(found.shapes)}"] if found.shapes else []),
        *([f"{found.compared} blocks of equal shape are compared"] if found.unlike else []),
    ]


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{len(names)} blocks ({', '.join(names[:LISTED])}{more})" if len(names) > 1 else names[0]


def _inputs(found: Differences) -> list[str]:
    if not found.inputs:
        return ["inputs: the same"] if not found.alike else []
    rows = [(each.label, each.name, *map(shown, each.values), _place(each.cells)) for each in found.inputs]
    return [f"inputs that differ: {len(rows)}", *_table(("", "block", "a", "b", "cell"), rows)]


def _partings(found: Differences) -> list[str]:
    if not found.partings:
        return ["what is computed: the same"] if not found.alike else []
    first = found.partings[0]
    head = f"the derivation first parts at {first.label}, {first.meaning}: {_value(first.values[0])} and {_value(first.values[1])}"
    rows = [
        (each.label, each.name, *map(_value, each.values), _place(each.cells), f"{each.differ}/{each.of}",
         "" if each.largest is None else f"{each.largest:.2g}")
        for each in found.partings
    ]  # fmt: skip
    named = ("first cell", "block", "a", "b", "cell", "differ", "largest")
    return [head, f"computed blocks that differ, in the order of derivation: {len(rows)}", *_table(named, rows)]


def _place(cells: tuple[str, str]) -> str:
    return cells[0] if cells[0] == cells[1] else f"{cells[0]} | {cells[1]}"


def _value(value: Value) -> str:
    return shown(value) if isinstance(value, str) or isnan(value) else f"{value:.6g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"  {line}" for line in table([head, *rows])]


def data(found: Differences) -> dict[str, Any]:
    """Returns the report as one object: blank cells are null, words text, everything else numbers."""
    one, other = found.names
    return {
        "a": one, "b": other, "alike": found.alike, "tolerance": found.tolerance, "compared": found.compared,
        "sizes": found.sizes, "only_a": found.only[0], "only_b": found.only[1], "shapes": found.shapes,
        "inputs": [_change(each) for each in found.inputs],
        "partings": [
            {**_change(each), "meaning": each.meaning, "differ": each.differ, "of": each.of, "largest": each.largest}
            for each in found.partings
        ],
        "stale": [each._asdict() for each in found.stale], "taken": found.taken, "blanks": found.blanks,
    }  # fmt: skip


def _change(each: Change) -> dict[str, Any]:
    """Returns one cell of both files."""
    (cell_a, cell_b), (a, b) = each.cells, map(_json, each.values)
    return {"block": each.name, "label": each.label, "cell_a": cell_a, "cell_b": cell_b, "a": a, "b": b}


def _json(value: Value) -> Value | None:
    return value if isinstance(value, str) else None if isnan(value) else float(value)
