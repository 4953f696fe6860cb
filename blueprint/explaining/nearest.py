"""The order of an explanation: under which cell each other one is told, the nearest to the top first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from blueprint.explaining.tree import Explanation


def nearest(top: Explanation) -> list[tuple[Explanation, Explanation]]:
    """Lists every cell below the top with the one that it is told under: the nearest that reads it."""
    layer, told = [top], {id(top)}
    pairs = []
    while layer:
        found = [(each, parent) for parent in layer for each in parent.reads]
        layer = []
        for each, parent in found:
            if id(each) not in told:
                told.add(id(each))
                pairs.append((each, parent))
                layer.append(each)
    return pairs
