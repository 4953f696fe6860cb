"""Read the records of settings and the table of presets of a folder: what each library does, and where that was read."""

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs.errors import NumbersError, nearest, refusal, suggestion
from blueprint.inputs.setting import OFF, Setting
from blueprint.quoting import unquoted

DEFAULT = "default"


class Records(NamedTuple):
    """The settings of a folder by key, each group's title by its name, and what is narrower where nothing is live."""

    settings: Mapping[str, Setting]
    titles: Mapping[str, str]
    plain: Mapping[str, Setting]


@dataclass(frozen=True)
class Preset:
    """What one library does.

    Attributes:
        name: its name on the command line.
        title, version, source: the library, the version that was read, and where in it.
        why: one sentence on what sets it apart.
        values: a value for every setting.
        unlogged: numbers that the library does not log itself.
        whitens: what it whitens advantages over, of those that a step sees.
    """

    name: str
    title: str
    version: str
    source: str
    why: str
    values: Mapping[str, float | str]
    unlogged: tuple[str, ...] = ()
    whitens: str = "batch"


@dataclass(frozen=True)
class Catalogue:
    """Settings, and the presets that give each of them a value; the first preset is the default.

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
            begun = " or ".join(each for each in known if name and each.startswith(name.lower()))
            hint = suggestion(begun or nearest(name.lower(), known), known)
            raise NumbersError(f"preset {unquoted(name)}: unknown, {hint}")
        return self.presets[name]


def catalogue(folder: Path, records: Records) -> Catalogue:
    """Read `presets.toml` and `presets.csv` of a folder; the default preset is the settings' own values.

    A setting without a row is as the default in every library; in a cell "off" stands for a limit that limits nothing.
    """
    facts, settings = data_in(folder / "presets.toml"), records.settings
    values = {preset: {key: setting.value for key, setting in settings.items()} for preset in facts}
    with open(folder / "presets.csv", encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            key = row.pop("convention")
            for preset, cell in row.items():
                values[preset][key] = cell if settings[key].words else float(OFF if cell == "off" else cell)
    presets = {name: Preset(name, **facts[name], values=found) for name, found in values.items()}
    return Catalogue(settings, presets, records.titles)


def settings_in(folder: Path) -> Records:
    """Read `conventions.toml` of a folder: a table for each group, which has a title, and in it one for each setting.

    The first group is that of the keys that every numbers file has: they stand alone, without its name.

    Raises:
        NumbersError: for a record that has what no record has, or no default.
    """
    file, groups = folder / "conventions.toml", data_in(folder / "conventions.toml")
    records = {
        name if group == next(iter(groups)) else f"{group}.{name}": record
        for group, table in groups.items()
        for name, record in table.items()
        if name != "title"
    }
    settings = {key: _setting(f"{file}, {key}", record) for key, record in records.items()}
    plain = {
        key: replace(settings[key], **_fields(record.get("plain", {})))
        for key, record in records.items()
        if "." not in key
    }
    return Records(settings, {group: table["title"] for group, table in groups.items()}, plain)


def _setting(where: str, record: Mapping[str, Any]) -> Setting:
    try:
        return Setting(**_fields(record))
    except TypeError as error:
        expected = "a default, and nothing but the keys explained at the head of the file"
        raise refusal(where, str(error), expected) from error


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a setting: lists as tuples, numbers as floats; a limit has no highest number, and may be off."""
    fields = {
        "value" if key == "default" else key: each for key, each in record.items() if key not in ("limit", "plain")
    }
    words = record.get("words", ())
    if words or "whole" in record:
        fields.setdefault("decimals", 0)
    if record.get("limit"):
        fields |= {"high": OFF, "value": OFF if record["default"] == "off" else record["default"]}
    numbers = {
        key: float(each) for key, each in fields.items() if key in ("value", "low", "high") and each not in words
    }
    return fields | numbers | {key: tuple(each) for key, each in fields.items() if isinstance(each, list)}


@cache
def data_in(file: Path) -> Mapping[str, Any]:
    """Return what a TOML file holds, the lines of every text joined into one; it is read once, and nobody may change it."""
    found: Mapping[str, Any] = _joined(tomllib.loads(file.read_text(encoding="utf-8")))
    return found


def _joined(node: Any) -> Any:
    match node:
        case dict():
            return {key: _joined(each) for key, each in node.items()}
        case list():
            return [_joined(each) for each in node]
        case _:
            return " ".join(node.split()) if isinstance(node, str) else node
