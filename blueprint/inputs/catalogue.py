"""Settings and presets of a folder: the record of one setting, what each library does, and where that was read.

A folder has its settings in `conventions.toml`, whose keys are explained at the head of `workbooks/common/conventions.toml`.
"""

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.inputs.errors import NumbersError, nearest, refusal, suggestion
from blueprint.quoting import unquoted

OFF = inf
"""A limit that is off, which no number is; in cells and files it is the word off."""

LARGEST_LIMIT = 1e8
"""The largest number for a limit, far beyond any that is used; what shall limit nothing is off."""


@dataclass(frozen=True)
class Setting:
    """Describe one setting: a number from `low` to `high`, or, where `words` is not empty, one of those words.

    A limit, which may be off, has no highest number: off is infinite.

    Attributes:
        value: what the default preset does.
        whole: only whole numbers make sense.
        symbol, meaning, decimals: how sheets show it.
        phrase, phrases: what a value does, in a few words with {} for it; and words of its own for some values.
        source, note: where it was read, and what its note says.
        follows: the setting that means this one too, where only that one is given.
        part_of: the setting without which this one says nothing.
        tuned: every user sets it anew, so that it is no rule of a library.
        called: its names by library, separated by blanks; a name with ? yields to others that say the same, one with ! goes
            before them. `values` says what a library's values mean; a setting has several where they mean different things.
    """

    value: float | str
    low: float = 0.0
    high: float = 1.0
    words: tuple[str, ...] = ()
    whole: bool = False
    symbol: str = ""
    meaning: str = ""
    decimals: int = 3
    phrase: str = ""
    phrases: Mapping[str, str] = field(default_factory=dict, compare=False)
    source: str = ""
    note: str = ""
    follows: str = ""
    part_of: str = ""
    tuned: bool = False
    called: tuple[Mapping[str, str], ...] = field(default=(), compare=False)

    @property
    def limit(self) -> bool:
        """Whether it is a limit: a number up to `largest`, or off."""
        return self.high == inf

    @property
    def largest(self) -> float:
        """The largest number that may stand there."""
        return LARGEST_LIMIT if self.limit else self.high

    def holds(self, number: float) -> bool:
        """Tell whether a number may stand there; infinity is a limit that is off."""
        return self.low <= number <= self.largest or (self.limit and number == inf)


def says_off(value: object) -> bool:
    """Tell whether a file says of a limit that it is off."""
    return value in ("off", OFF)


def in_groups(keys: Iterable[str], titles: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Sort keys of settings by their groups: the title of each that has any, and its keys; the first has those without a dot."""
    found: dict[str, list[str]] = {group: [] for group in titles}
    for key in keys:
        found[key.partition(".")[0] if "." in key else next(iter(titles))].append(key)
    return [(titles[group], listed) for group, listed in found.items() if listed]


def dotted(key: str) -> str:
    """Return the key as numbers files have it: one that stands alone is of the table [ppo]."""
    return key if "." in key else f"ppo.{key}"


def shown_value(value: float | str, minus: str = "−") -> str:
    """Print what stands for a setting: a word, a number, or off."""
    if isinstance(value, str):
        return value
    return "off" if value == OFF else f"{minus * (value < 0)}{abs(value):g}"


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


class UnknownPreset(NumbersError):
    """There is no preset of a name among those of a level; hint: which one may be meant, or which there are."""

    def __init__(self, name: str, hint: str, why: str = "unknown,"):
        super().__init__(f"preset {unquoted(name)}: {why} {hint}")
        self.name, self.hint = name, hint


@dataclass(frozen=True)
class Catalogue:
    """Settings, and the presets that give each of them a value; the first preset is the default.

    titles: those of the groups of settings, by their names.
    """

    settings: Mapping[str, Setting]
    presets: Mapping[str, Preset]
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The table of a numbers file in which settings stand whose key has no dot: the first group of the records."""
        return next(iter(self.titles), "ppo")

    def preset(self, name: str) -> Preset:
        """Return a preset.

        Raises:
            NumbersError: if there is none of that name, with the nearest names.
        """
        if name not in self.presets:
            known = list(self.presets)
            begun = " or ".join(each for each in known if name and each.startswith(name.lower()))
            hint = suggestion(begun or nearest(name.lower(), known), known)
            raise UnknownPreset(name, hint)
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
