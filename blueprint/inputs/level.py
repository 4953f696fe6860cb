"""A level: what its numbers files hold, key by key, and how they become numbers: explicit, checked and frozen.

From this one description a file is checked, its shapes are compared, its schema is made, and it is written again.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, create_model

from blueprint.inputs.catalogue import Catalogue, Preset, Setting
from blueprint.inputs.entries import About, Text, Title, of_setting
from blueprint.inputs.errors import NumbersError, counted, nearest, place, refusal, shown, suggestion

Array = NDArray[np.float64]
Settings = dict[str, float | str]
Limits = Mapping[str, tuple[int, int]]

LONGEST = 500
"""The most entries along an axis for which a level says no other limit."""

ROWS = (1, 64)
"""The least and the most of what is laid out downwards: longer columns of one formula are unsafe, see `page`."""

LIBRARIES = "library.names"
"""The block of the presets that stand side by side."""

NEEDED: Any = ...
"""The default of a part that must be there."""


class Part(NamedTuple):
    """What a numbers file holds under one key.

    Attributes:
        key: as one would override it, such as `rollout.rewards`.
        entry: what one number or word of it may be; a type of `entries`.
        axes: what it has an entry for, the outermost first; () for a single value.
        about: the comment in a written file.
        default: what holds without it; None where something else decides, NEEDED if it may not be left out.
        example: what a written file shows where it is left out.
        otherwise: where its value comes from when it is left out, in a few words.
        noun: what one entry is called in a refusal.
        schema: more that an editor may know of it, as JSON Schema.
        block: the block of the workbook in which it is typed as it is; "" where it is laid out there in another way.
    """

    key: str
    entry: Any
    axes: tuple[str, ...]
    about: str
    default: Any = NEEDED
    example: Any = None
    otherwise: str = "default"
    noun: str = "number"
    schema: dict[str, Any] | None = None
    block: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers:
    """All numbers of a workbook.

    Attributes:
        kind, level: the kind of workbook, and the name of the level at which its numbers begin.
        name: that of the file or of the built-in set. title, about: the heading of the workbook, and a sentence below it.
        ppo: the settings the file gives, and only those; the rest is the preset's.
        parts: everything else that was given, by its key in the file, such as `rollout.rewards`: arrays of numbers, tuples of
            words and of rows of different lengths.
        gradients: whether every gradient of the loss stands below what it belongs to.
        drawn_anew: the built-in parts that no longer fitted the overrides, and were drawn from the seed instead.
        built_in: the name of the built-in set that they are, whatever file they come from; "" if they are none.
    """

    kind: str
    level: str
    name: str
    title: str
    about: str
    ppo: Settings = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    gradients: bool = False
    drawn_anew: tuple[str, ...] = ()
    built_in: str = ""

    @property
    def preset(self) -> str | None:
        """The name of the preset that a user chose, where there is a choice."""
        return self.parts.get("preset")

    @property
    def departures(self) -> list[str]:
        """What of them is not as the built-in set has it, a line each."""
        drawn = ", ".join(self.drawn_anew)
        return [f"drawn anew from the seed, because they no longer fit: {drawn}"] if drawn else []

    def __getitem__(self, key: str) -> Any:
        """Return a part by its key in the file."""
        return self.parts[key]


def fitted(
    parts: Iterable[Part],
    given: Mapping[str, Any],
    limits: Limits,
    ragged: Collection[str] = (),
    why: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return what is given as arrays of numbers, and as tuples of words and of rows of different lengths.

    The first part that has an axis fixes its size. limits: the least and the most of an axis. ragged: axes whose size
    differs from row to row. why: by axis, what a refusal says of its size besides.

    Raises:
        NumbersError: if a part has more or fewer entries than the first one of its axis, or these are too many.
    """
    sizes: dict[tuple[str, tuple[int, ...]], tuple[int, str]] = {}

    def check(part: Part, value: Any, at: tuple[int, ...] = ()) -> None:
        """Check the entries of a part that lie at one place of its outer axes, and all within them."""
        if len(at) == len(part.axes):
            return
        axis, where, found = part.axes[len(at)], place((part.key, *at), rows=True), len(value)
        (low, high), which = limits.get(axis, (1, LONGEST)), (axis, at if axis in ragged else ())
        if which not in sizes and not low <= found <= high:
            raise refusal(where, counted(found, axis), f"{low}" if low == high else f"{low} to {high}")
        size, source = sizes.setdefault(which, (found, part.key))
        if found != size:
            noun = part.noun if len(at) == len(part.axes) - 1 else "list" if at else "row"
            because = f"; {why[axis]}" if axis in why else ""
            raise refusal(where, counted(found, noun), f"{size}, one per {axis}, as {source} has{because}")
        for number, each in enumerate(value):
            check(part, each, (*at, number))

    there = [part for part in parts if part.key in given]
    for part in there:
        check(part, given[part.key])
    return {part.key: _frozen(part, given[part.key], ragged) for part in there}


def check_one_more(parts: Mapping[str, Any], longer: str, shorter: str, why: str) -> None:
    """Check that each row of one part has an entry more than those of another. Raises NumbersError, which says why."""
    found, expected = len(parts[longer][0]), 1 + len(parts[shorter][0])
    if found != expected:
        raise refusal(
            f"{longer}, row 1", f"{found} tokens", f"{expected}, one more than {shorter} has positions; {why}"
        )


