"""Worksheets that are made, saved and filled in, as a student does it; everything else in the file stays as it was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from blueprint.inputs import load
from blueprint.page.read import FilledIn, Opened
from blueprint.workbooks.registry import blueprint_of
from blueprint.worksheets import Asked, Worksheet, worksheet
from tests.checking.cells import Edits, change_sheets

Entry = float | str
"""A number, a text, or a formula with its sign =; of a formula it is not said what it comes to."""


def saved(path: Path, numbers: str, asked: int | list[str], *overrides: str, level: int = 1) -> Worksheet:
    """Makes and saves a worksheet of built-in numbers."""
    titles = asked if isinstance(asked, int) else [Asked(title) for title in asked]
    made = worksheet(blueprint_of(load(numbers, overrides)), titles, level)
    made.book.save(path)
    return made


def fill(source: Path, target: Path, entries: Mapping[int, Entry], also: Mapping[str, Edits] | None = None) -> Path:
    """Fills in blanks by their numbers, from 1; also: other cells, by sheet."""
    file = Opened(source)
    blanks = FilledIn(file).blanks
    cells: dict[str, dict[str, tuple[str | None, float | str | None]]] = {}
    for number, entry in entries.items():
        for spot in blanks[f"blank_{number:02}"]:
            place = file.places[spot.name]
            is_formula = isinstance(entry, str) and entry.startswith("=")
            edit = (str(entry)[1:], None) if is_formula else (None, entry)
            cells.setdefault(place.sheet, {})[place.cell(spot.at)] = edit
    for sheet, edits in (also or {}).items():
        cells.setdefault(sheet, {}).update(edits)
    change_sheets(source, target, cells)
    return target


def rounded(made: Worksheet) -> list[float]:
    """Returns the first answer of each blank as its cell shows it."""
    return [round(made.answers[blank.title][0], blank.block.about.decimals) for blank in made.blanks]
