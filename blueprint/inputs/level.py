"""Describe a level: what its numbers files hold, key by key, and how they become numbers.

From this one description a file is checked, its shapes are compared, its schema is made, and it is written again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import chain
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model

from blueprint.inputs.catalogue import Catalogue, Preset
from blueprint.inputs.entries import About, Text, Title, of_setting
from blueprint.inputs.numbers import NEEDED, Limits, Numbers, Part, Settings, fitted
from blueprint.inputs.setting import Setting

Values = dict[str, Any]


class Table(BaseModel):
    """Refuse unknown keys; built when a file of its level is first read, since a file has one level of many."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class NumbersFile(Table):
    """What every numbers file has."""

    level: Text
    title: Title = Field("", description="heads the workbook; else the file's name")
    about: About = Field("", description="a sentence below the title")
    gradients: Literal["on", "off"] = Field(
        "off", description="whether every gradient of the loss stands on its sheet", examples=["on"]
    )


class Draft(NamedTuple):
    """What a checked file gives: its parts by key, its settings, and of a built-in file the parts that no override names."""

    level: "Level"
    head: dict[str, Any]
    parts: Values
    settings: Settings
    spare: Sequence[str]

    def fitted(self) -> Values:
        """Return the parts as arrays and tuples. Raises NumbersError where their shapes do not belong together."""
        return fitted(self.level.parts, self.parts, self.level.limits, self.level.ragged, self.level.why)

    def numbers(self, parts: Values) -> Numbers:
        """Return numbers that consist of settings and parts."""
        return Numbers(**self.head, ppo=self.settings, parts=parts)


@dataclass(frozen=True)
class Level:
    """A level of a kind of workbook: where its numbers begin.

    Attributes:
        kind: the name of the kind. word: what stands under `level` in a file. begins: where the numbers begin, in a few words.
        parts: what a file holds besides settings.
        tables: what each table is, by name, in the order of a file; those of settings too.
        optional: tables that may be left out, though what stands in them may not.
        settings: what may be chosen, by key; one whose key has no dot stands in the table `of_settings`.
        accepts: the settings as a file is checked, where `make` refuses some of them in words of its own.
        presets: what libraries do.
        limits: the least and the most of what an axis counts. ragged: axes whose size differs from row to row.
        why: by axis, what is to be known of its size, where it is not what one would expect.
        make: makes the numbers of a checked file; it completes what is left out, and refuses what does not belong together.
        values: what numbers hold, by key, settings apart.
        defaults: the settings that are in use where no preset is chosen.
        origins: makes what tells, in a few words, where a value comes from that this level draws or derives.
        remarks: a comment for each row of a value in a written file.
    """

    kind: str
    word: str
    begins: str
    parts: tuple[Part, ...]
    tables: Mapping[str, str]
    settings: Mapping[str, Setting] = field(default_factory=dict)
    of_settings: str = "ppo"
    optional: Collection[str] = ()
    accepts: Mapping[str, Setting] | None = None
    presets: Callable[[], Catalogue] | None = None
    limits: Limits = field(default_factory=dict)
    ragged: Collection[str] = ()
    why: Mapping[str, str] = field(default_factory=dict)
    make: Callable[[Draft], Numbers] = lambda draft: draft.numbers(draft.fitted())
    values: Callable[[Any], Values] = lambda numbers: dict(numbers.parts)
    defaults: Mapping[str, Setting] | None = None
    origins: Callable[[Draft, Any], Callable[[str], str | None]] = lambda draft, numbers: lambda key: None
    remarks: Callable[[Any, str], Sequence[str]] = lambda numbers, key: ()

    def dotted(self, key: str) -> str:
        """Return the key of a setting in a file, such as `ppo.gamma` or `loss.aggregation`."""
        return key if "." in key else f"{self.of_settings}.{key}"

    @cached_property
    def by_dotted_key(self) -> dict[str, Setting]:
        """The settings by their keys in a file."""
        return {self.dotted(key): setting for key, setting in self.settings.items()}

    @cached_property
    def file(self) -> type[NumbersFile]:
        """The table that checks a file."""
        fields: dict[str, Any] = {
            "level": (Literal[self.word], Field(description=f"where the numbers begin: {self.begins}")),
            **{key: each for key, each in self._entries.items() if "." not in key},
            **{name: self._table(name, about) for name, about in self.tables.items()},
        }
        doc = f'A file of level "{self.word}": {self.begins}.'
        return create_model(self.word, __base__=NumbersFile, __doc__=doc, **fields)

    @property
    def keys(self) -> list[str]:
        """All keys of a file in its order, tables among them."""
        single = [key for key in self._entries if "." not in key]
        inner = [[table, *(key for key in self._entries if key.startswith(f"{table}."))] for table in self.tables]
        return [*NumbersFile.model_fields, *single, *chain(*inner)]

    @cached_property
    def _entries(self) -> dict[str, Any]:
        """What may stand under each key of a file, as a field of pydantic's."""
        settings = (self.accepts or self.settings).items()
        return {
            **{part.key: _field(part) for part in self.parts},
            **{self.dotted(key): (of_setting(setting) | None, None) for key, setting in settings},
        }

    def _table(self, name: str, about: str) -> tuple[Any, Any]:
        """Make a table, as a field of the file: it must be there if something in it must, unless it is an optional one."""
        inside = {key.partition(".")[2]: each for key, each in self._entries.items() if key.startswith(f"{name}.")}
        made = create_model(name, __base__=Table, **inside)
        if name in self.optional:
            return made | None, Field(None, description=about)
        needed = any(inner.is_required() for inner in made.model_fields.values())
        # Where nothing is needed, nothing is given by default: unchecked, for a check would build what may not be read.
        return made, Field(NEEDED if needed else made.model_construct(), description=about)

    def draft(self, name: str, file: NumbersFile, changed: Collection[str] | None) -> Draft:
        """Take what a checked file gives. changed: what overrides have named, in a built-in file; else None."""
        settings = _found(file, {key: self.dotted(key) for key in self.accepts or self.settings})
        parts = _found(file, {part.key: part.key for part in self.parts})
        spare = [key for key in parts if changed is not None and {key, key.partition(".")[0]}.isdisjoint(changed)]
        head = {"kind": self.kind, "level": self.word, "name": name, "title": file.title or name, "about": file.about}
        return Draft(self, head | {"gradients": file.gradients == "on"}, parts, settings, spare)

    def preset(self, numbers: Numbers) -> Preset | None:
        """Return the preset that a user chose, where there is a choice."""
        return self.presets().preset(numbers.preset) if self.presets and numbers.preset else None


def _field(part: Part) -> tuple[Any, Any]:
    entry = reduce(lambda inner, _: list[inner], part.axes, part.entry)  # type: ignore[valid-type]
    examples = None if part.example is None else [part.example]
    described = Field(part.default, description=part.about, examples=examples, json_schema_extra=part.schema)
    return entry | None if part.default is None else entry, described


def _found(file: BaseModel, keys: Mapping[str, str]) -> Values:
    """Return what stands under keys of a file, by the names that they have here, where something does."""
    found = {}
    for name, key in keys.items():
        table, dot, inner = key.partition(".")
        value = getattr(getattr(file, table), inner, None) if dot else getattr(file, table)
        if value is not None:
            found[name] = value
    return found
