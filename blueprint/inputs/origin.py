"""Say where every number comes from: a built-in set, a file, an override, a preset, the seed."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from blueprint.inputs.errors import shown
from blueprint.inputs.load import draft, load, value_in
from blueprint.inputs.read import Source, overridden
from blueprint.inputs.setting import OFF
from blueprint.inputs.toml_format import leaves, scalar
from blueprint.inputs.values import assumed, given

_FIRST = 3


@dataclass(frozen=True)
class Origin:
    """Hold a key of a numbers file, its value in a few words, and where that comes from."""

    key: str
    value: str
    origin: str


def origins(found: Source, overrides: Sequence[tuple[str, str]]) -> list[Origin]:
    """List every key with its value and origin; see `doors.origins`."""
    raw = deepcopy(found.raw)
    numbers = load(replace(found, raw=deepcopy(raw)), [override for _, override in overrides])
    changed = {key: option for option, override in overrides for key in overridden(raw, [override])}
    drafted = draft(replace(found, raw=raw), list(changed))
    level, preset = drafted.level, drafted.level.preset(numbers)
    own = level.origins(drafted, numbers)
    left_out = {"title": "the file's name"} | {part.key: part.otherwise for part in level.parts}
    left_out |= {key: f"as {setting.follows}" for key, setting in level.by_dotted_key.items() if setting.follows}

    def origin(key: str) -> str:
        if told := own(key):
            return told
        if value_in(raw, key) is None:
            return left_out.get(key, "default")
        return changed.get(key) or changed.get(key.partition(".")[0]) or found.told

    of_preset = f"preset {preset.name if preset else 'default'}"
    lines = [Origin(key, in_brief(value), origin(key)) for key, value in given(numbers).items()]
    lines += [Origin(key, in_brief(value), of_preset) for key, value in assumed(numbers).items()]
    settings = list(level.by_dotted_key)
    return sorted(lines, key=lambda line: settings.index(line.key) if line.key in settings else -1)


def in_brief(value: Any) -> str:
    """Return a value in a few words: its shape and its first members, where it is a list."""
    if isinstance(value, str):
        return shown(value)
    if not isinstance(value, list | tuple):
        return '"off"' if value == OFF else scalar(value)
    members = list(leaves(value))
    first = ", ".join(map(scalar, members[:_FIRST]))
    return f"{' by '.join(_shape(value))}: {first}{', …' if len(members) > _FIRST else ''}"


def _shape(value: Any) -> list[str]:
    """Return the sizes of nested lists; "?" where rows differ."""
    if not all(isinstance(each, list | tuple) for each in value):
        return [str(len(value))]
    inner = [_shape(each) for each in value]
    return [str(len(value)), *(inner[0] if all(each == inner[0] for each in inner) else ["?"])]
