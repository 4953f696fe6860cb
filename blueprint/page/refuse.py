"""What does not fit on a page, or would lie over something else, is refused in a sentence, before anything is written."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from blueprint.language import Axis, Block, NotationError, Values
from blueprint.page import grid, reserved_names
from blueprint.page.layout import Layout
from blueprint.page.names import defined_name
from blueprint.page.outline import Blueprint, Row, Sheet, Table
from blueprint.page.place import spans

# What a sheet's tab takes: none of the signs of addresses, no apostrophe at an end.
_TITLE = re.compile(r"(?!')[^\[\]:*?/\\]{1,31}(?<!')")


def refuse_unfit(blueprint: Blueprint, values: Values) -> None:
    """Raises NotationError for too many columns, too many rows of one formula, or two blocks of one name."""
    _refuse_titles(blueprint)
    _refuse_empty(values)
    _refuse_same_names(blueprint)
    for sheet in blueprint.sheets:
        _refuse_wide(sheet, values)
        for item in sheet.items():
            match item:
                case Block():
                    _refuse_tall(item, _downwards(item, None, sheet), values)
                case Row(block) | Table(block):
                    _refuse_tall(block, _downwards(block, item, sheet), values)


def _refuse_empty(values: Values) -> None:
    for axis, size in values.sizes.items():
        if size == 0:
            raise NotationError(f"there is no {axis.meaning} at all: an axis on a page has at least one member")


def _refuse_same_names(blueprint: Blueprint) -> None:
    known: dict[str, Block] = {}
    for block in blueprint.blocks():
        name = defined_name(block).lower()
        if name in reserved_names.NAMES:
            raise NotationError(f"{block.name} would be called {name}, like a range of the page's own: rename it")
        if known.get(name, block) is not block:  # the same block twice is refused where it is placed
            raise NotationError(
                f"{known[name].name} and {block.name} would both be called {name} in a sheet: rename one"
            )
        known[name] = block


def _refuse_titles(blueprint: Blueprint) -> None:
    for sheet in blueprint.sheets:
        if not _TITLE.fullmatch(sheet.title) or sheet.title.lower() in map(str.lower, reserved_names.SHEETS):
            raise NotationError(
                f"a sheet cannot be called {sheet.title!r}: take 1 to 31 letters, none of [ ] : * ? / \\, no apostrophe "
                f"at either end, and neither {' nor '.join(reserved_names.SHEETS)}"
            )


def _refuse_wide(sheet: Sheet, values: Values) -> None:
    if not sheet.across:
        return
    sizes = [values.size(axis) for axis in sheet.across]
    members, groups = sizes[-1], sizes[0] if len(sizes) > 1 else 1
    needed = grid.start_column(groups, members)
    if needed <= grid.LAST_COLUMN:
        return
    time = sheet.across[-1].meaning
    if len(sheet.across) == 1:
        fitting = members - (needed - grid.LAST_COLUMN)
        raise NotationError(
            f"{members} {time}s need {needed:,} columns, a sheet has {grid.LAST_COLUMN:,}: at most {fitting:,} {time}s fit"
        )
    fitting = (grid.LAST_COLUMN - grid.GROUPS) // grid.stride(members)
    raise NotationError(
        f"{groups} {sheet.across[0].meaning}s of {members} {time}s need {needed:,} columns, a sheet has "
        f"{grid.LAST_COLUMN:,}: at most {fitting} {sheet.across[0].meaning}s of this length fit"
    )


def _downwards(block: Block, item: Row | Table | None, sheet: Sheet) -> list[Axis]:
    across = {item.across} if isinstance(item, Table) else set(sheet.across)
    return [part for axis in block.axes if axis not in across for part in (axis.parts or (axis,))]


def _refuse_tall(block: Block, downwards: list[Axis], values: Values) -> None:
    for axis in downwards:
        if values.size(axis) > grid.LONGEST_RUN:
            raise NotationError(
                f"{block.name} would have {values.size(axis)} cells of one formula below each other ({axis.meaning}); above "
                f"about 100 LibreOffice computes wrong numbers without a word, so at most {grid.LONGEST_RUN} are written"
            )


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
