"""Inputs: the settings, each as used, yours and the preset's."""

from __future__ import annotations

from blueprint.page.outline import Line, Note, Section
from blueprint.workbooks.common.settings import Settings

COLUMNS = ("used", "yours", "preset")
INPUT_WIDTHS = (9,) * 8


def settings_sections(chosen: Settings) -> list[Section]:
    """Outlines the settings: numbers first, then switches with their alternatives."""
    how = Note(
        "Type your own number into a cream cell under “yours”; empty, the preset's is used. Formulas read “used” alone."
    )
    numbers = [Line(line) for line in chosen.numbers]
    switches = [Line(line) for line in chosen.switches]
    sections = [Section("Settings", (how, *numbers), (*COLUMNS, "from", "to", "outside the range"))]
    if switches:
        sections.append(Section("Switches", tuple(switches), (*COLUMNS, "number", "one of")))
    return sections
