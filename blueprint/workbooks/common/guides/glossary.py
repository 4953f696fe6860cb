"""Glossary: symbol, term, meaning and place of what RLHF people say; `docs/glossary.md` is made of the same terms."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from blueprint.inputs.prose import data_in
from blueprint.language import Block
from blueprint.page.outline import Box, Entry, Section, Sheet

LEAD = "the words of RLHF PPO: what each means, by which symbol it goes here, and where it stands"
HEADINGS = ("stands on", "meaning")
WIDTHS = (30, 112)
CODE = "The code"
"""The group of words that stand in the code alone, and on no sheet."""


class Term(NamedTuple):
    """A word with its meaning; `glossary.toml` says what each part is. avoided: words that we do not use for it."""

    group: str
    term: str
    meaning: str
    own: str = ""
    rows: tuple[str, ...] = ()
    avoided: tuple[str, ...] = ()

    def found(self, blocks: Mapping[str, Block]) -> Block | None:
        """Returns the block that stands for the term in a workbook, if one does."""
        return next((blocks[name] for name in self.rows if name in blocks), None)

    def symbol(self, blocks: Mapping[str, Block]) -> str:
        """Returns the symbol by which it goes in a workbook, "" if by none."""
        block = self.found(blocks)
        return self.own or (block.symbol if block is not None else "")


def terms() -> list[Term]:
    """Returns all terms, group by group."""
    return [
        Term(
            group,
            term,
            told["meaning"],
            told.get("symbol", ""),
            tuple(told.get("rows", ())),
            tuple(told.get("not", ())),
        )
        for group, listed in data_in(Path(__file__).with_name("glossary.toml")).items()
        for term, told in listed.items()
    ]


def known(blocks: Mapping[str, Block]) -> list[Term]:
    """Returns the terms that mean something in a workbook: those that have a row there, and those that need none.

    There are none where no term has a row.
    """
    found = [term for term in terms() if term.group != CODE and (not term.rows or term.found(blocks) is not None)]
    return found if any(term.rows for term in found) else []


def glossary_sheet(blocks: Mapping[str, Block]) -> Sheet | None:
    """Outlines the glossary; None where no term has a row."""
    groups = groupby(known(blocks), key=lambda term: term.group)
    sections = tuple(Section(group, tuple(_entry(term, blocks) for term in found), HEADINGS) for group, found in groups)
    return Sheet("Glossary", LEAD, sections, widths=WIDTHS, first=None) if sections else None


def _entry(term: Term, blocks: Mapping[str, Block]) -> Entry:
    block = term.found(blocks)
    place: Box | str = Box("", block) if block is not None else ""
    return Entry((term.symbol(blocks), term.term, place, term.meaning))
