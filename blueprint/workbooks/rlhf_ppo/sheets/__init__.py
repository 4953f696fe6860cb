"""The sheets of RLHF PPO. What stands on them is found by the names of blocks, which are those of the finished file."""

from collections.abc import Iterable, Mapping

from blueprint.language import Block
from blueprint.page.outline import Section, Sheet, blocks_on
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.sheets import InView

Rows = Mapping[str, Block]
"""Blocks by their names."""


def named(*blocks: Block) -> dict[str, Block]:
    """Returns blocks by their names."""
    return {block.name: block for block in blocks}


def rows_on(*sheets: Sheet) -> dict[str, Block]:
    """Returns every block of some sheets, by its name."""
    return named(*(block for sheet in sheets for block in blocks_on(sheet)))


def several(rows: Rows, *names: str) -> tuple[Block, ...]:
    """Returns the blocks of some names, in that order."""
    return tuple(rows[name] for name in names)


def sheet_of(title: str, lead: str, sections: Iterable[Section], head: InView, first: int = 1) -> Sheet:
    """Outlines a sheet with a column for each decision; `head` stays in view."""
    return Sheet(title, lead, tuple(sections), (n, t), head.rows, head.mask, first=first)