def _frozen(part: Part, value: Any, ragged: Collection[str]) -> Any:
    if not part.axes:
        return value
    return _as_tuples(value) if part.noun != "number" or set(part.axes) & set(ragged) else np.array(value)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list | tuple) else value


def check_vocabulary(words: Sequence[str]) -> None:
    """Check that a sheet can tell the words of a vocabulary apart."""
    seen: dict[str, str] = {}
    for word in words:
        twin = seen.get(word.casefold())
        if twin == word:
            raise refusal("text.vocabulary", f"{shown(word)} twice", "each token once")
        if twin is not None:
            # MATCH does not tell capitals from small letters, so it would find the first for both.
            raise refusal("text.vocabulary", f"{shown(twin)} and {shown(word)}", "tokens that differ by more than case")
        seen[word.casefold()] = word


def check_known(where: str, word: str, words: Sequence[str]) -> None:
    """Check that a word is one of the vocabulary."""
    if word not in words:
        hint = suggestion(nearest(word, words), words)
        raise NumbersError(f"{where}: found {shown(word)}, not in the vocabulary, {hint}")


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
        mask: the block whose cells are 1 where a list of a ragged axis has an entry, else 0.
        more_typed: what is typed in blocks that hold no part as it is. more_saved: parts that are read of such blocks in a saved
            file (`reopening.saved.Saved`), from those that were read so far.
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
    mask: str = ""
    more_typed: Callable[[Numbers], dict[str, Any]] = lambda numbers: {}
    more_saved: Callable[[Any, Values], Values] = lambda file, parts: {}

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

    @property
    def _in_blocks(self) -> list[Part]:
        return [part for part in self.parts if part.block]

    def sizes(self, numbers: Numbers) -> dict[str, int]:
        """Return how many there are of what the axes of its parts count; of a ragged axis, the most in a row."""
        found: dict[str, int] = {}
        for part in self.parts:
            if part.axes and part.key in numbers.parts:
                _measure(numbers[part.key], part.axes, found)
        return found

    def typed(self, numbers: Numbers) -> dict[str, Any]:
        """Return what is typed in a workbook of these numbers, by the names of its blocks."""
        sizes, found = self.sizes(numbers), dict[str, Any]()
        for part in self._in_blocks:
            if part.key not in numbers.parts:
                continue
            value = numbers[part.key]
            if part.axes and part.axes[-1] in self.ragged:
                width = sizes[part.axes[-1]]
                found[part.block] = padded(value, width, 0.0 if part.noun == "number" else "")
                found.setdefault(self.mask, padded([[1.0] * len(row) for row in value], width, 0.0))
            else:
                found[part.block] = np.array(value, dtype=object) if isinstance(value, tuple) else value
        return found | self.more_typed(numbers)

    def saved(self, file: Any) -> Numbers:
        """Return what is typed in a saved workbook (`reopening.saved.Saved`), or, of a blank one, numbers of its sizes."""
        parts = {
            part.key: self._in_cells(part, file)
            for part in self._in_blocks
            if part.default is NEEDED or part.block in file
        }
        if self.presets:
            parts["preset"] = file.preset(self.presets())
        if any(part.key == "compare" for part in self.parts):
            parts["compare"] = tuple(map(str, file.array(LIBRARIES, 1).flat)) if LIBRARIES in file else ()
        parts |= self.more_saved(file, parts)
        given = {key: value for key, value in parts.items() if value is not None}
        return Numbers(kind=self.kind, level=self.word, **file.head(), ppo=file.settings(), parts=given)

    def _in_cells(self, part: Part, file: Any) -> Any:
        """Return what stands in the cells of a part's block: numbers as an array, words and ragged rows as tuples."""
        found = file.array(part.block, len(part.axes))
        if part.axes and part.axes[-1] in self.ragged:
            return within(found, file.array(self.mask, 2), float if part.noun == "number" else str)
        return _as_words(found.tolist()) if found.dtype == object else found if part.axes else found.item()


def _measure(value: Any, axes: Sequence[str], found: dict[str, int]) -> None:
    """Note how many entries lie along axes, the most where one row has more than another."""
    found[axes[0]] = max(found.get(axes[0], 0), len(value))
    for each in value if axes[1:] else ():
        _measure(each, axes[1:], found)


def _as_words(value: Any) -> Any:
    return tuple(map(_as_words, value)) if isinstance(value, list) else str(value)


def padded(rows: Sequence[Sequence[Any]], width: int, blank: Any = "") -> NDArray[Any]:
    """Lay rows of different lengths out in `width` columns, with a blank or a number behind each."""
    made = [[*row, *[blank] * (width - len(row))] for row in rows]
    return np.array(made, dtype=object if blank == "" else float)


def within(rows: Any, mask: Any, made: Callable[[Any], Any]) -> tuple[tuple[Any, ...], ...]:
    """Return what stands where a mask is 1, row by row."""
    pairs = zip(rows, mask, strict=True)
    return tuple(tuple(made(each) for each, is_there in zip(*pair, strict=True) if is_there == 1) for pair in pairs)


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
