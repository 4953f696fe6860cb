"""Inputs: the preset, the settings beside it, and the table of what each library does."""

from __future__ import annotations

from blueprint.inputs.catalogue import Preset
from blueprint.language import Block, typed
from blueprint.page.outline import Line, Note, Section, Sheet
from blueprint.workbooks.classic_ppo.presets import CLASSIC, classic_presets
from blueprint.workbooks.common.settings import PresetTable, Settings, settings_sections

LEAD = "the settings; everything else that is typed stands on Rollout"
WIDTHS = (13,) * 8
PICK = "Pick a library: its settings fill the column “preset” below. Where something stands under “yours”, that is used instead."
OFF = "A limit may be the word off instead of a number: type off to switch one off. Then the step that it limits is not taken."
NORM = (
    "The norm of the value loss is built in, because another one has other rows: blueprint build --numbers classic "
    "--set ppo.value_norm=smooth_l1 (or l2)"
)
NORM_CHECK = "If norm_is asks for another norm than this one, the sheet Checks says LOOK."


def built_norm() -> Block:
    """Makes the typed word that says which norm the rows of the value loss have."""
    return typed("value_norm.built", (), "norm_built", "norm of the value loss in this file", text=True)


def inputs_sheet(table: PresetTable, chosen: Settings, norm: Block) -> Sheet:
    """Outlines the sheet: the preset in use, numbers, switches, the presets and where they come from."""
    used, others = settings_sections(chosen)
    rows = tuple(Line((table.rows[key],)) for key in CLASSIC)
    sections = (
        Section("The preset in use", (Note(PICK), Line((table.chosen, table.number)))),
        used,
        others,
        Section("What each library does", (Note(OFF), Line((table.names,)), *rows)),
        Section("Where that was read", tuple(Note(_told(preset)) for preset in classic_presets().presets.values())),
        Section("What this file was built with", (Note(NORM), Note(NORM_CHECK), Line((norm,)))),
    )
    return Sheet("Inputs", LEAD, sections, widths=WIDTHS, first=0)


def _told(preset: Preset) -> str:
    """Says what a preset is, why its numbers differ, and where that was read."""
    return f"{preset.name}: {preset.title}, {preset.version}. {preset.why} ({preset.source})"
