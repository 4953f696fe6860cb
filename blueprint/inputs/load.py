"""Load a numbers file, with overrides, as explicit and checked numbers; the first complaint becomes one sentence of ours.

Also what numbers of any level hold, key by key, and where each comes from: a file, an override, a preset, the seed.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from os import PathLike
from typing import Any, NamedTuple, get_args

import numpy as np
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from blueprint.inputs.catalogue import OFF, UnknownPreset
from blueprint.inputs.errors import NumbersError, nearest, place, refusal, shown, suggestion
from blueprint.inputs.level import Draft, Level, Numbers, Settings, Values
from blueprint.inputs.overrides import overridden
from blueprint.inputs.toml_file import Source, leaves, read, scalar, tables_of
from blueprint.workbooks.registry import kind_of, kind_of_level, kinds, level_of

_EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "model_type": "a table",
}


def load(
    source: str | PathLike[str] | Mapping[str, Any] | Source = "default",
    overrides: Mapping[str, Any] | Sequence[str] = (),
) -> Numbers:
    """Load a built-in set of numbers, a path ending in .toml, or tables, and lay overrides such as `sizes.hidden=6` over it.

    Numbers with more than 15 significant digits are rounded to 15: a spreadsheet stores no more. If an override makes
    parts of a *built-in* set no longer fit, these are drawn from the seed instead; in a user's file nothing is dropped.

    Raises:
        NumbersError: one sentence on the first thing that is wrong with the file or an override.
    """
    if isinstance(source, Mapping):
        source = tables_of(source)
    found = source if isinstance(source, Source) else read(source)
    numbers = _made(found, overrides)
    if found.built_in and not overrides:
        return replace(numbers, built_in=found.name)
    return recognised(numbers)


def _made(found: Source, overrides: Mapping[str, Any] | Sequence[str]) -> Numbers:
    try:
        drafted = draft(found, overridden(found.raw, overrides))
        return drafted.level.make(drafted)
    except UnknownPreset as error:
        if not (kind := _with_preset(error.name)):
            raise
        numbers = f", as in the numbers {kind.usual()}" if kind.usual() else ""
        raise UnknownPreset(error.name, error.hint, f"it is one of {kind.title}{numbers};") from None


def _with_preset(name: str) -> Any:
    """Return the first kind of workbook that has a preset of a name, None if there is none."""
    levels = ((kind, kind.chooses()) for kind in kinds())
    return next((kind for kind, level in levels if level is not None and name in level.presets().presets), None)


def draft(found: Source, changed: Sequence[str]) -> Draft:
    """Check merged tables, and return what they give; changed: the keys that overrides have named.

    Raises:
        NumbersError: for the first complaint; an unknown key goes before what is missing because of it.
    """
    level = level_named(found.raw.get("level"))
    try:
        file = level.file.model_validate(found.raw)
    except ValidationError as error:
        first, *_ = sorted(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
        # Suppress the cause: pydantic's own text names classes that a reader of the file has never seen.
        raise _refused(first, level) from None
    return level.draft(found.name, file, changed if found.built_in else None)


def level_named(word: Any) -> Level:
    """Return the level of this name.

    Raises:
        NumbersError: if no kind of workbook has one of that name.
    """
    kind = kind_of_level(word)
    if kind is None:
        raise refusal(
            "level",
            "nothing" if word is None else shown(word),
            " or ".join(shown(each) for kind in kinds() for each in kind.levels),
        )
    return kind.level(word)  # type: ignore[no-any-return]


def value_in(raw: Mapping[str, Any], key: str) -> Any:
    """Return what stands under a dotted key of a file, None where nothing does."""
    table, dot, name = key.partition(".")
    return raw.get(table, {}).get(name) if dot else raw.get(table)


def _refused(complaint: ErrorDetails, level: Level) -> NumbersError:
    where, found = place(complaint["loc"]), shown(complaint["input"])
    match complaint["type"]:
        case "extra_forbidden":
            return _unknown(where, level.keys)
        case "missing":
            return refusal(where, "nothing", "a value, as nothing is drawn at this level")
        case "value_error":
            return refusal(where, found, str(complaint["ctx"]["error"]))
        case "literal_error":
            return refusal(where, found, complaint["ctx"]["expected"].replace("'", '"'))
        case kind:
            return refusal(where, found, _EXPECTED.get(kind, "a value of another kind"))


def _unknown(where: str, known: list[str]) -> NumbersError:
    """Look for the key that was meant in the same table first, then in the others, then at other levels."""
    table, _, name = where.rpartition(".")
    neighbours = {key.rpartition(".")[2]: key for key in known if key.rpartition(".")[0] == table}
    others = [key for key in known if "." in key and key not in neighbours.values()]
    meant = neighbours.get(nearest(name, list(neighbours)) or "") or nearest(where, others)
    levels = {word: kind.level(word) for kind in kinds() for word in kind.levels} if not meant else {}
    if having := [word for word, level in levels.items() if where in level.keys]:
        begin = " or ".join(filter(None, (", ".join(having[:-1]), having[-1])))
        return NumbersError(f"{where}: not at this level; numbers that begin at {begin} have it.")
    return NumbersError(f"{where}: unknown key, {suggestion(meant, list(neighbours.values()))}")


class Origin(NamedTuple):
    """A key of a numbers file, its value in a few words, and where that comes from."""

    key: str
    value: str
    origin: str


def given(numbers: Numbers) -> Values:
    """Return everything that is given in the numbers, as lists, words and numbers of a file, in its order."""
    level = level_of(numbers)
    found = {"level": numbers.level, "title": numbers.title, "about": numbers.about} | level.values(numbers)
    found |= {"gradients": "on"} if numbers.gradients else {}
    found |= {level.dotted(key): value for key, value in numbers.ppo.items()}
    whole = {part.key for part in level.parts if get_args(part.entry)[:1] == (int,)}
    plain = {key: _written(each, key in whole) for key, each in found.items()}
    return {key: plain[key] for key in level.keys if key in plain}


def recognised(numbers: Numbers) -> Numbers:
    """Return numbers that know which built-in set they are with nothing laid over it, if they are one."""
    alike = [name for name in kind_of(numbers).built_in() if _title(name) == numbers.title]
    return replace(numbers, built_in=next((name for name in alike if _built_in(name) == given(numbers)), ""))


@cache
def _title(name: str) -> Any:
    """Return the title of a built-in set; to parse all of a kind's files takes longer than to load one."""
    return read(name).raw.get("title")


