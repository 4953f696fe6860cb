"""The settings: hyperparameters and switches, each as *used | yours | preset*; the formulas read `used` alone.

Where a preset can be chosen, the table of presets has a row for each setting and a column for each library.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import NamedTuple

from blueprint.inputs.catalogue import Catalogue, Setting
from blueprint.language import (
    Arithmetic,
    Axis,
    Block,
    Expr,
    NotationError,
    Operand,
    block,
    choose,
    equal,
    filled,
    is_off,
    match,
    maximum,
    typed,
    where,
)
from blueprint.page.outline import Line, Note, Section
from blueprint.workbooks.common.conventions import PRESET_DEFAULT

PRESET = Axis("q", "preset")
COLUMNS = ("used", "yours", "preset")


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
    rows = {key: _typed(f"presets.{key}", setting, "table", axes=(PRESET,)) for key, setting in of.settings.items()}
    values = {row: [preset.values[key] for preset in of.presets.values()] for key, row in rows.items()}
    return PresetTable(names, name, number, rows, {names: list(of.presets), name: chosen, **values})


def _typed(name: str, setting: Setting, ending: str, told: str = "", axes: tuple[Axis, ...] = ()) -> Block:
    """Makes a typed block of what may stand for a setting: a word, a number, or a limit, which may be off."""
    symbol, meaning, text = f"{setting.symbol}_{ending}", told + setting.meaning, bool(setting.words)
    return typed(name, axes, symbol, meaning, text=text, limit=setting.limit, decimals=setting.decimals)


@dataclass(frozen=True)
class Switch:
    """A setting that is one of a few words: the words, and the 0-based number of the chosen one."""

    words: tuple[str, ...]
    number: Arithmetic

    def says(self, word: str) -> Expr:
        """Returns 1 where the word is the chosen one, else 0."""
        return equal(self.number, self.words.index(word))

    def choose(self, **alternatives: Operand) -> Expr:
        """Takes the alternative of the chosen word; there must be exactly one for each word."""
        if set(alternatives) != set(self.words):
            raise NotationError(f"{self.number} chooses among {', '.join(self.words)}, not {', '.join(alternatives)}")
        return choose(self.number, **{word: alternatives[word] for word in self.words})


@dataclass
class Settings:
    """The settings of a workbook: `used`, switches and their words by key, the lines they stand in, what is typed there."""

    used: dict[str, Block] = field(default_factory=dict)
    switch: dict[str, Switch] = field(default_factory=dict)
    words: dict[str, Block] = field(default_factory=dict)
    numbers: list[tuple[Block, ...]] = field(default_factory=list)
    switches: list[tuple[Block, ...]] = field(default_factory=list)
    typed: dict[Block, object] = field(default_factory=dict)
    choices: dict[Block, Block] = field(default_factory=dict)
    ranges: dict[Block, tuple[float, float]] = field(default_factory=dict)
    outside: Block | None = None
    """How far the numbers are outside their ranges, all together."""


def settings(
    yours: Mapping[str, float | str],
    offered: Mapping[str, Setting] = PRESET_DEFAULT,
    presets: PresetTable | None = None,
) -> Settings:
    """Makes the settings on offer. yours: what stands beside the preset's. presets: where the preset's stands; else typed."""
    made = Settings()
    if presets is not None:
        made.typed |= presets.typed
        made.choices[presets.chosen] = presets.names
    for key, setting in offered.items():
        line = _line(made, key, setting, presets)
        made.typed[line[1]] = yours.get(key, "" if setting.words else nan)
        (_switch if setting.words else _number)(made, key, setting, line)
    return made


def _line(made: Settings, key: str, setting: Setting, presets: PresetTable | None) -> tuple[Block, Block, Block]:
    """Makes what every setting has: used, yours, and the preset's."""
    symbol, meaning, decimals = setting.symbol, setting.meaning, setting.decimals
    mine = _typed(f"{key}.yours", setting, "yours", "yours: ")
    if presets is None:
        given = _typed(f"{key}.preset", setting, "preset", "preset: ")
        made.typed[given] = setting.value
    else:
        given = block(f"{key}.preset", (), f"{symbol}_preset", f"preset: {meaning}", decimals=decimals)
        given[()] = presets.rows[key][presets.number]
    used = made.used[key] = block(key, (), symbol, meaning, decimals=decimals)
    used[()] = where(filled(mine), mine, given)
    return used, mine, given


def _number(made: Settings, key: str, setting: Setting, line: tuple[Block, Block, Block]) -> None:
    """Adds the range of a number, and how far it and the numbers above it are outside theirs; off is never outside."""
    used, mine, _ = line
    decimals = 0 if setting.limit else setting.decimals
    low, high = (
        typed(f"{key}.{end}", (), f"{setting.symbol}_{end}", f"{told}: {setting.meaning}", decimals=decimals)
        for end, told in (("low", "lowest"), ("high", "highest"))
    )
    made.typed |= {low: setting.low, high: setting.largest}
    made.ranges[mine] = (setting.low, setting.largest)
    outside = block(
        f"{key}.outside", (), f"Σout_{used.symbol}", "all numbers down to this line: how far outside their ranges"
    )
    beyond = maximum(0, maximum(low - used, used - high))
    this = where(is_off(used), 0, beyond) if used.limit else beyond
    outside[()] = this if made.outside is None else made.outside + this
    made.outside = outside
    made.numbers.append((*line, low, high, outside))


def _switch(made: Settings, key: str, setting: Setting, line: tuple[Block, Block, Block]) -> None:
    """Adds the alternatives of a word, and its 0-based number among them."""
    used, mine, _ = line
    axis = Axis("o", "alternative", size=len(setting.words))
    words = typed(f"{key}.words", (axis,), "alternatives", "the words it may be", text=True)
    symbol, told = (
        f"{setting.symbol.removesuffix('_is')}_choice",
        f"{setting.symbol} by number, from 0",
    )
    number = block(f"{key}.number", (), symbol, told, decimals=0)
    number[()] = match(axis, words[axis], used)
    made.typed[words] = list(setting.words)
    made.choices[mine] = made.words[key] = words
    made.switch[key] = Switch(setting.words, number)
    made.switches.append((*line, number, words))


def settings_sections(chosen: Settings) -> list[Section]:
    """Outlines the settings: numbers first, then switches with their alternatives."""
    how = Note(
        "Type your own number into a cream cell under “yours”; empty, the preset's is used. Formulas read “used” alone. "
        "Σout: how far this setting and those above it lie outside “from” and “to”, added up; 0 is right."
    )
    numbers = Section("Settings", (how, *map(Line, chosen.numbers)), (*COLUMNS, "from", "to", "Σout, so far"))
    switches = Section("Switches", tuple(map(Line, chosen.switches)), (*COLUMNS, "number", "one of"))
    return [numbers, switches] if chosen.switches else [numbers]
