"""The way back: rows of adjoints below what they belong to, on every sheet between the loss and the weights."""

from __future__ import annotations

from dataclasses import replace

from blueprint.language import Block
from blueprint.language.gradient import Gradient
from blueprint.page.outline import Blueprint, Item, Row, Section, Sheet, Table, blocks_on

TITLE = "Backward: what one more of each would add to {}"


def with_backward(blueprint: Blueprint, made: Gradient) -> Blueprint:
    """Adds a section with the adjoints to each sheet on which what they belong to stands."""
    home = {block: sheet.title for sheet in blueprint.sheets for block in blocks_on(sheet)}
    sheets = [
        _extended(sheet, [b for b in made.blocks if home[made.home[b]] == sheet.title], made)
        for sheet in blueprint.sheets
    ]
    return replace(blueprint, sheets=tuple(sheets), facts={**blueprint.facts, "gradients": "on"})


def _extended(sheet: Sheet, blocks: list[Block], made: Gradient) -> Sheet:
    if not blocks:
        return sheet
    tables = set(made.beside.values())
    items = tuple(_item(block, sheet, made) for block in blocks if block not in tables)
    totals = dict.fromkeys(made.totals[block].symbol for block in blocks)
    return replace(sheet, sections=(*sheet.sections, Section(TITLE.format(" and ".join(totals)), items)))


def _item(block: Block, sheet: Sheet, made: Gradient) -> Item:
    if block in made.beside:
        return Row(block, beside=made.beside[block])
    if block.axes and not set(block.axes) & set(sheet.across):
        return Table(block, block.axes[1] if len(block.axes) > 1 else None, "plain")
    return block
