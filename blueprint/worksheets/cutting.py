"""A blueprint without some of its blocks: what shows them, leads to them or speaks of them goes with them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from blueprint.language import Block, needs
from blueprint.page.outline import (
    Blueprint,
    Box,
    Chart,
    Entry,
    Finder,
    Flow,
    Item,
    Judged,
    Line,
    Listed,
    Note,
    Piece,
    Row,
    Sample,
    Section,
    Sheet,
    Spread,
    Step,
    Table,
    Unchanged,
    blocks_of,
    blocks_on,
)


def without(blueprint: Blueprint, names: Collection[str], texts: Iterable[str] = ()) -> Blueprint:
    """Returns a blueprint without the blocks of these names and these texts, and without what a worksheet never has."""
    return Cutter(blueprint, [block for block in blueprint.blocks() if block.name in names], texts).cut()


LIST = " · "
"""What stands between the items of a list in one line."""


class Cutter:
    """Takes blocks, sheets and texts out of a blueprint.

    gone: the blocks that go; what else reads them must be among them. texts: sentences that go.
    """

    def __init__(self, blueprint: Blueprint, gone: Iterable[Block], texts: Iterable[str] = ()):
        self.blueprint, self.gone, self.texts = blueprint, set(gone), set(texts)
        finders = [each for each in blueprint.sheets if any(isinstance(item, Finder) for item in each.items())]
        self.derived_again = {sheet.title for sheet in finders}
        spreads = [item for sheet in blueprint.sheets for item in sheet.items() if isinstance(item, Spread)]
        self.spread = {block for item in spreads if finders for block in item.columns.values()}
        self.inputs = {block for sheet in blueprint.sheets for block in _inputs(sheet)}
        self.unled: list[re.Pattern[str]] = []
        self.read: set[Block] = set()

    def cut(self) -> Blueprint:
        """Returns what is left of the blueprint."""
        whole = self.blueprint
        left = self._sheets_left()
        while lost := set(whole.blocks()) - set(left.blocks()) - self.gone:
            self.gone |= lost  # what stood beside something that is gone, such as an allowed distance
            left = self._sheets_left()
        titles = {sheet.title for sheet in whole.sheets} - {sheet.title for sheet in left.sheets}
        self.unled = [re.compile(rf"\b(?:sheet|on|see) {re.escape(title)}\b|^{re.escape(title)}: ") for title in titles]
        left, blocks = self._sheets_left(), set(left.blocks())
        return replace(
            left,
            typed={block: given for block, given in whole.typed.items() if block in blocks},
            names={axis: name for axis, name in whole.names.items() if isinstance(name, str) or name in blocks},
            choices={block: words for block, words in whole.choices.items() if {block, words} <= blocks},
            ranges={block: ends for block, ends in whole.ranges.items() if block in blocks},
            notes={name: kept for name, text in whole.notes.items() if (kept := self.text(text))},
            facts={name: text for name, text in whole.facts.items() if text not in self.texts},
            chosen=None if self.derived_again else whole.chosen,
            parts=tuple(block for block in whole.parts if block in blocks),
        )

    def text(self, text: str) -> str:
        """Returns what is left of a text: not the sentences, or items of a list, that lead to a sheet that is gone."""
        if text in self.texts:
            return ""
        if not self.unled:
            return text
        items = (
            LIST.join(item for item in sentence.split(LIST) if not any(sheet.search(item) for sheet in self.unled))
            for sentence in re.split(r"(?<=[.!?]) ", text)
        )
        return " ".join(filter(None, items))

    def _sheets_left(self) -> Blueprint:
        self.read = {need.read for block in self.blueprint.blocks() if block not in self.gone for need in needs(block)}
        return replace(self.blueprint, sheets=tuple(filter(None, map(self.sheet, self.blueprint.sheets))))

    def sheet(self, sheet: Sheet) -> Sheet | None:
        """Returns what is left of a sheet; nothing where only sentences are left of what held more."""
        if sheet.title in self.derived_again or sheet.tries:
            return None
        sections = tuple(filter(None, map(self.section, sheet.sections)))
        left = replace(
            sheet,
            lead="" if sheet.lead in self.texts else sheet.lead,
            sections=sections,
            head=tuple(block for block in sheet.head if block not in self.gone),
            grey=None if sheet.grey in self.gone else sheet.grey,
            pinned=tuple(kept for item in sheet.pinned for kept in self.item(item)),
        )
        return left if sections or not sheet.sections else None

    def section(self, section: Section) -> Section | None:
        """Returns what is left of a section; nothing where only sentences are left of what held more."""
        items = tuple(kept for item in section.items for kept in self.item(item))
        held = any(blocks_of(item) for item in section.items)
        before, left = ([block for item in each for block in blocks_of(item)] for each in (section.items, items))
        unread = all(block.typed and block not in self.read for block in left)
        if not all(block.typed for block in before) and unread and not self.inputs & set(left):
            items = tuple(item for item in items if isinstance(item, Note))  # settings of what is gone
        aside = all(isinstance(item, Note | Unchanged if held else Note) for item in items)
        only_words = all(isinstance(item, Note) for item in section.items)
        return None if (aside and not only_words) or (section.items and not items) else replace(section, items=items)

    def item(self, item: Item) -> tuple[Item, ...]:
        """Returns what is left of an item, nothing or more than one."""
        match item:
            case Block() | Table() | Row():
                kept = tuple(block for block in blocks_of(item) if block not in self.gone)
                return (item,) if kept == blocks_of(item) else kept
            case Line(blocks):
                kept = () if blocks[0] in self.gone else tuple(block for block in blocks if block not in self.gone)
                return (replace(item, blocks=kept),) if kept else ()
            case Piece(shown=shown, about=about):
                return () if {shown, about} & self.gone or {item.of, item.says} & self.texts else (item,)
            case Judged(checks=block) | Step(block=block) | Listed(block=block):
                return () if block in self.gone else (item,)
            case Note(text, about):
                said = "" if about in self.gone else self.text(text)
                return (replace(item, text=said),) if said else ()
            case Sample(text):
                return (replace(item, text="1") if text in self.texts else item,)
        return self._view(item)

    def _view(self, item: Item) -> tuple[Item, ...]:
        match item:
            case Flow(rows):
                return (Flow(tuple(tuple(self._box(box) for box in row) for row in rows)),)
            case Entry(cells):
                return self._entry(cells)
            case Chart(series=drawn):
                lost = self.gone | self.spread
                kept = tuple(each for each in drawn if not {each.values, each.over, each.words} & lost)
                few = 2 * len(kept) < len(drawn)  # what it was drawn to compare is gone
                return () if few or item.tells in self.texts else (replace(item, series=kept),)
            case Spread(columns):
                left = {title: block for title, block in columns.items() if block not in self.gone}
                return (replace(item, columns=left),) if left and not self.derived_again else ()
            case Finder():
                return ()
        return (item,)

    def _entry(self, cells: tuple[str | Box | Block, ...]) -> tuple[Item, ...]:
        """Keeps a row of words, without its links to what is gone; not where a number that it shows, or its text, is gone."""
        lost = [cell for cell in cells if isinstance(cell, Block) and cell in self.gone]
        if lost or any(isinstance(cell, str) and cell and not self.text(cell) for cell in cells):
            return ()
        unled = [cell for cell in cells if isinstance(cell, Box) and cell.block in self.gone and not cell.title]
        left = (self.text(cell) if isinstance(cell, str) else cell for cell in cells)
        kept = (self._box(cell) if isinstance(cell, Box) else cell for cell in left)
        return () if unled else (Entry(tuple(kept)),)

    def _box(self, box: str | Box) -> str | Box:
        """Returns a box that leads nowhere for one that leads to what is gone."""
        if isinstance(box, str) or box.block not in self.gone:
            return box
        return replace(box, title="" if "{" in box.title else box.title, block=None)


def _inputs(sheet: Sheet) -> list[Block]:
    """Lists what is typed on a sheet that has tables of it: inputs, by which a file is read again; not what only charts read."""
    typed = [block for block in blocks_on(sheet) if block.typed]
    drawn = any(isinstance(item, Chart) for item in sheet.items())
    return typed if not drawn and any(block.axes for block in typed) else []
