"""The settings that a file uses: what its user typed, else the preset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.witness.errors import WitnessError, quoted

Array = npt.NDArray[Any]
File = Mapping[str, Array]

NUMBERS = (
    "gamma",
    "gae_lambda",
    "kl_coef",
    "clip_range",
    "value_clip_range",
    "vf_coef",
    "ent_coef",
    "policy_kl_coef",
    "update_step",
    "whiten_eps",
    "target",
    "horizon",
    "n_steps",
    "error_clip",
)
SWITCHES = ("kl_estimator", "whiten_advantages")
OF_CONTROLLER = ("kl_stat",)


def is_controller(file: File) -> bool:
    """Returns whether a file is one of an adaptive KL controller: it starts at the KL of whole responses."""
    return "responses.kl" in file


def switches(file: File) -> tuple[str, ...]:
    """Returns the settings of a file without presets that are words."""
    return OF_CONTROLLER if is_controller(file) else SWITCHES


def is_blank(value: Any) -> bool:
    """Returns whether a cell is empty: NaN among numbers, "" or nothing among words."""
    return value is None or value == "" or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def block(file: File, name: str) -> Array:
    """Returns a typed block of a file. Raises WitnessError if the file has none of that name."""
    if name not in file:
        raise WitnessError(
            f"the file has no block {name}, which the computation starts from: it is not of this version"
        )
    return file[name]


def numbers(file: File, name: str) -> npt.NDArray[np.float64]:
    """Returns a typed block of numbers; a blank cell counts as 0, as in a spreadsheet."""
    typed = block(file, name)
    if typed.dtype == object:
        raise WitnessError(f"{name} holds words, and is computed with: it should hold numbers")
    return np.nan_to_num(np.asarray(typed, dtype=np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)


def used(file: File) -> dict[str, float | str]:
    """Returns every setting that the file has: `name.yours` unless blank, else `name.preset`.

    Numbers come as floats, switches as the words that stand there. Raises WitnessError for a word that no
    alternative is.
    """
    found: dict[str, float | str] = {name: float(_used(file, name)) for name in NUMBERS if f"{name}.preset" in file}
    for name in switches(file):
        found[name] = str(_used(file, name))
        alternative(file, name, str(found[name]))
    return found


def _used(file: File, name: str) -> Any:
    yours = single(file, f"{name}.yours")
    return single(file, f"{name}.preset") if is_blank(yours) else yours


def single(file: File, name: str) -> Any:
    """Returns what is typed in a block of one cell. Raises WitnessError for a block of several."""
    typed = block(file, name)
    if typed.size != 1:
        raise WitnessError(f"{name} should be one cell, and is {typed.size}")
    return typed.item()


def alternative(file: File, name: str, word: str) -> int:
    """Returns the number of a switch's word among its alternatives, from 0; capitals do not matter."""
    words = [str(each) for each in block(file, f"{name}.words").tolist()]
    for number, each in enumerate(words):
        if each.lower() == word.lower():
            return number
    raise WitnessError(f"{name} is {quoted(word)}: write one of {', '.join(words)}")


def outside(file: File, settings: Mapping[str, float | str]) -> dict[str, float]:
    """Returns by how much the settings that are numbers leave their ranges, each line with all lines above it.

    A limit that is off is in no range, and outside none.
    """
    total, found = 0.0, {}
    for name, value in settings.items():
        if not isinstance(value, str):
            low, high = float(block(file, f"{name}.low")), float(block(file, f"{name}.high"))
            total += 0.0 if math.isinf(value) else max(0.0, low - value) + max(0.0, value - high)
            found[name] = total
    return found
