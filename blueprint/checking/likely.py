"""Likely causes: what a wrong row would show by a misconception, held against what it does show.

The misconceptions are data of the kind of workbook (`Kind.misconceptions`). Each is tried on the numbers of the file itself,
so that one is recognised however far its consequences reach back into what the row reads.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from blueprint.checking.deviations import Deviation
from blueprint.checking.files import Checked
from blueprint.language import Array, NotationError, Values
from blueprint.misconceptions import Arrays, Rows, Shown, diagnose, misconceptions_of, wrong_values
from blueprint.page.filled_in import Spot
from blueprint.page.outline import Blank
from blueprint.page.read import ReadError
from blueprint.reopening.fresh import Like

NEAR = 1e-9
"""How near the wrong row must come, as a part of its largest number: rounding takes 1e-12 of it, another mistake none of it."""
Places = Sequence[tuple[int, ...]]


def likely(file: Checked, line: Deviation, meant: Array) -> str:
    """Returns how the misconception is said by which all deviating cells of a row show what they show; "" if none is known.

    meant: what torch has in the row. Cells at the edges of a block are left out; of a row of words none is known.
    """
    if file.places[line.name].words:
        return ""
    inside = _inside(file, line.name)
    starts = [cut.start for cut in inside]
    differs = np.zeros(file.arrays[line.name].shape, dtype=bool)
    differs[tuple(zip(*line.differing, strict=True))] = True
    cells = [tuple(at) for at in np.argwhere(differs[inside]).tolist()]
    shown = [float(file.arrays[line.name][tuple(np.add(at, starts))]) for at in cells]
    largest = float(np.abs(np.nan_to_num(meant[inside].astype(float))).max(initial=0.0))
    for said, numbers in _wrong(file, line.name, meant[inside], cells):
        allowed = NEAR * max(largest, *map(abs, numbers)) if cells else 0.0
        if cells and all(abs(ours - wrong) <= allowed for ours, wrong in zip(shown, numbers, strict=True)):
            return said
    return ""


def _inside(file: Checked, name: str) -> tuple[slice, ...]:
    """Returns where the cells of a block are that are no edges."""
    return tuple(slice(int(along.start), along.start + along.size) for along in file.places[name].shape)


def _wrong(file: Checked, name: str, meant: Array, cells: Places) -> Iterator[tuple[str, list[float]]]:
    """Yields what cells of a row would show by each misconception that is known of it."""
    rows = Arrays(file.places, lambda row: file.arrays[row][_inside(file, row)])
    right = np.nan_to_num(meant.astype(float))
    for each in misconceptions_of(file.kind):
        if each.made is not None and (bound := each.bound(name)) is not None:
            with suppress(
                KeyError, ValueError
            ):  # rows that this file has not, or in which somebody changed how they lie
                made = np.broadcast_to(each.made(Shown(rows, right, bound)), right.shape)
                yield each.says, [float(made[at]) for at in cells]
    with suppress(ReadError):  # of another version nobody knows the equations
        yield from _rewritten(file, name, cells)


def _rewritten(file: Checked, name: str, cells: Places) -> Iterator[tuple[str, list[float]]]:
    """Yields what cells would show if the row had the equation of a misconception; in the step alone, and throughout."""
    outline = Like(file).fresh().blueprint
    blocks, values = {block.name: block for block in outline.blocks()}, Values(outline.sizes, beyond=True)
    values.arrays = {
        block: file.arrays[row]
        for row, block in blocks.items()
        if row in file.arrays and file.arrays[row].shape == values.shape(block)
    }
    for row in Rows.of(outline).rewritten(file.kind, blocks[name]) if name in blocks else ():
        for made in (row.in_the_step, row.throughout):
            with suppress(KeyError, ValueError, IndexError, NotationError):
                if numbers := made(cells, values):
                    yield row.says, numbers


def likely_answer(file: Checked, spot: Spot, answer: float) -> str:
    """Returns the misconception by which a wrong number was filled into a blank, "" if none is known; answer: the right one."""
    block = file.book.blocks.get(spot.name) if file.book else None
    if file.book is None or block is None:
        return ""
    values = file.book.values
    places = tuple(int(i) - values.before(block, axis) for i, axis in zip(spot.at, block.axes, strict=True))
    rights = [[answer], *([float(values.own[block][spot.at])] for _ in range(block in values.own))]
    wrong = wrong_values(file.kind, file.book.blueprint, values, Blank(spot.name, block, (places,)))
    found = diagnose([float(file.arrays[spot.name][spot.at])], wrong, rights, block.about.decimals)
    return found.says if found else ""
