"""The table of presets: a row per setting, a column per library, and the number of the chosen one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from blueprint.inputs.catalogue import Catalogue
from blueprint.inputs.setting import Setting
from blueprint.language import Axis, Block, block, match, typed

PRESET = Axis("q", "preset")


class PresetTable(NamedTuple):
    """The names of the presets, the chosen one and its 0-based number, a row of values per setting, and what is typed."""

    names: Block
    chosen: Block
    number: Block
    rows: Mapping[str, Block]
    typed: Mapping[Block, object]


def preset_table(of: Catalogue, chosen: str) -> PresetTable:
    """Types the presets of a catalogue, with one of them chosen."""
    names = typed("presets.names", (PRESET,), "preset", "presets, by name", text=True)
    name = typed("preset", (), "preset", "the preset in use", text=True)
    number = block("preset.number", (), "preset_choice", "its number in the table, from 0", decimals=0)
    number[()] = match(PRESET, names[PRESET], name)
    rows = {key: _row(key, setting) for key, setting in of.settings.items()}
    values = {row: [preset.values[key] for preset in of.presets.values()] for key, row in rows.items()}
    return PresetTable(names, name, number, rows, {names: list(of.presets), name: chosen, **values})


def _row(key: str, setting: Setting) -> Block:
    text, limit, decimals = bool(setting.words), setting.limit, setting.decimals
    name, symbol = f"presets.{key}", f"{setting.symbol}_table"
    return typed(name, (PRESET,), symbol, setting.meaning, text=text, limit=limit, decimals=decimals)
