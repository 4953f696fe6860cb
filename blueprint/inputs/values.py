"""List what numbers of any level hold, by the keys of a numbers file: `sizes.hidden`, `ppo.gamma`, `old.E`."""

from typing import Any

import numpy as np

from blueprint.inputs.level import Values
from blueprint.inputs.result import Numbers, Settings
from blueprint.workbooks.registry import level_of


def given(numbers: Numbers) -> Values:
    """Return everything that is given in the numbers, as lists, words and numbers of a file, in its order."""
    level = level_of(numbers)
    head = {"level": numbers.level, "title": numbers.title, "about": numbers.about}
    settings = {level.dotted(key): value for key, value in numbers.ppo.items()}
    found = head | {key: _plain(value) for key, value in level.values(numbers).items()} | settings
    return {key: found[key] for key in level.keys if key in found}


def assumed(numbers: Numbers) -> Settings:
    """Return what holds for the settings that are not given: what the preset in use does."""
    level = level_of(numbers)
    preset = level.preset(numbers)
    known = level.defaults(numbers) if level.defaults else level.settings
    values = preset.values if preset else {key: setting.value for key, setting in known.items()}
    return {level.dotted(key): value for key, value in values.items() if key not in numbers.ppo}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
