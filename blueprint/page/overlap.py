"""Two blocks, or two parts of one, in the same cell: refused in a sentence, as what is written last would hide the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from blueprint.language import Block, NotationError
from blueprint.page import grid
from blueprint.page.layout import Layout
from blueprint.page.place import spans

COLUMNS = 1 << 14
"""More than a sheet's last column."""


def refuse_overlaps(layout: Layout) -> None:
    """Raises NotationError, with both blocks and the cell, where something would be laid over something else."""
    by_sheet: dict[str, list[Block]] = {}
    for block, place in layout.places.items():
        by_sheet.setdefault(place.sheet, []).append(block)
    for sheet, blocks in by_sheet.items():
        cells = [_cells(block, layout) for block in blocks]
        found, counts = np.unique(np.concatenate(cells), return_counts=True)
        if len(found) and counts.max() > 1:
            twice = int(found[int(np.argmax(counts > 1))])
            there = [
                block.name for block, each in zip(blocks, cells, strict=True) for _ in np.flatnonzero(each == twice)
            ]
            at = f"{grid.quoted(sheet)}!{grid.letters(twice % COLUMNS)}{twice // COLUMNS + 1}"
            both = f"{there[0]} and {there[1]}" if there[0] != there[1] else f"two numbers of {there[0]}"
            raise NotationError(f"{both} would stand in one cell, {at}: give them rows of their own")


def _cells(block: Block, layout: Layout) -> npt.NDArray[np.int64]:
    """Returns a number for each cell of a block, its edges included."""
    place = layout.places[block]
    found = np.array([place.row * COLUMNS + place.column], dtype=np.int64)
    for axis, members in zip(block.axes, spans(block, layout.values), strict=True):
        down, right = place.steps[axis]
        found = np.add.outer(found, (down * COLUMNS + right) * np.array(members, dtype=np.int64)).ravel()
    return found
