"""Weights that are too wide for the left area move to a sheet of their own; everything else stays where it was."""

from __future__ import annotations

from dataclasses import replace

from blueprint.language import Axis, Block, Values
from blueprint.page import grid
from blueprint.page.outline import Blueprint, Item, Note, Row, Section, Sheet, Table

SHEET = "Weights"


def with_wide_weights(blueprint: Blueprint, values: Values) -> Blueprint:
    """Returns the outline with its wide tables on a sheet called Weights, before the first sheet that reads them."""
    moved: list[Section] = []
    sheets: list[Sheet] = []
    place = len(blueprint.sheets)
    for number, sheet in enumerate(blueprint.sheets):
        sections, found = [], len(moved)
        for section in sheet.sections:
            items = tuple(kept for item in section.items for kept in _kept(item, sheet, values, moved))
            sections.append(replace(section, items=items))
        sheets.append(replace(sheet, sections=tuple(sections)))
        if found < len(moved):
            place = min(place, number)
    if moved:
        sheets.insert(
            place,
            Sheet(
                SHEET, "weights with more columns than fit beside the rows that they multiply", tuple(moved), first=None
            ),
        )
    return replace(blueprint, sheets=tuple(sheets))


def _kept(item: Item, sheet: Sheet, values: Values, moved: list[Section]) -> tuple[Item, ...]:
    """Returns what stays of an item; a wide table goes to `moved`."""
    match item:
        case Table(block, Axis() as across) if values.size(across) > grid.LEFT_COLUMNS:
            return (_move(block, across, sheet, moved),)
        case Row(_, _, Block() as beside) if _columns(beside, values) > grid.LEFT_COLUMNS:
            return _move(beside, beside.axes[1], sheet, moved), replace(item, beside=None)
    return (item,)


def _columns(weights: Block, values: Values) -> int:
    return values.size(weights.axes[1]) if len(weights.axes) > 1 else 1


def _move(weights: Block, across: Axis, sheet: Sheet, moved: list[Section]) -> Note:
    moved.append(Section(f"{sheet.title}: {weights.symbol}", (Table(weights, across),)))
    return Note(f"{weights.symbol} is too wide for this sheet and stands on {SHEET}.")
