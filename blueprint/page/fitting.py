"""What does not fit on a page: wide weights move to a sheet of their own; the rest is refused, before anything is written."""

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from blueprint.language import Axis, Block, NotationError, Values, require
from blueprint.page import blanks, grid, names
from blueprint.page.layout import Layout
from blueprint.page.outline import Blueprint, Item, Note, Row, Section, Sheet, Table

WEIGHTS = "Weights"
# What a sheet's tab takes: none of the signs of addresses, no apostrophe at an end.
_TITLE = re.compile(r"(?!')[^\[\]:*?/\\]{1,31}(?<!')")


def with_wide_weights(blueprint: Blueprint, values: Values) -> Blueprint:
    """Returns the outline with its wide tables on a sheet called Weights, before the first sheet that reads them."""
    moved: list[Section] = []
    sheets: list[Sheet] = []
    place = 0
    for number, sheet in enumerate(blueprint.sheets):
        place = place if moved else number
        sections = [
            replace(section, items=tuple(kept for item in section.items for kept in _kept(item, sheet, values, moved)))
            for section in sheet.sections
        ]
        sheets.append(replace(sheet, sections=tuple(sections)))
    if moved:
        lead = "weights with more columns than fit beside the rows that they multiply"
        sheets.insert(place, Sheet(WEIGHTS, lead, tuple(moved), first=None))
    return replace(blueprint, sheets=tuple(sheets))


def _kept(item: Item, sheet: Sheet, values: Values, moved: list[Section]) -> tuple[Item, ...]:
    """Returns what stays of an item; a wide table goes to `moved`."""
    match item:
        case Table(block, Axis() as across) if values.size(across) > grid.LEFT_COLUMNS:
            kept: tuple[Item, ...] = ()
        case Row(_, _, Block(axes=(_, across)) as block) if values.size(across) > grid.LEFT_COLUMNS:
            kept = (replace(item, beside=None),)
        case _:
            return (item,)
    moved.append(Section(f"{sheet.title}: {block.symbol}", (Table(block, across),)))
    return Note(f"{block.symbol} is too wide for this sheet and stands on {WEIGHTS}."), *kept


def refuse_unfit(blueprint: Blueprint, values: Values) -> None:
    """Raises NotationError for too many columns, too many rows of one formula, or two blocks of one name."""
    for axis, size in values.sizes.items():
        require(size != 0, f"there is no {axis.meaning} at all: an axis on a page has at least one member")
    _refuse_same_names(blueprint)
    blanks.refuse_wrong(blueprint)
    for sheet in blueprint.sheets:
        require(
            _TITLE.fullmatch(sheet.title) and sheet.title.lower() not in map(str.lower, names.SHEETS),
            f"a sheet cannot be called {sheet.title!r}: take 1 to 31 letters, none of [ ] : * ? / \\, no apostrophe "
            f"at either end, and neither {' nor '.join(names.SHEETS)}",
        )
        if sheet.across:
            _refuse_wide(sheet.across, values)
        for item in sheet.items():
            match item:
                case Table(block, across):
                    _refuse_tall(block, (across,), values)
                case Row(block) | (Block() as block):
                    _refuse_tall(block, sheet.across, values)


def _refuse_same_names(blueprint: Blueprint) -> None:
    known: dict[str, Block] = {}
    for block in blueprint.blocks():
        name = names.defined_name(block.name).lower()
        require(
            name not in names.NAMES, f"{block.name} would be called {name}, like a range of the page's own: rename it"
        )
        first = known.setdefault(name, block)
        # The same block twice is refused where it is placed.
        require(first is block, f"{first.name} and {block.name} would both be called {name} in a sheet: rename one")


def _refuse_wide(across: tuple[Axis, ...], values: Values) -> None:
    *outer, time = (f"{axis.meaning}s" for axis in across)
    members, groups = values.size(across[-1]), values.size(across[0]) if outer else 1
    needed = grid.start_column(groups, members)
    if needed > grid.LAST_COLUMN:
        have, most = f"{members} {time}", members - (needed - grid.LAST_COLUMN)
        fit = f"{most:,} {time} fit"
        if outer:
            have = f"{groups} {outer[0]} of {have}"
            fit = f"{(grid.LAST_COLUMN - grid.GROUPS) // grid.stride(members)} {outer[0]} of this length fit"
        raise NotationError(f"{have} need {needed:,} columns, a sheet has {grid.LAST_COLUMN:,}: at most {fit}")


def _refuse_tall(block: Block, across: tuple[Axis | None, ...], values: Values) -> None:
    for axis in (part for each in block.axes if each not in across for part in (each.parts or (each,))):
        require(
            values.size(axis) <= grid.LONGEST_RUN,
            f"{block.name} would have {values.size(axis)} cells of one formula below each other ({axis.meaning}); above "
            f"about 100 LibreOffice computes wrong numbers without a word, so at most {grid.LONGEST_RUN} are written",
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
        if counts.max(initial=0) > 1:
            twice = int(found[int(np.argmax(counts > 1))])
            one, other, *_ = (
                block.name for block, each in zip(blocks, cells, strict=True) for _ in np.flatnonzero(each == twice)
            )
            both = f"{one} and {other}" if one != other else f"two numbers of {one}"
            raise NotationError(
                f"{both} would stand in one cell, {grid.quoted(sheet)}!{grid.address(*divmod(twice, COLUMNS))}: "
                "give them rows of their own"
            )


def _cells(block: Block, layout: Layout) -> npt.NDArray[np.int64]:
    """Returns a number for each cell of a block, its edges included."""
    place = layout.places[block]
    found = np.array([place.row * COLUMNS + place.column], dtype=np.int64)
    for axis, members in zip(block.axes, layout.values.spans(block), strict=True):
        down, right = place.steps[axis]
        found = np.add.outer(found, (down * COLUMNS + right) * np.array(members, dtype=np.int64)).ravel()
    return found
