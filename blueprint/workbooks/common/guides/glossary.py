"""Glossary: symbol, term, meaning and place of what RLHF people say; `docs/glossary.md` is made of the same table."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Box, Entry, Section, Sheet

TABLE = Path(__file__).with_name("terms.csv")
LEAD = "the words of RLHF PPO: what each means, by which symbol it goes here, and where it stands"
HEADINGS = ("stands on", "meaning")
WIDTHS = (30, 112)


class Term(NamedTuple):
    """A word with its meaning.

    own: its symbol, if not that of its row. blocks: by which rows it is known in one workbook or another, the first there is.
    """

    group: str
    term: str
    own: str
    blocks: tuple[str, ...]
    meaning: str

    def found(self, blocks: Mapping[str, Block]) -> Block | None:
        """Returns the block that stands for the term in a workbook, if one does."""
        return next((blocks[name] for name in self.blocks if name in blocks), None)

    def symbol(self, blocks: Mapping[str, Block]) -> str:
        """Returns the symbol by which it goes in a workbook, "" if by none."""
        block = self.found(blocks)
        return self.own or (block.symbol if block is not None else "")


def terms() -> list[Term]:
    """Reads the table."""
    with open(TABLE, encoding="utf-8", newline="") as table:
        return [
            Term(row["group"], row["term"], row["symbol"], tuple(row["blocks"].split()), row["meaning"])
            for row in csv.DictReader(table)
        ]


def known(blocks: Mapping[str, Block]) -> list[Term]:
    """Returns the terms that mean something in a workbook: those that have a row there, and those that need none."""
    return [term for term in terms() if not term.blocks or term.found(blocks) is not None]


def glossary_sheet(blocks: Mapping[str, Block]) -> Sheet | None:
    """Outlines the glossary; None where no term has a row."""
    if all(term.found(blocks) is None for term in terms()):
        return None
    groups = groupby(known(blocks), key=lambda term: term.group)
    sections = (Section(group, tuple(_entry(term, blocks) for term in found), HEADINGS) for group, found in groups)
    return Sheet("Glossary", LEAD, tuple(sections), widths=WIDTHS, first=None)


def _entry(term: Term, blocks: Mapping[str, Block]) -> Entry:
    block = term.found(blocks)
    place: Box | str = Box("", block) if block is not None else ""
    return Entry((term.symbol(blocks), term.term, place, term.meaning))
