"""Two saved workbooks side by side: which inputs differ, and where the derivation first parts."""

from typing import NamedTuple

from blueprint.differing.cells import Change, Parting, Stale, changes, partings, stale
from blueprint.reopening import SavedBook

__all__ = ["Change", "Differences", "Parting", "Stale", "Unlike", "differences"]


class Unlike(NamedTuple):
    """How two files differ before their cells are looked at.

    sizes:    a line for everything they have different numbers of: episodes, decisions, words, their level.
    only:     for each file, the blocks that the other lacks.
    shapes:   the blocks that both have in different shapes.
    shared:   the blocks that both have in equal shapes, in the reading order of the first.
    """

    sizes: list[str]
    only: tuple[list[str], list[str]]
    shapes: list[str]
    shared: list[str]

    @property
    def any(self) -> bool:
        """Says whether anything differs."""
        return bool(self.sizes or any(self.only) or self.shapes)


class Differences(NamedTuple):
    """What differs between two files.

    unlike:   what the files have different numbers of, and blocks that only one of them has, or that differ in shape.
    inputs:   typed cells that differ, in reading order.
    partings: computed blocks that differ, in the order of derivation.
    compared: how many typed and computed blocks both have in equal shapes.
    stale:    for each file that shows something else than its inputs give, where.
    taken:    the files of no known kind, whose computed cells are taken as they are shown.
    """

    names: tuple[str, str]
    tolerance: float
    unlike: Unlike
    inputs: list[Change]
    partings: list[Parting]
    compared: int
    stale: list[Stale]
    taken: list[str]

    @property
    def alike(self) -> bool:
        """Says whether the files have the same inputs and give the same numbers."""
        return not (self.unlike.any or self.inputs or self.partings)


def differences(one: SavedBook, other: SavedBook, tolerance: float) -> Differences:
    """Compares two saved books: inputs exactly, what follows from them to |a − b| ≤ tolerance · max(1, |a|, |b|)."""
    found, both = unlike(one, other), (one, other)
    return Differences(
        names=(str(one.file.path), str(other.file.path)),
        tolerance=tolerance,
        unlike=found,
        inputs=changes(one, other, found.shared),
        partings=partings(one, other, found.shared, tolerance),
        compared=len(found.shared),
        stale=[said for book in both if book.computes and (said := stale(book)) is not None],
        taken=[str(book.file.path) for book in both if not book.computes],
    )


def unlike(one: SavedBook, other: SavedBook) -> Unlike:
    """Compares levels, sizes and shapes."""
    ours, theirs = ({block.name: array.shape for block, array in book.values.arrays.items()} for book in (one, other))
    both = [block.name for block in one.blueprint.blocks() if block.name in theirs]
    levels = [_level(book) for book in (one, other)]
    return Unlike(
        [f"{levels[0]} and {levels[1]}"] * (levels[0] != levels[1]) + _sizes(one, other),
        ([name for name in one.blocks if name not in theirs], [name for name in other.blocks if name not in ours]),
        [name for name in both if ours[name] != theirs[name]],
        [name for name in both if ours[name] == theirs[name]],
    )


def _level(book: SavedBook) -> str:
    facts = book.blueprint.facts
    live = ", live conventions" if facts.get("conventions") == "live" else ""
    return f"level {facts['level']}{live}" if "level" in facts else "no level"


def _sizes(one: SavedBook, other: SavedBook) -> list[str]:
    """Names the axes of which the files have different numbers of members, by their letters and meanings."""
    ours, theirs = (
        {f"{axis.meaning} {axis.letter}": size for axis, size in book.blueprint.sizes.items()} for book in (one, other)
    )
    return [f"{axis}: {size} and {theirs[axis]}" for axis, size in ours.items() if theirs.get(axis, size) != size]
