"""Guides: what helps to read a workbook and computes nothing: models, loop, glossary, things to try, differences, notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from blueprint.inputs.catalogue import Catalogue
from blueprint.inputs.prose import data_in
from blueprint.page.outline import Blueprint, Note, Section, Sheet
from blueprint.workbooks.common.guides.first_hour import first_hour_sheet
from blueprint.workbooks.common.guides.look_up import differences_sheet, glossary_sheet, notes_sheet
from blueprint.workbooks.common.guides.models import loop_section, models_section

HEADS = "Names of rows have notes (a mark in the corner of the cell): point at one, and it says why the row is there."
POINTS = {
    "First hour": "things to try, and what one will see",
    "Glossary": "what the words and symbols mean",
    "Where libraries differ": "conventions by library",
    "Notes": "all notes as a list",
}
"""What each sheet of words is for, as the first section of Start says it."""
BEFORE = "The pieces"
"""What the section of Start begins with before which models and loop are told."""


def with_guides(made: Blueprint, measured: bool, models: Path | None, presets: Catalogue | None) -> Blueprint:
    """Adds models and loop to Start, and the sheets of words: after Start what to try, at the end what to look up.

    measured: these are the numbers in which the changes to try were measured, so that what comes of them can be told.
    models: the file that tells of the models and the loop. presets: what libraries do, for the sheet where they differ.
    """
    blocks = {block.name: block for block in made.blocks()}
    start, *others = made.sheets
    differ = differences_sheet(blocks, presets) if presets else None
    last = [sheet for sheet in (glossary_sheet(blocks), differ, notes_sheet(made)) if sheet is not None]
    first = first_hour_sheet(blocks, measured)
    start = _pointed(start, [*first, *last])
    if models:
        told = data_in(models)
        start = _told(start, [models_section(blocks, told), *loop_section(blocks, told["loop"])])
    return replace(made, sheets=(start, *first, *others, *last))


def _pointed(start: Sheet, guides: list[Sheet]) -> Sheet:
    """Says in the first section of Start that rows have notes, and which sheets help."""
    points = {sheet.title: f"{sheet.title}: {POINTS[sheet.title]}" for sheet in guides}
    told = [*([HEADS] if "Notes" in points else []), " · ".join(points.values())]
    about, *others = start.sections
    return replace(start, sections=(replace(about, items=(*about.items, *map(Note, told))), *others))


def _told(start: Sheet, more: list[Section]) -> Sheet:
    """Puts sections on Start before the pieces, or before the list of sheets where there are none."""
    titles = [section.title for section in start.sections]
    at = next((at for at, title in enumerate(titles) if title.startswith(BEFORE)), titles.index("The sheets"))
    return replace(start, sections=(*start.sections[:at], *more, *start.sections[at:]))
