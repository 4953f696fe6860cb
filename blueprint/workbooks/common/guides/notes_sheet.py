"""Notes: all that hangs at the heads of rows, as one list to read and to search."""

from __future__ import annotations

from blueprint.page.outline import Blueprint, Box, Entry, Section, Sheet, blocks_on

TITLE = "Notes"
WIDTHS = (27, 101)
LEAD = "every note that hangs at the head of a row, sheet by sheet: why the quantity is there, where libraries differ"
HEADINGS = ("stands on", "note")


def notes_sheet(made: Blueprint) -> Sheet | None:
    """Lists all notes; None where there are none."""
    sections = []
    for sheet in made.sheets:
        told = [block for block in dict.fromkeys(blocks_on(sheet)) if made.notes.get(block.name)]
        entries = [Entry((block.symbol, block.about.meaning, Box("", block), made.notes[block.name])) for block in told]
        if entries:
            sections.append(Section(sheet.title, tuple(entries), HEADINGS))
    return Sheet(TITLE, LEAD, tuple(sections), widths=WIDTHS, printed=False, first=None) if sections else None
