"""Two saved workbooks side by side: which inputs differ, and where the derivation first parts."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.differing.derived import Parting, partings
from blueprint.differing.inputs import Change, changes
from blueprint.differing.shown import Stale, stale
from blueprint.differing.sized import Unlike, unlike
from blueprint.reopening import SavedBook

__all__ = ["Change", "Differences", "Parting", "Stale", "Unlike", "differences"]


class Differences(NamedTuple):
    """What differs between two files.

    unlike:   what the files have different numbers of, and blocks that only one of them has, or that differ in shape.
    inputs:   typed cells that differ, in reading order.
    partings: computed blocks that differ, in the order of derivation.
    compared: how many typed and computed blocks both have in equal shapes.
    stale:    for each file that shows something else than its inputs give, where.
    """

    names: tuple[str, str]
    tolerance: float
    unlike: Unlike
    inputs: list[Change]
    partings: list[Parting]
    compared: int
    stale: list[Stale]

    @property
    def alike(self) -> bool:
        """Says whether the files have the same inputs and give the same numbers."""
        return not (self.unlike.any or self.inputs or self.partings)


def differences(one: SavedBook, other: SavedBook, tolerance: float) -> Differences:
    """Compares two saved books: inputs exactly, what follows from them to |a − b| ≤ tolerance · max(1, |a|, |b|)."""
    sizes = unlike(one, other)
    return Differences(
        names=(str(one.file.path), str(other.file.path)),
        tolerance=tolerance,
        unlike=sizes,
        inputs=changes(one, other, sizes.shared),
        partings=partings(one, other, sizes.shared, tolerance),
        compared=len(sizes.shared),
        stale=[found for book in (one, other) if (found := stale(book)) is not None],
    )