@cache
def _built_in(name: str) -> Values:
    return given(_made(read(name), ()))


def _written(value: Any, whole: bool) -> Any:
    """Return a value as a file has it; whole: its numbers are whole ones, which arrays hold as 2.0."""
    if isinstance(value, np.ndarray):
        return (value.astype(int) if whole and np.all(value == np.trunc(value)) else value).tolist()
    return "off" if isinstance(value, float) and value == OFF else value


def assumed(numbers: Numbers) -> Settings:
    """Return what holds for the settings that are not given: what the preset in use does."""
    level, preset = level_of(numbers), level_of(numbers).preset(numbers)
    defaults = {key: setting.value for key, setting in (level.defaults or level.settings).items()}
    values = preset.values if preset else defaults
    return {level.dotted(key): value for key, value in values.items() if key not in numbers.ppo}


def origins(found: Source, overrides: Sequence[tuple[str, str]] = ()) -> list[Origin]:
    """List every key of merged numbers with its value and where that comes from.

    overrides: pairs of the option that says it, such as `--set`, and what it says, such as `ppo.gamma=1`.

    Raises:
        NumbersError: one sentence on the first thing that is wrong with the file or an override.
    """
    raw = deepcopy(found.raw)
    numbers = load(replace(found, raw=deepcopy(raw)), [override for _, override in overrides])
    changed = {key: option for option, override in overrides for key in overridden(raw, [override])}
    drafted = draft(replace(found, raw=raw), list(changed))
    level, preset = drafted.level, drafted.level.preset(numbers)
    of_level = level.origins(drafted, numbers)
    left_out = {"title": "the file's name"} | {part.key: part.otherwise for part in level.parts}
    left_out |= {key: f"as {setting.follows}" for key, setting in level.by_dotted_key.items() if setting.follows}

    def origin(key: str) -> str:
        if derived := of_level(key):
            return derived
        if value_in(raw, key) is None:
            return left_out.get(key, "default")
        return changed.get(key) or changed.get(key.partition(".")[0]) or found.origin

    of_preset = f"preset {preset.name if preset else 'default'}"
    lines = [Origin(key, _in_brief(value), origin(key)) for key, value in given(numbers).items()]
    lines += [Origin(key, _in_brief(value), of_preset) for key, value in assumed(numbers).items()]
    settings = list(level.by_dotted_key)
    return sorted(lines, key=lambda line: settings.index(line.key) if line.key in settings else -1)


def _in_brief(value: Any) -> str:
    """Return a value in a few words: its shape and its first members, where it is a list."""
    if isinstance(value, str):
        return shown(value)
    if not isinstance(value, list | tuple):
        return '"off"' if value == OFF else scalar(value)
    members = [scalar(each) for each in leaves(value)]
    return f"{' by '.join(_shape(value))}: {', '.join(members[:3])}{', …' if len(members) > 3 else ''}"


def _shape(value: Any) -> list[str]:
    """Return the sizes of nested lists; "?" where rows differ."""
    inner = [_shape(each) for each in value if isinstance(each, list | tuple)]
    if len(inner) < len(value) or not inner:
        return [str(len(value))]
    return [str(len(value)), *(inner[0] if all(each == inner[0] for each in inner) else ["?"])]
