"""Where libraries differ: one table of conventions by library, made of the presets, where conventions are not live."""

from __future__ import annotations

from collections.abc import Mapping

from blueprint.inputs.catalogue import Catalogue
from blueprint.inputs.setting import group_of, shown_value
from blueprint.language import Block
from blueprint.page.outline import Entry, Note, Section, Sheet

TITLE = "Where libraries differ"
LEAD = "what each library does, by its own defaults and code: a row for each convention in which they are not all alike"
LIVE = "To switch them in the workbook: blueprint build --conventions live, or --preset verl; to compare losses: --compare."
WIDTH = 15


def differences_sheet(blocks: Mapping[str, Block], found: Catalogue) -> Sheet | None:
    """Outlines the table of a catalogue; None where the workbook has the presets as live cells."""
    if "presets.names" in blocks:
        return None
    names = list(found.presets)
    sections = [
        Section(title, tuple(rows), tuple(names))
        for group, title in found.titles.items()
        if (rows := [_row(key, found) for key in differing(found) if group_of(key, found.titles) == group])
    ]
    read = [
        Entry((name, preset.title, preset.version, "", f"{preset.why} Read in {preset.source}."))
        for name, preset in found.presets.items()
    ]
    last = Section("The libraries, as they were read", (*read, Note(LIVE)))
    return Sheet(TITLE, LEAD, (*sections, last), widths=(WIDTH,) * len(names), first=None)


def differing(found: Catalogue) -> list[str]:
    """Returns the settings in which presets are not all alike."""
    return [key for key in found.settings if len({preset.values[key] for preset in found.presets.values()}) > 1]


def _row(key: str, found: Catalogue) -> Entry:
    setting = found.settings[key]
    return Entry(
        (setting.symbol, setting.meaning, *(shown_value(preset.values[key]) for preset in found.presets.values()))
    )
