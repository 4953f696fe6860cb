"""Blocks by their names, which are those of the finished file: so a sheet finds what stands on others; and sheets of tokens."""

from collections.abc import Iterable, Mapping

from blueprint.language import Block, link, needs
from blueprint.page.outline import Section, Sheet, blocks_on
from blueprint.workbooks.common.definitions import n, t
from blueprint.workbooks.common.sheets.walk import InView

Rows = Mapping[str, Block]


def named(*blocks: Block) -> dict[str, Block]:
    """Returns blocks by their names."""
    return {block.name: block for block in blocks}


def rows_on(*sheets: Sheet) -> dict[str, Block]:
    """Returns every block of some sheets, by its name."""
    return named(*(block for sheet in sheets for block in blocks_on(sheet)))


def several(rows: Rows, *names: str) -> tuple[Block, ...]:
    """Returns the blocks of some names, in that order."""
    return tuple(rows[name] for name in names)


def behind(results: Iterable[Block]) -> set[Block]:
    """Finds every block that these are made of, and these themselves."""
    found, ahead = set(), list(results)
    while ahead:
        block = ahead.pop()
        if block not in found:
            found.add(block)
            ahead += [need.read for need in needs(block)]
    return found


def repeated(rows: Rows, sheet: str, names: Mapping[str, str]) -> dict[str, Block]:
    """Returns rows of which some are repeated on a sheet. names: what they are called there, those that there are."""
    return {**rows, **{name: link(f"{sheet}.{again}", rows[name]) for name, again in names.items() if name in rows}}


def sheet_of(title: str, lead: str, sections: Iterable[Section], head: InView, first: int = 1) -> Sheet:
    """Outlines a sheet with a column for each position; `head` stays in view."""
    return Sheet(title, lead, tuple(sections), (n, t), head.rows, head.mask, first=first)
