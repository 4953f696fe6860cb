"""What stands at the end of a workbook to look things up: the glossary, where libraries differ, and all notes as a list.

`docs/glossary.md` is made of the same terms.
"""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from blueprint.inputs.catalogue import Catalogue, data_in
from blueprint.inputs.setting import Setting, in_groups, shown_value
from blueprint.language import Block
from blueprint.page.outline import Blueprint, Box, Entry, Note, Section, Sheet, blocks_on

CODE = "The code"
"""The group of terms that stand in the code alone, and on no sheet."""
WORDS = "the words of RLHF PPO: what each means, by which symbol it goes here, and where it stands"
DIFFER = (
    "what each library does, by its own defaults and code: a row for each convention in which they are not all alike"
)
LIVE = "To switch them in the workbook: blueprint build --conventions live, or --preset verl; to compare losses: --compare."
NOTES = "every note that hangs at the head of a row, sheet by sheet: why the quantity is there, where libraries differ"


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
    sections = [_section(group, [_entry(term, blocks) for term in found], "meaning") for group, found in groups]
    return Sheet("Glossary", WORDS, tuple(sections), widths=(30, 112), first=None) if sections else None


def _section(title: str, entries: list[Entry], last: str) -> Section:
    return Section(title, tuple(entries), ("stands on", last))


def _entry(term: Term, blocks: Mapping[str, Block]) -> Entry:
    block = term.found(blocks)
    place: Box | str = Box("", block) if block is not None else ""
    return Entry((term.symbol(blocks), term.term, place, term.meaning))


def differences_sheet(blocks: Mapping[str, Block], found: Catalogue) -> Sheet | None:
    """Outlines where the libraries of a catalogue differ; None where the workbook has the presets as live cells."""
    if "presets.names" in blocks:
        return None
    presets = found.presets.values()
    names = tuple(found.presets)
    differing = [key for key in found.settings if len({preset.values[key] for preset in presets}) > 1]
    tables = [
        Section(
            title, tuple(_row(found.settings[key], [preset.values[key] for preset in presets]) for key in keys), names
        )
        for title, keys in in_groups(differing, found.titles)
    ]
    read = [
        Entry((preset.name, preset.title, preset.version, "", f"{preset.why} Read in {preset.source}."))
        for preset in presets
    ]
    last = Section("The libraries, as they were read", (*read, Note(LIVE)))
    return Sheet("Where libraries differ", DIFFER, (*tables, last), widths=(15,) * len(names), first=None)


def _row(setting: Setting, values: list[float | str]) -> Entry:
    return Entry((setting.symbol, setting.meaning, *map(shown_value, values)))


def notes_sheet(made: Blueprint) -> Sheet | None:
    """Lists all notes; None where there are none."""
    sections = []
    for sheet in made.sheets:
        told = [block for block in dict.fromkeys(blocks_on(sheet)) if made.notes.get(block.name)]
        entries = [Entry((block.symbol, block.about.meaning, Box("", block), made.notes[block.name])) for block in told]
        if entries:
            sections.append(_section(sheet.title, entries, "note"))
    return Sheet("Notes", NOTES, tuple(sections), widths=(27, 101), printed=False, first=None) if sections else None
