"""Read the table of presets: what each library does, where that was read, and why its numbers differ."""

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from blueprint.inputs.errors import NumbersError, nearest, suggestion
from blueprint.inputs.setting import OFF, Records, Setting
from blueprint.quoting import unquoted

DEFAULT = "default"


@dataclass(frozen=True)
class Preset:
    """Hold what one library does.

    Attributes:
        name: its name on the command line.
        title, version, source: the library, the version that was read, and where in it.
        why: one sentence on what sets it apart.
        values: a value for every setting.
        unlogged: numbers that the library does not log itself.
    """

    name: str
    title: str
    version: str
    source: str
    why: str
    values: Mapping[str, float | str]
    unlogged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Catalogue:
    """Hold settings and the presets that give each of them a value; the first preset is the default.

    titles: those of the groups of settings, by their names.
    """

    settings: Mapping[str, Setting]
    presets: Mapping[str, Preset]
    titles: Mapping[str, str] = field(default_factory=dict)

    def preset(self, name: str) -> Preset:
        """Return a preset.

        Raises:
            NumbersError: if there is none of that name, with the nearest names.
        """
        if name not in self.presets:
            known = list(self.presets)
            begun = [each for each in known if name and each.startswith(name.lower())]
            meant = " or ".join(begun) or nearest(name.lower(), known)
            raise NumbersError(f"preset {unquoted(name)}: unknown, {suggestion(meant, known)}")
        return self.presets[name]


def catalogue(folder: Path, records: Records) -> Catalogue:
    """Read `presets.csv` and `presets.toml` of a folder; the default preset is the settings' own values.

    A setting without a row is as the default in every library.
    """
    settings = records.settings
    with open(folder / "presets.csv", encoding="utf-8", newline="") as table:
        header, *rows = csv.reader(table)
    values: dict[str, dict[str, float | str]] = {DEFAULT: {key: setting.value for key, setting in settings.items()}}
    for column, preset in enumerate(header[1:], start=1):
        values[preset] = values[DEFAULT] | {row[0]: value_of(settings[row[0]], row[column]) for row in rows}
    facts = tomllib.loads((folder / "presets.toml").read_text(encoding="utf-8"))
    presets = {each: Preset(each, **facts[each], values=found) for each, found in values.items()}
    return Catalogue(settings, presets, records.titles)


def value_of(setting: Setting, text: str) -> float | str:
    """Read a cell of the table: a word, a number, or "off" for a limit that limits nothing."""
    if setting.words:
        return text
    return OFF if text == "off" else float(text)
