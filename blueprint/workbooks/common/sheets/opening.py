"""What first sheets are made of: the conventions in use, lines of boxes, and the whole sheet of a workbook that is a lesson."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Box, Flow, Item, Note, Piece, Section, Sheet, Tour
from blueprint.workbooks.common.conventions.inputs import Chosen
from blueprint.workbooks.common.sheets.rows import Rows
from blueprint.workbooks.common.sheets.start import (
    ABOUT,
    COLUMNS,
    LEGEND,
    MAP,
    ON,
    adding_up,
    first_sheet,
    how_to_check,
    judged,
)

ROLES = ("line", "fixed", "", "key", "edge", "probability")
"""What is coloured in a lesson: it has no weights, no memory, and no position outside a response."""

COMES = "What comes of it"


def conventions_in_use(chosen: Chosen, shown: Mapping[str, str]) -> tuple[Piece, ...]:
    """Lists the preset and the conventions in use. shown: settings by the titles they get; those there are none of are left out."""
    used = {title: chosen.settings.used[key] for title, key in shown.items() if key in chosen.settings.used}
    return tuple(
        Piece(title, row, row, equation=False) for title, row in {"preset in use": chosen.table.chosen, **used}.items()
    )


def in_line(*boxes: Box) -> tuple[Box | str, ...]:
    """Draws boxes with an arrow from each to the next."""
    return tuple(part for box in boxes for part in (ON, box))[1:]


def lines_of_flow(lines: Sequence[Sequence[tuple[str, str]]], rows: Rows) -> list[tuple[Box | str, ...]]:
    """Draws lines of boxes. lines: from left to right the title of each box, and the name of the row to which it leads."""
    return [in_line(*(Box(title, rows[name]) for title, name in line)) for line in lines]


class Lesson(NamedTuple):
    """Sentences of a workbook that is one lesson: its heading, how to read it, and what to try.

    pieces: titles of the numbers it arrives at, each with the row and what it is a mean or sum of. flow: the lines of its map.
    differences: by name those of these rows that are the difference of two others.
    """

    heading: str
    reading: tuple[str, ...]
    tries: tuple[str, ...]
    pieces: Mapping[str, tuple[str, str]]
    flow: Sequence[Sequence[tuple[str, str]]]
    differences: Mapping[str, tuple[str, str]] = {}


def lesson_sheet(told: Lesson, lead: str, rows: Rows, verdict: Block, made: str) -> Sheet:
    """Outlines the first sheet of a lesson. lead: the line below its heading. made: by what the file was made."""
    each = [Piece(title, rows[name], rows[name], of=of) for title, (name, of) in told.pieces.items()]
    pieces = tuple(adding_up(each, told.differences, "−"))
    looks = tuple(look for look in LEGEND if look.role in ROLES and not look.faded)
    sections: dict[str, tuple[Item, ...]] = {
        COMES: pieces,
        MAP: (Flow(tuple(lines_of_flow(told.flow, rows))),),
        ABOUT: _notes(told.reading),
        "Try it": _notes(told.tries),
        "The sheets": (Tour(),),
        "Colours": looks,
    }
    made_of = (Section(title, parts, COLUMNS if title == COMES else ()) for title, parts in sections.items())
    last = how_to_check(pieces[0].about, made)
    return first_sheet(lead, (judged(verdict), *made_of, last), told.heading)


def _notes(texts: Sequence[str]) -> tuple[Note, ...]:
    return tuple(map(Note, texts))
