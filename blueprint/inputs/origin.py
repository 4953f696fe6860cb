"""List what numbers of any level hold, key by key, and where each comes from: a file, an override, a preset, the seed."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from blueprint.inputs.errors import shown
from blueprint.inputs.level import Values
from blueprint.inputs.load import draft, load, value_in
from blueprint.inputs.numbers import Numbers, Settings
from blueprint.inputs.read import Source, overridden
from blueprint.inputs.setting import OFF
from blueprint.inputs.toml_format import leaves, scalar
from blueprint.workbooks.registry import level_of

_FIRST = 3


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
    plain = {key: each.tolist() if isinstance(each, np.ndarray) else each for key, each in found.items()}
    return {key: plain[key] for key in level.keys if key in plain}


def assumed(numbers: Numbers) -> Settings:
    """Return what holds for the settings that are not given: what the preset in use does."""
    level = level_of(numbers)
    defaults = {key: setting.value for key, setting in (level.defaults or level.settings).items()}
    preset = level.preset(numbers)
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
    members = leaves(value)
    first = ", ".join(map(scalar, members[:_FIRST]))
    return f"{' by '.join(_shape(value))}: {first}{', …' if len(members) > _FIRST else ''}"


def _shape(value: Any) -> list[str]:
    """Return the sizes of nested lists; "?" where rows differ."""
    inner = [_shape(each) for each in value if isinstance(each, list | tuple)]
    if len(inner) < len(value) or not inner:
        return [str(len(value))]
    return [str(len(value)), *(inner[0] if all(each == inner[0] for each in inner) else ["?"])]
