"""The settings of a workbook whose conventions are live: the preset, every convention, and the table of presets."""

from typing import NamedTuple

from blueprint.inputs.catalogue import Catalogue, in_groups
from blueprint.inputs.level import Settings as Given
from blueprint.language import Block, Operand, typed
from blueprint.page.outline import Line, Note, Row, Section, Sheet, Usual
from blueprint.workbooks.common.conventions import Conventions, rlhf
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import (
    PRESET,
    PresetTable,
    Settings,
    preset_table,
    settings,
    settings_sections,
)
from blueprint.workbooks.common.guides import all_tries

CONVENTIONS = "what this workbook does: a preset, and what you do differently; the formulas read “used” alone"
LEAD = "what each library does, as data: a row per convention, a column per preset; a limit that is not there is off"
CHOOSING = "Choose a preset, and everything follows. What you type under “yours” goes before it; empty, the preset's value is used."
OFF = "A limit may be the word off instead of a number: type off to switch one off. Then the step that it limits is not taken."
BUILD_TIME = (
    "Chosen when a workbook is built, not here: a minibatch of its own (text.episodes=[1, 2] at the level logits)."
)
MOVES = "The temperature divides every policy's logits; where tokens are drawn, other tokens may be drawn."


class Chosen(NamedTuple):
    """The settings in use, the table of presets, the catalogue that it shows, and why each is apart."""

    settings: Settings
    table: PresetTable
    catalogue: Catalogue
    why: Block

    @property
    def temperature(self) -> Operand:
        """What logits are divided by; only where there are logits."""
        return self.settings.used["batch.temperature"] + self.settings.used["batch.temperature_eps"]


def chosen_of(
    yours: Given, conventions: Conventions, without: tuple[str, ...] = (), of: Catalogue | None = None
) -> Chosen:
    """Makes the settings of a workbook. without: settings that have no use there. of: what is chosen from."""
    found = of or rlhf()
    table = preset_table(found, conventions.preset)
    made = settings(yours, {key: each for key, each in found.settings.items() if key not in without}, table)
    why = typed("presets.why", (PRESET,), "why_table", "what sets each preset apart", text=True)
    made.typed[why] = [preset.why for preset in found.presets.values()]
    return Chosen(made, table, found, why)


def conventions_sheet(chosen: Chosen, notes: tuple[str, ...] = (MOVES, BUILD_TIME)) -> Sheet:
    """Outlines the preset in use and all settings. notes: what is to be known besides how one chooses."""
    told = tuple(map(Note, (CHOOSING, OFF, *notes)))
    preset = Section("Preset", (*told, Line((chosen.table.chosen,)), Line((chosen.table.number,))))
    return Sheet(
        "Conventions",
        CONVENTIONS,
        (preset, *settings_sections(chosen.settings)),
        widths=(24, 24, 24, 11, 24, 24, 24, 24, 24, 9),
        first=0,
        closed=True,
        usual=usual_of(chosen),
    )


def usual_of(chosen: Chosen) -> Usual:
    """Returns which settings are folded: those that are as in the first preset, but for those that First hour changes."""
    used, rows = chosen.settings.used, chosen.table.rows
    tried = {name.removesuffix(".yours") for each in all_tries() for name in each.type}
    kept = frozenset(block for key, block in used.items() if key in tried)
    first = next(iter(chosen.catalogue.presets))
    pairs = tuple((block, rows[key]) for key, block in used.items())
    return Usual(pairs, kept, "settings", f"the preset {first}")


def presets_sheet(chosen: Chosen) -> Sheet:
    """Outlines the table of presets."""
    table = chosen.table
    presets = chosen.catalogue.presets.values()
    read = tuple(Note(f"{preset.name}: {preset.title}, {preset.version}; {preset.source}") for preset in presets)
    sections = (
        *(
            Section(
                title,
                tuple(Row(row, "text" if row.text or row.limit else "") for row in (table.rows[key] for key in keys)),
            )
            for title, keys in in_groups(table.rows, chosen.catalogue.titles)
        ),
        Section("What sets each apart", (Row(chosen.why, "paragraph"),)),
        Section("Where each was read", read),
    )
    return Sheet("Presets", LEAD, sections, (PRESET,), (table.names,), printed=False)
